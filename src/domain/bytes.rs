//! A size in bytes: parsing as people write it, and printing with three significant digits.

use std::fmt;
use std::iter::Sum;

use serde::{Deserialize, Serialize};

/// A number of bytes. Never a difference: a change is an `i64` beside the sizes it came from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Bytes(pub u64);

/// 1 KiB.
pub const KIB: u64 = 1 << 10;
/// 1 MiB.
pub const MIB: u64 = 1 << 20;
/// 1 GiB.
pub const GIB: u64 = 1 << 30;

/// Why a text is not a size.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a size: write 20GiB, 20G (binary), 20GB (decimal) or 512MiB")]
pub struct BadSize(String);

impl Bytes {
    /// Nothing at all; a known zero, never an unknown one.
    pub const ZERO: Self = Self(0);

    /// `n` MiB.
    pub const fn mib(n: u64) -> Self {
        Self(n * MIB)
    }

    /// `n` GiB.
    pub const fn gib(n: u64) -> Self {
        Self(n * GIB)
    }

    /// As a floating number of GiB, for axes and tables.
    pub fn as_gib(self) -> f64 {
        self.0 as f64 / GIB as f64
    }

    /// The difference, or zero where `other` is larger.
    #[must_use]
    pub fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// The sum, held at the largest number there is.
    #[must_use]
    pub fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// Reads `20GiB`, `20G` (binary), `20GB` (decimal), `1.5g`, `512 MiB`, or bare bytes.
    ///
    /// # Errors
    /// [`BadSize`] for anything else: negative, not finite, an unknown unit, or above `u64`.
    ///
    /// ```
    /// use vramscope::domain::Bytes;
    /// assert_eq!(Bytes::parse("2GiB"), Ok(Bytes::gib(2)));
    /// assert_eq!(Bytes::parse("2GB"), Ok(Bytes(2_000_000_000)));
    /// assert!(Bytes::parse("many").is_err());
    /// ```
    pub fn parse(text: &str) -> Result<Self, BadSize> {
        let bad = || BadSize(crate::domain::text::clean(text, 40));
        let trimmed = text.trim();
        let split = trimmed.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(trimmed.len());
        let (number, unit) = trimmed.split_at(split);
        let number: f64 = number.parse().map_err(|_| bad())?;
        let unit = unit.trim().to_ascii_lowercase();
        let factor: u64 = match unit.as_str() {
            "" | "b" => 1,
            "k" | "ki" | "kib" => KIB,
            "m" | "mi" | "mib" => MIB,
            "g" | "gi" | "gib" => GIB,
            "t" | "ti" | "tib" => GIB << 10,
            "kb" => 1_000,
            "mb" => 1_000_000,
            "gb" => 1_000_000_000,
            "tb" => 1_000_000_000_000,
            _ => return Err(bad()),
        };
        let value = (number * factor as f64).round();
        if value.is_finite() && (0.0..u64::MAX as f64).contains(&value) { Ok(Self(value as u64)) } else { Err(bad()) }
    }
}

impl Sum for Bytes {
    fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
        iter.fold(Self::ZERO, Self::saturating_add)
    }
}

/// Three significant digits of a non-negative number: `0.82`, `7.45`, `61.2`, `143`.
///
/// ```
/// use vramscope::domain::bytes::three_digits;
/// assert_eq!(three_digits(61.234), "61.2");
/// assert_eq!(three_digits(9.999), "10.0");
/// ```
pub fn three_digits(value: f64) -> String {
    if value < 9.995 {
        format!("{value:.2}")
    } else if value < 99.95 {
        format!("{value:.1}")
    } else {
        format!("{value:.0}")
    }
}

impl fmt::Display for Bytes {
    /// `0 B`, `812 KiB`, `61.2 GiB`: three significant digits and the largest fitting unit.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.0 as f64;
        let text = if self.0 < KIB {
            format!("{} B", self.0)
        } else if value < 999.5 * KIB as f64 {
            format!("{} KiB", three_digits(value / KIB as f64))
        } else if value < 999.5 * MIB as f64 {
            format!("{} MiB", three_digits(value / MIB as f64))
        } else if value < 999.5 * GIB as f64 {
            format!("{} GiB", three_digits(value / GIB as f64))
        } else {
            format!("{} TiB", three_digits(value / (GIB << 10) as f64))
        };
        f.pad(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_people_write_them() {
        for (text, bytes) in [
            ("20GiB", 20 * GIB),
            ("20G", 20 * GIB),
            ("20gb", 20_000_000_000),
            (" 1.5 MiB ", MIB + MIB / 2),
            ("0", 0),
            ("7", 7),
            ("3kB", 3000),
        ] {
            assert_eq!(Bytes::parse(text), Ok(Bytes(bytes)), "{text}");
        }
    }

    #[test]
    fn what_is_no_size_is_refused_by_name() {
        for text in ["", "x", "-1G", "1e400", "1.2.3", "12 parsecs", "99999999999999999999T", "GiB", "NaN"] {
            let error = Bytes::parse(text).expect_err(text);
            assert!(error.to_string().contains(text), "{error}");
        }
    }

    #[test]
    fn sizes_print_with_three_digits() {
        for (bytes, text) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (KIB, "1.00 KiB"),
            (1000 * KIB, "0.98 MiB"),
            (85_520_809_984, "79.6 GiB"),
            (100 * GIB, "100 GiB"),
            (u64::MAX, "16777216 TiB"),
        ] {
            assert_eq!(Bytes(bytes).to_string(), text);
        }
    }
}
