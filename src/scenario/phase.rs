//! What a process does with a device's memory, one phase after the other.

use serde::Deserialize;

use super::values::{Amount, Fraction, Percent, Rate, Size, Time};

/// One phase. Sizes of steps and growth are on top of the level that the phase before left.
///
/// A phase that goes on (`steps`, `leak`, `plateau`, `spikes`, `wander`) lasts `for` a time or `until` a moment of the
/// scenario; without either it must be the last one and never ends.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Phase {
    /// The driver's context: two jumps at the start of a process.
    Context {
        /// Size of the context.
        size: Size,
        /// How long it takes.
        #[serde(default = "third", rename = "in")]
        within: Time,
    },
    /// Weights: a ramp with little load.
    Load {
        /// The level afterwards.
        to: Size,
        /// How long it takes.
        #[serde(rename = "in")]
        within: Time,
        /// In how many jumps; else about one every 100 ms.
        pieces: Option<u32>,
        /// Load of the device.
        utilization: Option<Percent>,
    },
    /// The allocator grows in the first steps, less and less.
    Warmup {
        /// How much.
        size: Size,
        /// How long it takes.
        #[serde(rename = "in")]
        within: Time,
    },
    /// Training steps: up in the forward pass, down in the backward pass.
    Steps {
        /// How far each step goes up.
        amplitude: Size,
        /// Length of a step.
        period: Time,
        /// How long.
        #[serde(rename = "for")]
        lasts: Option<Time>,
        /// Until when.
        until: Option<Time>,
        /// By how much a step's height may fall short, as a part of the amplitude.
        #[serde(default)]
        jitter: Fraction,
        /// Load of the device.
        utilization: Option<Percent>,
    },
    /// Something is kept at every step: equal small jumps at an even rate. The last steps go on meanwhile.
    Leak {
        /// How fast.
        rate: Rate,
        /// What one jump adds.
        #[serde(default = "segment")]
        segment: Size,
        /// How long.
        #[serde(rename = "for")]
        lasts: Option<Time>,
        /// Until when.
        until: Option<Time>,
    },
    /// Evaluation: a jump while the load dips; the allocator keeps the memory afterwards.
    Eval {
        /// How much.
        size: Size,
        /// How long the rise takes.
        #[serde(default = "third", rename = "in")]
        within: Time,
        /// How long the evaluation takes.
        #[serde(rename = "for")]
        lasts: Time,
    },
    /// The optimizer's state appears at the end of the first step.
    OptimizerStep {
        /// How much.
        size: Size,
    },
    /// Nothing changes.
    Plateau {
        /// How long.
        #[serde(rename = "for")]
        lasts: Option<Time>,
        /// Until when.
        until: Option<Time>,
        /// Load of the device.
        utilization: Option<Percent>,
    },
    /// Memory taken in advance, to a size or a share of the device.
    Pool {
        /// The level afterwards.
        to: Amount,
        /// How long it takes.
        #[serde(default = "third", rename = "in")]
        within: Time,
    },
    /// CUDA graphs: many small jumps.
    GraphCapture {
        /// How much.
        size: Size,
        /// How long it takes.
        #[serde(rename = "in")]
        within: Time,
        /// In how many jumps.
        #[serde(default = "captures")]
        pieces: u32,
    },
    /// A checkpoint is gathered on the device: up and back.
    CheckpointSave {
        /// How far up.
        height: Size,
        /// For how long.
        #[serde(rename = "for")]
        lasts: Time,
    },
    /// Up and back at once.
    Spike {
        /// How far up.
        height: Size,
        /// For how long.
        #[serde(rename = "for")]
        lasts: Time,
    },
    /// A spike at the start of every period.
    Spikes {
        /// How far up.
        height: Size,
        /// For how long each time.
        width: Time,
        /// From one to the next.
        every: Time,
        /// How long in all.
        #[serde(rename = "for")]
        lasts: Option<Time>,
        /// Until when.
        until: Option<Time>,
        /// Load of the device.
        utilization: Option<Percent>,
    },
    /// A bounded wander, as of a desktop or a server.
    Wander {
        /// How far up at most.
        amplitude: Size,
        /// How often it moves.
        every: Time,
        /// How long.
        #[serde(rename = "for")]
        lasts: Option<Time>,
        /// Until when.
        until: Option<Time>,
        /// Load of the device.
        utilization: Option<Percent>,
    },
    /// Memory is given back.
    Release {
        /// The level afterwards.
        to: Size,
        /// How long it takes.
        #[serde(default = "third", rename = "in")]
        within: Time,
    },
    /// The process ends.
    Exit {
        /// Its status.
        #[serde(default)]
        status: i32,
        /// How long its memory takes to go.
        #[serde(default = "third", rename = "in")]
        within: Time,
    },
    /// A request fails, whatever room there is: a retry, then the process dies.
    Oom {},
    /// The process is gone and its memory stays.
    Orphan {
        /// For how long; without it, for ever.
        #[serde(rename = "for")]
        lasts: Option<Time>,
    },
}

fn third() -> Time {
    Time(crate::domain::Period::millis(300))
}

fn segment() -> Size {
    Size(crate::domain::Bytes::mib(20))
}

fn captures() -> u32 {
    35
}

impl Phase {
    /// Whether nothing can come after it.
    pub(super) const fn is_last(&self) -> bool {
        matches!(self, Self::Exit { .. } | Self::Oom {} | Self::Orphan { .. })
    }

    /// For a phase that goes on: its length and its end, where given.
    pub(super) const fn lasting(&self) -> Option<(Option<Time>, Option<Time>)> {
        match *self {
            Self::Steps { lasts, until, .. }
            | Self::Leak { lasts, until, .. }
            | Self::Plateau { lasts, until, .. }
            | Self::Spikes { lasts, until, .. }
            | Self::Wander { lasts, until, .. } => Some((lasts, until)),
            _ => None,
        }
    }

    /// What is out of range in it.
    pub(super) fn fault(&self) -> Option<&'static str> {
        const SHORT: Time = Time(crate::domain::Period::millis(1));
        let (short, pieces) = match *self {
            Self::Steps { period, .. } => (period < SHORT, 1),
            Self::Spikes { every, width, .. } if width >= every => {
                return Some("`width` is not below `every`; expected a spike that ends before the next one");
            }
            Self::Spikes { every, width, .. } => (every < SHORT || width < SHORT, 1),
            Self::Wander { every, .. } => (every < SHORT, 1),
            Self::Load { pieces, .. } => (false, pieces.unwrap_or(1)),
            Self::GraphCapture { pieces, .. } => (false, pieces),
            Self::Leak { segment, .. } if segment.0 < crate::domain::Bytes::mib(2) => {
                return Some("`segment` is too small; expected at least 2MiB, the driver's page");
            }
            _ => (false, 1),
        };
        if short {
            Some("this repeats too fast; expected at least 1ms")
        } else if !(1..=4096).contains(&pieces) {
            Some("`pieces` is out of range; expected 1 to 4096")
        } else if matches!(self.lasting(), Some((Some(_), Some(_)))) {
            Some("both `for` and `until` are given; expected one of them")
        } else {
            None
        }
    }
}
