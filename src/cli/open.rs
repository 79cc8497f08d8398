//! The source that the settings name.

use crate::config::{Environment, Interval, Settings, SourceName};
use crate::domain::Period;
use crate::domain::cuda::Visible;
use crate::scenario::{SCENARIOS, Scenario, ScenarioError, StreamOptions};
use crate::source::Source;
use crate::source::demo::DemoSource;
use crate::source::host::root::Root;
use crate::source::nvml::{NvmlOptions, NvmlSource};
use crate::source::selection::Selection;

/// Samples that may wait for the pipeline. A driver does not wait: more than a second of the busiest node. A simulation
/// does: enough for all its processes to be introduced, and a bound on the memory of a hurried one with long lists.
pub fn queue(settings: &Settings) -> usize {
    match settings.source {
        SourceName::Nvml => 65_536,
        SourceName::Demo(_) => 5_000,
    }
}

/// How often a simulation reads memory if nobody says: as the driver's source does on a busy card.
const BUSY: Period = Period::millis(50);

/// Makes the source; it is not started yet.
///
/// # Errors
/// A scenario that does not exist or is wrong.
pub fn source(settings: &Settings, env: &Environment) -> anyhow::Result<Box<dyn Source>> {
    match &settings.source {
        SourceName::Nvml => Ok(Box::new(nvml(settings, root(env), visible(settings, env)))),
        SourceName::Demo(name) => demo(settings, name.as_deref(), visible(settings, env).as_ref()),
    }
}

/// The root of the system's files. Only debug builds have a variable for it.
#[cfg_attr(not(debug_assertions), expect(unused_variables, reason = "a release build knows one root"))]
fn root(env: &Environment) -> Root {
    #[cfg(debug_assertions)]
    if let Some(root) = super::fault::root(env) {
        return root;
    }
    Root::default()
}

/// What CUDA is shown, where that alone is asked for.
fn visible(settings: &Settings, env: &Environment) -> Option<Visible> {
    env.cuda().filter(|_| settings.visible)
}

fn nvml(settings: &Settings, root: Root, visible: Option<Visible>) -> NvmlSource {
    NvmlSource {
        options: NvmlOptions {
            lib: settings.nvml_lib.clone(),
            gpus: settings.gpus.iter().map(ToString::to_string).collect(),
            memory_interval: match settings.interval {
                Interval::Adaptive => None,
                Interval::Fixed(interval) => Some(interval),
            },
            process_interval: settings.process_interval,
            visible,
            watched: settings.pid.clone(),
            root,
        },
    }
}

fn demo(settings: &Settings, name: Option<&str>, visible: Option<&Visible>) -> anyhow::Result<Box<dyn Source>> {
    let name = name.or_else(|| SCENARIOS.first().map(|scenario| scenario.id)).unwrap_or_default();
    let memory_interval = match settings.interval {
        Interval::Adaptive => BUSY,
        Interval::Fixed(interval) => interval,
    };
    let options = StreamOptions { memory_interval, process_interval: settings.process_interval, ..StreamOptions::default() };
    // A mistake within a file names its line; that there is no such file is a mistake of who named it.
    let named = |error: ScenarioError| match &error {
        ScenarioError::Content { .. } => anyhow::Error::new(error),
        _ => anyhow::Error::new(error).context(settings.origin("source").to_string()),
    };
    let scenario = Scenario::load(name).map_err(named)?;
    let source = DemoSource::new(&scenario, settings.speed, options)?;
    Ok(Box::new(source.choose(&Selection::new(&settings.gpus), visible)?.watch(&settings.pid)?))
}
