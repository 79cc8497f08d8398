//! The driver did not answer. Evidence: `since` (how long by then), `call` (the function that does not return).

use super::{Detector, Draft, Entry, Open, Say, Scene, evidence};
use crate::domain::{DeviceState, FindingKind};

pub(super) const ENTRY: Entry = Entry {
    kind: FindingKind::Stall,
    title: "the driver does not answer",
    rests_on: "the state of the device's readings",
    make: || Box::new(Stall::default()),
};

#[derive(Debug, Default)]
struct Stall(Option<Open>);

impl Detector for Stall {
    fn look(&mut self, scene: &Scene<'_>, say: &mut Say<'_>) {
        let (since, call) = scene.card.state_since;
        let stalled = scene.card.state == DeviceState::Stalled;
        let draft = |from: f64, to: Option<f64>| {
            let proof = evidence().seconds("since", scene.now - from);
            let proof = match call {
                Some(call) => proof.text("call", call),
                None => proof,
            };
            Draft::fact(FindingKind::Stall, None, from, to, proof.done())
        };
        match self.0 {
            None if stalled => self.0 = Some(say.open(draft(since, None), scene.now - since)),
            Some(ref mut open) if stalled => {
                let from = open.from;
                say.renew(open, scene.now - from, || draft(from, None));
            }
            Some(open) => {
                self.0 = None;
                say.close(open, draft(open.from, Some(scene.now)));
            }
            None => {}
        }
    }
}
