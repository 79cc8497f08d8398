//! How fast a thread really reads, and how long the driver takes.

use crate::domain::{Gpu, Health, Period, ProbeKind, Timestamp};

/// Readings since the last [`Health::Pace`].
#[derive(Debug)]
pub struct Meter {
    /// Time in the driver of each reading, in microseconds. Kept between windows: no allocation once warm.
    calls: Vec<u32>,
    worst: u32,
    missed: u32,
    readings: u32,
    /// The newest reading of the window before.
    from: Option<Timestamp>,
    newest: Timestamp,
    told: Timestamp,
}

/// A second at the fastest interval; beyond that the median is of the first so many.
const CALLS: usize = 1000;

impl Meter {
    /// An empty window.
    pub fn new(now: Timestamp) -> Self {
        Self { calls: Vec::new(), worst: 0, missed: 0, readings: 0, from: None, newest: now, told: now }
    }

    /// One reading was made at `t` and took `call` in the driver; before it, `missed` ticks were skipped.
    pub fn note(&mut self, t: Timestamp, call: Period, missed: u32) {
        let call = u32::try_from(call.0).unwrap_or(u32::MAX);
        if self.calls.len() < CALLS {
            self.calls.push(call);
        }
        self.worst = self.worst.max(call);
        self.missed = self.missed.saturating_add(missed);
        if self.from.is_none() {
            self.from = Some(t);
        } else {
            self.readings += 1;
        }
        self.newest = t;
    }

    /// Nothing was read: the time until the next reading is no interval between readings.
    pub fn pause(&mut self) {
        if self.readings == 0 {
            self.from = None;
        }
    }

    /// Whether it is time to tell.
    pub fn due(&self, now: Timestamp) -> bool {
        now.since(self.told) >= Period::millis(990) && !self.calls.is_empty()
    }

    /// How many readings the median is of.
    pub fn readings(&self) -> usize {
        self.calls.len()
    }

    /// The median time in the driver.
    pub fn median(&mut self) -> Period {
        if self.calls.is_empty() {
            return Period::ZERO;
        }
        let middle = self.calls.len() / 2;
        Period(u64::from(*self.calls.select_nth_unstable(middle).1))
    }

    /// The window's figures; a new one begins.
    pub fn take(&mut self, now: Timestamp, gpu: Gpu, kind: ProbeKind, asked: Period, backed_off: bool) -> Health {
        let call = self.median();
        let achieved =
            self.from.filter(|_| self.readings > 0).map(|from| Period(self.newest.since(from).0 / u64::from(self.readings)));
        let health = Health::Pace {
            gpu,
            kind,
            asked,
            achieved,
            call,
            worst: Period(u64::from(self.worst)),
            missed: self.missed,
            backed_off,
        };
        self.calls.clear();
        (self.worst, self.missed, self.readings) = (0, 0, 0);
        self.from = Some(self.newest);
        self.told = now;
        health
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_tells_median_worst_missed_and_the_interval_achieved() {
        let mut meter = Meter::new(Timestamp::ZERO);
        for (n, call) in [10, 500, 20, 30, 20].into_iter().enumerate() {
            meter.note(Timestamp::millis(n as u64 * 250), Period(call), u32::from(n == 2));
        }
        assert!(meter.due(Timestamp::secs(1)));
        let Health::Pace { achieved, call, worst, missed, .. } =
            meter.take(Timestamp::secs(1), Gpu(0), ProbeKind::Memory, Period::millis(250), false)
        else {
            panic!("a pace")
        };
        assert_eq!((achieved, call, worst, missed), (Some(Period::millis(250)), Period(20), Period(500), 1));
        meter.note(Timestamp::millis(1250), Period(1), 0);
        let Health::Pace { achieved, .. } = meter.take(Timestamp::secs(2), Gpu(0), ProbeKind::Memory, Period::ZERO, false) else {
            panic!("a pace")
        };
        assert_eq!(achieved, Some(Period::millis(250)), "counted from the last reading of the window before");
    }
}
