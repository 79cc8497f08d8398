//! High-water and low-water marks of a series over time, thinned to a bounded number of points.

use super::Point;

/// How many points each mark keeps: 1.5 KiB.
const KEPT: usize = 96;

/// The high-water mark: the largest value so far, as a function of time. What lies above the present ceiling is taken off
/// once the series has left it ([`High::lower_to`]).
#[derive(Clone, Debug, Default)]
pub(crate) struct High {
    points: Vec<Point>,
}

/// The low-water mark: the smallest value from a moment on, so what has not been given back since. Causal: it is renewed
/// by every new value.
#[derive(Clone, Debug, Default)]
pub(crate) struct Low {
    points: Vec<Point>,
}

impl High {
    /// Takes a value; whether it is a new record.
    pub(crate) fn push(&mut self, point: Point) -> bool {
        let record = self.points.last().is_none_or(|last| point.v > last.v);
        if record {
            self.points.push(point);
            thin(&mut self.points);
        }
        record
    }

    /// Forgets what lies above a ceiling, which was reached at the point's time.
    pub(crate) fn lower_to(&mut self, ceiling: Point) {
        while self.points.last().is_some_and(|last| last.v >= ceiling.v) {
            self.points.pop();
        }
        self.push(ceiling);
    }

    /// The mark at a moment; of the first point for moments before it.
    pub(crate) fn at(&self, t: f64) -> Option<f64> {
        let after = self.points.partition_point(|point| point.t <= t);
        self.points.get(after.saturating_sub(1)).map(|point| point.v)
    }

    /// The newest record.
    pub(crate) fn newest(&self) -> Option<Point> {
        self.points.last().copied()
    }

    /// The newest record before a moment.
    pub(crate) fn newest_before(&self, t: f64) -> Option<Point> {
        let at = self.points.partition_point(|point| point.t < t);
        self.points.get(at.checked_sub(1)?).copied()
    }

    /// The time of the first point.
    pub(crate) fn since(&self) -> Option<f64> {
        self.points.first().map(|point| point.t)
    }

    /// How many records were set after a moment (of those kept).
    pub(crate) fn records_after(&self, t: f64) -> usize {
        self.points.len() - self.points.partition_point(|point| point.t <= t)
    }

    /// The records after a moment, oldest first.
    pub(crate) fn after(&self, t: f64) -> &[Point] {
        let from = self.points.partition_point(|point| point.t <= t);
        self.points.get(from..).unwrap_or_default()
    }
}

impl Low {
    /// Takes a value.
    pub(crate) fn push(&mut self, point: Point) {
        while self.points.last().is_some_and(|last| last.v >= point.v) {
            self.points.pop();
        }
        self.points.push(point);
        thin(&mut self.points);
    }

    /// How many marks there are after a moment.
    pub(crate) fn marks_after(&self, t: f64) -> usize {
        self.points.len() - self.points.partition_point(|point| point.t <= t)
    }

    /// The smallest value since a moment; of the newest point for moments after it.
    pub(crate) fn at(&self, t: f64) -> Option<f64> {
        let at = self.points.partition_point(|point| point.t < t);
        self.points.get(at).or(self.points.last()).map(|point| point.v)
    }
}

/// Takes out the inner point that is missed least: the one with the smallest rectangle between its neighbours.
fn thin(points: &mut Vec<Point>) {
    if points.len() <= KEPT {
        return;
    }
    let mut least = (f64::INFINITY, 1);
    for (n, window) in points.windows(3).enumerate() {
        if let [before, _, after] = window {
            let area = (after.t - before.t) * (after.v - before.v);
            if area < least.0 {
                least = (area, n + 1);
            }
        }
    }
    points.remove(least.1);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(t: f64, v: f64) -> Point {
        Point { t, v }
    }

    #[test]
    fn marks_of_a_rising_sawtooth_keep_its_peaks_and_its_troughs() {
        let (mut high, mut low) = (High::default(), Low::default());
        for n in 0..1000 {
            let (t, base) = (f64::from(n), f64::from(n / 10));
            let v = base + if n % 10 < 5 { 100.0 } else { 0.0 };
            high.push(point(t, v));
            low.push(point(t, v));
        }
        for t in [100.0, 500.0, 900.0] {
            let truth = t / 10.0;
            assert!((high.at(t).expect("a mark") - 100.0 - truth).abs() < 2.5, "high at {t}");
            assert!((low.at(t).expect("a mark") - truth).abs() < 2.5, "low at {t}");
        }
        assert!(high.points.len() <= KEPT && low.points.len() <= KEPT);
    }

    #[test]
    fn a_ceiling_that_was_left_is_forgotten_and_what_was_below_it_stays() {
        let mut high = High::default();
        for (t, v) in [(0.0, 1.0), (10.0, 2.0), (20.0, 3.0), (30.0, 50.0)] {
            high.push(point(t, v));
        }
        high.lower_to(point(40.0, 4.0));
        assert_eq!(high.at(35.0), Some(3.0));
        assert_eq!(high.newest(), Some(point(40.0, 4.0)));
        assert_eq!(high.at(15.0), Some(2.0));
    }
}
