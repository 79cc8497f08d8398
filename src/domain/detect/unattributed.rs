//! Memory that no visible process holds, persistently, without such an event seen. Evidence: `size`, `share` (of the card).

use super::{Detector, Draft, Entry, Open, Say, Scene, evidence};
use crate::domain::{FindingKind, MemoryKind};

pub(super) const ENTRY: Entry = Entry {
    kind: FindingKind::Unattributed,
    title: "memory that no visible process holds",
    rests_on: "used memory less all holders, for three lists and 10 s",
    make: || Box::new(Unattributed::default()),
};

#[derive(Debug, Default)]
struct Unattributed {
    open: Option<(Open, f64)>,
}

impl Detector for Unattributed {
    fn look(&mut self, scene: &Scene<'_>, say: &mut Say<'_>) {
        let loose = &scene.card.loose;
        // The system keeps pages of such cards after an exit: that is no finding.
        if scene.card.device.memory != MemoryKind::Dedicated {
            return;
        }
        let draft = |from: f64, to: Option<f64>, size: f64| {
            let proof = evidence().mib("size", size).share("share", size / scene.card.scale.total).done();
            Draft::likely(FindingKind::Unattributed, None, from, to, proof)
        };
        // Somebody went a moment ago: it may be an orphan, or on its way.
        let parting = scene.card.gone.iter().any(|held| held.gone.is_some_and(|gone| scene.now - gone < 130.0));
        let Some(least) = loose.least(10.0) else { return };
        match &mut self.open {
            None if loose.lists(10.0) >= 3 && least > (0.005 * scene.card.scale.total).max(150.0) && !parting => {
                self.open = Some((say.open(draft(scene.now - 10.0, None, least), least), least));
            }
            Some((open, _)) if least > 100.0 => {
                let from = open.from;
                say.renew(open, least, || draft(from, None, least));
            }
            Some((open, size)) if loose.most(5.0).is_some_and(|most| most < 100.0) => {
                let (open, size) = (*open, *size);
                self.open = None;
                say.close(open, draft(open.from, Some(scene.now), size));
            }
            _ => {}
        }
    }
}
