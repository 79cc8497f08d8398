//! Turning points of a series: where it went up or down by more than a threshold, at whatever pace.

use std::collections::VecDeque;

/// How many turning points are kept: 0.8 KiB.
const KEPT: usize = 32;

/// A peak or a trough.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Turn {
    /// When it was reached.
    pub(crate) t: f64,
    /// When it was left.
    pub(crate) until: f64,
    /// The level.
    pub(crate) v: f64,
    /// The level when it was reached: a little more later makes it no later.
    first: f64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Way {
    #[default]
    Unknown,
    Up,
    Down,
}

/// The turning points so far; they alternate between peaks and troughs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Turns {
    way: Way,
    /// The extreme since the newest turning point, and the other one while the direction is unknown.
    extreme: Option<Turn>,
    lowest: Option<Turn>,
    kept: VecDeque<Turn>,
    newest_is_peak: bool,
    /// How many there have been.
    count: u64,
}

/// What a periodic series does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rhythm {
    /// The median time from peak to peak.
    pub(crate) period: f64,
    /// Standard deviation of these times over their mean.
    pub(crate) irregularity: f64,
    /// The median height from trough to peak.
    pub(crate) amplitude: f64,
    /// How many whole cycles it is made of.
    pub(crate) cycles: usize,
}

impl Turns {
    /// Takes a value.
    pub(crate) fn push(&mut self, t: f64, v: f64, threshold: f64) {
        let here = Turn { t, until: t, v, first: v };
        let Some(mut extreme) = self.extreme else {
            self.extreme = Some(here);
            self.lowest = Some(here);
            return;
        };
        match self.way {
            Way::Unknown => {
                let lowest = self.lowest.unwrap_or(extreme);
                if v >= lowest.v + threshold {
                    self.turn(lowest, false);
                    self.way = Way::Up;
                    self.extreme = Some(here);
                } else if v <= extreme.v - threshold {
                    self.turn(extreme, true);
                    self.way = Way::Down;
                    self.extreme = Some(here);
                } else {
                    self.extreme = Some(further(extreme, here, v > extreme.v, 0.3 * threshold));
                    self.lowest = Some(further(lowest, here, v < lowest.v, 0.3 * threshold));
                }
            }
            Way::Up if v <= extreme.v - threshold => {
                extreme.until = extreme.until.max(extreme.t);
                self.turn(extreme, true);
                self.way = Way::Down;
                self.extreme = Some(here);
            }
            Way::Down if v >= extreme.v + threshold => {
                self.turn(extreme, false);
                self.way = Way::Up;
                self.extreme = Some(here);
            }
            Way::Up => self.extreme = Some(further(extreme, here, v > extreme.v, 0.3 * threshold)),
            Way::Down => self.extreme = Some(further(extreme, here, v < extreme.v, 0.3 * threshold)),
        }
    }

    fn turn(&mut self, turn: Turn, peak: bool) {
        if self.kept.len() >= KEPT {
            self.kept.pop_front();
        }
        self.kept.push_back(turn);
        self.newest_is_peak = peak;
        self.count += 1;
    }

    /// The newest turning points, newest first, with whether each is a peak.
    pub(crate) fn newest(&self) -> impl Iterator<Item = (Turn, bool)> + '_ {
        let newest = self.newest_is_peak;
        self.kept.iter().rev().enumerate().map(move |(n, turn)| (*turn, newest == n.is_multiple_of(2)))
    }

    /// How many turning points there have been in all.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// The rhythm of the newest cycles, if there is one that goes on.
    pub(crate) fn rhythm(&self, now: f64) -> Option<Rhythm> {
        let peaks: Vec<Turn> = self.newest().filter(|(_, peak)| *peak).map(|(turn, _)| turn).take(12).collect();
        let mut times: Vec<f64> = peaks.windows(2).map(|pair| pair[0].t - pair[1].t).collect();
        if times.is_empty() {
            return None;
        }
        let mean = times.iter().sum::<f64>() / times.len() as f64;
        let spread = (times.iter().map(|time| (time - mean).powi(2)).sum::<f64>() / times.len() as f64).sqrt();
        let period = median(&mut times)?;
        if now - peaks.first()?.until > (3.0 * period).max(2.0) {
            return None;
        }
        let levels: Vec<f64> = self.newest().map(|(turn, _)| turn.v).take(24).collect();
        let mut heights: Vec<f64> = levels.windows(2).map(|pair| (pair[0] - pair[1]).abs()).collect();
        let amplitude = median(&mut heights)?;
        Some(Rhythm { period, irregularity: spread / mean.max(1e-9), amplitude, cycles: times.len() })
    }
}

/// The extreme with one more value: a higher one takes its place, a near one prolongs it.
fn further(old: Turn, here: Turn, beyond: bool, near: f64) -> Turn {
    match (beyond, (here.v - old.v).abs() <= near) {
        (true, _) if (here.v - old.first).abs() <= near => Turn { t: old.t, first: old.first, ..here },
        (true, _) => here,
        (false, true) => Turn { until: here.t, ..old },
        (false, false) => old,
    }
}

/// The median; sorts what it is given.
pub(crate) fn median(values: &mut [f64]) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len().is_multiple_of(2) {
        Some(f64::midpoint(*values.get(middle.checked_sub(1)?)?, *values.get(middle)?))
    } else {
        values.get(middle).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_swing_has_its_period_and_its_amplitude() {
        let mut turns = Turns::default();
        for n in 0..500 {
            let t = f64::from(n) * 0.02;
            turns.push(t, if n % 50 < 20 { 3000.0 } else { 1000.0 }, 500.0);
        }
        let rhythm = turns.rhythm(10.0).expect("a rhythm");
        assert!((rhythm.period - 1.0).abs() < 1e-9 && rhythm.irregularity < 1e-6, "{rhythm:?}");
        assert!((rhythm.amplitude - 2000.0).abs() < 1e-9 && rhythm.cycles >= 7, "{rhythm:?}");
        assert_eq!(turns.rhythm(20.0), None, "it stopped");
    }

    #[test]
    fn a_flat_or_rising_series_does_not_turn() {
        let mut turns = Turns::default();
        for n in 0..1000 {
            turns.push(f64::from(n), f64::from(n) * 10.0, 500.0);
        }
        assert!(turns.count() <= 1);
        assert_eq!(turns.rhythm(1000.0), None);
    }

    #[test]
    fn medians_are_those_of_the_middle() {
        for (values, middle) in
            [(vec![], None), (vec![3.0], Some(3.0)), (vec![3.0, 1.0], Some(2.0)), (vec![5.0, 1.0, 2.0], Some(2.0))]
        {
            let mut values = values;
            assert_eq!(median(&mut values), middle);
        }
    }
}
