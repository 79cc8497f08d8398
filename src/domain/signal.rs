//! Signals that a user may send to the holders of memory, and why one is not sent.

use std::sync::Arc;

use super::ProcessKey;

/// What can be sent, the mildest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, strum::Display, strum::EnumIter)]
#[strum(serialize_all = "UPPERCASE")]
pub enum Signal {
    /// Asks to end.
    Term,
    /// The interrupt of `^C`.
    Int,
    /// Ends at once.
    Kill,
    /// Whatever the program made of it.
    Usr1,
    /// Stops.
    Stop,
    /// Lets a stopped one go on.
    Cont,
}

impl Signal {
    /// What it does, in a few words.
    pub fn about(self) -> &'static str {
        match self {
            Self::Term => "asks it to end: it can save and clean up",
            Self::Int => "as ^C does: many trainers save a checkpoint",
            Self::Kill => "ends it at once: nothing is saved",
            Self::Usr1 => "what the program made of it; ends it where it made nothing",
            Self::Stop => "stops it where it stands; its memory stays",
            Self::Cont => "lets a stopped one go on",
        }
    }

    /// Whether a process that does nothing about it ends, as the simulated ones do.
    pub fn ends(self) -> bool {
        matches!(self, Self::Term | Self::Int | Self::Kill)
    }
}

/// What became of a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Sent {
    /// The system took it.
    #[error("sent")]
    Delivered,
    /// The simulated process has ended by it.
    #[error("simulated: it has ended")]
    SimulatedEnd,
    /// Simulated processes do nothing about this one.
    #[error("simulated: nothing happens")]
    SimulatedNothing,
}

/// Why a process is not signalled. The texts are for the screen and follow its name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// It is gone.
    #[error("it has already ended")]
    Ended,
    /// Its pid means another process.
    #[error("it has ended, and its pid is another process now")]
    Reused,
    /// The driver's pid means nothing here, or perhaps another process.
    #[error("its pid may mean another process here")]
    Unknown,
    /// The system does not let this user.
    #[error("not permitted")]
    Denied,
    /// Process 1.
    #[error("it is process 1, which all others depend on")]
    Init,
    /// This program.
    #[error("it is vramscope itself")]
    Itself,
    /// A thread of the kernel.
    #[error("it is a thread of the kernel")]
    Kernel,
    /// Without pidfds a pid may come to mean another process between the look and the signal.
    #[error("not safe here without pidfd_open (Linux 5.3)")]
    NoPidfd,
    /// The system's words for anything else.
    #[error("failed: {0}")]
    Failed(Arc<str>),
}

/// Sends signals to processes that it took hold of before, so that a pid that comes to mean another process is never hit.
pub trait Signaller: Send {
    /// Takes hold of these processes, and lets go of those held before. One answer each, in their order.
    fn hold(&mut self, targets: &[ProcessKey]) -> Vec<Result<(), Refusal>>;

    /// Sends to every process that is held, one answer each, in the order in which they were named; those that could not be
    /// held are refused again.
    fn signal(&mut self, signal: Signal) -> Vec<Result<Sent, Refusal>>;
}
