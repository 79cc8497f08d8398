//! When the next reading is due: absolute deadlines, easing, and backing off where the driver is slow.

use crate::domain::{Period, Timestamp};

/// Of the time, calls may take one part in so many (2 %) at the default cadence.
const SHARE: u64 = 50;
/// The widest interval that backing off leads to.
const WIDEST: Period = Period::secs(10);

/// Deadlines on a grid of multiples of the interval: threads of equal interval wake together, which wakes the machine
/// and the readers of the stream once instead of once for each card.
#[derive(Clone, Copy, Debug)]
pub struct Ticks {
    due: Timestamp,
    offset: u64,
}

impl Ticks {
    /// Due at once; later ticks lie at multiples of the interval plus `offset`.
    pub fn new(now: Timestamp, offset: Period) -> Self {
        Self { due: now, offset: offset.0 }
    }

    /// When the next reading is due.
    pub fn due(&self) -> Timestamp {
        self.due
    }

    /// A reading was made at once, for a reason of its own.
    pub fn restart(&mut self, now: Timestamp) {
        self.due = now;
    }

    /// The reading that was due is done: sets the next deadline and says how many were skipped since it ran too long.
    pub fn advance(&mut self, now: Timestamp, interval: Period) -> u32 {
        let interval = interval.0.max(1);
        let offset = self.offset % interval;
        let slot = |t: Timestamp| (t.0 + interval - offset) / interval;
        let (done, current) = (slot(self.due), slot(now).max(slot(self.due)));
        self.due = Timestamp((current + 1) * interval + offset - interval);
        u32::try_from(current - done).unwrap_or(u32::MAX)
    }
}

/// The interval between readings.
#[derive(Clone, Copy, Debug)]
pub struct Pacing {
    fastest: Period,
    idle: Period,
    adaptive: bool,
    /// The interval that the cost of the calls allows: `fastest` times a power of two.
    allowed: Period,
    current: Period,
}

impl Pacing {
    /// As the user says, whatever it costs.
    pub fn fixed(interval: Period) -> Self {
        Self { fastest: interval, idle: interval, adaptive: false, allowed: interval, current: interval }
    }

    /// `fastest` while something goes on, easing to `idle`; wider where the calls would take more than 2 % of the time.
    pub fn adaptive(fastest: Period, idle: Period) -> Self {
        Self { fastest, idle, adaptive: true, allowed: fastest, current: fastest }
    }

    /// The interval after a reading; `busy` says whether something goes on.
    pub fn next(&mut self, busy: bool) -> Period {
        if self.adaptive {
            let ease = if busy { self.fastest } else { Period((self.current.0 * 2).min(self.idle.0)) };
            self.current = ease.max(self.allowed);
        }
        self.current
    }

    /// Looks at the median time of one reading, about once a second.
    pub fn review(&mut self, call: Period) {
        if !self.adaptive {
            return;
        }
        let needed = Period(call.0.saturating_mul(SHARE));
        while self.allowed < needed && self.allowed < WIDEST {
            self.allowed = Period(self.allowed.0 * 2);
        }
        // Only well below the limit, so that it does not swing between two intervals.
        if needed.0 < self.allowed.0 / 4 && self.allowed > self.fastest {
            self.allowed = Period((self.allowed.0 / 2).max(self.fastest.0));
        }
    }

    /// Whether the calls cost too much for the interval there would be otherwise.
    pub fn backed_off(&self) -> bool {
        self.allowed > self.fastest
    }

    /// The interval now.
    pub fn current(&self) -> Period {
        if self.adaptive { self.current.max(self.allowed) } else { self.current }
    }

    /// The shortest time between two readings made for a reason of their own, never below `least`.
    pub fn spacing(&self, least: Period) -> Period {
        if self.backed_off() { least.max(Period(self.allowed.0 / 4)) } else { least }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missed_ticks_are_skipped_and_counted() {
        let mut ticks = Ticks::new(Timestamp::millis(13), Period::ZERO);
        let interval = Period::millis(50);
        assert_eq!(ticks.advance(Timestamp::millis(14), interval), 0);
        assert_eq!(ticks.due(), Timestamp::millis(50));
        assert_eq!(ticks.advance(Timestamp::millis(51), interval), 0);
        assert_eq!(ticks.due(), Timestamp::millis(100));
        assert_eq!(ticks.advance(Timestamp::millis(260), interval), 3, "150, 200 and 250");
        assert_eq!(ticks.due(), Timestamp::millis(300));
    }

    #[test]
    fn an_offset_moves_the_grid() {
        let mut ticks = Ticks::new(Timestamp::ZERO, Period::millis(300));
        for expected in [300, 1300, 2300] {
            assert_eq!(ticks.advance(ticks.due(), Period::secs(1)), 0);
            assert_eq!(ticks.due(), Timestamp::millis(expected));
        }
        ticks.restart(Timestamp::millis(2500));
        ticks.advance(Timestamp::millis(2501), Period::secs(1));
        assert_eq!(ticks.due(), Timestamp::millis(3300));
    }

    #[test]
    fn an_idle_card_eases_to_a_second_and_wakes_at_once() {
        let mut pacing = Pacing::adaptive(Period::millis(50), Period::secs(1));
        let eased: Vec<u64> = (0..6).map(|_| pacing.next(false).0 / 1000).collect();
        assert_eq!(eased, [100, 200, 400, 800, 1000, 1000]);
        assert_eq!(pacing.next(true), Period::millis(50));
        assert_eq!(Pacing::fixed(Period::millis(1)).next(false), Period::millis(1));
    }

    #[test]
    fn slow_calls_widen_the_interval_until_they_take_two_percent() {
        let mut pacing = Pacing::adaptive(Period::millis(50), Period::secs(1));
        pacing.review(Period::micros(900));
        assert!(!pacing.backed_off());
        pacing.review(Period::millis(3));
        assert_eq!((pacing.next(true), pacing.backed_off()), (Period::millis(200), true));
        pacing.review(Period::micros(2_000));
        assert_eq!(pacing.next(true), Period::millis(200), "100 ms would do, but only just");
        for _ in 0..4 {
            pacing.review(Period::micros(100));
        }
        assert_eq!((pacing.next(true), pacing.backed_off()), (Period::millis(50), false));
        pacing.review(Period::secs(9));
        assert_eq!(pacing.next(true), Period::micros(12_800_000), "never wider than one step past ten seconds");
        let mut fixed = Pacing::fixed(Period::millis(2));
        fixed.review(Period::secs(1));
        assert_eq!((fixed.next(true), fixed.backed_off()), (Period::millis(2), false));
    }
}
