//! Bytes that stayed when their holder, or its parent, went. Evidence: `size` (what stays), `held` (what the one that went
//! had held), `holders` (children that hold it, if they are listed). The pid is that of the one that went.

use super::{Detector, Draft, Entry, Open, Say, Scene, evidence};
use crate::domain::{FindingKind, Pid};

pub(super) const ENTRY: Entry = Entry {
    kind: FindingKind::Orphan,
    title: "memory stayed when its holder went",
    rests_on: "process lists, exits and parents; memory that no process holds since then, for 10 s",
    make: || Box::new(Orphan::default()),
};

#[derive(Debug, Default)]
struct Orphan {
    /// What stayed: who went, how much stayed.
    open: Option<(Open, Pid, f64)>,
    /// The parents whose children were told of.
    parents: Vec<Pid>,
}

impl Detector for Orphan {
    fn look(&mut self, scene: &Scene<'_>, say: &mut Say<'_>) {
        self.stayed(scene, say);
        self.left_behind(scene, say);
    }
}

impl Orphan {
    fn stayed(&mut self, scene: &Scene<'_>, say: &mut Say<'_>) {
        let loose = &scene.card.loose;
        let draft = |pid: Pid, from: f64, to: Option<f64>, size: f64| {
            let held = scene.card.gone.iter().rev().find(|held| held.pid == pid).map(|held| held.signal.level());
            let proof = evidence().mib("size", size).maybe_mib("held", held).count("holders", 0).done();
            Draft::likely(FindingKind::Orphan, Some(pid), from, to, proof)
        };
        if let Some((open, pid, size)) = self.open {
            if loose.least(3.0).is_some_and(|least| least < 0.5 * size) {
                self.open = None;
                say.close(open, draft(pid, open.from, Some(scene.now), size));
            }
            return;
        }
        for held in scene.card.gone.iter().rev() {
            let Some(gone) = held.gone.filter(|gone| (10.0..120.0).contains(&(scene.now - gone))) else { continue };
            let Some(least) = loose.least_since(gone + 0.5) else { continue };
            let more = least - loose.before(gone - 0.5).unwrap_or(0.0);
            let had = held.signal.level();
            if more >= 150.0 && more >= 0.3 * had && more <= 1.5 * had + 200.0 {
                let open = say.open(draft(held.pid, gone, None, more), f64::INFINITY);
                self.open = Some((open, held.pid, more));
                return;
            }
        }
    }

    /// Listed processes whose parent was of the job and went: workers that nobody will stop.
    fn left_behind(&mut self, scene: &Scene<'_>, say: &mut Say<'_>) {
        for (parent, ended) in scene.exits {
            if scene.now - ended < 10.0 || self.parents.contains(parent) || scene.now - ended > 300.0 {
                continue;
            }
            let children = scene.card.held.iter().filter(|held| {
                let of = held.process.as_ref().and_then(|process| process.ppid.as_ref().ok());
                of == Some(parent) && held.first < *ended && held.used.is_some_and(|used| used >= 64.0)
            });
            let (mut count, mut size) = (0, 0.0);
            for held in children {
                count += 1;
                size += held.used.unwrap_or(0.0);
            }
            if count > 0 && size >= 150.0 {
                if self.parents.len() >= 64 {
                    self.parents.remove(0);
                }
                self.parents.push(*parent);
                let proof = evidence().mib("size", size).count("holders", count).done();
                say.once(Draft::likely(FindingKind::Orphan, Some(*parent), *ended, None, proof));
            }
        }
    }
}
