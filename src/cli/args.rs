//! The command line, built from the table of settings and the subcommands.

use std::ffi::OsStr;
use std::path::Path;

use clap::builder::{PossibleValue, PossibleValuesParser, StringValueParser, TypedValueParser};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command, Subcommand, ValueHint};

use super::Action;
use crate::config::{ConfigError, Environment, Layers, Origin, SETTINGS, Setting, file};
use crate::domain::tips::TIPS;
use crate::scenario::SCENARIOS;
use crate::tui::THEMES;

/// The option that names the configuration file.
pub const CONFIG: &str = "config";
/// Its variable.
pub const CONFIG_VARIABLE: &str = "VRAMSCOPE_CONFIG";
/// Where the help lists the options that every command takes.
const HEADING: &str = "Settings";

/// The whole command line.
pub fn command() -> Command {
    let config = Arg::new(CONFIG)
        .long(CONFIG)
        .value_name("FILE")
        .help("Read settings from this file")
        .long_help(format!(
            "Read settings from this file\n\nWithout it, from $XDG_CONFIG_HOME/vramscope/config.toml where that exists.\n\n\
             [variable: {CONFIG_VARIABLE}]"
        ))
        .value_hint(ValueHint::FilePath)
        .global(true);
    let root = Command::new("vramscope").args(SETTINGS.iter().map(argument)).arg(config.help_heading(HEADING));
    Action::augment_subcommands(root)
        .version(env!("CARGO_PKG_VERSION"))
        .about("An oscilloscope for GPU memory")
        .long_about(
            "An oscilloscope for GPU memory: who holds it, how it moves, how much is left, live in the terminal.\n\n\
             Without a GPU, `vramscope demo` shows the same dashboard on a simulated node.",
        )
        .after_help(
            "Exit codes: 0 success, 1 failure (explain: no GPU ran out of memory in the input), 2 usage or configuration, 3 no usable driver or device, or it does not answer, \
             4 the recording is damaged and what could be read was used, or pick: no device has that headroom; with a command \
             after --, its own.\n\
             Durations: 250ms, 1s, 5m, or bare seconds.",
        )
}

fn argument(setting: &'static Setting) -> Arg {
    let mut notes = String::new();
    if !setting.default.is_empty() {
        notes = format!("[default: {}] ", setting.default);
    }
    let arg = Arg::new(setting.name)
        .long(setting.name)
        .value_name(setting.value)
        .help(setting.summary().replace('`', ""))
        .long_help(format!("{}\n\n{notes}[variable: {}]", setting.details(), setting.variable))
        .help_heading(HEADING)
        .global(true);
    let arg = match setting.value {
        "PATH" | "FILE" => arg.value_hint(ValueHint::FilePath),
        _ => arg,
    };
    let words = words(setting);
    let arg = match setting.name {
        // In the help the scenarios would be a wall of words: `demo --help` tells what they are.
        "source" => arg.value_parser(Suggestions(sources())).hide_possible_values(true),
        _ if words.is_empty() => arg,
        _ => arg.value_parser(PossibleValuesParser::new(words)),
    };
    let arg = if setting.list { arg.action(ArgAction::Append) } else { arg };
    if setting.switch { arg.num_args(0..=1).require_equals(true).default_missing_value("true") } else { arg }
}

/// The words that a setting takes, where those are a closed list; the themes are known to the dashboard alone.
pub fn words(setting: &Setting) -> Vec<&'static str> {
    match setting.name {
        "theme" => THEMES.iter().map(|theme| theme.name).collect(),
        _ => setting.choices.to_vec(),
    }
}

/// What `--source` takes without a file.
fn sources() -> Vec<PossibleValue> {
    let demos = SCENARIOS.iter().map(|scenario| PossibleValue::new(format!("demo:{}", scenario.id)).help(scenario.title));
    ["nvml", "demo"].into_iter().map(PossibleValue::new).chain(demos).collect()
}

/// The built-in scenarios as values of an argument that takes a file as well.
pub fn scenarios() -> Suggestions {
    Suggestions(SCENARIOS.iter().map(|scenario| PossibleValue::new(scenario.id).help(scenario.title)).collect())
}

/// The ids of the catalogue as values of an argument that takes other words as well.
pub fn tips() -> Suggestions {
    Suggestions(TIPS.iter().map(|tip| PossibleValue::new(tip.id).help(tip.title)).collect())
}

/// Any text, with some that help and completions name.
#[derive(Clone, Debug)]
pub struct Suggestions(Vec<PossibleValue>);

impl TypedValueParser for Suggestions {
    type Value = String;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.0.iter().cloned()))
    }
}

/// What the file, the variables and the flags say, the strongest last.
///
/// # Errors
/// The file can't be read, or says what no setting takes.
pub fn layers(matches: &ArgMatches, env: &Environment) -> Result<Layers, ConfigError> {
    let mut layers = Layers::new();
    let named = match (matches.get_one::<String>(CONFIG), env.get(CONFIG_VARIABLE)) {
        (Some(path), _) => Some((Origin::Flag(CONFIG), Path::new(path.as_str()))),
        (None, Some(path)) => Some((Origin::Variable(CONFIG_VARIABLE), Path::new(path))),
        (None, None) => None,
    };
    file::push_file(&mut layers, named, env)?;
    layers.push_environment(env);
    for (index, setting) in SETTINGS.iter().enumerate() {
        if let Some(texts) = matches.get_many::<String>(setting.name) {
            let texts: Vec<&str> = texts.map(String::as_str).collect();
            layers.push(index, Origin::Flag(setting.name), texts.join(","));
        }
    }
    Ok(layers)
}

/// Whether an option stands on the command line.
pub fn given(matches: &ArgMatches, name: &str) -> bool {
    matches.value_source(name) == Some(ValueSource::CommandLine)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Interval, Settings};
    use crate::domain::{Period, Pid};

    fn settings(line: &[&str]) -> Settings {
        let matches = command().try_get_matches_from(line).expect("good arguments");
        Settings::merge(&layers(&matches, &Environment::default()).expect("no file")).expect("good values")
    }

    #[test]
    fn the_command_line_is_consistent() {
        command().debug_assert();
    }

    #[test]
    fn settings_stand_before_or_after_the_subcommand() {
        for line in [&["vramscope", "--interval", "2ms", "once"][..], &["vramscope", "once", "--interval", "2ms"]] {
            assert_eq!(settings(line).interval, Interval::Fixed(Period::millis(2)));
        }
    }

    #[test]
    fn a_list_may_stand_several_times() {
        let read = settings(&["vramscope", "--pid", "7", "once", "--pid", "8,9"]);
        // Before and after the subcommand the later place counts, as for every setting.
        assert_eq!(read.pid, [Pid(8), Pid(9)]);
        assert_eq!(settings(&["vramscope", "--pid=7", "--pid", "8,9"]).pid, [Pid(7), Pid(8), Pid(9)]);
    }

    #[test]
    fn a_switch_needs_no_value() {
        assert_eq!(settings(&["vramscope", "--ascii", "once"]).ascii, Some(true));
        assert_eq!(settings(&["vramscope", "--ascii=false"]).ascii, Some(false));
        assert!(!settings(&["vramscope", "--mouse=false"]).mouse);
    }
}
