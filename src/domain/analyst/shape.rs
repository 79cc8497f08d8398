//! The one word for a series as a whole.

use super::signal::{Scale, Signal};
use super::trend::{Course, Trend};
use crate::domain::Shape;

/// For how long a series grew in which way, and how far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Growths {
    even: Spell,
    bent: Spell,
    lumpy: Spell,
    equal_steps: Spell,
    last: f64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Spell {
    seconds: f64,
    grown: f64,
}

impl Growths {
    /// Counts the time since the last look for the growth there is now.
    pub(crate) fn take(&mut self, now: f64, trend: Option<&Trend>) {
        let passed = (now - self.last).clamp(0.0, 5.0);
        self.last = now;
        let Some(trend) = trend.filter(|trend| trend.real) else { return };
        let spell = match trend.course {
            Course::Linear(_) if trend.lumpiness > 0.3 => &mut self.lumpy,
            Course::Linear(_) => &mut self.even,
            Course::Faster(_) | Course::Slower(_) => &mut self.bent,
            Course::Steps { .. } => &mut self.equal_steps,
        };
        spell.seconds += passed;
        spell.grown = spell.grown.max(trend.in_all).max(trend.grown);
    }
}

/// What the words rest on beside the series itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct About<'a> {
    pub(crate) growths: &'a Growths,
    /// It is being loaded.
    pub(crate) loading: bool,
    /// When the last load was over.
    pub(crate) settled: f64,
    /// A program that is known to take a pool.
    pub(crate) pool: bool,
}

/// The word for a series.
pub(crate) fn shape(signal: &Signal, about: About<'_>, scale: &Scale) -> Shape {
    let (Some(first), Some(last)) = (signal.first(), signal.last()) else { return Shape::Unknown };
    let lasted = last.t - first.t;
    if lasted < 5.0 {
        return Shape::Unknown;
    }
    let total = scale.total;
    if signal.peak() < (0.015 * total).max(700.0).min(0.1 * total) {
        return Shape::Idle;
    }
    if about.loading {
        return Shape::Loading;
    }
    if signal.pulses(total).len() >= 2 {
        return Shape::Churn;
    }
    let swing = swing(signal, scale);
    let growths = about.growths;
    let notable = |spell: Spell| spell.seconds >= 12.0 && spell.grown >= (0.01 * total).max(64.0);
    let grows = [
        (growths.even, Shape::Leak),
        (growths.equal_steps, Shape::Leak),
        (growths.bent, Shape::Growing),
        (growths.lumpy, Shape::Staircase),
    ];
    let most = grows.into_iter().filter(|(spell, _)| notable(*spell)).max_by(|a, b| a.0.seconds.total_cmp(&b.0.seconds));
    let in_all = grows.iter().map(|(spell, _)| spell.seconds).sum::<f64>();
    if let Some((spell, word)) = most {
        // A short climb on the way to a long level is not what the series is as a whole.
        let weighty = in_all >= 0.1 * lasted || spell.grown >= 0.1 * total;
        if weighty && (swing.is_none() || spell.grown >= 0.02 * total) {
            return word;
        }
    }
    if let Some(word) = swing {
        return word;
    }
    let since = about.settled.max(first.t);
    let settled = signal.steps().filter(|step| step.from > since + 15.0 && step.after - step.before >= 0.015 * total);
    let (mut steps, mut risen) = (0, 0.0);
    for step in settled {
        steps += 1;
        risen += step.after - step.before;
    }
    let stairs = signal.stairs(since, scale.step);
    if stairs.is_some_and(|stairs| stairs.uneven && stairs.count >= 5 && stairs.grown >= 0.03 * total && stairs.count > 2 * steps)
    {
        return Shape::Staircase;
    }
    let sudden = signal.largest_jump() >= 0.4 * total;
    if about.pool && signal.level() >= 0.25 * total || sudden && signal.level() >= 0.7 * total {
        return Shape::Preallocated;
    }
    if steps >= 1 && risen >= 0.03 * total {
        return Shape::Steps;
    }
    Shape::Steady
}

/// The word for what comes and goes.
fn swing(signal: &Signal, scale: &Scale) -> Option<Shape> {
    let turns: Vec<_> = signal.turns().newest().take(24).collect();
    if turns.len() < 6 {
        return None;
    }
    let rhythm = signal.last_rhythm();
    let (now, began) = (signal.last()?.t, signal.first()?.t);
    // Long gone is not what it is as a whole.
    let newest = turns.first()?.0.until;
    if now - newest > 0.5 * (now - began) && signal.swung() < 0.5 * (now - began) {
        return None;
    }
    let of = |peak: bool| turns.iter().filter(move |(_, is)| *is == peak).map(|(turn, _)| turn.v);
    let (low, high) = (of(false).fold(f64::INFINITY, f64::min), of(true).fold(0.0, f64::max));
    let height = high - low;
    if height < (0.02 * scale.total).max(128.0) {
        return None;
    }
    let near = of(false).filter(|v| *v <= low + 0.25 * height).count();
    let returns = near as f64 >= 0.7 * of(false).count() as f64;
    let seconds: Vec<_> = signal.seconds().collect();
    let resting = seconds.iter().filter(|second| second.max <= low + 0.2 * height).count() as f64 / seconds.len().max(1) as f64;
    if !returns && rhythm.irregularity > 0.35 {
        // It wanders between bounds.
        return Some(Shape::Steady);
    }
    if resting >= 0.6 && rhythm.irregularity > 0.35 { Some(Shape::Spiky) } else { Some(Shape::Sawtooth) }
}
