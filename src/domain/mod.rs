//! Layer 0: what is true. No I/O, no clock, no threads, no globals.

pub mod analyst;
pub mod bytes;
pub mod detect;
pub mod device;
pub mod finding;
#[cfg(test)]
mod fixture;
pub mod forecast;
pub mod growth;
pub mod history;
pub mod monitor;
pub mod owners;
pub mod process;
pub mod reading;
pub mod risk;
pub mod sample;
pub mod snapshot;
pub mod text;
pub mod time;
pub mod unattributed;

pub use analyst::{Analyst, Said};
pub use bytes::Bytes;
pub use device::{Device, DeviceId, DeviceState, Gpu, MemoryFigures, MemoryKind};
pub use finding::{Advice, Anatomy, Certainty, Evidence, Finding, FindingKind, Quantity, Shape};
pub use growth::{Change, Grower, Growth};
pub use history::{Bucket, Series};
pub use monitor::Monitor;
pub use owners::{JobView, UserTotal};
pub use process::{Ancestor, Details, Holder, HolderKind, Job, OpenHandle, Pid, Process, ProcessKey, ProcessUsage, Relation};
pub use reading::{Missing, Reading};
pub use risk::{FullIn, Risk, RiskLevel};
pub use sample::{Header, Health, HostMemory, ProbeKind, Sample, SampleBody, Usage};
pub use snapshot::{Balance, DeviceView, Handle, HolderView, Snapshot};
pub use time::{Period, Timestamp, Wall};
pub use unattributed::Cause;
