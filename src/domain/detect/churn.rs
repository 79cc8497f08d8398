//! Rises and falls of minutes: models or jobs that come and go. Evidence: `pulses`, `height` (the usual one), `ceiling`.

use super::{Detector, Draft, Entry, Open, Say, Scene, evidence};
use crate::domain::FindingKind;
use crate::domain::analyst::turns::median;

pub(super) const ENTRY: Entry = Entry {
    kind: FindingKind::Churn,
    title: "models or jobs come and go",
    rests_on: "two and more whole rises of 15 % of the card that stood for 15 s and went, within an hour",
    make: || Box::new(Churn::default()),
};

#[derive(Debug, Default)]
struct Churn {
    open: Option<Open>,
    /// Turning points at the last look.
    seen: u64,
}

impl Detector for Churn {
    fn look(&mut self, scene: &Scene<'_>, say: &mut Say<'_>) {
        let signal = &scene.card.signal;
        // Only a new turning point can make one more.
        let turns = signal.turns().count();
        if turns == self.seen {
            return;
        }
        self.seen = turns;
        let mut pulses = signal.pulses(scene.card.scale.total);
        pulses.retain(|pulse| scene.now - pulse.until < 3600.0);
        let mut heights: Vec<f64> = pulses.iter().map(|pulse| pulse.height).collect();
        let Some(from) = pulses.last().map(|pulse| pulse.from) else { return };
        let Some(height) = median(&mut heights).filter(|_| pulses.len() >= 2) else { return };
        let draft = || {
            let proof = evidence().count("pulses", pulses.len()).mib("height", height).mib("ceiling", signal.peak()).done();
            Draft::likely(FindingKind::Churn, None, from, None, proof)
        };
        match &mut self.open {
            None => self.open = Some(say.open(draft(), pulses.len() as f64)),
            Some(open) => say.renew(open, pulses.len() as f64, draft),
        }
    }
}
