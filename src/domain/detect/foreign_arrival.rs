//! A process of another user came. Evidence: `size` (what it holds by then), `headroom` (what is free), `beside` (how many
//! processes of mine are there).

use std::collections::BTreeMap;

use super::{Detector, Draft, Entry, Open, Say, Scene, evidence};
use crate::domain::{FindingKind, HolderKind, Pid, Relation};

pub(super) const ENTRY: Entry = Entry {
    kind: FindingKind::ForeignArrival,
    title: "a process of another user came",
    rests_on: "process lists, owners",
    make: || Box::new(ForeignArrival::default()),
};

#[derive(Debug, Default)]
struct ForeignArrival {
    open: BTreeMap<Pid, Open>,
}

impl Detector for ForeignArrival {
    fn look(&mut self, scene: &Scene<'_>, say: &mut Say<'_>) {
        let mine = |relation| matches!(relation, Relation::Job | Relation::Mine);
        let relation = |pid: &Pid| scene.people.get(pid).map(|process| process.relation);
        let beside = scene.card.held.iter().filter(|held| relation(&held.pid).is_some_and(mine)).count();
        for held in &scene.card.held {
            let foreign = relation(&held.pid) == Some(Relation::Foreign) && held.kind.contains(HolderKind::C);
            let Some(used) = held.used.filter(|used| *used >= 64.0 && foreign && held.born_here) else { continue };
            let draft = || {
                let proof = evidence().mib("size", used).maybe_mib("headroom", scene.headroom()).count("beside", beside).done();
                Draft::fact(FindingKind::ForeignArrival, Some(held.pid), held.first, None, proof)
            };
            if let Some(open) = self.open.get_mut(&held.pid) {
                say.renew_seldom(open, used, draft);
            } else {
                let open = say.open(draft(), used);
                self.open.insert(held.pid, open);
            }
        }
        let gone: Vec<Pid> = self.open.keys().filter(|pid| !scene.card.holds(**pid)).copied().collect();
        for pid in gone {
            let left = scene.card.gone.iter().rev().find(|held| held.pid == pid);
            if let (Some(open), Some(left)) = (self.open.remove(&pid), left) {
                let proof = evidence().mib("size", left.signal.peak()).maybe_mib("headroom", scene.headroom());
                let proof = proof.count("beside", beside).done();
                say.close(open, Draft::fact(FindingKind::ForeignArrival, Some(pid), open.from, left.gone, proof));
            }
        }
    }
}
