//! How a series grows: the window over which its growth is one thing, its rate, and whether it is real.

use super::signal::{Scale, Signal, Step};
use crate::domain::forecast::{Bend, Fit, Line, POINTS, Passage, around, passage_spread};

/// How the growth goes on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Course {
    /// At an even rate.
    Linear(Line),
    /// Ever faster.
    Faster(Fit),
    /// Ever slower, in thirds of the window.
    Slower(Bend),
    /// By equal steps at equal intervals.
    Steps { height: f64, period: f64, last: f64, count: usize, spread: f64 },
}

/// A growth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Trend {
    /// Where the window ends.
    pub(crate) at: f64,
    /// Its length.
    pub(crate) window: f64,
    /// When the growth began, as far as can be told.
    pub(crate) since: f64,
    /// By how much the ceiling rose since.
    pub(crate) grown: f64,
    /// The ceiling at the end of the window, on the line.
    pub(crate) end: f64,
    /// MiB per second at the end.
    pub(crate) rate: f64,
    pub(crate) course: Course,
    /// Whether the figures bear it out: it goes on, in many records, on the floor as well.
    pub(crate) real: bool,
    /// Records in the later half of the window.
    pub(crate) records: usize,
    /// Share of the growth that shows on the floor.
    pub(crate) floor: f64,
    /// The largest part of the growth in a twelfth of the window.
    pub(crate) lumpiness: f64,
    /// How far the values are from the fit, as a part of the growth.
    pub(crate) misfit: f64,
    /// The time from rise to rise and from reading to reading: nothing is known more exactly.
    lag: f64,
    /// How unevenly it grows, in squared MiB per second.
    diffusion: f64,
    /// How the rise changes over the window, and over the longest one that is one thing.
    bend: Option<Bend>,
    pub(crate) wide: Option<Bend>,
    /// By how much it grew over that.
    pub(crate) in_all: f64,
    /// Where it ends if it goes on slowing as it does over the window that shows it best.
    slows_to: Option<f64>,
}

struct Candidate {
    window: f64,
    values: [f64; POINTS],
    fit: Fit,
    grown: f64,
    misfit: f64,
    curved: bool,
    records: usize,
}

/// The shortest window.
const SHORTEST: f64 = 6.0;
/// The longest window.
const LONGEST: f64 = 4.0 * 3600.0;

impl Trend {
    /// The growth of a series now, if it grows. Nothing before `since` counts.
    pub(crate) fn of(signal: &Signal, since: f64, scale: &Scale) -> Option<Self> {
        let now = signal.last()?.t;
        let high = signal.high();
        let begun = high.since()?.max(since);
        let period = signal.rhythm().map_or(0.0, |rhythm| rhythm.period);
        let shortest = SHORTEST.max(6.0 * period).max(8.0 * signal.interval());
        // By large steps it matters which of them will be the first that does not fit.
        let steps = equal_steps(signal, now, since);
        if steps.is_some_and(|steps| steps.is_coarse(scale)) {
            return steps;
        }
        let least = (0.002 * scale.total).max(24.0);
        let mut window = (now - begun).min(LONGEST);
        let mut best: Option<Candidate> = None;
        let mut wide: Option<(Bend, f64)> = None;
        let mut slow: Option<(Bend, f64, f64)> = None;
        while window >= shortest {
            let values = std::array::from_fn(|n| high.at(now - window + window * n as f64 / 12.0).unwrap_or_default());
            let (first, last) = (values.first().copied()?, values.last().copied()?);
            let grown = last - first;
            if grown < least {
                break;
            }
            let fit = Fit::of(&values);
            let records = high.records_after(now - window);
            let allowed = (0.1 + 0.35 / (records as f64).max(1.0).sqrt()).min(0.25);
            // A bent fit has one more freedom, for which it must pay.
            let (line, curve) = (fit.off_line / grown, 1.6 * fit.off_curve / grown + 0.005);
            let bend = fit.bend(&values);
            let curved = curve < 0.7 * line && bend.is_some();
            let misfit = if curved { curve } else { line };
            // The longest window that is one thing tells best whether the growth dies away.
            if wide.is_none() && misfit <= allowed {
                wide = bend.map(|bend| (bend, grown));
            }
            // A parabola through a long window tells a slowing that a line through its end does not.
            let slows = bend.filter(|bend| curve < 0.7 * line && bend.ratio.ln() < -2.0 * bend.doubt);
            if let Some(bend) = slows.filter(|_| curve <= 0.1 && slow.is_none_or(|(_, _, least)| curve < least)) {
                slow = Some((bend, fit.end().0, curve));
            }
            if misfit <= allowed && best.as_ref().is_none_or(|best| misfit < 0.8 * best.misfit) {
                best = Some(Candidate { window, values, fit, grown, misfit, curved, records });
            }
            window *= 0.82;
        }
        let trend = best.map(|best| {
            let slow = slow.map(|(bend, end, _)| end + bend.to_come().unwrap_or(f64::INFINITY));
            Self { slows_to: slow, ..best.trend(signal, now, period, wide) }
        });
        if trend.is_some_and(|trend| trend.real) { trend } else { steps.or(trend) }
    }

    /// The time until the ceiling passes a level, in seconds from the end of the window; none if it does not get there.
    pub(crate) fn reach(&self, limit: f64) -> Option<Passage> {
        let room = (limit - self.end).max(0.0);
        let third = self.window / 3.0;
        let step = self.window / 12.0;
        let wander = passage_spread(room.max(1.0), self.rate, self.diffusion);
        // A hundredth for the fit itself; the longer the way compared with what was seen, the more may change.
        let way = room / self.grown.max(1.0);
        let model = 0.012
            + 0.8 * self.misfit * (way / (1.0 + way))
            + 0.4 / (self.records.max(1) as f64 * (1.0 + way)).max(4.0) * way.min(1.0);
        let late = |mid: f64| 0.5 * self.lag / mid.max(0.1);
        let combine = |parts: &[f64]| parts.iter().map(|part| part * part).sum::<f64>().sqrt();
        match self.course {
            Course::Linear(line) => {
                if self.rate <= 0.0 {
                    return None;
                }
                let mid = room / self.rate;
                Some(around(mid, 1.1 * combine(&[line.doubt(), wander, model, late(mid)])))
            }
            Course::Faster(fit) => {
                let mid = fit.reach(room)? * step;
                Some(around(mid, 1.1 * combine(&[wander, model, 0.03, late(mid)])))
            }
            Course::Slower(bend) => {
                let mid = bend.reach(room)? * third;
                let linear = room / self.rate.max(1e-9);
                // Where the end is near the limit, a small doubt of the ratio is a large one of the time.
                let stretch = mid / linear.max(1e-9);
                Some(around(mid, 1.1 * combine(&[wander, model, bend.doubt * stretch, 0.03, late(mid)])))
            }
            Course::Steps { height, period, last, spread, .. } => {
                let steps = (room / height.max(1.0)).floor() + 1.0;
                let mid = (last + steps * period - self.at).max(0.1 * period);
                let ahead = steps * period;
                Some(around(mid, combine(&[spread * period * steps.sqrt() / ahead.max(1e-9), 0.02])))
            }
        }
    }

    /// Whether each step is so large that it matters which is the last.
    fn is_coarse(&self, scale: &Scale) -> bool {
        matches!(self.course, Course::Steps { height, .. } if height >= 0.03 * scale.total)
    }

    /// Where it will end if it dies away as it seems to; none if it does not.
    pub(crate) fn towards(&self) -> Option<f64> {
        match self.course {
            Course::Slower(bend) => bend.to_come().map(|more| self.end + more),
            _ => None,
        }
    }

    /// Whether the rate is undiminished, over the window and over all of the growth.
    pub(crate) fn keeps_pace(&self) -> bool {
        self.bend.iter().chain(&self.wide).all(|bend| bend.ratio > 0.75)
    }

    /// Whether it slows so that it ends below a level.
    pub(crate) fn slows_below(&self, limit: f64) -> bool {
        self.slows_to.is_some_and(|end| end < limit)
    }

    /// Whether it may still die away below a level, as far as the figures tell.
    pub(crate) fn may_end_below(&self, limit: f64) -> bool {
        self.bend.iter().chain(&self.wide).any(|bend| {
            let low = Bend { ratio: bend.ratio * (-1.3_f64 * bend.doubt).exp(), ..*bend };
            low.to_come().is_some_and(|more| self.end + more < limit)
        })
    }
}

impl Candidate {
    fn trend(self, signal: &Signal, now: f64, period: f64, wide: Option<(Bend, f64)>) -> Trend {
        let Self { window, values, fit, grown, misfit, curved, records } = self;
        let (high, low) = (signal.high(), signal.low());
        let step = window / 12.0;
        let line = Line::of(&values);
        let bend = fit.bend(&values);
        let rises = values.windows(2).map(|pair| pair[1] - pair[0]);
        let lumpiness = rises.clone().fold(0.0, f64::max) / grown;
        let floors: [f64; POINTS] =
            std::array::from_fn(|n| low.at(now - 2.0 * period - window + step * n as f64).unwrap_or_default());
        let (from, to) = (floors[0], floors[POINTS - 1]);
        let floor = (to - from) / grown;
        let late = high.records_after(now - window / 2.0).max(low.marks_after(now - window / 2.0));
        // The floor of a swing is often the cleaner line.
        let under = Fit::of(&floors);
        let (line, end) = if period > 0.0 && !curved && floor > 0.5 && under.off_line / (to - from) < 0.7 * misfit {
            let floor = Line::of(&floors);
            (Line { end: signal.ceiling(), ..floor }, signal.ceiling())
        } else {
            (line, line.end)
        };
        let clear = bend.filter(|bend| curved && bend.ratio.ln().abs() > 2.0 * bend.doubt);
        let course = match clear {
            Some(bend) if bend.ratio < 1.0 => Course::Slower(bend),
            Some(_) => Course::Faster(fit),
            None => Course::Linear(line),
        };
        let (end, slope) = match course {
            Course::Linear(line) => (end, line.slope),
            _ => fit.end(),
        };
        // Regular growth has less than this; growth by chance has it all.
        let expected = |n: usize| fit.slope + 2.0 * fit.curve * (n as f64 - 5.5);
        let uneven = rises.enumerate().map(|(n, rise)| (rise - expected(n)).powi(2)).sum::<f64>() / 11.0;
        let gap = window / records.max(1) as f64;
        let rest = now - high.newest().map_or(0.0, |newest| newest.t);
        // A series that left its ceiling does not grow, whatever the mark still says.
        let left = now - signal.near() > (4.0 * period).max(3.0 + 2.0 * signal.interval())
            || now - signal.lowered() < 5.0 && signal.lowered() > 0.0;
        let goes_on = rest <= (4.0 * gap).max(2.5 * period).max(2.5) && !left;
        let steady = bend.is_some_and(|bend| bend.ratio > 0.7);
        let borne_out = floor >= 0.3 || (late >= 8 && steady);
        Trend {
            at: now,
            window,
            since: now - window,
            grown,
            end,
            rate: slope / step,
            course,
            real: goes_on && late >= 4 && lumpiness <= 0.4 && borne_out && slope > 0.0,
            records: late,
            floor,
            lumpiness,
            misfit,
            lag: gap + signal.interval().max(0.2),
            diffusion: uneven / step,
            bend,
            wide: wide.map(|(bend, _)| bend),
            in_all: wide.map_or(grown, |(_, in_all)| in_all.max(grown)),
            slows_to: None,
        }
    }
}

/// Growth by equal steps at equal intervals: once per epoch or evaluation.
fn equal_steps(signal: &Signal, now: f64, since: f64) -> Option<Trend> {
    let steps: Vec<Step> = signal.steps().rev().copied().take_while(|step| step.from >= since).take(16).collect();
    let newest = steps.first()?;
    let height = newest.after - newest.before;
    let mut period: Option<f64> = None;
    let mut count = 1;
    for pair in steps.windows(2) {
        let (later, earlier) = (pair[0], pair[1]);
        let (own, time) = (earlier.after - earlier.before, later.from - earlier.from);
        let alike = (0.6..=1.7).contains(&(own / height));
        // Nothing else may have grown meanwhile.
        let rest = (later.before - earlier.after).abs() <= 0.25 * height;
        let even = period.is_none_or(|period| (0.7..=1.4).contains(&(time / period)));
        if !(alike && rest && even) {
            break;
        }
        period = Some(period.map_or(time, |period| period + (time - period) / count as f64));
        count += 1;
    }
    let period = period.filter(|_| count >= 3)?;
    let used = steps.get(..count)?;
    let times: Vec<f64> = used.windows(2).map(|pair| pair[0].from - pair[1].from).collect();
    let variance = times.iter().map(|time| (time - period).powi(2)).sum::<f64>() / times.len().max(1) as f64;
    let spread = (variance.sqrt() / period).max(0.02);
    let oldest = used.last()?;
    let mean = used.iter().map(|step| step.after - step.before).sum::<f64>() / count as f64;
    let late = now - newest.from > (1.5 + 2.0 * spread) * period;
    Some(Trend {
        at: now,
        window: now - oldest.from,
        since: oldest.from,
        grown: newest.after - oldest.before,
        end: signal.ceiling(),
        rate: mean / period,
        course: Course::Steps { height: mean, period, last: newest.from, count, spread },
        real: !late
            && now - signal.near() <= 3.0 + 2.0 * signal.interval() + signal.rhythm().map_or(0.0, |rhythm| 4.0 * rhythm.period),
        records: count,
        floor: 1.0,
        lumpiness: 1.0 / count as f64,
        misfit: 0.0,
        lag: signal.interval(),
        diffusion: 0.0,
        bend: None,
        wide: None,
        in_all: newest.after - oldest.before,
        slows_to: None,
    })
}
