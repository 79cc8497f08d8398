//! What a forecaster did on a case, judged by what is true of it.

use std::collections::BTreeMap;

use vramscope::domain::{Gpu, Shape};

use crate::forecaster::{Forecaster, Outlook};
use crate::timelines::{Case, Truth};

/// The parts of the growth at which the time is asked for.
pub const ASKED: [f64; 3] = [0.5, 0.75, 0.9];

/// An alarm that begins where it counts neither way is false if it goes on for longer than this beyond.
const LINGER: f64 = 30.0;

/// A forecast of the time at a part of the growth.
#[derive(Clone, Copy, Debug)]
pub struct Asked {
    /// The index in [`ASKED`].
    pub part: usize,
    /// (mid − true) / true; none where no time was said.
    pub error: Option<f64>,
    /// Whether lo to hi holds the truth.
    pub covered: bool,
}

/// What came of one card of one case.
#[derive(Clone, Debug, Default)]
pub struct Verdict {
    /// Seconds before the OOM at which an alarm stood in the growth that announced it, and whether that helps.
    pub announced: Option<(Option<f64>, bool)>,
    /// When false alarms began.
    pub false_alarms: Vec<f64>,
    pub asked: Vec<Asked>,
    /// Said, and the words that fit; the first is the best.
    pub shape: Option<(Shape, &'static [Shape])>,
    pub holder_shape: Option<(Shape, &'static [Shape])>,
    pub seconds: f64,
    pub frightening: bool,
}

/// Follows one card through a case.
struct Track<'a> {
    truth: &'a Truth,
    outlook: Outlook,
    /// When the present alarm began, and whether it was right, wrong or neither.
    since: Option<f64>,
    /// A false alarm of this episode is counted already.
    counted: bool,
    first_in_growth: Option<f64>,
    next: usize,
    verdict: Verdict,
}

impl Track<'_> {
    fn excused(&self, t: f64) -> bool {
        let within = |(from, to): &(f64, f64)| (*from..=*to).contains(&t);
        self.truth.growth.iter().any(within) || self.truth.neutral.iter().any(within)
    }

    /// Everything up to a moment stood as it was said last.
    fn pass(&mut self, t: f64) {
        let Some((from, oom)) = self.truth.growth else { return };
        while let Some(part) = ASKED.get(self.next) {
            let at = from + part * (oom - from);
            if t <= at {
                break;
            }
            let left = oom - at;
            let error = self.outlook.full_in.map(|(_, mid, _)| (mid - left) / left);
            let covered = self.outlook.full_in.is_some_and(|(lo, _, hi)| (lo..=hi).contains(&left));
            self.verdict.asked.push(Asked { part: self.next, error, covered });
            self.next += 1;
        }
        if self.outlook.alarm && self.first_in_growth.is_none() && t > from && self.since.is_some_and(|since| since < oom) {
            self.first_in_growth = self.since.map(|since| since.max(from));
        }
    }

    fn say(&mut self, t: f64, outlook: Outlook) {
        match (self.since, outlook.alarm) {
            (None, true) => {
                self.since = Some(t);
                self.counted = !self.excused(t);
                if self.counted {
                    self.verdict.false_alarms.push(t);
                }
            }
            (Some(_), false) => self.since = None,
            _ => {}
        }
        if self.since.is_some() && !self.counted && !self.excused(t) && !self.excused(t - LINGER) {
            self.counted = true;
            self.verdict.false_alarms.push(t);
        }
        self.outlook = outlook;
    }
}

/// Plays a case to a forecaster.
pub fn examine(case: &Case, forecaster: &mut dyn Forecaster) -> Vec<Verdict> {
    let mut tracks: BTreeMap<Gpu, Track<'_>> = case
        .truths
        .iter()
        .map(|truth| {
            let verdict = Verdict { seconds: case.seconds, frightening: truth.frightening, ..Verdict::default() };
            let track = Track {
                truth,
                outlook: Outlook::default(),
                since: None,
                counted: false,
                first_in_growth: None,
                next: 0,
                verdict,
            };
            (truth.gpu, track)
        })
        .collect();
    for sample in &case.samples {
        let t = sample.t.as_secs_f64();
        for track in tracks.values_mut() {
            track.pass(t);
        }
        forecaster.observe(sample);
        for (gpu, track) in &mut tracks {
            track.say(t, forecaster.outlook(*gpu));
        }
    }
    tracks
        .into_values()
        .map(|mut track| {
            track.pass(case.seconds);
            let Track { truth, first_in_growth, mut verdict, .. } = track;
            verdict.announced = truth.growth.map(|(from, oom)| {
                let lead = first_in_growth.map(|t| oom - t);
                (lead, lead.is_some_and(|lead| lead >= 5.0 && lead >= 0.1 * (oom - from)))
            });
            let judged = |shapes: &'static [Shape]| Some(shapes).filter(|shapes| !shapes.is_empty());
            verdict.shape = judged(truth.shapes).zip(forecaster.shape(truth.gpu)).map(|(fit, said)| (said, fit));
            if let Some((pid, fit)) = truth.main {
                verdict.holder_shape = judged(fit).zip(forecaster.holder_shape(truth.gpu, pid)).map(|(fit, said)| (said, fit));
            }
            verdict
        })
        .collect()
}
