//! The table of settings: one entry makes the flag, the variable, the key in the file, the merge and the documentation.

use std::path::PathBuf;
use std::sync::Arc;

use super::value::Value;
use super::{ColorChoice, ConfigError, Interval, Layers, Notify, Origin, SourceName};
use crate::domain::{Period, Pid, RiskLevel};

/// One setting, for everything that lists them.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// The option without its dashes, and the key in the file.
    pub name: &'static str,
    /// What it does, as paragraphs of the help; the first line is the short form.
    pub help: &'static str,
    /// What stands for its value in the help.
    pub value: &'static str,
    /// Its default, as a user would write it; empty for none.
    pub default: &'static str,
    /// Its variable.
    pub variable: &'static str,
    /// The words it takes, where those are a closed list.
    pub choices: &'static [&'static str],
    /// Whether the flag alone means `true`.
    pub switch: bool,
    /// Whether the flag may stand several times.
    pub list: bool,
}

/// Declares the settings; see the entries below.
macro_rules! settings {
    ($($(#[doc = $doc:literal])+ $field:ident: $type:ty = ($name:literal, $value:literal, $default:literal, $variable:literal);)+) => {
        /// All settings, in the order of the help.
        pub static SETTINGS: &[Setting] = &[$(Setting {
            name: $name,
            help: concat!($($doc, "\n"),+),
            value: $value,
            default: $default,
            variable: $variable,
            choices: <$type as Value>::CHOICES,
            switch: <$type as Value>::SWITCH,
            list: <$type as Value>::LIST,
        }),+];

        /// What the user asked for, after the merge.
        #[derive(Clone, Debug, PartialEq)]
        pub struct Settings {
            $($(#[doc = $doc])+ pub $field: $type,)+
            origins: Vec<Origin>,
        }

        impl Settings {
            /// Reads every text that was given, also those that a stronger one hides, and keeps the strongest.
            ///
            /// # Errors
            /// The first value that its setting does not take, with the place that says so.
            pub fn merge(layers: &Layers) -> Result<Self, ConfigError> {
                let mut table = SETTINGS.iter().enumerate();
                let mut origins = Vec::with_capacity(SETTINGS.len());
                $(let $field: $type = {
                    let (index, setting) = table.next().expect("one entry per field: both come from one macro");
                    let (origin, value) = strongest(layers, index, setting)?;
                    origins.push(origin);
                    value
                };)+
                Ok(Self { $($field,)+ origins })
            }
        }
    };
}

settings! {
    /// Where the figures come from: `nvml`, `demo` or `demo:SCENARIO`
    ///
    /// A scenario is one that `vramscope demo --list` names, or a file: `demo:./mine.toml`.
    source: SourceName = ("source", "SOURCE", "nvml", "VRAMSCOPE_SOURCE");

    /// The driver's library, if not `libnvidia-ml.so.1` as the system finds it
    nvml_lib: Option<PathBuf> = ("nvml-lib", "PATH", "", "VRAMSCOPE_NVML_LIB");

    /// Only these devices, by index or UUID: `0,2,GPU-8f1c`
    gpus: Vec<Arc<str>> = ("gpus", "LIST", "", "VRAMSCOPE_GPUS");

    /// Only the devices that `CUDA_VISIBLE_DEVICES` names; all where it is not set
    ///
    /// Numbers in it are those of CUDA: `CUDA_DEVICE_ORDER=PCI_BUS_ID` or cards of one model make them those of the driver.
    visible: bool = ("visible", "BOOL", "false", "VRAMSCOPE_VISIBLE");

    /// Watch this process and all that it starts as the job: `4242`, also several
    ///
    /// The process need not hold memory itself. What it started stays in the job when it ends.
    pid: Vec<Pid> = ("pid", "PID", "", "VRAMSCOPE_PID");

    /// Time between readings of memory: `250ms`, `1s`, or `adaptive`
    ///
    /// Adaptive reads every 50 ms while a process holds memory or the card is busy, and eases to 1 s on an idle card.
    /// Bare numbers are seconds.
    interval: Interval = ("interval", "DUR", "adaptive", "VRAMSCOPE_INTERVAL");

    /// Time between readings of the process lists
    process_interval: Period = ("process-interval", "DUR", "1s", "VRAMSCOPE_PROCESS_INTERVAL");

    /// How long to wait for a driver that does not answer, in commands that end by themselves
    timeout: Period = ("timeout", "DUR", "10s", "VRAMSCOPE_TIMEOUT");

    /// Speed of a simulation: 10 plays ten seconds in one
    speed: f64 = ("speed", "N", "1", "VRAMSCOPE_SPEED");

    /// Colours of the dashboard
    theme: Arc<str> = ("theme", "NAME", "terminal", "VRAMSCOPE_THEME");

    /// How many colours: auto looks at `NO_COLOR`, `COLORTERM` and `TERM`
    color: ColorChoice = ("color", "WHEN", "auto", "VRAMSCOPE_COLOR");

    /// Draw with ASCII alone: auto does so where the locale is not UTF-8
    ascii: Option<bool> = ("ascii", "WHEN", "auto", "VRAMSCOPE_ASCII");

    /// Take the mouse for clicks and the wheel
    mouse: bool = ("mouse", "BOOL", "true", "VRAMSCOPE_MOUSE");

    /// Show processes that use a card for graphics alone
    graphics: bool = ("graphics", "BOOL", "true", "VRAMSCOPE_GRAPHICS");

    /// Show the wall clock in UTC instead of the local time zone
    utc: bool = ("utc", "BOOL", "false", "VRAMSCOPE_UTC");

    /// Never signal a process
    ///
    /// The key for signals then says so, and opens no menu.
    read_only: bool = ("read-only", "BOOL", "false", "VRAMSCOPE_READ_ONLY");

    /// The lowest level of risk that is an alert: `watch`, `high` or `critical`
    alert_level: RiskLevel = ("alert-level", "LEVEL", "high", "VRAMSCOPE_ALERT_LEVEL");

    /// The shortest time between two alerts of one level about the same device
    alert_every: Period = ("alert-every", "DUR", "60s", "VRAMSCOPE_ALERT_EVERY");

    /// Run this command at an alert, through `sh -c`
    ///
    /// The facts are in its environment: `VRAMSCOPE_RISK_LEVEL`, `_GPU`, `_UUID`, `_NAME`, `_REASON`, `_HEADROOM` and
    /// `_REQUEST` in bytes, `_FULL_IN_LO`, `_FULL_IN_MID` and `_FULL_IN_HI` in seconds, `_JOB`, `_HOST`, `_SIMULATED`. What
    /// is not known is not set. It is killed after 60 s; one that still runs when vramscope ends goes on.
    on_alert: Option<Arc<str>> = ("on-alert", "CMD", "", "VRAMSCOPE_ON_ALERT");

    /// Ring the terminal's bell at an alert
    bell: bool = ("bell", "BOOL", "true", "VRAMSCOPE_BELL");

    /// Ask the terminal for a notification at an alert: `auto` does so where the terminal is known to show them
    notify: Notify = ("notify", "HOW", "auto", "VRAMSCOPE_NOTIFY");

    /// Write a log to this file
    log: Option<PathBuf> = ("log", "FILE", "", "VRAMSCOPE_LOG");
}

/// The strongest text of a setting, read; the weaker ones are read too, so that no mistake hides.
fn strongest<T: Value>(layers: &Layers, index: usize, setting: &Setting) -> Result<(Origin, T), ConfigError> {
    let mut best = None;
    for (origin, text) in layers.of(index, setting) {
        match T::read(text) {
            Ok(value) => best = Some((origin, value)),
            Err(why) => return Err(ConfigError::Value { origin, why }),
        }
    }
    Ok(best.expect("the default is always there"))
}

impl Settings {
    /// Who set a setting.
    pub fn origin(&self, name: &str) -> &Origin {
        index_of(name).and_then(|index| self.origins.get(index)).unwrap_or(&Origin::Default)
    }

    /// The error for a value that only a later layer could tell to be wrong; `why` says what would be right.
    pub fn refuse(&self, name: &str, why: impl Into<String>) -> ConfigError {
        ConfigError::Value { origin: self.origin(name).clone(), why: why.into() }
    }
}

/// The place of a setting in the table.
pub fn index_of(name: &str) -> Option<usize> {
    SETTINGS.iter().position(|setting| setting.name == name)
}

impl Setting {
    /// The first line of the help.
    pub fn summary(&self) -> &'static str {
        self.help.trim_start().lines().next().unwrap_or_default()
    }

    /// The whole help as plain text.
    pub fn details(&self) -> String {
        self.help.lines().map(str::trim).collect::<Vec<_>>().join("\n").trim().replace('`', "")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_read_like_anything_else() {
        let settings = Settings::merge(&Layers::new()).expect("defaults");
        assert_eq!(settings.source, SourceName::Nvml);
        assert_eq!(settings.interval, Interval::Adaptive);
        assert_eq!(settings.timeout, Period::secs(10));
        assert_eq!(settings.origin("timeout"), &Origin::Default);
    }

    #[test]
    fn names_and_variables_follow_one_rule() {
        for setting in SETTINGS {
            let variable = format!("VRAMSCOPE_{}", setting.name.to_uppercase().replace('-', "_"));
            assert_eq!(setting.variable, variable);
            assert!(!setting.summary().is_empty() && !setting.summary().ends_with('.'), "{}", setting.name);
        }
    }

    #[test]
    fn the_last_layer_wins_and_earlier_mistakes_show() {
        let timeout = index_of("timeout").expect("a setting");
        let mut layers = Layers::new();
        layers.push(timeout, Origin::Variable("VRAMSCOPE_TIMEOUT"), "3s");
        layers.push(timeout, Origin::Flag("timeout"), "2s");
        let settings = Settings::merge(&layers).expect("good");
        assert_eq!((settings.timeout, settings.origin("timeout")), (Period::secs(2), &Origin::Flag("timeout")));

        let mut layers = Layers::new();
        layers.push(timeout, Origin::Variable("VRAMSCOPE_TIMEOUT"), "soon");
        layers.push(timeout, Origin::Flag("timeout"), "2s");
        let error = Settings::merge(&layers).expect_err("bad variable").to_string();
        assert!(error.starts_with("VRAMSCOPE_TIMEOUT: `soon` is not a duration"), "{error}");
    }
}
