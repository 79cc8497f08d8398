//! The cards of one job are filled very differently. Said on the fullest. Evidence: `most`, `least`, `cards`, `spread` (as a
//! share of the card).

use std::collections::BTreeMap;

use super::{Detector, Draft, Entry, Open, Say, Scene, evidence};
use crate::domain::analyst::held::Held;
use crate::domain::{FindingKind, Pid};

pub(super) const ENTRY: Entry = Entry {
    kind: FindingKind::Imbalance,
    title: "the cards of a job are filled unevenly",
    rests_on: "processes of one job, parent or pid on several cards, 20 % of a card apart for 30 s",
    make: || Box::new(Imbalance::default()),
};

#[derive(Debug, Default)]
struct Imbalance {
    open: Option<(Open, Pid)>,
    since: Option<f64>,
}

/// What a holder is grouped by: its job's leader, its parent, itself.
fn job(held: &Held, on_several: bool) -> Option<Pid> {
    if on_several {
        return Some(held.pid);
    }
    let process = held.process.as_ref()?;
    let leader = process.job.as_ref().map(|job| job.leader.pid);
    leader.or_else(|| process.ppid.as_ref().ok().copied().filter(|ppid| ppid.0 > 1))
}

impl Detector for Imbalance {
    fn look(&mut self, scene: &Scene<'_>, say: &mut Say<'_>) {
        if scene.card.device.parent.is_some() || scene.cards.len() < 2 {
            return;
        }
        let mut jobs: BTreeMap<Pid, BTreeMap<_, f64>> = BTreeMap::new();
        for (gpu, card) in scene.cards.iter().filter(|(_, card)| card.device.parent.is_none()) {
            if card.loading.is_on() {
                return;
            }
            for held in &card.held {
                let mut others = scene.cards.iter().filter(|(other, _)| *other != gpu);
                let several = others.any(|(_, card)| card.holds(held.pid));
                if let (Some(job), Some(_)) = (job(held, several), held.used) {
                    *jobs.entry(job).or_default().entry(*gpu).or_insert(0.0) += held.signal.ceiling();
                }
            }
        }
        let total = scene.card.scale.total;
        let found = jobs.iter().find_map(|(job, cards)| {
            let most = cards.iter().max_by(|a, b| a.1.total_cmp(b.1))?;
            let least = cards.values().copied().fold(f64::INFINITY, f64::min);
            (*most.0 == scene.gpu && cards.len() >= 2 && most.1 - least >= 0.2 * total).then_some((
                *job,
                *most.1,
                least,
                cards.len(),
            ))
        });
        let Some((job, most, least, cards)) = found else {
            self.since = None;
            if let Some((open, job)) = self.open.take() {
                let draft = draft(job, open.from, Some(scene.now), 0.0, 0.0, 0, total);
                say.close(open, draft);
            }
            return;
        };
        let since = *self.since.get_or_insert(scene.now);
        if self.open.is_none() && scene.now - since >= 30.0 {
            let open = say.open(draft(job, since, None, most, least, cards, total), f64::INFINITY);
            self.open = Some((open, job));
        }
    }
}

fn draft(job: Pid, from: f64, to: Option<f64>, most: f64, least: f64, cards: usize, total: f64) -> Draft {
    let proof = evidence().mib("most", most).mib("least", least).count("cards", cards).share("spread", (most - least) / total);
    Draft::likely(FindingKind::Imbalance, Some(job), from, to, proof.done())
}
