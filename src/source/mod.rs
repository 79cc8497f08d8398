//! Layer 3: where samples come from.

pub mod demo;
pub mod host;
pub mod nvml;
pub mod selection;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::Receiver;

use crate::domain::{Pid, Signaller, Timestamp};
use crate::sampler::SampleSender;

/// Something that pushes samples until it is stopped. The first sample is a `Header`.
pub trait Source: Send {
    /// Starts its threads and returns at once, whatever the driver does.
    fn start(self: Box<Self>, samples: SampleSender) -> SourceHandle;
}

/// A running source.
pub struct SourceHandle {
    /// One message: the source is open and its devices are in the stream, or why it can't be. Nothing comes while
    /// the driver does not answer.
    pub opened: Receiver<Result<(), SourceError>>,
    /// Set to end the source's threads at their next turn. They are never joined: a driver call may not return.
    pub stop: Arc<AtomicBool>,
    /// The stream's clock: what a sample taken right now would carry. Simulated time for simulations.
    pub now: Arc<dyn Fn() -> Timestamp + Send + Sync>,
    /// Signals the processes that the source names: only it knows whether its pids are real.
    pub signaller: Box<dyn Signaller>,
}

/// What kind of trouble it is, for the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceErrorKind {
    /// No usable driver or device: exit code 3.
    Driver,
    /// What this setting asks for does not exist, such as a GPU: exit code 2. Who reports it names where the setting was made.
    Setting(&'static str),
}

/// Why a source can't be used. The texts are for the user.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}: {why}\n{fix}")]
pub struct SourceError {
    /// Decides the exit code.
    pub kind: SourceErrorKind,
    /// What does not work: `no usable NVIDIA driver`.
    pub what: String,
    /// Why: the call and the library's own words, or the loader's.
    pub why: String,
    /// What to do; names `vramscope demo` where there is no driver.
    pub fix: String,
}

impl SourceError {
    /// A process that does not exist can't be watched.
    pub fn unwatchable(pid: Pid) -> Self {
        Self {
            kind: SourceErrorKind::Setting("pid"),
            what: format!("there is no process {pid}"),
            why: "it can't be watched".into(),
            fix: "Name a process that runs, by its number here (`pgrep -f train.py`); it may hold no memory yet.".into(),
        }
    }
}
