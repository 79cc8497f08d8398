//! One series as the analyst keeps it: marks, turning points, jumps and steps, in a bounded few KiB.
//!
//! Sizes inside the analyst are MiB and times seconds, both as `f64`: what the mathematics needs. They become
//! [`Bytes`](super::super::Bytes) and [`Timestamp`](super::super::Timestamp) where something is said.

use std::collections::VecDeque;

use super::envelope::{High, Low};
use super::turns::{Rhythm, Turn, Turns};
use super::{Jump, Point};

/// Buckets of about a second that are kept: 3 KiB.
const SECONDS: usize = 128;
/// Jumps that are kept.
const JUMPS: usize = 32;
/// Steps and falls that are kept.
const STEPS: usize = 16;
/// Readings further apart than this close a bucket each.
const SPARSE: f64 = 0.4;
/// A climb that rests this long is over.
const REST: f64 = 3.0;
/// A climb that takes longer is no step.
const STEP_TAKES: f64 = 12.0;

/// What a series did in about a second.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Second {
    /// The end.
    pub(crate) t: f64,
    pub(crate) min: f64,
    pub(crate) max: f64,
}

/// A lasting change of level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Step {
    /// When it began.
    pub(crate) from: f64,
    /// When it ended.
    pub(crate) to: f64,
    /// The ceiling before.
    pub(crate) before: f64,
    /// The ceiling after.
    pub(crate) after: f64,
}

/// A rise that stood for a while and was given back.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Pulse {
    pub(crate) from: f64,
    pub(crate) until: f64,
    pub(crate) height: f64,
}

/// The rises of a ceiling, seen as stairs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Stairs {
    pub(crate) from: f64,
    /// From the first to the last.
    pub(crate) span: f64,
    /// Since the last.
    pub(crate) rest: f64,
    pub(crate) count: usize,
    pub(crate) grown: f64,
    pub(crate) largest: f64,
    /// Neither equal nor at equal times.
    pub(crate) uneven: bool,
}

/// A series.
#[derive(Clone, Debug, Default)]
pub(crate) struct Signal {
    first: Option<Point>,
    last: Option<Point>,
    /// Typical time between two readings of late.
    interval: f64,
    open: Option<Open>,
    seconds: VecDeque<Second>,
    high: High,
    low: Low,
    turns: Turns,
    rhythm: Option<Rhythm>,
    last_rhythm: Option<Rhythm>,
    /// By how much and when the ceiling was raised.
    jumps: VecDeque<Jump>,
    /// The ceiling with the open bucket.
    ceiling: f64,
    /// When the series was near its ceiling last.
    near: f64,
    climb: Option<Step>,
    steps: VecDeque<Step>,
    falls: VecDeque<Step>,
    /// Rises that were given back: the last that matter for the next.
    humps: VecDeque<Hump>,
    peak: f64,
    /// The largest rise of the ceiling ever.
    largest: f64,
    /// Seconds with a rhythm.
    swung: f64,
    /// When the ceiling was taken down last.
    lowered: f64,
    /// Time for which the level stayed within a thousandth.
    flat_since: Point,
}

/// A rise that was given back.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Hump {
    /// The height reached.
    pub(crate) peak: f64,
    /// From where.
    pub(crate) base: f64,
    /// When the rise began.
    pub(crate) from: f64,
    /// When the peak was reached.
    pub(crate) at: f64,
    /// When the height was left.
    pub(crate) left: f64,
    /// When it was seen to be given back.
    pub(crate) until: f64,
    /// All of it came back.
    pub(crate) whole: bool,
}

#[derive(Clone, Copy, Debug)]
struct Open {
    since: f64,
    min: Point,
    max: Point,
}

/// Smallest changes that count, made for a size of card.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale {
    /// A turning point: 1.5 % of the card, at least 128 MiB.
    pub(crate) turn: f64,
    /// A step: 0.5 % of the card, at least 64 MiB.
    pub(crate) step: f64,
    /// What counts as flat: 0.1 % of the card, at least 4 MiB.
    pub(crate) flat: f64,
    /// The size of the card.
    pub(crate) total: f64,
}

impl Scale {
    /// For a card of so many MiB.
    pub(crate) fn of(total: f64) -> Self {
        let total = total.max(256.0);
        Self { turn: (0.015 * total).max(128.0), step: (0.005 * total).max(64.0), flat: (0.001 * total).max(4.0), total }
    }
}

impl Signal {
    /// Takes a reading; whether about a second is complete, so that the time has come to look at it.
    pub(crate) fn push(&mut self, t: f64, v: f64, scale: &Scale) -> bool {
        let Some(last) = self.last else {
            let here = Point { t, v };
            self.first = Some(here);
            self.last = Some(here);
            self.flat_since = here;
            (self.ceiling, self.near, self.peak) = (v, t, v);
            self.open = Some(Open { since: t, min: here, max: here });
            self.turns.push(t, v, scale.turn);
            return false;
        };
        let t = t.max(last.t);
        let pause = t - last.t;
        // Unchanged values are told once a second only: the pace is that of the shortest pauses of late.
        let nearer = if pause < self.interval { 0.3 } else { 0.01 };
        self.interval = if self.interval == 0.0 { pause } else { self.interval + nearer * (pause - self.interval) };
        let here = Point { t, v };
        self.last = Some(here);
        self.turns.push(t, v, scale.turn);
        if v > self.ceiling {
            if self.jumps.len() >= JUMPS {
                self.jumps.pop_front();
            }
            self.jumps.push_back(Jump { t, size: v - self.ceiling, from: self.ceiling });
            self.largest = self.largest.max(v - self.ceiling);
            self.ceiling = v;
        }
        self.peak = self.peak.max(v);
        if (v - self.flat_since.v).abs() > scale.flat {
            self.flat_since = here;
        }
        let open = self.open.get_or_insert(Open { since: t, min: here, max: here });
        if v < open.min.v {
            open.min = here;
        }
        if v > open.max.v {
            open.max = here;
        }
        let done = t - open.since >= 1.0 || pause >= SPARSE;
        if done {
            self.close(t, scale);
        }
        done
    }

    /// Nothing is known until the next reading.
    pub(crate) fn gap(&mut self) {
        self.open = None;
    }

    fn close(&mut self, t: f64, scale: &Scale) {
        let Some(open) = self.open.take() else { return };
        if self.seconds.len() >= SECONDS {
            self.seconds.pop_front();
        }
        self.seconds.push_back(Second { t, min: open.min.v, max: open.max.v });
        self.low.push(open.min);
        let before = self.high.newest();
        let record = self.high.push(open.max);
        self.rhythm = self.turns.rhythm(t);
        self.last_rhythm = self.rhythm.or(self.last_rhythm);
        if self.rhythm.is_some_and(|rhythm| rhythm.cycles >= 3) {
            self.swung += (t - open.since).clamp(0.0, 2.0).max(self.interval.min(2.0));
        }
        self.climb(before.filter(|_| record), open.max, t, scale);
        let margin = (0.02 * scale.total).max(128.0);
        if open.max.v >= self.ceiling - margin {
            self.near = t;
        } else if t - self.near > self.hold() {
            self.lower(t, scale);
        }
    }

    /// How long a ceiling is believed in after it was left.
    fn hold(&self) -> f64 {
        self.rhythm.map_or(8.0, |rhythm| (3.0 * rhythm.period).clamp(8.0, 600.0))
    }

    /// The series has left its ceiling for good: the one of late takes its place.
    fn lower(&mut self, t: f64, scale: &Scale) {
        let since = self.near;
        let recent = self.seconds.iter().rev().take_while(|second| second.t > since);
        let Some(top) = recent.map(|second| Point { t: second.t, v: second.max }).reduce(|a, b| if b.v >= a.v { b } else { a })
        else {
            return;
        };
        let left = self.ceiling;
        let floor = self.low.at(since).unwrap_or(top.v);
        let at = self.high.newest().map_or(since, |newest| newest.t);
        // The rise is what came within the last hour, from the last rest.
        let points = self.high.after(t - 3600.0);
        let (from, from_level) = rise(points).map_or((at, floor), |point| (point.t, point.v));
        push(&mut self.falls, Step { from: since, to: t, before: left, after: top.v });
        let base = from_level.min(top.v);
        let whole = left - floor >= 0.8 * (left - base);
        push(&mut self.humps, Hump { peak: left, base, from, at, left: since, until: t, whole });
        self.high.lower_to(top);
        self.ceiling = top.v;
        self.near = t;
        self.lowered = t;
        self.climb = None;
        let gone = scale.step.min(left - top.v);
        self.steps.retain(|step| step.after < top.v + gone);
    }

    fn climb(&mut self, from: Option<Point>, to: Point, t: f64, scale: &Scale) {
        if let Some(before) = from {
            match &mut self.climb {
                Some(climb) if to.t - climb.to <= REST => (climb.to, climb.after) = (to.t, to.v),
                climb => {
                    *climb = Some(Step { from: before.t.max(to.t - 1.0), to: to.t, before: before.v, after: to.v });
                }
            }
        }
        if let Some(climb) = self.climb.take_if(|climb| t - climb.to > REST)
            && climb.after - climb.before >= scale.step
            && climb.to - climb.from <= STEP_TAKES
        {
            push(&mut self.steps, climb);
        }
    }

    /// The largest rise of the ceiling ever.
    pub(crate) fn largest_jump(&self) -> f64 {
        self.largest
    }

    /// Seconds with a rhythm so far.
    pub(crate) fn swung(&self) -> f64 {
        self.swung
    }

    /// When the ceiling was taken down last.
    pub(crate) fn lowered(&self) -> f64 {
        self.lowered
    }

    /// When the series was near its ceiling last.
    pub(crate) fn near(&self) -> f64 {
        self.near
    }

    pub(crate) fn first(&self) -> Option<Point> {
        self.first
    }

    pub(crate) fn last(&self) -> Option<Point> {
        self.last
    }

    /// The newest value, zero before the first.
    pub(crate) fn level(&self) -> f64 {
        self.last.map_or(0.0, |last| last.v)
    }

    /// The present ceiling: the high-water mark, or the peak per cycle.
    pub(crate) fn ceiling(&self) -> f64 {
        self.ceiling
    }

    /// The largest value ever.
    pub(crate) fn peak(&self) -> f64 {
        self.peak
    }

    pub(crate) fn interval(&self) -> f64 {
        self.interval
    }

    pub(crate) fn high(&self) -> &High {
        &self.high
    }

    pub(crate) fn low(&self) -> &Low {
        &self.low
    }

    pub(crate) fn turns(&self) -> &Turns {
        &self.turns
    }

    pub(crate) fn rhythm(&self) -> Option<Rhythm> {
        self.rhythm
    }

    /// The newest rhythm that there was, also if it stopped.
    pub(crate) fn last_rhythm(&self) -> Rhythm {
        self.last_rhythm.unwrap_or(Rhythm { period: 1.0, irregularity: 0.0, amplitude: 0.0, cycles: 0 })
    }

    /// Rises of a good part of the card that stood for a quarter of a minute and were given back, newest first.
    pub(crate) fn pulses(&self, total: f64) -> Vec<Pulse> {
        let turns: Vec<(Turn, bool)> = self.turns.newest().collect();
        let pulses = turns.windows(3).filter_map(|three| match three {
            [(after, false), (peak, true), (before, false)] => {
                let height = peak.v - before.v.max(after.v);
                Some(Pulse { from: before.until, until: peak.until, height }).filter(|_| peak.until - peak.t >= 15.0)
            }
            _ => None,
        });
        pulses.filter(|pulse| pulse.height >= 0.15 * total).collect()
    }

    /// The rises of the ceiling after a moment as stairs; none where there are too few.
    pub(crate) fn stairs(&self, since: f64, least: f64) -> Option<Stairs> {
        let points = self.high.after(since);
        let (first, last) = (points.first()?, points.last()?);
        // Rises within 3 s are one stair.
        let mut stairs: Vec<Jump> = Vec::new();
        let mut before = first.v;
        for point in points.iter().skip(1) {
            let rise = point.v - before;
            before = point.v;
            match stairs.last_mut() {
                Some(stair) if point.t - stair.t < 3.0 => {
                    stair.size += rise;
                    stair.t = point.t;
                }
                _ => stairs.push(Jump { t: point.t, size: rise, from: point.v - rise }),
            }
        }
        stairs.retain(|stair| stair.size >= 0.25 * least);
        let count = stairs.len();
        if count < 3 {
            return None;
        }
        let spread = |values: &[f64]| {
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / values.len() as f64).sqrt() / mean.max(1e-9)
        };
        let sizes: Vec<f64> = stairs.iter().map(|stair| stair.size).collect();
        let gaps: Vec<f64> = stairs.windows(2).map(|pair| pair[1].t - pair[0].t).collect();
        Some(Stairs {
            from: first.t,
            span: last.t - first.t,
            rest: self.last.map_or(0.0, |now| now.t - last.t),
            count,
            grown: last.v - first.v,
            largest: sizes.iter().copied().fold(0.0, f64::max),
            uneven: spread(&sizes) > 0.4 && spread(&gaps) > 0.5,
        })
    }

    pub(crate) fn jumps(&self) -> impl DoubleEndedIterator<Item = &Jump> {
        self.jumps.iter()
    }

    pub(crate) fn steps(&self) -> impl DoubleEndedIterator<Item = &Step> + ExactSizeIterator {
        self.steps.iter()
    }

    pub(crate) fn falls(&self) -> impl DoubleEndedIterator<Item = &Step> {
        self.falls.iter()
    }

    pub(crate) fn humps(&self) -> impl DoubleEndedIterator<Item = &Hump> + ExactSizeIterator {
        self.humps.iter()
    }

    /// The newest buckets, newest first.
    pub(crate) fn seconds(&self) -> impl Iterator<Item = &Second> {
        self.seconds.iter().rev()
    }

    /// Since when the level has not moved by more than a thousandth of the card, and that level.
    pub(crate) fn flat_since(&self) -> Point {
        self.flat_since
    }

    /// Smallest and largest value after a moment, as far back as buckets go.
    pub(crate) fn range_after(&self, t: f64) -> Option<(f64, f64)> {
        let seconds = self.seconds.iter().rev().take_while(|second| second.t > t);
        seconds.map(|second| (second.min, second.max)).reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
    }

    /// The floor and the value at a moment of the last two minutes.
    pub(crate) fn at(&self, t: f64) -> Option<f64> {
        self.seconds.iter().rev().find(|second| second.t <= t).map(|second| second.max)
    }
}

/// Where the rise to the newest of the records began: at the last one that stood for longer than the rise took since.
fn rise(points: &[Point]) -> Option<Point> {
    let end = points.last()?;
    let mut start = *end;
    for pair in points.windows(2).rev() {
        let (before, after) = (pair[0], pair[1]);
        if after.t - before.t > (2.0 * (end.t - after.t)).max(5.0) {
            return Some(Point { t: after.t, v: before.v });
        }
        start = before;
    }
    Some(start)
}

fn push<T>(kept: &mut VecDeque<T>, item: T) {
    if kept.len() >= STEPS {
        kept.pop_front();
    }
    kept.push_back(item);
}
