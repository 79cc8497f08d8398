//! `demo [SCENARIO]`: the dashboard on a simulated node.

use clap::ArgMatches;

use super::{Context, Exit, args, dashboard, print};
use crate::config::settings::index_of;
use crate::config::{ConfigError, Layers, Origin};
use crate::scenario::SCENARIOS;

/// Arguments of `demo`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A scenario file, or a built-in scenario by name
    #[arg(value_name = "SCENARIO", value_parser = args::scenarios())]
    scenario: Option<String>,
    /// List the built-in scenarios
    #[arg(long)]
    list: bool,
}

impl Args {
    /// Makes the simulation the source, above whatever file and variables say.
    ///
    /// # Errors
    /// `--source` stands beside it and names something else.
    pub fn push_source(&self, matches: &ArgMatches, layers: &mut Layers) -> Result<(), ConfigError> {
        if args::given(matches, "source") {
            let why = "does not go with the command demo, which is a source by itself; leave one of them away".to_owned();
            return Err(ConfigError::Value { origin: Origin::Flag("source"), why });
        }
        let source = index_of("source").expect("source is in the table: the settings' own test holds it");
        let text = self.scenario.as_ref().map_or_else(|| "demo".to_owned(), |name| format!("demo:{name}"));
        layers.push(source, Origin::Argument("SCENARIO"), text);
        Ok(())
    }
}

/// Lists the scenarios or shows one.
///
/// # Errors
/// As the dashboard's.
pub fn run(args: &Args, context: &Context) -> anyhow::Result<Exit> {
    if args.list {
        print::text(&list())?;
        return Ok(Exit::Success);
    }
    dashboard::run(context)
}

/// Name and title of each scenario; the first is the default.
fn list() -> String {
    let width = SCENARIOS.iter().map(|scenario| scenario.id.len()).max().unwrap_or(0);
    let lines: Vec<String> = SCENARIOS.iter().map(|scenario| format!("{:<width$}  {}", scenario.id, scenario.title)).collect();
    lines.join("\n") + "\n"
}
