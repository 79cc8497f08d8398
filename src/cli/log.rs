//! `--log FILE`: what happens, as lines in a file; never on the screen.

use std::fs::File;
use std::sync::Mutex;

use tracing::Level;

use crate::config::{ConfigError, Settings};

/// Starts the log where one is asked for; an existing file is continued.
///
/// # Errors
/// The file can't be written.
pub fn start(settings: &Settings) -> Result<(), ConfigError> {
    let Some(path) = &settings.log else { return Ok(()) };
    let file = File::options()
        .create(true)
        .append(true)
        .open(path)
        .map_err(|error| settings.refuse("log", format!("cannot write {}: {error}", path.display())))?;
    // A second start within one process keeps the first log.
    let _ = tracing_subscriber::fmt().with_writer(Mutex::new(file)).with_ansi(false).with_max_level(Level::DEBUG).try_init();
    tracing::info!(version = env!("CARGO_PKG_VERSION"), ?settings, "started");
    Ok(())
}
