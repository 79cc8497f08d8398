//! The device was lost. Evidence: `held` (what was used by the last reading).

use super::{Detector, Draft, Entry, Open, Say, Scene, evidence};
use crate::domain::{DeviceState, FindingKind};

pub(super) const ENTRY: Entry = Entry {
    kind: FindingKind::Lost,
    title: "the device was lost",
    rests_on: "the state of the device's readings",
    make: || Box::new(Lost::default()),
};

#[derive(Debug, Default)]
struct Lost(Option<Open>);

impl Detector for Lost {
    fn look(&mut self, scene: &Scene<'_>, say: &mut Say<'_>) {
        let lost = scene.card.state == DeviceState::Lost;
        let held = scene.card.signal.level();
        let draft =
            |from: f64, to: Option<f64>| Draft::fact(FindingKind::Lost, None, from, to, evidence().mib("held", held).done());
        match self.0 {
            None if lost => self.0 = Some(say.open(draft(scene.card.state_since.0, None), f64::INFINITY)),
            Some(open) if !lost => {
                self.0 = None;
                say.close(open, draft(open.from, Some(scene.now)));
            }
            _ => {}
        }
    }
}
