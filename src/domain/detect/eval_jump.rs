//! A step up in a run that had been level, as an evaluation makes it. Evidence: `rise`, `before` (the ceiling), `headroom`,
//! `count` (such steps so far), `dip` (by how many percent the load fell meanwhile, where it is known).

use super::{Detector, Draft, Entry, Open, Say, Scene, evidence};
use crate::domain::FindingKind;

pub(super) const ENTRY: Entry = Entry {
    kind: FindingKind::EvalJump,
    title: "a step up, as of an evaluation",
    rests_on: "a lasting rise within 12 s in a run that was level for 20 s; a dip of the load makes it likelier",
    make: || Box::new(EvalJump::default()),
};

#[derive(Debug, Default)]
struct EvalJump {
    seen: f64,
    count: usize,
    last: Option<Open>,
}

impl Detector for EvalJump {
    fn look(&mut self, scene: &Scene<'_>, say: &mut Say<'_>) {
        let card = scene.card;
        let signal = &card.signal;
        let Some(step) = signal.steps().next_back().filter(|step| step.to > self.seen).copied() else { return };
        self.seen = step.to;
        let settled = card.loading.settled();
        let level = signal.high().newest_before(step.from - 0.5).is_some_and(|last| step.from - last.t >= 20.0);
        let running = step.from - settled.max(scene.begun()) >= 20.0 && !card.loading.is_on();
        let arrived = card.held.iter().any(|held| held.born_here && (-60.0..=5.0).contains(&(held.first - step.from)));
        // What was up for a moment is a spike.
        let stays =
            signal.range_after(scene.now - 1.2).is_some_and(|(_, high)| high >= step.before + 0.6 * (step.after - step.before));
        let was_up = !stays || signal.humps().any(|hump| scene.now - hump.until < 60.0 && hump.peak >= step.after);
        let idle = card.load_range.is_some_and(|(_, most)| most < 10.0);
        if !level || !running || arrived || was_up || idle {
            return;
        }
        self.count += 1;
        let proof = evidence().mib("rise", step.after - step.before).mib("before", step.before);
        let proof = proof.maybe_mib("headroom", scene.spare()).count("count", self.count);
        let dip = card.load_range.map(|(least, most)| f64::from(most - least)).filter(|dip| *dip >= 15.0);
        let proof = match dip {
            Some(dip) => proof.count("dip", dip as usize),
            None => proof,
        };
        let pid = scene.mover(step.from - 1.0, scene.now);
        let draft = Draft::likely(FindingKind::EvalJump, pid, step.from, Some(step.to), proof.done());
        // The first two are news; more of them are one thing that goes on, and the business of other detectors.
        match &mut self.last {
            Some(last) if self.count > 2 => say.renew(last, self.count as f64, || draft),
            last => *last = Some(say.open(draft, self.count as f64)),
        }
    }
}
