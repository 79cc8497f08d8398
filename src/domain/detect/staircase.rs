//! Record highs of irregular height at irregular times: inputs of varying length, fragmentation. Evidence: `records`,
//! `grown`, `largest` (rise), `ceiling`, `headroom`, `last` (time since the last).

use super::{Detector, Draft, Entry, Open, Say, Scene, evidence};
use crate::domain::{FindingKind, Pid};

pub(super) const ENTRY: Entry = Entry {
    kind: FindingKind::Staircase,
    title: "record highs now and then",
    rests_on: "five and more rises of the ceiling of uneven height at uneven times, after the warm-up",
    make: || Box::new(Staircase::default()),
};

#[derive(Debug, Default)]
struct Staircase {
    open: Option<(Open, Option<Pid>)>,
    /// The highest ceiling that was looked at.
    seen: f64,
}

impl Detector for Staircase {
    fn look(&mut self, scene: &Scene<'_>, say: &mut Say<'_>) {
        let card = scene.card;
        let signal = &card.signal;
        let ceiling = signal.ceiling();
        if card.loading.is_on() || (ceiling - self.seen).abs() < 1.0 {
            return;
        }
        self.seen = ceiling;
        let Some(stairs) = signal.stairs(card.loading.settled().max(scene.now - 3600.0), card.scale.step) else { return };
        if !stairs.uneven || stairs.count < 5 || stairs.span < 60.0 || scene.newcomer(60.0) {
            return;
        }
        let draft = |pid: Option<Pid>| {
            let proof = evidence().count("records", stairs.count).mib("grown", stairs.grown).mib("largest", stairs.largest);
            let proof = proof.mib("ceiling", ceiling).maybe_mib("headroom", scene.spare()).seconds("last", stairs.rest).done();
            Draft::likely(FindingKind::Staircase, pid, stairs.from, None, proof)
        };
        match &mut self.open {
            None => {
                let pid = scene.mover(scene.now - 100.0, scene.now);
                self.open = Some((say.open(draft(pid), stairs.count as f64), pid));
            }
            Some((open, pid)) => {
                let pid = *pid;
                say.renew(open, stairs.count as f64, || draft(pid));
            }
        }
    }
}
