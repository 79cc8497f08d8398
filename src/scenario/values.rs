//! The values of a scenario file: strings with a unit, bounded when read, so that nothing later can overflow.

use serde::Deserialize;
use serde::de::{Deserializer, Error as _};

use super::hash::PAGE;
use crate::domain::{Bytes, HolderKind, Period};

/// The longest time in a scenario: 20 days.
const MAX_TIME: Period = Period::secs(20 * 86_400);
/// The largest size in a scenario: 16 TiB.
const MAX_SIZE: Bytes = Bytes(1 << 44);

/// A span or point of time: `"400ms"`, at most 20 days.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Time(pub Period);

/// A size: `"14GiB"`, at most 16 TiB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Size(pub Bytes);

/// Growth: `"150MiB/s"`, at most 1 TiB/s.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate(pub Bytes);

/// A size, or a share of the device: `"90%"`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Amount {
    /// So many bytes.
    Size(Bytes),
    /// This part of the device's total, 0 to 1.
    Share(f64),
}

/// A number from 0 to 100.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Percent(pub f32);

/// A number from 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Fraction(pub f64);

/// A reading such as a temperature or power, from 0 to 100,000.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Number(pub f32);

/// The lists a process stands in: `"C"`, `"G"`, `"M"`, `"C+G"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind(pub HolderKind);

impl Time {
    /// In microseconds.
    pub(super) const fn us(self) -> u64 {
        self.0.0
    }
}

impl Size {
    /// Rounded to whole pages, as the driver hands memory out.
    pub(super) const fn pages(self) -> u64 {
        self.0.0.next_multiple_of(PAGE)
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        let period = Period::parse(&text).map_err(D::Error::custom)?;
        if period > MAX_TIME {
            return Err(D::Error::custom("this time is too long; expected at most 20d"));
        }
        Ok(Self(period))
    }
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        parse_size(&text).map(Self).map_err(D::Error::custom)
    }
}

impl<'de> Deserialize<'de> for Rate {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        let per_second = text.strip_suffix("/s").and_then(|size| Bytes::parse(size).ok());
        match per_second {
            Some(bytes) if (1..=1 << 40).contains(&bytes.0) => Ok(Self(bytes)),
            _ => Err(D::Error::custom("this is not a rate; expected a size per second like \"150MiB/s\", at most 1TiB/s")),
        }
    }
}

impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        let Some(percent) = text.strip_suffix('%') else {
            return parse_size(&text).map(Self::Size).map_err(D::Error::custom);
        };
        match percent.trim().parse::<f64>() {
            Ok(share) if (0.0..=100.0).contains(&share) => Ok(Self::Share(share / 100.0)),
            _ => Err(D::Error::custom("this is not a share of the device; expected \"0%\" to \"100%\"")),
        }
    }
}

impl<'de> Deserialize<'de> for Percent {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        bounded(f64::deserialize(from)?, 100.0).map(|n| Self(n as f32)).map_err(D::Error::custom)
    }
}

impl<'de> Deserialize<'de> for Fraction {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        bounded(f64::deserialize(from)?, 1.0).map(Self).map_err(D::Error::custom)
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        bounded(f64::deserialize(from)?, 100_000.0).map(|n| Self(n as f32)).map_err(D::Error::custom)
    }
}

impl<'de> Deserialize<'de> for Kind {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        let unknown = || D::Error::custom("this is no kind of process; expected \"C\", \"G\", \"M\" or a join like \"C+G\"");
        HolderKind::parse(&text).map(Self).ok_or_else(unknown)
    }
}

fn parse_size(text: &str) -> Result<Bytes, String> {
    match Bytes::parse(text) {
        Ok(size) if size > MAX_SIZE => Err("this size is too large; expected at most 16TiB".to_owned()),
        Ok(size) => Ok(size),
        Err(bad) => Err(bad.to_string()),
    }
}

fn bounded(number: f64, max: f64) -> Result<f64, String> {
    // NaN is in no range.
    if (0.0..=max).contains(&number) { Ok(number) } else { Err(format!("this number is out of range; expected 0 to {max}")) }
}
