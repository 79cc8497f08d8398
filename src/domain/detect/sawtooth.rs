//! Memory that comes and goes in cycles, floor and ceiling constant. Evidence: `amplitude`, `period`, `floor`, `ceiling`,
//! `cycles`, `headroom` (at the peak).

use super::{Detector, Draft, Entry, Open, Say, Scene, evidence};
use crate::domain::{FindingKind, Pid};

pub(super) const ENTRY: Entry = Entry {
    kind: FindingKind::Sawtooth,
    title: "cycles of taking and giving back",
    rests_on: "three and more even cycles on a level floor",
    make: || Box::new(Sawtooth::default()),
};

#[derive(Debug, Default)]
struct Sawtooth {
    open: Option<(Open, Option<Pid>)>,
    seen: f64,
    /// The last that ended, its amplitude and when.
    rested: Option<(Open, f64, f64)>,
}

impl Detector for Sawtooth {
    fn look(&mut self, scene: &Scene<'_>, say: &mut Say<'_>) {
        let card = scene.card;
        let signal = &card.signal;
        let grows = card.trend.is_some_and(|trend| trend.real);
        let rhythm = signal.rhythm().filter(|rhythm| {
            rhythm.cycles >= 4
                && rhythm.irregularity < 0.5
                && rhythm.amplitude >= (0.02 * card.scale.total).max(128.0)
                // What swings between two readings is another finding.
                && rhythm.period >= 2.5 * signal.interval()
        });
        let draft = |pid: Option<Pid>, from: f64, to: Option<f64>| {
            let rhythm = signal.last_rhythm();
            let floor = signal.low().at(scene.now - rhythm.period * 3.0).unwrap_or(0.0);
            let proof = evidence().mib("amplitude", rhythm.amplitude).seconds("period", rhythm.period).mib("floor", floor);
            let cycles = ((to.unwrap_or(scene.now) - from) / rhythm.period.max(1e-3)) as usize;
            let proof = proof.mib("ceiling", signal.ceiling()).count("cycles", cycles).maybe_mib("headroom", scene.spare());
            Draft::likely(FindingKind::Sawtooth, pid, from, to, proof.done())
        };
        match (&mut self.open, rhythm) {
            (None, Some(rhythm)) if !grows && !card.loading.is_on() => {
                self.seen = scene.now;
                let from = (scene.now - rhythm.period * (rhythm.cycles as f64 + 1.0)).max(scene.begun());
                // It takes a while to tell cycles from a few ups and downs.
                if scene.now - card.loading.settled().max(scene.begun()) >= 10.0 {
                    let pid = scene.worker();
                    // What sets in again is the same finding.
                    let again = self.rested.take().filter(|(_, amplitude, at)| {
                        scene.now - at < 1_800.0 && (0.4..=2.5).contains(&(rhythm.amplitude / amplitude))
                    });
                    let open = again.map(|(open, ..)| open);
                    self.open = Some((open.unwrap_or_else(|| say.open(draft(pid, from, None), scene.now - from)), pid));
                }
            }
            (Some((open, pid)), Some(_)) => {
                self.seen = scene.now;
                let (from, pid) = (open.from, *pid);
                say.renew_seldom(open, scene.now - from, || draft(pid, from, None));
            }
            (Some((open, pid)), None) => {
                let patience = (4.0 * signal.last_rhythm().period).max(20.0);
                let left = pid.is_some_and(|pid| scene.card.listed.is_some() && !card.holds(pid));
                if scene.now - self.seen > patience || left {
                    let (open, pid) = (*open, *pid);
                    self.open = None;
                    if self.rested.is_none_or(|(_, _, at)| scene.now - at > 1_800.0) || left {
                        say.close(open, draft(pid, open.from, Some(self.seen)));
                    }
                    self.rested = Some((open, signal.last_rhythm().amplitude.max(1.0), self.seen)).filter(|_| !left);
                }
            }
            _ => {}
        }
    }
}
