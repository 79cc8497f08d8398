//! Weights or data being loaded. Evidence: `rise`, `rate`, `duration`, `level`.

use super::{Detector, Draft, Entry, Open, Say, Scene, evidence};
use crate::domain::{FindingKind, Pid};

pub(super) const ENTRY: Entry = Entry {
    kind: FindingKind::Loading,
    title: "weights are loaded",
    rests_on: "a fast rise of a young process or an empty card, which ends by itself",
    make: || Box::new(Loading::default()),
};

#[derive(Debug, Default)]
struct Loading {
    open: Option<(Open, Option<Pid>)>,
}

impl Detector for Loading {
    fn look(&mut self, scene: &Scene<'_>, say: &mut Say<'_>) {
        let loading = &scene.card.loading;
        let (from, base) = loading.began();
        let draft = |pid: Option<Pid>, to: Option<f64>, level: f64| {
            let duration = (to.unwrap_or(scene.now) - from).max(0.5);
            let proof = evidence().mib("rise", level - base).rate("rate", (level - base) / duration);
            let proof = proof.seconds("duration", duration).mib("level", level).done();
            Draft::likely(FindingKind::Loading, pid, from, to, proof)
        };
        let level = scene.card.filling().level();
        match &mut self.open {
            None if loading.is_on() && level - base >= (0.01 * scene.card.scale.total).max(900.0) => {
                let pid = scene.newest(300.0).or_else(|| scene.mover(from, scene.now));
                self.open = Some((say.open(draft(pid, None, level), level - base), pid));
            }
            Some((open, pid)) if loading.is_on() => {
                let pid = *pid;
                say.renew_seldom(open, level - base, || draft(pid, None, level));
            }
            Some((open, pid)) => {
                let (open, pid) = (*open, *pid);
                self.open = None;
                say.close(open, draft(pid, Some(loading.settled()), loading.level().unwrap_or(level)));
            }
            None => {}
        }
    }
}
