//! What tests plant: a panic on purpose (`VRAMSCOPE_TEST_PANIC=screen` or `=worker`), a root for the system's files
//! (`VRAMSCOPE_TEST_ROOT=FOLDER`). Only debug builds have this.

use std::path::Path;
use std::sync::Arc;

use super::Context;
use crate::config::Environment;
use crate::domain::{Period, Timestamp};
use crate::sampler::worker;
use crate::sampler::{Beat, Clock, Look, Pacing, Poke, Probe, SampleSender, Studio};
use crate::source::SourceHandle;
use crate::source::host::root::Root;

/// The variable.
const VARIABLE: &str = "VRAMSCOPE_TEST_PANIC";

/// The variable of the root.
const ROOT: &str = "VRAMSCOPE_TEST_ROOT";

/// The root that a test wants.
pub fn root(env: &Environment) -> Option<Root> {
    env.get(ROOT).map(|path| Root::at(Path::new(path)))
}

/// When the screen's thread panics: the first frames are drawn by then.
const SOON: Period = Period::millis(500);

/// Plants what the variable asks for.
///
/// # Errors
/// The system gives no thread.
pub fn plant(context: &Context, mut handle: SourceHandle, samples: SampleSender) -> std::io::Result<SourceHandle> {
    let clock = Clock::start();
    match context.env.get(VARIABLE) {
        Some("screen") => {
            let now = Arc::clone(&handle.now);
            handle.now = Arc::new(move || {
                assert!(clock.now() < Timestamp::ZERO + SOON, "on purpose");
                now()
            });
        }
        Some("worker") => {
            let studio = Studio { clock, samples, stop: Arc::clone(&handle.stop) };
            let beat =
                Beat { pacing: Pacing::fixed(SOON), offset: SOON, spacing: SOON, poke: Arc::new(Poke::default()), told_as: None };
            worker::spawn("test:0", studio, beat, || Panics)?;
        }
        _ => {}
    }
    Ok(handle)
}

struct Panics;

impl Probe for Panics {
    fn read(&mut self, _: Timestamp) -> Look {
        panic!("on purpose");
    }
}
