//! It swings faster than it is sampled: peaks between readings are not seen. Evidence: `low` and `high` (of the last half
//! minute), `interval` (between readings).

use super::{Detector, Draft, Entry, Say, Scene, evidence};
use crate::domain::FindingKind;

pub(super) const ENTRY: Entry = Entry {
    kind: FindingKind::FastSwing,
    title: "it swings faster than it is sampled",
    rests_on: "readings 0.4 s and more apart of which most turn",
    make: || Box::new(FastSwing::default()),
};

#[derive(Debug, Default)]
struct FastSwing {
    told: bool,
}

impl Detector for FastSwing {
    fn look(&mut self, scene: &Scene<'_>, say: &mut Say<'_>) {
        let signal = &scene.card.signal;
        let interval = signal.interval();
        if self.told || interval < 0.4 || scene.now - scene.begun() < 30.0 {
            return;
        }
        let turns = signal.turns().newest().filter(|(turn, _)| scene.now - turn.t < 20.0 * interval).count();
        let Some((low, high)) = signal.range_after(scene.now - 30.0) else { return };
        if turns >= 10 && high - low >= 0.03 * scene.card.scale.total {
            self.told = true;
            let proof = evidence().mib("low", low).mib("high", high).seconds("interval", interval).done();
            let from = scene.now - 20.0 * interval;
            say.once(Draft::likely(FindingKind::FastSwing, scene.worker(), from, None, proof));
        }
    }
}
