//! Many equal bare contexts: workers that touched the GPU. Evidence: `contexts`, `each`, `total`, `parent` (its pid, where it
//! is known).

use super::{Detector, Draft, Entry, Open, Say, Scene, evidence};
use crate::domain::{FindingKind, Pid};

pub(super) const ENTRY: Entry = Entry {
    kind: FindingKind::ContextPileup,
    title: "workers with contexts of their own",
    rests_on: "four and more processes of one parent with 150 to 800 MiB each, all alike",
    make: || Box::new(ContextPileup::default()),
};

#[derive(Debug, Default)]
struct ContextPileup {
    open: Option<(Open, Option<Pid>)>,
}

impl Detector for ContextPileup {
    fn look(&mut self, scene: &Scene<'_>, say: &mut Say<'_>) {
        let pile = scene.card.pile.filter(|pile| pile.count >= 4 && scene.now - pile.since >= 3.0);
        match (&mut self.open, pile) {
            (None, Some(pile)) => {
                let draft = draft(pile.parent, pile.since, None, pile.count, pile.each);
                self.open = Some((say.open(draft, pile.count as f64), pile.parent));
            }
            (Some((open, parent)), Some(pile)) => {
                let (from, parent) = (open.from, *parent);
                say.renew(open, pile.count as f64, || draft(parent, from, None, pile.count, pile.each));
            }
            (Some((open, parent)), None) if scene.card.pile.is_none() => {
                let (open, parent) = (*open, *parent);
                self.open = None;
                say.close(open, draft(parent, open.from, Some(scene.now), 0, 0.0));
            }
            _ => {}
        }
    }
}

fn draft(parent: Option<Pid>, from: f64, to: Option<f64>, count: usize, each: f64) -> Draft {
    let proof = evidence().count("contexts", count).mib("each", each).mib("total", each * count as f64);
    let proof = match parent {
        Some(parent) => proof.count("parent", parent.0 as usize),
        None => proof,
    };
    Draft::likely(FindingKind::ContextPileup, parent, from, to, proof.done())
}
