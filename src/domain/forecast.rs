//! The mathematics of growth: fits over a window, saturation, and the time until a limit is passed.
//!
//! A window is seen through [`POINTS`] equally spaced values of a high-water mark. Lines are Theil and Sen's (median of the
//! pairwise slopes, interval from the ranks of Kendall's S), curvature is tested by least squares, deceleration by the
//! ratio of the rises in the first and last third (Aitken), and the passage of the limit is that of a drift with jumps:
//! inverse Gaussian, mean H/v, variance H·D/v³ (SIGNATURES.md section 3).

/// How many values a window is seen through.
pub const POINTS: usize = 13;
/// The middle of the points.
const HALF: f64 = 6.0;
/// Σx² over x = −6 … 6.
const LINE_NORM: f64 = 182.0;
/// Σ(x² − 14)² over the same.
const CURVE_NORM: f64 = 2002.0;
/// The quantile that an 80 % interval reaches to on each side.
pub const TENTH: f64 = 1.2816;

/// Least squares over a window. Slopes are per step between two points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fit {
    /// Mean slope.
    pub slope: f64,
    /// The coefficient of the second orthogonal polynomial, x² − 14.
    pub curve: f64,
    /// Mean value.
    pub mean: f64,
    /// Largest distance of a value from the line.
    pub off_line: f64,
    /// Largest distance of a value from the parabola.
    pub off_curve: f64,
    /// Standard deviation of the values around the parabola.
    pub spread: f64,
}

/// A robust line. Slopes are per step between two points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    /// The median slope.
    pub slope: f64,
    /// The lower end of its 80 % interval.
    pub lo: f64,
    /// The upper end.
    pub hi: f64,
    /// The line's value at the last point.
    pub end: f64,
}

/// How the rise changes over the window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bend {
    /// The rise in the last third.
    pub last: f64,
    /// By what the rise of one third is to be multiplied for that of the next.
    pub ratio: f64,
    /// Standard error of the ratio's logarithm.
    pub doubt: f64,
}

/// The time until the limit is passed: an 80 % interval and the median, in the unit of the fit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Passage {
    /// Sooner in one case of ten.
    pub lo: f64,
    /// The median.
    pub mid: f64,
    /// Later in one case of ten.
    pub hi: f64,
}

impl Fit {
    /// Least squares over the values.
    pub fn of(values: &[f64; POINTS]) -> Self {
        let x = |n: usize| n as f64 - HALF;
        let mean = values.iter().sum::<f64>() / POINTS as f64;
        let slope = values.iter().enumerate().map(|(n, y)| x(n) * y).sum::<f64>() / LINE_NORM;
        let curve = values.iter().enumerate().map(|(n, y)| (x(n) * x(n) - 14.0) * y).sum::<f64>() / CURVE_NORM;
        let (mut off_line, mut off_curve, mut squares) = (0.0_f64, 0.0_f64, 0.0);
        for (n, y) in values.iter().enumerate() {
            let line = y - mean - slope * x(n);
            let rest = line - curve * (x(n) * x(n) - 14.0);
            off_line = off_line.max(line.abs());
            off_curve = off_curve.max(rest.abs());
            squares += rest * rest;
        }
        Self { slope, curve, mean, off_line, off_curve, spread: (squares / (POINTS as f64 - 3.0)).sqrt() }
    }

    /// Value and slope of the parabola at the last point.
    pub fn end(&self) -> (f64, f64) {
        (self.mean + self.slope * HALF + self.curve * (HALF * HALF - 14.0), self.slope + 2.0 * self.curve * HALF)
    }

    /// How the rise changes: from the parabola, so that single jumps weigh little; where that turns down within the window,
    /// which an exponential does not, from the values. None where it does not rise at both ends.
    pub fn bend(&self, values: &[f64; POINTS]) -> Option<Bend> {
        let (middle, change) = (4.0 * self.slope, 32.0 * self.curve);
        let (mut first, mut last) = (middle - change, middle + change);
        if last < 0.3 * first {
            (first, last) = (values[4] - values[0], values[12] - values[8]);
        }
        if first <= 0.0 || last <= 0.0 {
            return None;
        }
        // The standard error of the curvature, seen in the rise of a third.
        let error = 32.0 * self.spread / CURVE_NORM.sqrt();
        let doubt = 0.5 * ((error / first).powi(2) + (error / last).powi(2)).sqrt();
        Some(Bend { last, ratio: (last / first).sqrt(), doubt })
    }

    /// Steps until the parabola has risen by `room` over its end; none if it never does.
    pub fn reach(&self, room: f64) -> Option<f64> {
        let (_, slope) = self.end();
        let square = slope * slope + 4.0 * self.curve * room;
        if square < 0.0 {
            return None;
        }
        let divisor = slope + square.sqrt();
        (divisor > 0.0).then(|| 2.0 * room / divisor)
    }
}

impl Bend {
    /// How much more there is to come if every third rises by the ratio; none if the rise does not die away.
    pub fn to_come(&self) -> Option<f64> {
        (self.ratio < 1.0).then(|| self.last * self.ratio / (1.0 - self.ratio))
    }

    /// Thirds of the window until it has risen by `room`; none if it never does.
    pub fn reach(&self, room: f64) -> Option<f64> {
        let log = self.ratio.ln();
        if log.abs() < 1e-6 {
            return Some(room / self.last);
        }
        let inner = 1.0 + room * (self.ratio - 1.0) / (self.last * self.ratio);
        (inner > 0.0).then(|| inner.ln() / log)
    }
}

impl Line {
    /// Theil and Sen's line through the values.
    pub fn of(values: &[f64; POINTS]) -> Self {
        const PAIRS: usize = POINTS * (POINTS - 1) / 2;
        let mut slopes = [0.0; PAIRS];
        let mut at = 0;
        for (n, y) in values.iter().enumerate() {
            for (m, later) in values.iter().enumerate().skip(n + 1) {
                if let Some(slot) = slopes.get_mut(at) {
                    *slot = (later - y) / (m - n) as f64;
                }
                at += 1;
            }
        }
        slopes.sort_unstable_by(f64::total_cmp);
        let n = POINTS as f64;
        let reach = TENTH * (n * (n - 1.0) * (2.0 * n + 5.0) / 18.0).sqrt() / 2.0;
        let middle = (PAIRS as f64 - 1.0) / 2.0;
        let rank = |at: f64| slopes.get(at.round().clamp(0.0, PAIRS as f64 - 1.0) as usize).copied().unwrap_or_default();
        let slope = f64::midpoint(rank(middle.floor()), rank(middle.ceil()));
        // The later half decides where the line ends: what matters is where it is now.
        let mut ends = [0.0; POINTS / 2 + 1];
        for (end, (n, y)) in ends.iter_mut().zip(values.iter().enumerate().skip(POINTS / 2)) {
            *end = y + slope * (POINTS - 1 - n) as f64;
        }
        ends.sort_unstable_by(f64::total_cmp);
        let end = ends.get(ends.len() / 2).copied().unwrap_or_default();
        Self { slope, lo: rank(middle - reach), hi: rank(middle + reach), end }
    }

    /// The relative standard error of the slope, from the interval.
    pub fn doubt(&self) -> f64 {
        (self.hi - self.lo) / (2.0 * TENTH) / self.slope.abs().max(1e-12)
    }
}

/// The interval around a median time, whose relative standard deviation is `spread`: log-normal, which is close to the
/// inverse Gaussian and stays positive.
pub fn around(mid: f64, spread: f64) -> Passage {
    let reach = (TENTH * spread).min(3.0).exp();
    Passage { lo: mid / reach, mid, hi: mid * reach }
}

/// The relative standard deviation of the first passage of `room` by a drift `rate` with diffusion `diffusion`.
pub fn passage_spread(room: f64, rate: f64, diffusion: f64) -> f64 {
    (diffusion / (room * rate).max(1e-12)).max(0.0).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(f: impl Fn(f64) -> f64) -> [f64; POINTS] {
        std::array::from_fn(|n| f(n as f64))
    }

    #[test]
    fn a_line_is_found_through_outliers() {
        let mut values = window(|x| 10.0 + 3.0 * x);
        values[4] += 500.0;
        values[9] -= 100.0;
        let line = Line::of(&values);
        assert!((line.slope - 3.0).abs() < 1e-9 && (line.end - 46.0).abs() < 1e-9, "{line:?}");
        assert!(line.lo <= 3.0 && line.hi >= 3.0);
    }

    #[test]
    fn a_parabola_is_followed_to_its_limit() {
        let fit = Fit::of(&window(|x| x * x));
        assert!(fit.off_curve < 1e-9 && fit.off_line > 5.0, "{fit:?}");
        // From 12² to 15².
        assert!((fit.reach(225.0 - 144.0).expect("a time") - 3.0).abs() < 1e-9);
        let bend = fit.bend(&window(|x| x * x)).expect("a rise");
        assert!(bend.ratio > 1.5 && bend.doubt < 1e-6, "{bend:?}");
    }

    #[test]
    fn what_saturates_has_an_end() {
        let values = window(|x| 100.0 * (1.0 - (-x / 12.0).exp()));
        let bend = Fit::of(&values).bend(&values).expect("a rise");
        assert!((bend.ratio - (-1.0_f64 / 3.0).exp()).abs() < 0.02, "{bend:?}");
        let truth = 100.0 * (-1.0_f64).exp();
        assert!((bend.to_come().expect("an end") / truth - 1.0).abs() < 0.15, "{bend:?} {truth}");
        assert_eq!(bend.reach(2.0 * truth), None, "it never gets there");
        assert!(bend.reach(0.5 * truth).is_some());
    }

    #[test]
    fn flat_windows_have_no_bend() {
        let fit = Fit::of(&window(|_| 5.0));
        assert_eq!(fit.bend(&window(|_| 5.0)), None);
        assert_eq!(fit.reach(1.0), None);
        assert!(fit.slope.abs() < 1e-12);
    }

    #[test]
    fn intervals_hold_their_median_and_grow_with_the_spread() {
        let (narrow, wide) = (around(100.0, 0.05), around(100.0, 0.5));
        for passage in [narrow, wide] {
            assert!(passage.lo < passage.mid && passage.mid < passage.hi);
        }
        assert!(wide.lo < narrow.lo && wide.hi > narrow.hi);
        assert!((passage_spread(1000.0, 10.0, 0.0)).abs() < 1e-12);
        assert!(passage_spread(1000.0, 10.0, 100.0) > passage_spread(4000.0, 10.0, 100.0));
    }
}
