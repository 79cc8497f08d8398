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
    seen: f64,
}

impl Detector for Churn {
    fn look(&mut self, scene: &Scene<'_>, say: &mut Say<'_>) {
        let signal = &scene.card.signal;
        let Some(newest) = signal.humps().next_back().filter(|hump| hump.until > self.seen) else { return };
        self.seen = newest.until;
        let pulses: Vec<_> = signal.pulses(scene.card.scale.total).filter(|hump| scene.now - hump.until < 3600.0).collect();
        let mut heights: Vec<f64> = pulses.iter().map(|hump| hump.peak - hump.base).collect();
        let Some(from) = pulses.first().map(|hump| hump.from) else { return };
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
