//! The sample stream: the only truth. A live driver, a recorded file and a simulator all produce these.

use std::sync::Arc;

use super::{
    Bytes, Device, DeviceState, Gpu, Holder, MemoryFigures, OpenHandle, Period, Pid, Process, ProcessUsage, Reading, Timestamp,
    Wall,
};

/// One record of the stream. `t` was taken when the reading returned.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// When.
    pub t: Timestamp,
    /// What.
    pub body: SampleBody,
}

/// What a sample says (DESIGN.md section 5 names the records of the file).
#[derive(Clone, Debug, PartialEq)]
pub enum SampleBody {
    /// About the whole stream; the first sample, and again when a fact of it becomes known.
    Header(Arc<Header>),
    /// A device appeared or its facts changed; binds its key.
    Device(Arc<Device>),
    /// A process appeared or its facts changed; binds its pid.
    Process(Arc<Process>),
    /// Memory of a device.
    Memory {
        /// Where.
        gpu: Gpu,
        /// The figures, or why there are none.
        figures: Reading<MemoryFigures>,
    },
    /// The merged process lists of a device. The next [`SampleBody::Memory`] of that device was read right after it.
    Holders {
        /// Where.
        gpu: Gpu,
        /// An empty list is one without holders; a list that could not be read is missing.
        list: Reading<Arc<[Holder]>>,
    },
    /// Load of a device and its processes.
    Usage(Arc<Usage>),
    /// The processes that have a device node open without standing in any list. As much as this user may see.
    Handles {
        /// None found is empty; a search that was not possible is missing.
        list: Reading<Arc<[OpenHandle]>>,
        /// How many processes could not be looked into, for want of permission.
        denied: u32,
    },
    /// Host memory.
    Host(HostMemory),
    /// A device changed its state. Without a device: the driver as a whole (a hang in init).
    State {
        /// Where; none for the driver as a whole.
        gpu: Option<Gpu>,
        /// The new state.
        state: DeviceState,
        /// The driver's function that does not return or failed.
        call: Option<&'static str>,
        /// When that call began, for a stall.
        since: Timestamp,
    },
    /// Nothing is known of a device from `from` until this sample's time.
    Gap {
        /// Where.
        gpu: Gpu,
        /// The last good reading.
        from: Timestamp,
        /// Why.
        reason: Arc<str>,
    },
    /// How the sampling itself is doing.
    Health(Health),
    /// A point the user marked.
    Mark(Arc<str>),
    /// A process ended.
    Exit {
        /// Which.
        pid: Pid,
        /// Its status where known.
        status: Option<i32>,
    },
}

/// Facts of the whole stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// The wall clock at the stream's origin.
    pub created: Wall,
    /// `nvml`, `demo:NAME` or a file.
    pub source: Arc<str>,
    /// Whether the figures come from a simulation.
    pub simulated: bool,
    /// The machine's name.
    pub host: Option<Arc<str>>,
    /// The driver's version, `570.86.15`.
    pub driver: Reading<Arc<str>>,
    /// The CUDA version that the driver supports, `12.8`.
    pub cuda: Reading<Arc<str>>,
    /// My user's name.
    pub me: Option<Arc<str>>,
    /// The reader lives in a PID namespace of its own: the driver's pids are not those of `/proc` here, and may collide
    /// with them (NVML.md 5.11).
    pub foreign_pids: bool,
}

/// Load of one device.
#[derive(Clone, Debug, PartialEq)]
pub struct Usage {
    /// Where.
    pub gpu: Gpu,
    /// Percent of time in which a kernel ran, 0 to 100 (`utilization.gpu`).
    pub utilization: Reading<f32>,
    /// °C.
    pub temperature: Reading<f32>,
    /// Watts.
    pub power: Reading<f32>,
    /// Of its processes.
    pub processes: Vec<ProcessUsage>,
}

/// Memory of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostMemory {
    /// `MemTotal`.
    pub total: Bytes,
    /// `MemAvailable`.
    pub available: Bytes,
    /// Swap in use.
    pub swap_used: Bytes,
    /// Swap there is.
    pub swap_total: Bytes,
}

/// Kinds of readings that are paced apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, strum::Display, strum::EnumString)]
#[strum(serialize_all = "lowercase")]
pub enum ProbeKind {
    /// Memory of a device.
    Memory,
    /// Process lists and load of a device.
    Processes,
    /// Host memory.
    Host,
}

/// How the sampling itself is doing.
#[derive(Clone, Debug, PartialEq)]
pub enum Health {
    /// Pace and cost of a device's readings since the last such sample, about once a second.
    Pace {
        /// Where.
        gpu: Gpu,
        /// Of which readings.
        kind: ProbeKind,
        /// The interval asked for (now, where adaptive).
        asked: Period,
        /// The mean interval achieved; none with fewer than two readings.
        achieved: Option<Period>,
        /// The median time the driver took for one reading.
        call: Period,
        /// The longest.
        worst: Period,
        /// Ticks skipped since they came due while a reading still ran.
        missed: u32,
        /// The interval was widened since the calls cost more than 2 % of the time.
        backed_off: bool,
    },
    /// Samples lost since a queue was full.
    Dropped {
        /// How many since the last such sample.
        count: u64,
    },
    /// A thread that reads or writes panicked; the others go on.
    Panicked {
        /// The thread's name.
        thread: Arc<str>,
        /// What it said, cleaned.
        message: Arc<str>,
    },
    /// Something else the user should know: what, why, what to do.
    Problem {
        /// Where; none for the whole.
        gpu: Option<Gpu>,
        /// What does not work.
        what: Arc<str>,
        /// Why.
        why: Arc<str>,
        /// What to do.
        fix: Arc<str>,
    },
}
