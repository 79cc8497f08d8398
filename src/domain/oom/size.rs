//! Sizes as frameworks print them, and patterns that find them.

use std::sync::OnceLock;

use regex::{Captures, Regex, RegexBuilder};

use crate::domain::Bytes;
use crate::domain::bytes::{GIB, KIB, MIB};

/// A size with its unit, as one group.
const SIZE: &str = r"(-?\d[\d,]*(?:\.\d+)?\s*(?:[Bb]ytes?|[KMGTPE]i?[Bb]|[kKMGTPE]|B))(?:\b|$)";

/// A regular expression that is compiled when it is first needed. In its text `SIZE` stands for a size, `INT` for a whole number with
/// or without commas (each one group), a space for any white space, so that wrapped
/// lines match too, and ` ?` for any or none; `[^…]` is any printable ASCII but that.
#[derive(Debug)]
pub struct Pattern {
    text: &'static str,
    compiled: OnceLock<Regex>,
}

impl Pattern {
    /// From its text.
    pub const fn new(text: &'static str) -> Self {
        Self { text, compiled: OnceLock::new() }
    }

    /// The expression itself.
    pub fn regex(&self) -> &Regex {
        self.compiled.get_or_init(|| {
            let text = self.text.replace("SIZE", SIZE).replace("INT", r"(\d[\d,]*)");
            let text = text.replace(" ?", r"\s*").replace(" *", r"\s*").replace(" +", r"\s+").replace(' ', r"\s+");
            // Messages are ASCII, and classes of all of Unicode, a hundred times over, take megabytes each.
            let text = text.replace("[^", r"[\x20-~--");
            RegexBuilder::new(&text).unicode(false).build().expect("a pattern of this program: the tests compile them all")
        })
    }

    /// The groups of the first match.
    pub fn captures<'t>(&self, text: &'t str) -> Option<Captures<'t>> {
        self.regex().captures(text)
    }

    /// Whether it matches.
    pub fn is_match(&self, text: &str) -> bool {
        self.regex().is_match(text)
    }

    /// The size in the first group of the first match; none also where it is one that stands for "not available".
    pub fn size(&self, text: &str) -> Option<Bytes> {
        size(self.captures(text)?.get(1)?.as_str())
    }

    /// The whole number in the first group of the first match.
    pub fn number(&self, text: &str) -> Option<u64> {
        number(self.captures(text)?.get(1)?.as_str())
    }
}

/// A whole number, with or without separators of thousands.
pub fn number(text: &str) -> Option<u64> {
    text.chars().filter(|c| *c != ',').collect::<String>().parse().ok()
}

/// Reads `1.34 GiB`, `8.41G`, `2.00GiB`, `0 bytes`, `9,663,676,416 bytes`. All units are powers of 1024: so are the `GB` of every
/// framework that prints them. None for what no memory can have: negative, or 2^64 and more, which is how "not available" and "no
/// limit" are printed (17179869184.00 GiB).
pub fn size(text: &str) -> Option<Bytes> {
    let text = text.trim();
    let split = text.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == ',' || c == '-'))?;
    let (digits, unit) = text.split_at(split);
    let digits: String = digits.chars().filter(|c| *c != ',').collect();
    let unit = unit.trim_start().to_ascii_lowercase();
    let prefix = unit.strip_suffix("ib").or_else(|| unit.strip_suffix('b')).unwrap_or(&unit);
    let factor = match prefix {
        "" | "byte" | "bytes" if !unit.is_empty() => {
            // Exact, also where a floating number is not.
            if let Ok(bytes) = digits.parse() {
                return Some(Bytes(bytes));
            }
            1
        }
        "k" => KIB,
        "m" => MIB,
        "g" => GIB,
        "t" => GIB << 10,
        "p" => GIB << 20,
        "e" => GIB << 30,
        _ => return None,
    };
    let value = (digits.parse::<f64>().ok()? * factor as f64).round();
    (value >= 0.0 && value < u64::MAX as f64).then_some(Bytes(value as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_of_all_frameworks_are_read() {
        for (text, bytes) in [
            ("1.34 GiB", Some(1_438_814_044)),
            ("0 bytes", Some(0)),
            ("1 byte", Some(1)),
            ("9,663,676,416 bytes", Some(9_663_676_416)),
            ("5.250000 GiB", Some(5_637_144_576)),
            ("312.500000MB", Some(327_680_000)),
            ("8.41G", Some(9_030_168_740)),
            ("18446744073709551615 bytes", Some(u64::MAX)),
            ("17179869184.00 GiB", None),
            ("-0.71 GiB", None),
            ("12", None),
            ("12 parsecs", None),
            ("", None),
        ] {
            assert_eq!(size(text), bytes.map(Bytes), "{text}");
        }
    }

    #[test]
    fn a_pattern_spans_lines_and_finds_sizes() {
        static PATTERN: Pattern = Pattern::new(r"capacity of SIZE of which SIZE is free");
        let captures = PATTERN.captures("a total capacity\nof 79.25 GiB of which\n 0 bytes is free").expect("a match");
        assert_eq!(captures.get(1).map(|group| group.as_str()), Some("79.25 GiB"));
        assert_eq!(captures.get(2).map(|group| group.as_str()), Some("0 bytes"));
    }
}
