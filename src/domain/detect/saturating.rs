//! Growth that slows towards a ceiling. Evidence: `grown`, `towards` (the ceiling), `headroom_there`, `rate` (now).

use super::{Detector, Draft, Entry, Say, Scene, evidence};
use crate::domain::FindingKind;

pub(super) const ENTRY: Entry = Entry {
    kind: FindingKind::Saturating,
    title: "growth that dies away",
    rests_on: "the rise in the last third of a window against that in the first",
    make: || Box::new(Saturating::default()),
};

#[derive(Debug, Default)]
struct Saturating {
    since: Option<f64>,
    /// The ceiling that was told last.
    told: Option<f64>,
}

impl Detector for Saturating {
    fn look(&mut self, scene: &Scene<'_>, say: &mut Say<'_>) {
        let card = scene.card;
        let limit = card.limit.unwrap_or(f64::INFINITY);
        let found = card
            .trend
            .filter(|trend| trend.real && !card.loading.is_on() && trend.in_all >= 0.03 * card.scale.total && trend.records >= 4);
        let found = found.and_then(|trend| Some((trend, trend.towards().filter(|towards| *towards < limit)?)));
        let Some((trend, towards)) = found else {
            self.since = None;
            return;
        };
        let since = *self.since.get_or_insert(scene.now);
        let anew = self.told.is_none_or(|told| card.filling().ceiling() > told + 0.1 * card.scale.total);
        if scene.now - since >= 10.0 && anew {
            self.told = Some(towards);
            let proof = evidence().mib("grown", trend.in_all).mib("towards", towards).mib("headroom_there", limit - towards);
            let proof = proof.rate("rate", trend.rate).done();
            let pid = card.grower(trend.since).map(|(pid, _)| pid);
            say.once(Draft::likely(FindingKind::Saturating, pid, trend.since, None, proof));
        }
    }
}
