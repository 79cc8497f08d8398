//! How each kind of setting is written.

use std::path::PathBuf;
use std::sync::Arc;

use crate::domain::{Period, Pid, RiskLevel, text::clean};

/// A type that a setting can have: its text in a flag, a variable and the file is the same.
pub trait Value: Sized {
    /// The words it takes, where those are a closed list.
    const CHOICES: &'static [&'static str] = &[];
    /// Whether the flag alone means `true`.
    const SWITCH: bool = false;
    /// Whether it is a list, split by commas: the flag may stand several times.
    const LIST: bool = false;

    /// Reads it.
    ///
    /// # Errors
    /// What is wrong and what would be right.
    fn read(text: &str) -> Result<Self, String>;
}

/// Where the figures come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SourceName {
    /// The NVIDIA driver.
    Nvml,
    /// The simulated node: the default scenario, a built-in one by name, or a file.
    Demo(Option<Arc<str>>),
}

/// How often memory is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interval {
    /// Fast while something happens, slow on an idle card.
    Adaptive,
    /// Always this.
    Fixed(Period),
}

/// Which colours the user wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::EnumString, strum::VariantNames)]
pub enum ColorChoice {
    /// What the terminal can show.
    #[strum(serialize = "auto")]
    Auto,
    /// None.
    #[strum(serialize = "never")]
    Never,
    /// The terminal's own 16.
    #[strum(serialize = "16")]
    Ansi16,
    /// 256.
    #[strum(serialize = "256")]
    Ansi256,
    /// 24 bits.
    #[strum(serialize = "truecolor")]
    TrueColor,
}

/// How the terminal is asked for a notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::EnumString, strum::VariantNames)]
#[strum(serialize_all = "lowercase")]
pub enum Notify {
    /// As the terminal is known to understand it; not at all over unknown ones.
    Auto,
    /// Not at all.
    Off,
    /// `OSC 9`, as iTerm2 has it.
    Osc9,
    /// `OSC 777`, as rxvt-unicode has it.
    Osc777,
}

impl Value for Notify {
    const CHOICES: &'static [&'static str] = <Self as strum::VariantNames>::VARIANTS;

    fn read(text: &str) -> Result<Self, String> {
        text.parse().map_err(|_| format!("`{}` is not one of {}", clean(text, 40), Self::CHOICES.join(", ")))
    }
}

/// A level that can be an alert.
impl Value for RiskLevel {
    const CHOICES: &'static [&'static str] = &["watch", "high", "critical"];

    fn read(text: &str) -> Result<Self, String> {
        let bad = || format!("`{}` is not one of {}", clean(text, 40), <Self as Value>::CHOICES.join(", "));
        text.parse().ok().filter(|level| *level != Self::Ok).ok_or_else(bad)
    }
}

/// A text; none for an empty one.
impl Value for Option<Arc<str>> {
    fn read(text: &str) -> Result<Self, String> {
        Ok((!text.is_empty()).then(|| text.into()))
    }
}

impl Value for SourceName {
    fn read(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            None if text == "nvml" => Ok(Self::Nvml),
            None if text == "demo" => Ok(Self::Demo(None)),
            Some(("demo", name)) if !name.is_empty() => Ok(Self::Demo(Some(name.into()))),
            _ => Err(format!("`{}` is not a source: write nvml, demo or demo:SCENARIO", clean(text, 60))),
        }
    }
}

impl Value for Interval {
    fn read(text: &str) -> Result<Self, String> {
        if text == "adaptive" {
            return Ok(Self::Adaptive);
        }
        Period::read(text).map(Self::Fixed).map_err(|why| format!("{why}, or `adaptive`"))
    }
}

impl Value for Period {
    /// Not below a millisecond: no setting means anything at zero.
    fn read(text: &str) -> Result<Self, String> {
        let period = Self::parse(text).map_err(|bad| bad.to_string())?;
        if period < Self::millis(1) {
            return Err(format!("`{}` is too short: the least is 1ms", clean(text, 40)));
        }
        if period > Self::secs(86_400) {
            return Err(format!("`{}` is too long: the most is 24h", clean(text, 40)));
        }
        Ok(period)
    }
}

impl Value for ColorChoice {
    const CHOICES: &'static [&'static str] = <Self as strum::VariantNames>::VARIANTS;

    fn read(text: &str) -> Result<Self, String> {
        text.parse().map_err(|_| format!("`{}` is not one of {}", clean(text, 40), Self::CHOICES.join(", ")))
    }
}

impl Value for bool {
    const CHOICES: &'static [&'static str] = &["true", "false"];
    const SWITCH: bool = true;

    fn read(text: &str) -> Result<Self, String> {
        text.parse().map_err(|_| format!("`{}` is neither true nor false", clean(text, 40)))
    }
}

/// A switch with a third state, `auto`: what the surroundings say.
impl Value for Option<bool> {
    const CHOICES: &'static [&'static str] = &["auto", "true", "false"];
    const SWITCH: bool = true;

    fn read(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(None),
            "true" => Ok(Some(true)),
            "false" => Ok(Some(false)),
            _ => Err(format!("`{}` is not one of auto, true, false", clean(text, 40))),
        }
    }
}

/// A path; none for an empty text.
impl Value for Option<PathBuf> {
    fn read(text: &str) -> Result<Self, String> {
        Ok((!text.is_empty()).then(|| PathBuf::from(text)))
    }
}

/// Devices by index or UUID, split by commas; none means all.
impl Value for Vec<Arc<str>> {
    const LIST: bool = true;

    fn read(text: &str) -> Result<Self, String> {
        if text.trim().is_empty() {
            return Ok(Self::new());
        }
        text.split(',')
            .map(|part| {
                let part = part.trim();
                let index = !part.is_empty() && part.len() <= 4 && part.bytes().all(|b| b.is_ascii_digit());
                let uuid = part.starts_with("GPU-") || part.starts_with("MIG-");
                if index || uuid {
                    Ok(part.into())
                } else {
                    Err(format!("`{}` is not a GPU: write indices or UUIDs, as in 0,2,GPU-8f1c", clean(part, 60)))
                }
            })
            .collect()
    }
}

/// Processes by their numbers, split by commas.
impl Value for Vec<Pid> {
    const LIST: bool = true;

    fn read(text: &str) -> Result<Self, String> {
        if text.trim().is_empty() {
            return Ok(Self::new());
        }
        text.split(',')
            .map(|part| match part.trim().parse() {
                Ok(pid @ 1..=Pid::MAX) => Ok(Pid(pid)),
                _ => Err(format!("`{}` is not a process: write its number, as in 4242 or 4242,4300", clean(part, 40))),
            })
            .collect()
    }
}

impl Value for Arc<str> {
    fn read(text: &str) -> Result<Self, String> {
        if text.is_empty() { Err("the value is empty".to_owned()) } else { Ok(text.into()) }
    }
}

/// A factor of speed.
impl Value for f64 {
    fn read(text: &str) -> Result<Self, String> {
        match text.trim().trim_end_matches('x').parse() {
            Ok(speed) if (0.01..=1000.0).contains(&speed) => Ok(speed),
            _ => Err(format!("`{}` is not a speed: write a number from 0.01 to 1000", clean(text, 40))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_read_by_name() {
        assert_eq!(SourceName::read("nvml"), Ok(SourceName::Nvml));
        assert_eq!(SourceName::read("demo"), Ok(SourceName::Demo(None)));
        assert_eq!(SourceName::read("demo:leak"), Ok(SourceName::Demo(Some("leak".into()))));
        for bad in ["", "demo:", "nvml:0", "cuda", "DEMO"] {
            assert!(SourceName::read(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn intervals_are_adaptive_or_fixed_and_never_zero() {
        assert_eq!(Interval::read("adaptive"), Ok(Interval::Adaptive));
        assert_eq!(Interval::read("2ms"), Ok(Interval::Fixed(Period::millis(2))));
        for bad in ["0", "1x", "0.5us", "-1s", "2d", ""] {
            let why = Interval::read(bad).expect_err(bad);
            assert!(why.contains(bad), "{why}");
        }
    }

    #[test]
    fn devices_are_indices_or_uuids() {
        assert_eq!(Vec::<Arc<str>>::read(""), Ok(vec![]));
        assert_eq!(Vec::<Arc<str>>::read("0, 2,GPU-8f"), Ok(vec!["0".into(), "2".into(), "GPU-8f".into()]));
        for bad in ["0,,1", "x", "-1", "12345", "0;1"] {
            assert!(Vec::<Arc<str>>::read(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn processes_are_numbers() {
        assert_eq!(Vec::<Pid>::read("4242, 7"), Ok(vec![Pid(4242), Pid(7)]));
        assert_eq!(Vec::<Pid>::read(""), Ok(vec![]));
        for bad in ["0", "-1", "x", "1;2", "4194305", "1,,2"] {
            assert!(Vec::<Pid>::read(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn speeds_are_bounded() {
        assert_eq!(f64::read("10"), Ok(10.0));
        assert_eq!(f64::read("0.5x"), Ok(0.5));
        for bad in ["0", "-1", "inf", "NaN", "1e9", "fast"] {
            assert!(f64::read(bad).is_err(), "{bad}");
        }
    }
}
