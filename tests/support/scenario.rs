//! Scenarios for tests: the built-in ones, and those that only a test can want.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use vramscope::scenario::{SCENARIOS, Scenario, World};

/// Scenarios whose point is a fault of the driver.
pub const FAULTY: &[(&str, &str)] = &[
    ("hang-init", include_str!("../fixtures/scenarios/hang-init.toml")),
    ("old-driver-v1", include_str!("../fixtures/scenarios/old-driver-v1.toml")),
    ("old-lists", include_str!("../fixtures/scenarios/old-lists.toml")),
    ("five-field", include_str!("../fixtures/scenarios/five-field.toml")),
    ("leaving", include_str!("../fixtures/scenarios/leaving.toml")),
];

/// A scenario by the name of a built-in or a test's one, or by its text, compiled.
pub fn world(name: &str) -> Arc<World> {
    let scenario = match FAULTY.iter().find(|(id, _)| *id == name) {
        Some((id, text)) => Scenario::parse(id, text),
        None if name.contains('\n') => Scenario::parse("text", name),
        None => Scenario::load(name),
    };
    let known: Vec<&str> = SCENARIOS.iter().map(|builtin| builtin.id).collect();
    let scenario = scenario.unwrap_or_else(|error| panic!("{error}; built in: {known:?}"));
    Arc::new(World::new(&scenario).unwrap_or_else(|error| panic!("{error}")))
}

/// A fake driver library of its own for a scenario, given by name or as text.
pub fn staged(dir: &Path, scenario: &str) -> PathBuf {
    let text = FAULTY.iter().find(|(id, _)| *id == scenario).map_or(scenario, |(_, text)| text);
    fake_nvml::stage(dir, text).unwrap_or_else(|error| panic!("{error}"))
}
