//! Up beyond the usual peak, and back within half a minute. Evidence: `height` (above the ceiling before), `peak`, `before`,
//! `duration`, `spare` (what was left at the peak), `count` (of its like so far), `swing` (what the steps swing by, if they do).

use super::{Detector, Draft, Entry, Open, Say, Scene, evidence};
use crate::domain::{FindingKind, Pid};

pub(super) const ENTRY: Entry = Entry {
    kind: FindingKind::Spike,
    title: "a spike",
    rests_on: "the peaks of single seconds against those of the 20 s before",
    make: || Box::new(Spike::default()),
};

#[derive(Debug, Default)]
struct Spike {
    /// The newest second that was looked at.
    seen: f64,
    /// The peaks of the last seconds outside of spikes.
    usual: std::collections::VecDeque<f64>,
    up: Option<Up>,
    last: Option<Told>,
}

#[derive(Clone, Copy, Debug)]
struct Up {
    from: f64,
    before: f64,
    peak: f64,
}

#[derive(Clone, Copy, Debug)]
struct Told {
    open: Open,
    height: f64,
    count: usize,
    pid: Option<Pid>,
    at: f64,
}

/// Seconds whose peaks are usual.
const USUAL: usize = 20;
/// The longest spike.
const LONGEST: f64 = 30.0;

impl Detector for Spike {
    fn look(&mut self, scene: &Scene<'_>, say: &mut Say<'_>) {
        let card = scene.card;
        let fresh: Vec<(f64, f64)> =
            card.signal.seconds().take_while(|second| second.t > self.seen).map(|second| (second.t, second.max)).collect();
        for (t, max) in fresh.into_iter().rev() {
            self.seen = t;
            self.second(t, max, scene, say);
        }
    }
}

impl Spike {
    fn second(&mut self, t: f64, max: f64, scene: &Scene<'_>, say: &mut Say<'_>) {
        let card = scene.card;
        let least = (0.02 * card.scale.total).max(256.0);
        // While it loads nothing is usual.
        if card.loading.is_on() || t - card.loading.settled() < 3.0 {
            self.usual.clear();
            self.up = None;
            return;
        }
        let before = self.usual.iter().copied().fold(0.0, f64::max);
        match &mut self.up {
            None if self.usual.len() >= USUAL / 2 && max > before + least => {
                self.up = Some(Up { from: t, before, peak: max });
            }
            None => {
                if self.usual.len() >= USUAL {
                    self.usual.pop_front();
                }
                self.usual.push_back(max);
            }
            Some(up) => {
                up.peak = up.peak.max(max);
                let up = *up;
                let height = up.peak - up.before;
                if max <= up.before + 0.25 * height {
                    self.up = None;
                    self.tell(up, t, scene, say);
                } else if t - up.from > LONGEST {
                    self.up = None;
                    self.usual.clear();
                }
            }
        }
    }

    fn tell(&mut self, up: Up, t: f64, scene: &Scene<'_>, say: &mut Say<'_>) {
        let card = scene.card;
        let height = up.peak - up.before;
        let like = self.last.filter(|last| (0.5..=2.0).contains(&(height / last.height)) && t - last.at < 900.0);
        let count = like.map_or(1, |last| last.count + 1);
        let draft = |pid: Option<Pid>, from: f64, count: usize| {
            let proof = evidence().mib("height", height).mib("peak", up.peak).mib("before", up.before);
            let proof = proof.seconds("duration", t - up.from).maybe_mib("spare", card.limit.map(|limit| limit - up.peak));
            let swing = card.signal.rhythm().map(|rhythm| rhythm.amplitude).or(card.phases.swing);
            let proof = proof.count("count", count).maybe_mib("swing", swing).done();
            Draft::fact(FindingKind::Spike, pid, from, Some(t), proof)
        };
        if let Some(mut told) = like {
            say.renew(&mut told.open, count as f64, || draft(told.pid, up.from, count));
            self.last = Some(Told { count, at: t, ..told });
        } else {
            let pid = scene.mover(up.from - 1.5, t);
            let open = say.open(draft(pid, up.from, 1), 1.0);
            self.last = Some(Told { open, height, count: 1, pid, at: t });
        }
    }
}
