//! Layer 0: what is true. No I/O, no clock, no threads, no globals.

pub mod advice;
pub mod alert;
pub mod analyst;
pub mod bytes;
pub mod detect;
pub mod command;
pub mod device;
pub mod finding;
#[cfg(test)]
mod fixture;
pub mod forecast;
pub mod framework;
pub mod growth;
pub mod history;
pub mod launcher;
pub mod monitor;
pub mod owner;
pub mod process;
pub mod reading;
pub mod risk;
pub mod sample;
pub mod signal;
pub mod snapshot;
pub mod text;
pub mod time;
pub mod tips;
pub mod totals;
pub mod unattributed;

pub use alert::Alerter;
pub use analyst::{Analyst, Said};
pub use bytes::Bytes;
pub use device::{Device, DeviceId, DeviceState, Gpu, MemoryFigures, MemoryKind};
pub use finding::{Advice, Anatomy, Certainty, Evidence, Finding, FindingKind, Quantity, Shape, Weight};
pub use framework::{Framework, Role, Workload};
pub use growth::{Change, Grower, Growth};
pub use history::{Bucket, Series};
pub use monitor::Monitor;
pub use process::{Ancestor, Details, Holder, HolderKind, Job, OpenHandle, Pid, Process, ProcessKey, ProcessUsage, Relation};
pub use reading::{Missing, Reading};
pub use risk::{FullIn, Risk, RiskLevel};
pub use sample::{Header, Health, HostMemory, ProbeKind, Sample, SampleBody, Usage};
pub use signal::{Refusal, Sent, Signal, Signaller};
pub use snapshot::{Balance, DeviceView, Handle, HolderView, Snapshot};
pub use time::{Period, Timestamp, Wall};
pub use totals::{JobView, UserTotal};
pub use unattributed::Cause;
