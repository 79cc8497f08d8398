//! A large part given back, for good. Evidence: `size` (how much), `before` and `after` (the ceilings), `left` (1 if a
//! process ended then).

use super::{Detector, Draft, Entry, Say, Scene, evidence};
use crate::domain::FindingKind;

pub(super) const ENTRY: Entry = Entry {
    kind: FindingKind::Release,
    title: "memory was given back",
    rests_on: "a ceiling that was left for eight seconds, or three cycles",
    make: || Box::new(Release::default()),
};

#[derive(Debug, Default)]
struct Release {
    seen: f64,
}

impl Detector for Release {
    fn look(&mut self, scene: &Scene<'_>, say: &mut Say<'_>) {
        let signal = &scene.card.signal;
        let Some(fall) = signal.falls().next_back().filter(|fall| fall.to > self.seen) else { return };
        self.seen = fall.to;
        let size = fall.before - fall.after;
        // What was up for a moment only is a spike, and its end none of its own.
        let brief = signal.humps().next_back().is_some_and(|hump| hump.until - hump.from < 45.0 && hump.whole);
        if size < (0.05 * scene.card.scale.total).max(512.0) || brief {
            return;
        }
        let gone = scene.card.gone.iter().rev().find(|held| held.gone.is_some_and(|gone| (gone - fall.from).abs() < 10.0));
        let pid = gone.map(|held| held.pid).or_else(|| scene.faller(scene.now - fall.from + 2.0));
        let proof = evidence().mib("size", size).mib("before", fall.before).mib("after", fall.after);
        let proof = proof.count("left", usize::from(gone.is_some())).done();
        say.once(Draft::likely(FindingKind::Release, pid, fall.from, Some(fall.from), proof));
    }
}
