//! Layer 6: one file per subcommand; the only place where parts are put together.
//!
//! Exit codes ([`Exit`]):
//!
//! | code | meaning |
//! |---|---|
//! | 0 | success; also when the reader of a pipe has gone |
//! | 1 | failure; `explain`: no GPU out of memory in the input |
//! | 2 | usage error, bad configuration, unreadable input |
//! | 3 | no usable NVIDIA driver or device, or it does not answer |
//! | 4 | the recording is damaged, what could be read was used; `pick`: no device has that headroom |
//! | other | that of the command after `--` |

pub mod args;
pub mod child;
pub mod completions;
pub mod dashboard;
pub mod demo;
pub mod explain;
#[cfg(debug_assertions)]
pub mod fault;
pub mod log;
pub mod man;
pub mod once;
pub mod open;
pub mod pick;
pub mod print;
pub mod report;
pub mod tips;

use std::ffi::OsString;

use clap::{FromArgMatches, Subcommand};

use crate::config::{ConfigError, Environment, Layers, Settings, SourceName};
use crate::output::report::Unusable;
use crate::scenario::ScenarioError;
use crate::source::{SourceError, SourceErrorKind, nvml};
use crate::timeline::ReadError;
use crate::tui::Theme;
use report::OutputError;

/// How the program ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// It did what it was asked.
    Success,
    /// It did not.
    Failure,
    /// It was asked wrongly.
    Usage,
    /// There is no driver or device, or it does not answer.
    NoDriver,
    /// The recording is damaged and what could be read was used; what was found is not enough.
    Incomplete,
    /// As the command that was run.
    Status(u8),
}

impl Exit {
    /// The number that the system gets.
    pub fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Failure => 1,
            Self::Usage => 2,
            Self::NoDriver => 3,
            Self::Incomplete => 4,
            Self::Status(code) => code,
        }
    }
}

/// The subcommands, in the order of the help.
#[derive(Debug, Subcommand)]
pub enum Action {
    /// The dashboard; what runs without a subcommand
    Top,
    /// The dashboard on a simulated node: no GPU needed
    Demo(demo::Args),
    /// Print one snapshot as a table or JSON, then exit
    Once(once::Args),
    /// Find the out-of-memory failure in a log, break its numbers down, advise
    Explain(explain::Args),
    /// Pick GPUs with headroom for a new job, and print them or run a command on them
    Pick(pick::Args),
    /// Report on a recording: peaks, who grew, what was found
    Report(report::Args),
    /// Advice on GPU memory: list it, search it, or read one tip in full
    Tips(tips::Args),
    /// Print a completion script for a shell
    Completions(completions::Args),
    /// Print the manual page
    Man,
}

/// What every command gets.
#[derive(Debug)]
pub struct Context {
    /// What the user asked for.
    pub settings: Settings,
    /// The environment it was asked in.
    pub env: Environment,
    /// The colours of the dashboard.
    pub theme: Theme,
}

/// Runs the program with these arguments and gives its exit code; says on standard error what went wrong.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let exit = match args::command().try_get_matches_from(arguments) {
        // Help and version come this way too, and are no failure. A reader who has gone does not want to know.
        Err(error) => {
            let _ = error.print();
            if error.use_stderr() { Exit::Usage } else { Exit::Success }
        }
        Ok(matches) => run(&matches).unwrap_or_else(|error| {
            let exit = exit_of(&error);
            if exit != Exit::Success {
                print::error(&error);
            }
            exit
        }),
    };
    exit.code()
}

/// Ends the process where the driver's library was opened; returns where it was not. What was printed is out by then.
pub fn leave(code: u8) {
    print::flush();
    nvml::leave(code);
}

fn run(matches: &clap::ArgMatches) -> anyhow::Result<Exit> {
    let action = if matches.subcommand_name().is_some() { Action::from_arg_matches(matches)? } else { Action::Top };
    // These read no settings, so that a broken configuration does not keep them from printing.
    match &action {
        Action::Tips(args) => return tips::run(args),
        Action::Completions(args) => return completions::run(args),
        Action::Man => return man::run(),
        _ => {}
    }
    let env = Environment::of_process();
    let mut layers = args::layers(matches, &env)?;
    if let Action::Demo(args) = &action {
        args.push_source(matches, &mut layers)?;
    }
    let settings = Settings::merge(&layers)?;
    let theme = theme(&settings, &layers)?;
    if settings.source == SourceName::Nvml && args::given(matches, "speed") {
        return Err(settings.refuse("speed", "only a simulation has a speed; add --source demo, or leave it away").into());
    }
    log::start(&settings)?;
    let context = Context { settings, env, theme };
    let done = match action {
        Action::Top => dashboard::run(&context),
        Action::Demo(args) => demo::run(&args, &context),
        Action::Once(args) => once::run(&args, &context),
        Action::Explain(args) => explain::run(&args, &context),
        Action::Pick(args) => pick::run(&args, &context),
        Action::Report(args) => report::run(&args, &context),
        Action::Tips(args) => tips::run(&args),
        Action::Completions(args) => completions::run(&args),
        Action::Man => man::run(),
    };
    done.map_err(|error| match error.downcast_ref::<SourceError>().map(|error| error.kind) {
        Some(SourceErrorKind::Setting(name)) => error.context(context.settings.origin(name).to_string()),
        _ => error,
    })
}

/// The theme, also where nothing is drawn, so that a mistake shows whatever the command; those that a stronger one hides are
/// looked up too, as all settings are.
fn theme(settings: &Settings, layers: &Layers) -> Result<Theme, ConfigError> {
    for (origin, name) in layers.given("theme") {
        Theme::named(name).map_err(|error| ConfigError::Value { origin: origin.clone(), why: error.to_string() })?;
    }
    Theme::named(&settings.theme).map_err(|error| settings.refuse("theme", error.to_string()))
}

/// The exit code of a failure, by its causes.
fn exit_of(error: &anyhow::Error) -> Exit {
    for cause in error.chain() {
        if let Some(error) = cause.downcast_ref::<SourceError>() {
            return match error.kind {
                SourceErrorKind::Driver => Exit::NoDriver,
                SourceErrorKind::Setting(_) => Exit::Usage,
            };
        }
        if let Some(OutputError::Io { .. }) = cause.downcast_ref::<OutputError>() {
            return Exit::Failure;
        }
        if cause.is::<ReadError>() || cause.is::<Unusable>() || cause.is::<OutputError>() {
            return Exit::Usage;
        }
        if cause.is::<explain::Unreadable>()
            || cause.is::<ConfigError>()
            || cause.is::<ScenarioError>()
            || cause.is::<clap::Error>()
            || cause.is::<tips::NoTip>()
        {
            return Exit::Usage;
        }
        if cause.downcast_ref::<std::io::Error>().is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe) {
            return Exit::Success;
        }
    }
    Exit::Failure
}
