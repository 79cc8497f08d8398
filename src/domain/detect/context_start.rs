//! A new CUDA context. Evidence: `size` (what it took), `headroom`.

use super::{Detector, Draft, Entry, Say, Scene, evidence};
use crate::domain::{FindingKind, HolderKind, Pid};

pub(super) const ENTRY: Entry = Entry {
    kind: FindingKind::ContextStart,
    title: "a CUDA context was made",
    rests_on: "a new process in the lists, or a rise of 150 to 900 MiB on an empty card",
    make: || Box::new(ContextStart::default()),
};

/// A context and the first libraries, MiB.
const CONTEXT: std::ops::RangeInclusive<f64> = 100.0..=900.0;
/// How many processes that were told of are remembered.
const KEPT: usize = 64;

#[derive(Debug, Default)]
struct ContextStart {
    told: Vec<(Pid, f64)>,
    was_on: bool,
}

impl Detector for ContextStart {
    fn look(&mut self, scene: &Scene<'_>, say: &mut Say<'_>) {
        let draft = |pid: Option<Pid>, from: f64, size: f64| {
            let proof = evidence().mib("size", size).maybe_mib("headroom", scene.headroom()).done();
            Draft::likely(FindingKind::ContextStart, pid, from, Some(scene.now), proof)
        };
        for held in &scene.card.held {
            let settled = scene.now - held.first >= 2.0;
            let new =
                settled && held.born_here && held.kind.contains(HolderKind::C) && !self.told.contains(&(held.pid, held.first));
            let Some(size) = held.context.filter(|size| new && CONTEXT.contains(size)) else { continue };
            if self.told.len() >= KEPT {
                self.told.remove(0);
            }
            self.told.push((held.pid, held.first));
            // A crowd of them is another finding.
            if self.told.iter().filter(|(_, first)| (held.first - first).abs() < 10.0).count() > 3 {
                continue;
            }
            say.once(draft(Some(held.pid), held.first, size));
        }
        let on = scene.card.loading.is_on();
        if on && !self.was_on && scene.card.listed.is_none() {
            let (from, base) = scene.card.loading.began();
            let size = scene.card.signal.level() - base;
            if CONTEXT.contains(&size) {
                say.once(draft(None, from - 1.0, size));
            }
        }
        self.was_on = on;
    }
}
