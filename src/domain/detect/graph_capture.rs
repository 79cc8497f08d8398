//! CUDA graphs being captured after a pool: many small rises that end by themselves. Evidence: `rise`, `jumps`, `duration`,
//! `headroom`.

use super::{Detector, Draft, Entry, Say, Scene, evidence};
use crate::domain::FindingKind;

pub(super) const ENTRY: Entry = Entry {
    kind: FindingKind::GraphCapture,
    title: "CUDA graphs were captured",
    rests_on: "8 and more small rises within a minute after a pool, then none",
    make: || Box::new(GraphCapture::default()),
};

#[derive(Debug, Default)]
struct GraphCapture {
    /// The load that it was told of.
    told: Option<f64>,
}

impl Detector for GraphCapture {
    fn look(&mut self, scene: &Scene<'_>, say: &mut Say<'_>) {
        let card = scene.card;
        let signal = &card.signal;
        let settled = card.loading.settled();
        let Some(level) = card.loading.level().filter(|level| *level >= 0.5 * card.scale.total) else { return };
        if self.told == Some(settled) || card.loading.is_on() || scene.now - settled > 120.0 {
            return;
        }
        let rises = signal.high().after(settled);
        let (Some(first), Some(last)) = (rises.first(), rises.last()) else { return };
        let (rise, duration) = (last.v - level, last.t - first.t);
        let over = scene.now - last.t >= 10.0;
        let small = (0.002 * card.scale.total..=0.16 * card.scale.total).contains(&rise);
        let swings = signal.rhythm().is_some();
        if over && small && !swings && rises.len() >= 8 && duration <= 60.0 {
            self.told = Some(settled);
            let proof = evidence().mib("rise", rise).count("jumps", rises.len()).seconds("duration", duration);
            let proof = proof.maybe_mib("headroom", scene.headroom()).done();
            let pid = scene.mover(first.t - 1.0, last.t);
            say.once(Draft::likely(FindingKind::GraphCapture, pid, first.t, Some(last.t), proof));
        }
    }
}
