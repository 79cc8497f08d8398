//! Finds out, once, which requests do not fit: walks through every change of the story and lets processes die.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::track::{End, Track};

/// A process's curve on one place (a card without instances, or a MIG instance).
#[derive(Clone, Debug)]
pub(super) struct Held {
    /// Index of the process.
    pub actor: usize,
    /// Index of the place.
    pub place: usize,
    pub track: Track,
}

/// Changes that a scenario may need to be walked through: a few seconds of work.
const MAX_CHANGES: usize = 2_000_000;

/// The story changes too often.
pub(super) struct TooBusy;

/// Lets each process die at the moment at which it asks for more than its place has. `room` is what each place has
/// beside the driver's own. Afterwards no place is overfull before `horizon`.
pub(super) fn settle(held: &mut [Held], ends: &mut [Option<End>], room: &[u64], horizon: u64) -> Result<(), TooBusy> {
    let mut most = vec![0_u128; room.len()];
    for one in held.iter() {
        most[one.place] += u128::from(one.track.max_from(0));
    }
    let suspect: Vec<bool> = most.iter().zip(room).map(|(&most, &room)| most > u128::from(room)).collect();
    // Wide, since a file may ask for far more than a device has.
    let mut sums = vec![0_u128; room.len()];
    let mut values = vec![0_u64; held.len()];
    let mut queue = BinaryHeap::new();
    for (n, one) in held.iter().enumerate() {
        if suspect[one.place]
            && let Some(first) = one.track.segments.first()
        {
            queue.push(Reverse((first.start, n)));
        }
    }
    let mut changes = 0;
    let mut moved = Vec::new();
    while let Some(&Reverse((t, _))) = queue.peek() {
        if t >= horizon {
            break;
        }
        moved.clear();
        while let Some(&Reverse((at, n))) = queue.peek()
            && at == t
        {
            queue.pop();
            changes += 1;
            if changes > MAX_CHANGES {
                return Err(TooBusy);
            }
            let one = &held[n];
            let value = one.track.value(t);
            sums[one.place] = sums[one.place] - u128::from(values[n]) + u128::from(value);
            if value > values[n] {
                moved.push((value - values[n], n));
            }
            values[n] = value;
            if let Some(next) = one.track.next_change(t) {
                queue.push(Reverse((next, n)));
            }
        }
        // The largest request of this moment fails first.
        moved.sort_unstable_by_key(|&(rise, n)| (Reverse(rise), n));
        for &(_, n) in &moved {
            let (actor, place) = (held[n].actor, held[n].place);
            if sums[place] <= u128::from(room[place]) {
                continue;
            }
            for (m, one) in held.iter_mut().enumerate().filter(|(_, one)| one.actor == actor) {
                let at = one.track.die(t, m == n);
                ends[actor] = Some(End { at, status: Some(1), oom: true, orphan: false });
                if suspect[one.place] {
                    let value = one.track.value(t);
                    sums[one.place] = sums[one.place] - u128::from(values[m]) + u128::from(value);
                    values[m] = value;
                    if let Some(next) = one.track.next_change(t) {
                        queue.push(Reverse((next, m)));
                    }
                }
            }
        }
    }
    Ok(())
}
