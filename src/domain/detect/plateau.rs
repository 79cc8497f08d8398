//! Flat for a while. Evidence: `level`, `duration`, `headroom`.

use super::{Detector, Draft, Entry, Open, Say, Scene, evidence};
use crate::domain::FindingKind;

pub(super) const ENTRY: Entry = Entry {
    kind: FindingKind::Plateau,
    title: "flat",
    rests_on: "a minute within a thousandth of the card",
    make: || Box::new(Plateau::default()),
};

#[derive(Debug, Default)]
struct Plateau {
    open: Option<(Open, f64)>,
    /// The level that was told last, and when.
    told: Option<(f64, f64)>,
}

impl Detector for Plateau {
    fn look(&mut self, scene: &Scene<'_>, say: &mut Say<'_>) {
        let card = scene.card;
        let flat = card.signal.flat_since();
        let level = card.signal.level();
        let draft = |from: f64, to: Option<f64>, level: f64| {
            let proof = evidence().mib("level", level).seconds("duration", to.unwrap_or(scene.now) - from);
            Draft::fact(FindingKind::Plateau, None, from, to, proof.maybe_mib("headroom", scene.headroom()).done())
        };
        let like = |(v, at): (f64, f64)| (v - level).abs() < 0.05 * card.scale.total && scene.now - at < 600.0;
        let anew = !self.told.is_some_and(like);
        match &mut self.open {
            None if scene.now - flat.t >= 60.0 && anew && level > 0.02 * card.scale.total + 256.0 => {
                self.open = Some((say.open(draft(flat.t, None, flat.v), scene.now - flat.t), flat.v));
                self.told = Some((flat.v, scene.now));
            }
            Some((open, v)) if (level - *v).abs() <= 2.0 * card.scale.flat => {
                let (from, v) = (open.from, *v);
                say.renew_seldom(open, scene.now - from, || draft(from, None, v));
            }
            Some((open, v)) => {
                let (open, v) = (*open, *v);
                self.open = None;
                say.close(open, draft(open.from, Some(flat.t), v));
            }
            None => {}
        }
    }
}
