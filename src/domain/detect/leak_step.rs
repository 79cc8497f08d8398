//! Growth at a constant rate, step by step. Evidence: `rate`, `grown`, `segment` (the usual rise), `per_step` and `period`
//! (where steps are seen), `headroom` (at the peak), `rises` (in the later half).

use super::{Detector, Draft, Entry, Open, Say, Scene, evidence};
use crate::domain::FindingKind;
use crate::domain::Pid;
use crate::domain::analyst::trend::{Course, Trend};
use crate::domain::analyst::turns::median;

pub(super) const ENTRY: Entry = Entry {
    kind: FindingKind::LeakStep,
    title: "it grows with every step",
    rests_on: "new highs at an undiminished rate, on floor and ceiling, after the warm-up",
    make: || Box::new(LeakStep::default()),
};

#[derive(Debug, Default)]
struct LeakStep {
    open: Option<(Open, Option<Pid>)>,
    /// When it was last borne out, and since when it has been.
    seen: f64,
    since: Option<f64>,
    last: Option<Draft>,
}

/// How long it must be borne out.
const SURE: f64 = 15.0;

impl Detector for LeakStep {
    fn look(&mut self, scene: &Scene<'_>, say: &mut Say<'_>) {
        let card = scene.card;
        let leak = card.trend.filter(|trend| {
            trend.real
                && !card.loading.is_on()
                && matches!(trend.course, Course::Linear(_) | Course::Faster(_))
                && trend.lumpiness <= 0.3
                && trend.records >= 5
                && trend.keeps_pace()
        });
        if let Some(trend) = leak {
            self.seen = scene.now;
            let since = *self.since.get_or_insert(scene.now);
            match &mut self.open {
                None if scene.now - since >= SURE && !card.judge.is_doubtful() => {
                    let pid = card.grower(trend.since).map(|(pid, _)| pid);
                    let draft = draft(scene, &trend, pid, trend.since, None);
                    self.last = Some(draft.clone());
                    self.open = Some((say.open(draft, trend.grown), pid));
                }
                None => {}
                Some((open, pid)) => {
                    let (from, pid) = (open.from, *pid);
                    let draft = draft(scene, &trend, pid, from, None);
                    say.renew(open, trend.grown.max(trend.in_all), || draft.clone());
                    self.last = Some(draft);
                }
            }
        } else if scene.now - self.seen > 30.0 || given_back(scene, self.open.map(|(open, _)| open.from)) {
            self.since = None;
            if let (Some((open, _)), Some(last)) = (self.open.take(), self.last.take()) {
                say.close(open, Draft { to: Some(self.seen), ..last });
            }
        }
    }
}

/// Whether most of what grew came back.
fn given_back(scene: &Scene<'_>, since: Option<f64>) -> bool {
    let fall = scene.card.filling().falls().next_back();
    since
        .zip(fall)
        .is_some_and(|(since, fall)| fall.from > since && scene.now - fall.to < 5.0 && fall.before - fall.after > 512.0)
}

fn draft(scene: &Scene<'_>, trend: &Trend, pid: Option<Pid>, from: f64, to: Option<f64>) -> Draft {
    let signal = scene.card.filling();
    let mut rises: Vec<f64> = signal.jumps().map(|jump| jump.size).collect();
    let proof = evidence().rate("rate", trend.rate).mib("grown", trend.in_all.max(trend.grown));
    let proof = proof.maybe_mib("segment", median(&mut rises));
    let rhythm = signal.rhythm().filter(|rhythm| rhythm.cycles >= 4);
    let proof = match rhythm {
        Some(rhythm) => proof.mib("per_step", trend.rate * rhythm.period).seconds("period", rhythm.period),
        None => proof,
    };
    let proof = proof.maybe_mib("headroom", scene.spare()).count("rises", trend.records).done();
    Draft::likely(FindingKind::LeakStep, pid, from, to, proof)
}
