//! Layer 0: what is true. No I/O, no clock, no threads, no globals.

pub mod advice;
pub mod bytes;
pub mod device;
pub mod finding;
pub mod framework;
pub mod history;
pub mod monitor;
pub mod process;
pub mod reading;
pub mod risk;
pub mod sample;
pub mod snapshot;
pub mod text;
pub mod time;
pub mod tips;

pub use bytes::Bytes;
pub use device::{Device, DeviceId, DeviceState, Gpu, MemoryFigures, MemoryKind};
pub use finding::{Advice, Anatomy, Certainty, Evidence, Finding, FindingKind, Quantity, Shape};
pub use framework::{Framework, Role, Workload};
pub use history::{Bucket, Series};
pub use monitor::Monitor;
pub use process::{Holder, HolderKind, Pid, Process, ProcessKey, ProcessUsage, Relation};
pub use reading::{Missing, Reading};
pub use risk::{FullIn, Risk, RiskLevel};
pub use sample::{Header, Health, HostMemory, ProbeKind, Sample, SampleBody, Usage};
pub use snapshot::{Balance, DeviceView, HolderView, Snapshot};
pub use time::{Period, Timestamp, Wall};
