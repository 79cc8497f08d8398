//! The first steps: activations and what the allocator takes in them, less and less. Evidence: `rise` (of the ceiling since
//! the load), `weights` (the level that the load ended at), `duration`.

use super::{Detector, Draft, Entry, Say, Scene, evidence};
use crate::domain::FindingKind;

pub(super) const ENTRY: Entry = Entry {
    kind: FindingKind::Warmup,
    title: "the first steps",
    rests_on: "rises within a minute after a load, then 15 s without",
    make: || Box::new(Warmup::default()),
};

#[derive(Debug, Default)]
struct Warmup {
    told: Option<f64>,
}

impl Detector for Warmup {
    fn look(&mut self, scene: &Scene<'_>, say: &mut Say<'_>) {
        let card = scene.card;
        let signal = &card.signal;
        let settled = card.loading.settled();
        let Some(level) = card.loading.level().filter(|_| card.loading.began().0 > 0.0 && !card.loading.is_on()) else { return };
        if self.told == Some(settled) || scene.now - settled > 120.0 {
            return;
        }
        let Some(last) = signal.high().newest().filter(|last| last.t > settled) else { return };
        let rise = last.v - level;
        let computes = signal.rhythm().is_some() || card.is_busy(scene.now);
        if scene.now - last.t >= 15.0 && last.t - settled <= 60.0 && rise >= (0.005 * card.scale.total).max(64.0) && computes {
            self.told = Some(settled);
            let proof = evidence().mib("rise", rise).mib("weights", level).seconds("duration", last.t - settled).done();
            let pid = scene.newest(300.0).or_else(|| scene.mover(settled, last.t));
            say.once(Draft::likely(FindingKind::Warmup, pid, settled, Some(last.t), proof));
        }
    }
}
