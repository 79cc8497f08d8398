//! Optimizer states, made at the end of the first `step()`: one large rise soon after the load, which stays on the floor.
//! Evidence: `rise`, `weights` (the level of the load), `ratio` (the one to the other, as a share of 3 at most… told as
//! `percent`).

use super::{Detector, Draft, Entry, Say, Scene, evidence};
use crate::domain::FindingKind;

pub(super) const ENTRY: Entry = Entry {
    kind: FindingKind::OptimizerStep,
    title: "optimizer states were made",
    rests_on: "one rise of 25 to 300 % of the weights within 90 s after a load, kept on the floor",
    make: || Box::new(OptimizerStep::default()),
};

#[derive(Debug, Default)]
struct OptimizerStep {
    told: Option<f64>,
}

impl Detector for OptimizerStep {
    fn look(&mut self, scene: &Scene<'_>, say: &mut Say<'_>) {
        let settled = scene.card.loading.settled();
        let Some(states) = scene.card.phases.optimizer.filter(|_| self.told != Some(settled)) else { return };
        self.told = Some(settled);
        let proof = evidence().mib("rise", states.size).maybe_mib("weights", scene.card.phases.weights);
        let percent = scene.card.phases.weights.map_or(0.0, |weights| 100.0 * states.size / weights.max(1.0));
        let proof = proof.count("percent", percent as usize).done();
        let pid = scene.newest(300.0).or_else(|| scene.mover(states.t - 2.0, states.t + 2.0));
        say.once(Draft::likely(FindingKind::OptimizerStep, pid, states.t, Some(states.t), proof));
    }
}
