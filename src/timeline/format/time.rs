//! Times and spans in files: seconds, in whole microseconds.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::domain::{Period, Timestamp};

/// The latest time: up to here (2³² s, 136 years) a floating number of seconds tells all microseconds apart.
pub const MAX_TIME: Timestamp = Timestamp::secs(1 << 32);

/// Seconds, as microseconds in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seconds(pub u64);

impl Serialize for Seconds {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.0 as f64 / 1e6)
    }
}

impl<'de> Deserialize<'de> for Seconds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let micros = (f64::deserialize(deserializer)? * 1e6).round();
        if (0.0..=MAX_TIME.0 as f64).contains(&micros) {
            Ok(Self(micros as u64))
        } else {
            Err(D::Error::custom("a time or span out of range"))
        }
    }
}

impl From<Timestamp> for Seconds {
    fn from(t: Timestamp) -> Self {
        Self(t.0.min(MAX_TIME.0))
    }
}

impl From<Period> for Seconds {
    fn from(span: Period) -> Self {
        Self(span.0.min(MAX_TIME.0))
    }
}

impl Seconds {
    /// As a point in time.
    pub fn point(self) -> Timestamp {
        Timestamp(self.0)
    }

    /// As a span.
    pub fn span(self) -> Period {
        Period(self.0)
    }

    /// Whether it is the origin, which a header need not say.
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
    pub fn is_zero(&self) -> bool {
        self.0 == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_microsecond_comes_back() {
        for base in [0, 999_999, 86_400_000_000, 31_557_600_000_000, 3_155_760_000_000_001, MAX_TIME.0 - 99] {
            for micros in base..base + 99 {
                let text = serde_json::to_string(&Seconds(micros)).expect("a number");
                assert_eq!(serde_json::from_str::<Seconds>(&text).expect(&text), Seconds(micros), "{text}");
            }
        }
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for text in ["-1", "-0.001", "1e400", "9e9", "NaN", "null", "\"1\"", "18446744073709551616"] {
            assert!(serde_json::from_str::<Seconds>(text).is_err(), "{text}");
        }
        for (text, micros) in [("0", 0), ("1", 1_000_000), ("0.05", 50_000), ("12.4", 12_400_000), ("1e-7", 0)] {
            assert_eq!(serde_json::from_str::<Seconds>(text).expect(text), Seconds(micros), "{text}");
        }
    }
}
