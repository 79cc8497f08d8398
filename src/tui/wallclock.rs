//! Points of the stream as the clock on the wall shows them.

use jiff::tz::TimeZone;

use crate::domain::{Period, Timestamp, Wall};

/// Turns stream time into local time. The offset is taken once per frame: a picture that spans a change to summer
/// time keeps the offset of its end.
#[derive(Clone, Copy, Debug)]
pub struct WallClock {
    created: Wall,
    offset_s: i64,
}

/// Steps between labels of a time axis, in seconds: round on the wall clock.
const STEPS: [i64; 22] = [
    1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 10_800, 21_600, 43_200, 86_400, 172_800, 345_600, 604_800,
    1_209_600,
];

impl WallClock {
    /// The clock of a stream that began at `created`, seen from `timezone` at `now`.
    pub fn new(created: Wall, timezone: &TimeZone, now: Timestamp) -> Self {
        let offset_s = jiff::Timestamp::from_microsecond(created.after(now).0)
            .map_or(0, |wall| i64::from(timezone.to_offset(wall).seconds()));
        Self { created, offset_s }
    }

    /// The wall clock at a moment.
    pub fn wall(self, t: Timestamp) -> Wall {
        self.created.after(t)
    }

    /// Local seconds since 1970.
    fn local(self, t: Timestamp) -> i64 {
        self.wall(t).0.div_euclid(1_000_000) + self.offset_s
    }

    /// `14:03:22`.
    pub fn time(self, t: Timestamp) -> String {
        let s = self.local(t).rem_euclid(86_400);
        format!("{:02}:{:02}:{:02}", s / 3_600, s / 60 % 60, s % 60)
    }

    /// A point of the wall clock: `14:03:22`, with its date where that is another than that of `now`.
    pub fn date_and_time(self, at: Wall, now: Timestamp) -> String {
        let local = at.0.div_euclid(1_000_000).saturating_add(self.offset_s);
        let day = if local.div_euclid(86_400) == self.local(now).div_euclid(86_400) { "%H:%M:%S" } else { "%Y-%m-%d %H:%M:%S" };
        jiff::Timestamp::from_second(local).map_or_else(|_| "at an unknown time".to_owned(), |at| at.strftime(day).to_string())
    }

    /// The smallest round step of at least `least`.
    pub fn step(least: Period) -> Period {
        let least = i64::try_from(least.0.div_ceil(1_000_000)).unwrap_or(i64::MAX);
        let step = STEPS.iter().find(|step| **step >= least).unwrap_or(&STEPS[STEPS.len() - 1]);
        Period::secs(*step as u64)
    }

    /// The round moments from `from` to `to`, `step` apart, with their labels.
    pub fn ticks(self, from: Timestamp, to: Timestamp, step: Period) -> impl Iterator<Item = (Timestamp, String)> {
        let step_us = (step.0.max(1_000_000)) as i64;
        let base = self.created.0 + self.offset_s * 1_000_000;
        let first = (base.saturating_add(from.0 as i64)).div_euclid(step_us) * step_us;
        (0..1_000)
            .map(move |n| first + n * step_us - base)
            .take_while(move |t| *t <= to.0 as i64)
            .filter(move |t| *t >= from.0 as i64)
            .map(move |t| {
                let t = Timestamp(t as u64);
                (t, self.label(t, step))
            })
    }

    /// As much of the date and time as a step of that size needs.
    fn label(self, t: Timestamp, step: Period) -> String {
        let local = self.local(t);
        let s = local.rem_euclid(86_400);
        if step >= Period::secs(86_400) || (step >= Period::secs(10_800) && s == 0) {
            Self::date(local)
        } else if step >= Period::secs(60) {
            format!("{:02}:{:02}", s / 3_600, s / 60 % 60)
        } else {
            self.time(t)
        }
    }

    /// `Mon 30`.
    fn date(local: i64) -> String {
        jiff::Timestamp::from_second(local).map_or_else(|_| String::new(), |at| at.strftime("%a %d").to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_on_the_local_clock() {
        // 2026-11-30T14:00:00.5Z, in a zone of +05:30.
        let created = Wall(1_796_047_200_500_000);
        let zone = TimeZone::fixed(jiff::tz::Offset::from_seconds(19_800).expect("a legal offset"));
        let clock = WallClock::new(created, &zone, Timestamp::ZERO);
        assert_eq!(clock.time(Timestamp::ZERO), "19:30:00");
        assert_eq!(clock.date_and_time(created, Timestamp::secs(60)), "19:30:00");
        assert_eq!(clock.date_and_time(created, Timestamp::secs(86_400)), "2026-11-30 19:30:00");
        assert_eq!(clock.date_and_time(Wall(i64::MAX), Timestamp::ZERO), "at an unknown time");
        let ticks: Vec<_> = clock.ticks(Timestamp::ZERO, Timestamp::secs(70), Period::secs(30)).collect();
        assert_eq!(ticks, [(Timestamp(29_500_000), "19:30:30".into()), (Timestamp(59_500_000), "19:31:00".into())]);
        let hours: Vec<_> = clock.ticks(Timestamp::ZERO, Timestamp::secs(86_400), Period::secs(21_600)).map(|t| t.1).collect();
        assert_eq!(hours, ["Tue 01", "06:00", "12:00", "18:00"]);
    }

    #[test]
    fn steps_are_round() {
        assert_eq!(WallClock::step(Period::millis(1)), Period::secs(1));
        assert_eq!(WallClock::step(Period::secs(31)), Period::secs(60));
        assert_eq!(WallClock::step(Period(u64::MAX)), Period::secs(1_209_600));
    }
}
