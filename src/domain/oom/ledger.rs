//! Which messages are one failure, and which are several.
//!
//! The same failure is printed again and again: where it happened, as an exception, "during handling", in a summary, by a library above.
//! Other ranks, other times or other numbers are other failures.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::event::{Allocator, Event, Kind};

/// No more failures than this are kept in full; later ones are counted.
const MOST_KEPT: usize = 1_024;
/// No more failures than this are told from what came before them.
const MOST_KNOWN: usize = 65_536;
/// How many of the latest failures a message without figures may belong to.
const LATEST: usize = 32;
/// A message without figures belongs to a failure no farther away than this, in bytes of the log.
const NEAR: u64 = 32 << 10;
/// The same numbers this many seconds later are another failure.
const SOON: f64 = 15.0;
/// Clocks of different kinds differ by more than this: then they can't be compared.
const INCOMPARABLE: f64 = 200.0 * 86_400.0;

/// All failures of a log in the order of the text.
#[derive(Debug, Default)]
pub struct Ledger {
    /// Those that are kept.
    pub failures: Vec<Event>,
    /// How many of the same kind more there were.
    pub more: u64,
    /// By what identifies them.
    known: HashMap<u64, usize>,
}

impl Ledger {
    /// Takes a message; tells whether it is a failure of its own.
    pub fn add(&mut self, event: Event) -> bool {
        let key = key(&event);
        if let Some(failure) = self.known.get(&key).and_then(|n| self.failures.get_mut(*n))
            && key != 0
            && is_same(failure, &event, false)
        {
            complete(failure, event);
            return false;
        }
        let near = self.failures.iter_mut().rev().take(LATEST).find(|failure| is_same(failure, &event, true));
        if let Some(failure) = near {
            complete(failure, event);
            return false;
        }
        if self.failures.len() >= MOST_KEPT {
            if key == 0 || self.known.len() < MOST_KNOWN && self.known.insert(key, usize::MAX).is_none() {
                self.more += 1;
            }
            return false;
        }
        if key != 0 {
            self.known.insert(key, self.failures.len());
        }
        self.failures.push(event);
        true
    }
}

/// What identifies a failure with figures; 0 for one without.
fn key(event: &Event) -> u64 {
    if event.figures.known() == 0 || event.soft {
        return 0;
    }
    let mut hasher = DefaultHasher::new();
    (event.rank, event.device).hash(&mut hasher);
    for figure in event.figures.all() {
        figure.map(|bytes| bytes.0).hash(&mut hasher);
    }
    hasher.finish().max(1)
}

/// Whether two messages tell of one failure. Without `near`, only because of their numbers.
fn is_same(failure: &Event, event: &Event, near: bool) -> bool {
    let clash = |a: Option<u32>, b: Option<u32>| a.is_some() && b.is_some() && a != b;
    if is_host(failure.kind) != is_host(event.kind) || !is_host(event.kind) && failure.kind != event.kind {
        return false;
    }
    if clash(failure.rank, event.rank) || clash(failure.device, event.device) {
        return false;
    }
    if let (Some(a), Some(b)) = (failure.time, event.time) {
        let apart = (a - b).abs();
        if apart > SOON && apart < INCOMPARABLE {
            return false;
        }
    }
    if failure.subject.is_some() && event.subject.is_some() && failure.subject != event.subject {
        return false;
    }
    let close = event.offset.abs_diff(failure.offset) <= NEAR;
    // A retry with less is a part of the failure that it tries to avoid.
    if failure.soft && event.soft {
        return near;
    }
    if !failure.figures.agree(&event.figures, failure.dialect != event.dialect) {
        return false;
    }
    if failure.figures.overlap(&event.figures) {
        return !near || close || failure.figures == event.figures;
    }
    near && close
}

fn is_host(kind: Kind) -> bool {
    matches!(kind, Kind::HostOom | Kind::HostShm)
}

/// Adds to a failure what another message knows of it.
fn complete(failure: &mut Event, event: Event) {
    // What says more than the first message did is the decisive one.
    let decisive = failure.echo && !event.echo || failure.figures.known() == 0 && event.figures.known() > 0 && !event.echo;
    if decisive {
        failure.framework = event.framework;
        failure.dialect = event.dialect;
        failure.text = event.text;
        failure.line = event.line;
        failure.echo = event.echo;
        failure.cause = event.cause.or(failure.cause);
        failure.stage = event.stage.or(failure.stage);
    }
    // Shared memory is the more exact word.
    if event.kind == Kind::HostShm {
        failure.kind = Kind::HostShm;
    }
    failure.soft &= event.soft;
    failure.figures.complete(&event.figures);
    failure.rank = failure.rank.or(event.rank);
    failure.device = failure.device.or(event.device);
    failure.versions = failure.versions.or(event.versions);
    failure.cause = failure.cause.or(event.cause);
    failure.stage = failure.stage.or(event.stage);
    failure.pools = failure.pools.or(event.pools);
    failure.subject = failure.subject.or(event.subject);
    failure.end = failure.end.max(event.end);
    if failure.allocator == Allocator::Other {
        failure.allocator = event.allocator;
    }
    if failure.others.is_empty() {
        failure.others = event.others;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Bytes, Framework};

    fn event(requested: Option<u64>) -> Event {
        let mut event = Event::device("pytorch", Framework::PyTorch);
        event.figures.requested = requested.map(Bytes);
        event
    }

    fn count(events: Vec<Event>) -> usize {
        let mut ledger = Ledger::default();
        for event in events {
            ledger.add(event);
        }
        ledger.failures.len()
    }

    #[test]
    fn ranks_times_and_numbers_make_failures() {
        let at = |time: f64| Event { time: Some(time), ..event(Some(9)) };
        let of = |rank: u32| Event { rank: Some(rank), ..event(Some(9)) };
        for (events, failures) in [
            (vec![event(Some(9)), event(Some(9))], 1),
            (vec![event(Some(9)), event(Some(9_000_000))], 2),
            (vec![event(None), event(Some(9))], 1),
            (vec![event(Some(9)), event(None)], 1),
            (vec![at(100.0), at(101.0)], 1),
            (vec![at(100.0), at(188.0)], 2),
            (vec![of(0), of(1)], 2),
            (vec![of(3), event(Some(9))], 1),
            (vec![event(Some(9)), Event { offset: 1 << 20, ..event(None) }], 2),
            (vec![event(Some(9)), Event { offset: 1 << 20, ..event(Some(9)) }], 1),
            (vec![event(Some(9)), Event { framework: Some(Framework::Linux), ..Event::host("linux", Framework::Linux) }], 2),
        ] {
            assert_eq!(count(events.clone()), failures, "{events:#?}");
        }
    }

    #[test]
    fn a_flood_is_counted_and_not_kept() {
        let mut ledger = Ledger::default();
        for n in 0..5_000_u64 {
            ledger.add(event(Some(n * 1_000_000)));
        }
        assert_eq!(ledger.failures.len(), MOST_KEPT);
        assert_eq!(ledger.failures.len() as u64 + ledger.more, 5_000);
    }
}
