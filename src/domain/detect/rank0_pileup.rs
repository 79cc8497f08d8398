//! Ranks of a job that also hold a context on this card, beside the large part on their own. Evidence: `ranks` (that do),
//! `each`, `total`.

use super::{Detector, Draft, Entry, Open, Say, Scene, evidence};
use crate::domain::FindingKind;
use crate::domain::analyst::turns::median;

pub(super) const ENTRY: Entry = Entry {
    kind: FindingKind::Rank0Pileup,
    title: "other ranks hold a context here",
    rests_on: "processes with 64 MiB and more here and over 2.5 times as much on another card",
    make: || Box::new(Rank0Pileup::default()),
};

#[derive(Debug, Default)]
struct Rank0Pileup {
    open: Option<Open>,
    since: Option<f64>,
}

impl Detector for Rank0Pileup {
    fn look(&mut self, scene: &Scene<'_>, say: &mut Say<'_>) {
        if scene.card.device.parent.is_some() {
            return;
        }
        let elsewhere = |pid| {
            let others = scene.cards.iter().filter(|(gpu, card)| **gpu != scene.gpu && card.device.parent.is_none());
            others.filter_map(|(_, card)| card.held_by(pid)?.used).fold(0.0, f64::max)
        };
        let mut sizes: Vec<f64> = Vec::new();
        for held in &scene.card.held {
            let Some(used) = held.used.filter(|used| *used >= 64.0) else { continue };
            // Its own card was loaded for good.
            if elsewhere(held.pid) >= (2.5 * used).max(1_000.0) {
                sizes.push(used);
            }
        }
        // The rank whose card this is.
        let own =
            scene.card.held.iter().any(|held| held.used.is_some_and(|used| used >= 1_000.0 && elsewhere(held.pid) < 0.4 * used));
        let count = sizes.len();
        let total: f64 = sizes.iter().sum();
        let found = own && count >= 1;
        let Some(each) = median(&mut sizes).filter(|_| found) else {
            self.since = None;
            if let Some(open) = self.open.take() {
                let proof = evidence().count("ranks", 0).mib("each", 0.0).mib("total", 0.0).done();
                say.close(open, Draft::likely(FindingKind::Rank0Pileup, None, open.from, Some(scene.now), proof));
            }
            return;
        };
        let since = *self.since.get_or_insert(scene.now);
        let draft = |from: f64| {
            let proof = evidence().count("ranks", count).mib("each", each).mib("total", total).done();
            Draft::likely(FindingKind::Rank0Pileup, None, from, None, proof)
        };
        match &mut self.open {
            None if scene.now - since >= 10.0 => self.open = Some(say.open(draft(since), count as f64)),
            Some(open) => {
                let from = open.from;
                say.renew(open, count as f64, || draft(from));
            }
            None => {}
        }
    }
}
