//! How programs grow without bound.

use super::dice::Dice;
use super::program::{Script, pages};

/// The rate over the growth: 1 on average until the room is used up, for `u` from 0 to 1 and beyond.
#[derive(Clone, Copy, Debug)]
pub enum Pace {
    Constant,
    /// Faster and faster: up to this many times the first rate.
    Accelerating(f64),
    /// Slower, but not slow enough: down to this share of the first rate.
    Slowing(f64),
}

/// A growth in steps of training.
#[derive(Clone, Copy, Debug)]
pub struct Growth {
    pub pace: Pace,
    /// Room there is at its beginning.
    pub room: f64,
    /// How long the room lasts.
    pub seconds: f64,
    /// Between two chances to grow: a step, or an epoch.
    pub step: f64,
    /// The driver sees it in multiples of this.
    pub segment: f64,
    /// How uneven the steps are: the spread of the logarithm.
    pub noise: f64,
    /// It rests this long after as much growth: evaluations.
    pub rests: Option<(f64, f64)>,
    /// After as much time a share of what was leaked since the last time comes back.
    pub resets: Option<(f64, f64)>,
}

impl Pace {
    fn rate(self, u: f64) -> f64 {
        match self {
            Self::Constant => 1.0,
            Self::Accelerating(ratio) => 2.0 * (1.0 + (ratio - 1.0) * u) / (1.0 + ratio),
            Self::Slowing(share) => 2.0 * (1.0 + (share - 1.0) * u.min(1.0)) / (1.0 + share),
        }
    }
}

impl Growth {
    pub fn leak(room: f64, seconds: f64, step: f64, segment: f64) -> Self {
        Self { pace: Pace::Constant, room, seconds, step, segment, noise: 0.0, rests: None, resets: None }
    }

    /// Appends it to a script, until half as much again as there is room for, or a moment.
    pub fn write(self, dice: &Dice, script: &mut Script, until: f64) {
        let (begin, base) = (script.t, script.level);
        script.program.grows.get_or_insert(begin);
        let (mut leaked, mut shown, mut grown) = (dice.unit() * self.segment, 0.0, 0.0);
        let (mut rest, mut reset, mut kept) = (begin, begin, 0.0);
        while shown < self.room * 1.5 && script.t < until {
            script.pass(self.step * dice.range(0.95, 1.05));
            if let Some((every, length)) = self.rests
                && script.t - rest > every
            {
                script.busy(dice.range(10.0, 50.0)).pass(length).busy(93.0);
                rest = script.t;
            }
            grown += self.step;
            let noise = (self.noise * dice.normal() - self.noise * self.noise / 2.0).exp();
            leaked += self.room * self.step / self.seconds * self.pace.rate(grown / self.seconds) * noise;
            if let Some((every, share)) = self.resets
                && script.t - reset > every
            {
                leaked -= (leaked - kept) * share;
                kept = leaked;
                shown = pages((leaked / self.segment).floor() * self.segment);
                script.to(base + shown);
                reset = script.t;
            }
            let now = pages((leaked / self.segment).floor() * self.segment);
            if now > shown {
                shown = now;
                script.to(base + shown);
            }
        }
    }
}

/// Record highs of a run with inputs of varying length: each step asks for a peak of chance, the allocator keeps the highest.
/// `top` is the most that one can ask for.
pub fn records(dice: &Dice, script: &mut Script, top: f64, step: f64, until: f64) {
    let (floor, bend) = (script.level, dice.range(1.5, 5.0));
    while script.t < until {
        script.pass(step * dice.range(0.6, 1.4));
        // The longest inputs are rare; lengths come in buckets.
        let need = floor + (top - floor) * (1.0 - dice.unit().powf(1.0 / bend)).powf(0.7);
        let need = pages((need / 20.0).ceil() * 20.0).min(pages(top));
        if need > script.level {
            script.to(need);
        }
    }
}

/// Fragmentation: blocks of chance at times of chance, and no end.
pub fn fragments(dice: &Dice, script: &mut Script, room: f64, seconds: f64, until: f64) {
    script.program.grows.get_or_insert(script.t);
    let jumps = dice.log(12.0, 90.0);
    let (base, mut grown) = (script.level, 0.0);
    while grown < room * 1.5 && script.t < until {
        script.pass(dice.wait(seconds / jumps).max(0.05));
        grown += room / jumps * (0.8 * dice.normal() - 0.32).exp();
        script.to(base + grown);
    }
}

/// One tooth: up in pieces, held, down again. The level at its ends is that at its beginning.
pub fn tooth(dice: &Dice, script: &mut Script, top: f64, period: f64) {
    let (floor, begin) = (script.level, script.t);
    let pieces = dice.int(1, 8);
    let up = period * dice.range(0.1, 0.55);
    script.busy(90.0).ramp(dice, top, up, pieces);
    script.pass(period * dice.range(0.05, 0.25)).to(floor).busy(40.0);
    script.t = (begin + period).max(script.t + period * 0.02);
}
