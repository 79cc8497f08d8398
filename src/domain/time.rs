//! Points and spans of time in whole microseconds, and how people write them.

use std::fmt;
use std::ops::{Add, Sub};
use std::time::Duration;

/// Microseconds since the origin of the stream (the header's `created`), on a clock that runs through suspend.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(pub u64);

/// A span of time in whole microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Period(pub u64);

/// A point on the wall clock: microseconds since 1970-01-01 UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Wall(pub i64);

/// Why a text is not a duration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a duration: write 250ms, 1s, 5m, 2h, 7d or bare seconds")]
pub struct BadPeriod(String);

impl Timestamp {
    /// The origin of the stream.
    pub const ZERO: Self = Self(0);

    /// Whole seconds since the origin.
    pub const fn secs(s: u64) -> Self {
        Self(s * 1_000_000)
    }

    /// Milliseconds since the origin.
    pub const fn millis(ms: u64) -> Self {
        Self(ms * 1_000)
    }

    /// Seconds since the origin, as files write them.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// The span from `earlier` to here, zero if `earlier` is later.
    #[must_use]
    pub fn since(self, earlier: Self) -> Period {
        Period(self.0.saturating_sub(earlier.0))
    }

    /// This point less a span, not before the origin.
    #[must_use]
    pub fn back(self, span: Period) -> Self {
        Self(self.0.saturating_sub(span.0))
    }
}

impl Add<Period> for Timestamp {
    type Output = Self;
    fn add(self, span: Period) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl Sub for Timestamp {
    type Output = Period;
    fn sub(self, earlier: Self) -> Period {
        self.since(earlier)
    }
}

impl Period {
    /// No time at all.
    pub const ZERO: Self = Self(0);

    /// `n` microseconds.
    pub const fn micros(n: u64) -> Self {
        Self(n)
    }

    /// `n` milliseconds.
    pub const fn millis(n: u64) -> Self {
        Self(n * 1_000)
    }

    /// `n` seconds.
    pub const fn secs(n: u64) -> Self {
        Self(n * 1_000_000)
    }

    /// As seconds, for rates.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// As the standard library's duration.
    pub const fn std(self) -> Duration {
        Duration::from_micros(self.0)
    }

    /// Reads `250ms`, `1s`, `5m`, `2h`, `7d`, `10us`, or bare seconds (`0.5`).
    ///
    /// # Errors
    /// [`BadPeriod`] for anything else: negative, not finite, an unknown unit, above 10,000 years.
    ///
    /// ```
    /// use vramscope::domain::Period;
    /// assert_eq!(Period::parse("250ms"), Ok(Period::millis(250)));
    /// assert_eq!(Period::parse("1m30s"), Ok(Period::secs(90)));
    /// assert!(Period::parse("1x").is_err());
    /// ```
    pub fn parse(text: &str) -> Result<Self, BadPeriod> {
        let bad = || BadPeriod(crate::domain::text::clean(text, 40));
        let mut rest = text.trim();
        let mut micros = 0.0;
        if rest.is_empty() {
            return Err(bad());
        }
        let mut parts = 0;
        while !rest.is_empty() {
            let split = rest.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(rest.len());
            let (number, tail) = rest.split_at(split);
            let number: f64 = number.parse().map_err(|_| bad())?;
            let tail = tail.trim_start();
            let split = tail.find(|c: char| c.is_ascii_digit() || c == '.' || c.is_whitespace()).unwrap_or(tail.len());
            let (unit, tail) = tail.split_at(split);
            let factor = match unit {
                "" if parts == 0 && tail.trim().is_empty() => 1e6,
                "us" | "µs" => 1.0,
                "ms" => 1e3,
                "s" | "sec" => 1e6,
                "m" | "min" => 60e6,
                "h" => 3600e6,
                "d" => 86_400e6,
                _ => return Err(bad()),
            };
            micros += number * factor;
            rest = tail.trim_start();
            parts += 1;
        }
        let micros = micros.round();
        if micros.is_finite() && (0.0..=3.2e17).contains(&micros) { Ok(Self(micros as u64)) } else { Err(bad()) }
    }
}

impl fmt::Display for Period {
    /// Short and calm: `12 µs`, `250 ms`, `1.5 s`, `1m40s`, `2h05m`, `3d04h`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let us = self.0;
        let text = if us < 1_000 {
            format!("{us} µs")
        } else if us < 999_500 {
            let ms = us as f64 / 1e3;
            if ms < 9.95 && !us.is_multiple_of(1_000) { format!("{ms:.1} ms") } else { format!("{ms:.0} ms") }
        } else {
            let s = us.div_ceil(100_000) / 10;
            if us < 9_950_000 && !us.is_multiple_of(1_000_000) {
                format!("{:.1} s", us as f64 / 1e6)
            } else if s < 60 {
                format!("{s} s")
            } else if s < 3_600 {
                format!("{}m{:02}s", s / 60, s % 60)
            } else if s < 86_400 {
                format!("{}h{:02}m", s / 3_600, s % 3_600 / 60)
            } else {
                format!("{}d{:02}h", s / 86_400, s % 86_400 / 3_600)
            }
        };
        f.pad(&text)
    }
}

impl Wall {
    /// The wall clock a span after this point.
    #[must_use]
    pub fn after(self, t: Timestamp) -> Self {
        Self(self.0.saturating_add(i64::try_from(t.0).unwrap_or(i64::MAX)))
    }

    /// As files have it: RFC 3339 in UTC. None beyond the years that it can write.
    ///
    /// ```
    /// use vramscope::domain::Wall;
    /// let wall = Wall::from_rfc3339("2026-11-30T14:00:00.123456Z");
    /// assert_eq!(wall.and_then(Wall::rfc3339).as_deref(), Some("2026-11-30T14:00:00.123456Z"));
    /// ```
    pub fn rfc3339(self) -> Option<String> {
        jiff::Timestamp::from_microsecond(self.0).ok().map(|time| time.to_string())
    }

    /// Reads RFC 3339, with `Z` or any offset.
    pub fn from_rfc3339(text: &str) -> Option<Self> {
        text.parse::<jiff::Timestamp>().ok().map(|time| Self(time.as_microsecond()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_people_write_them() {
        for (text, us) in [
            ("250ms", 250_000),
            ("1s", 1_000_000),
            ("5m", 300_000_000),
            ("0.5", 500_000),
            ("2", 2_000_000),
            ("1m30s", 90_000_000),
            ("1h 5m", 3_900_000_000),
            ("20us", 20),
            ("0", 0),
        ] {
            assert_eq!(Period::parse(text), Ok(Period(us)), "{text}");
        }
    }

    #[test]
    fn what_is_no_duration_is_refused_by_name() {
        for text in ["", "1x", "ms", "-1s", "1 2", "5m3", "1e3s", "inf", "99999999999999999d"] {
            assert!(Period::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn durations_print_short() {
        for (us, text) in [
            (12, "12 µs"),
            (49_800, "50 ms"),
            (2_500, "2.5 ms"),
            (250_000, "250 ms"),
            (1_000_000, "1 s"),
            (1_500_000, "1.5 s"),
            (12_000_000, "12 s"),
            (100_000_000, "1m40s"),
            (7_500_000_000, "2h05m"),
            (273_600_000_000, "3d04h"),
        ] {
            assert_eq!(Period(us).to_string(), text);
        }
    }
}
