//! Equal steps at equal intervals: something is kept at every epoch or evaluation. Evidence: `step`, `period`, `steps`,
//! `grown`, `rate`, `headroom`, `room_for` (how many more fit).

use super::{Detector, Draft, Entry, Open, Say, Scene, evidence};
use crate::domain::analyst::trend::Course;
use crate::domain::{FindingKind, Pid};

pub(super) const ENTRY: Entry = Entry {
    kind: FindingKind::LeakEpoch,
    title: "it grows with every epoch",
    rests_on: "three and more steps of the same height at the same interval, level in between",
    make: || Box::new(LeakEpoch::default()),
};

#[derive(Debug, Default)]
struct LeakEpoch {
    open: Option<(Open, Option<Pid>)>,
    seen: f64,
    last: Option<Draft>,
}

impl Detector for LeakEpoch {
    fn look(&mut self, scene: &Scene<'_>, say: &mut Say<'_>) {
        let card = scene.card;
        let trend = card.trend.filter(|trend| trend.real && !card.loading.is_on());
        let steps = trend.and_then(|trend| match trend.course {
            Course::Steps { height, period, count, .. } => Some((trend, height, period, count)),
            _ => None,
        });
        if let Some((trend, height, period, count)) = steps {
            self.seen = scene.now + 1.5 * period;
            let pid = self.open.map_or_else(|| card.grower(trend.since).map(|(pid, _)| pid), |(_, pid)| pid);
            let spare = scene.spare();
            let proof = evidence().mib("step", height).seconds("period", period).count("steps", count);
            let proof = proof.mib("grown", trend.grown).rate("rate", trend.rate).maybe_mib("headroom", spare);
            let proof = proof.count("room_for", spare.map_or(0, |spare| (spare / height.max(1.0)) as usize)).done();
            let from = self.open.map_or(trend.since, |(open, _)| open.from);
            let draft = Draft::likely(FindingKind::LeakEpoch, pid, from, None, proof);
            match &mut self.open {
                None => self.open = Some((say.open(draft.clone(), count as f64), pid)),
                Some((open, _)) => say.renew(open, count as f64, || draft.clone()),
            }
            self.last = Some(draft);
        } else if scene.now > self.seen
            && let (Some((open, _)), Some(last)) = (self.open.take(), self.last.take())
        {
            say.close(open, Draft { to: Some(scene.now), ..last });
        }
    }
}
