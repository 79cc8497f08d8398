//! A failure for want of memory, as seen from outside: little was free, then most of a process's memory was gone within
//! seconds. Evidence: `headroom` (the least that was free before), `request` (the largest rise of the ceiling of late),
//! `held` (what was used before), `fell` (by how much). The pid is that of who fell.

use super::{Detector, Draft, Entry, Say, Scene, evidence};
use crate::domain::FindingKind;

pub(super) const ENTRY: Entry = Entry {
    kind: FindingKind::ProbableOom,
    title: "probably out of memory",
    rests_on: "a fall of most of the memory within 3 s of a moment with less free than the last request or 2 % of the card",
    make: || Box::new(ProbableOom::default()),
};

#[derive(Debug, Default)]
struct ProbableOom {
    said: f64,
}

impl Detector for ProbableOom {
    fn look(&mut self, scene: &Scene<'_>, say: &mut Say<'_>) {
        let signal = scene.card.filling();
        let Some(limit) = scene.card.limit else { return };
        if scene.now - self.said < 10.0 {
            return;
        }
        let Some((_, high)) = signal.range_after(scene.now - 6.0) else { return };
        let fell = high - signal.level();
        let near = limit - high;
        // A swing falls as well; this one falls below everything of late.
        let before = signal.seconds().filter(|second| second.t < scene.now - 6.0).take(20).map(|second| second.min);
        let usual = before.fold(f64::INFINITY, f64::min);
        let below = signal.level() < usual.min(high) - 0.3 * high;
        let largest = signal.jumps().filter(|jump| scene.now - jump.t < 60.0).map(|jump| jump.size).fold(0.0, f64::max);
        // A whole swing is no request; what is asked for at once is seldom more than a fifth of the card.
        let request = largest.min(0.2 * limit);
        let gone = scene.card.gone.iter().rev().find(|held| held.gone.is_some_and(|gone| scene.now - gone < 6.0));
        let most = match gone {
            Some(held) => fell >= 0.6 * held.signal.peak(),
            None => fell >= 0.5 * high,
        };
        if !(below && most && fell > scene.card.scale.turn && near < (0.02 * limit).max(request)) {
            return;
        }
        self.said = scene.now;
        let pid = gone.map(|held| held.pid).or_else(|| scene.faller(6.0));
        let proof = evidence().mib("headroom", near).mib("request", request).mib("held", high).mib("fell", fell).done();
        say.once(Draft::likely(FindingKind::ProbableOom, pid, scene.now - 3.0, Some(scene.now), proof));
    }
}
