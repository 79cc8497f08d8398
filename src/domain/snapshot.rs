//! The immutable picture that every reader shares: what [`super::Monitor`] made of the samples so far.
//!
//! Cloning one is cheap: everything large hangs on an `Arc` and is copied only when it changes.

use std::sync::Arc;

use super::{
    Anatomy, Bytes, Device, DeviceState, Finding, Gpu, Header, Holder, HolderKind, HostMemory, MemoryFigures, MemoryKind,
    Missing, OpenHandle, Period, Pid, Process, ProcessKey, ProcessUsage, Reading, Relation, Risk, Series, Timestamp,
};

/// Everything known at one moment.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// Time of the newest sample.
    pub at: Timestamp,
    /// Facts of the stream; none before its first sample.
    pub header: Option<Arc<Header>>,
    /// In order of their key: GPUs by index, MIG instances after them.
    pub devices: Vec<Arc<DeviceView>>,
    /// Host memory, once read.
    pub host: Option<HostMemory>,
    /// The driver as a whole does not answer: in which call, since when.
    pub driver_stall: Option<(&'static str, Timestamp)>,
    /// Samples lost since a queue was full.
    pub dropped: u64,
    /// What else does not work; at most [`Snapshot::MAX_PROBLEMS`].
    pub problems: Arc<[Problem]>,
    /// Points the user marked, oldest first; the newest [`Snapshot::MAX_MARKS`] are kept.
    pub marks: Arc<[(Timestamp, Arc<str>)]>,
    /// Processes that have a device node open without standing in any list; missing until searched for.
    pub handles: Reading<Arc<[Handle]>>,
    /// How many processes could not be looked into for open nodes.
    pub handles_denied: u32,
    /// What was seen, in the order of the first time it was said; the newest [`Snapshot::MAX_FINDINGS`] are kept. A finding
    /// that was renewed stands here as it was said last.
    pub findings: Arc<[Arc<Finding>]>,
    /// The risk of each job on its tightest device.
    pub job_risks: Arc<[Arc<Risk>]>,
}

/// A process with a device node open that no list names, and who it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Handle {
    /// What was found.
    pub open: OpenHandle,
    /// Who it is; none where nothing is known but the pid.
    pub process: Option<Arc<Process>>,
}

/// Something that does not work, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where; none for the whole.
    pub gpu: Option<Gpu>,
    /// What does not work.
    pub what: Arc<str>,
    /// Why.
    pub why: Arc<str>,
    /// What to do.
    pub fix: Arc<str>,
}

/// One device at one moment.
#[derive(Clone, Debug)]
pub struct DeviceView {
    /// Static facts.
    pub device: Arc<Device>,
    /// Whether it answers.
    pub state: DeviceState,
    /// Since when it is in that state; for a stall, when the call began.
    pub state_since: Timestamp,
    /// The driver's function that does not return or failed.
    pub call: Option<&'static str>,
    /// The newest reading of its memory, or why there is none.
    pub memory: Reading<MemoryFigures>,
    /// The last good reading and its time: what is shown, dim and with its age, while `memory` is missing.
    pub last_memory: Option<(Timestamp, MemoryFigures)>,
    /// The holders as of the newest list, largest first, or why there is no list.
    pub holders: Reading<Arc<[Arc<HolderView>]>>,
    /// Time of the newest good list.
    pub holders_at: Option<Timestamp>,
    /// Time of the first good list: who held what before it is not known.
    pub holders_since: Option<Timestamp>,
    /// The accounting identity, taken at the newest list that a reading of memory followed.
    pub balance: Option<Balance>,
    /// Percent, 0 to 100.
    pub utilization: Reading<f32>,
    /// °C.
    pub temperature: Reading<f32>,
    /// Watts.
    pub power: Reading<f32>,
    /// The largest used memory since the start, and when.
    pub peak: Option<(Timestamp, Bytes)>,
    /// The largest used memory since the newest mark; the same as `peak` without one.
    pub peak_since_mark: Option<(Timestamp, Bytes)>,
    /// Used memory over time.
    pub series: Arc<Series>,
    /// Memory over time of all holders that have no series of their own (beyond the 16 largest).
    pub others: Arc<Series>,
    /// Unattributed memory over time, as of each list; a gap where it can't be told.
    pub unattributed: Arc<Series>,
    /// Since when more than [`DeviceView::NOTABLE`] has been unattributed without a break, and the least of it since.
    pub unattributed_since: Option<(Timestamp, Bytes)>,
    /// Holders that are gone but still have a history, newest first.
    pub gone: Arc<[Arc<HolderView>]>,
    /// Pace of the memory readings.
    pub memory_pace: Option<Pace>,
    /// Pace of the process lists.
    pub process_pace: Option<Pace>,
    /// What a new allocation can have (DESIGN.md: free for dedicated memory, the host's available for unified).
    pub headroom: Reading<Bytes>,
    /// How close it is to running out; none before its first reading.
    pub risk: Option<Arc<Risk>>,
}

/// One process on one device.
#[derive(Clone, Debug)]
pub struct HolderView {
    /// pid and start.
    pub key: ProcessKey,
    /// What the lists say.
    pub holder: Holder,
    /// Who it is; none where nothing is known but the pid.
    pub process: Option<Arc<Process>>,
    /// What it uses beside memory.
    pub usage: Option<ProcessUsage>,
    /// The largest memory it was seen with, and when.
    pub peak: Option<(Timestamp, Bytes)>,
    /// The same since the newest mark.
    pub peak_since_mark: Option<(Timestamp, Bytes)>,
    /// Where its memory goes, as far as its phases were seen.
    pub anatomy: Option<Anatomy>,
    /// Its memory over time; none beyond the 16 largest.
    pub series: Option<Arc<Series>>,
    /// When it was first seen here.
    pub first_seen: Timestamp,
    /// When it was seen last, for those that are gone.
    pub gone_at: Option<Timestamp>,
}

/// `used = Σ holders + unattributed − excess`, all taken at one reading of the process list with memory read right after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Balance {
    /// When the memory was read.
    pub t: Timestamp,
    /// The figures; none for unified memory, where the driver gives none.
    pub figures: Option<MemoryFigures>,
    /// total − free − reserved, or Σ holders for unified memory; none if that is not known either.
    pub used: Option<Bytes>,
    /// Σ of the holders whose size is known.
    pub attributed: Bytes,
    /// max(0, used − Σ holders); none if any size is missing.
    pub unattributed: Option<Bytes>,
    /// Σ holders − used where that is positive: the two readings are not atomic. None if any size is missing.
    pub excess: Option<Bytes>,
    /// used − Σ known sizes, only where some size is missing.
    pub unexplained: Option<Bytes>,
}

/// How a device's readings are paced (see [`super::Health::Pace`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// The interval asked for.
    pub asked: Period,
    /// The mean interval achieved.
    pub achieved: Option<Period>,
    /// Median time in the driver for one reading.
    pub call: Period,
    /// Longest time in the driver.
    pub worst: Period,
    /// Ticks skipped.
    pub missed: u32,
    /// Widened since the calls cost too much.
    pub backed_off: bool,
}

impl Balance {
    /// The identity of the newest list and the newest reading of memory, which was made at `t`. None where the memory
    /// can't be read: an old balance would pretend that it could.
    pub fn of(t: Timestamp, view: &DeviceView) -> Option<Self> {
        let all = view.sum_of_holders();
        let (figures, used) = match &view.memory {
            Ok(figures) => (Some(*figures), Some(figures.used())),
            Err(_) if view.device.memory == MemoryKind::Unified => (None, all),
            Err(_) => return None,
        };
        let sizes = view.holders.iter().flat_map(|list| list.iter()).filter_map(|holder| holder.used());
        let attributed = sizes.fold(Bytes::ZERO, Bytes::saturating_add);
        let some_missing = view.holders.is_ok() && all.is_none();
        Some(Self {
            t,
            figures,
            used,
            attributed,
            unattributed: used.zip(all).map(|(used, all)| used.saturating_sub(all)),
            excess: used.zip(all).map(|(used, all)| all.saturating_sub(used)),
            unexplained: used.filter(|_| some_missing).map(|used| used.saturating_sub(attributed)),
        })
    }
}

impl Default for Snapshot {
    fn default() -> Self {
        Self {
            at: Timestamp::ZERO,
            header: None,
            devices: Vec::new(),
            host: None,
            driver_stall: None,
            dropped: 0,
            problems: Arc::new([]),
            marks: Arc::new([]),
            handles: Err(Missing::Pending),
            handles_denied: 0,
            findings: Arc::new([]),
            job_risks: Arc::new([]),
        }
    }
}

impl Snapshot {
    /// How many findings are kept.
    pub const MAX_FINDINGS: usize = 500;
    /// How many problems are kept.
    pub const MAX_PROBLEMS: usize = 64;
    /// How many marks are kept.
    pub const MAX_MARKS: usize = 1000;

    /// The view of a device.
    pub fn device(&self, gpu: Gpu) -> Option<&Arc<DeviceView>> {
        self.devices.iter().find(|view| view.device.gpu == gpu)
    }

    /// Whether the figures come from a simulation.
    pub fn simulated(&self) -> bool {
        self.header.as_ref().is_some_and(|header| header.simulated)
    }
}

impl DeviceView {
    /// A device of which nothing is known yet.
    pub fn new(device: Arc<Device>, now: Timestamp) -> Self {
        Self {
            device,
            state: DeviceState::Ok,
            state_since: now,
            call: None,
            memory: Err(Missing::Pending),
            last_memory: None,
            holders: Err(Missing::Pending),
            holders_at: None,
            holders_since: None,
            balance: None,
            utilization: Err(Missing::Pending),
            temperature: Err(Missing::Pending),
            power: Err(Missing::Pending),
            peak: None,
            peak_since_mark: None,
            series: Arc::new(Series::device()),
            others: Arc::new(Series::process()),
            unattributed: Arc::new(Series::process()),
            unattributed_since: None,
            gone: Arc::new([]),
            memory_pace: None,
            process_pace: None,
            headroom: Err(Missing::Pending),
            risk: None,
        }
    }

    /// Less unattributed memory than this is what drivers and libraries keep on any busy card (SIGNATURES.md 1: 6 to 35 MiB
    /// seen, contexts being made or torn down aside).
    pub const NOTABLE: Bytes = Bytes::mib(150);

    /// The key of this device.
    pub fn gpu(&self) -> Gpu {
        self.device.gpu
    }

    /// Used memory by the newest reading; on unified memory Σ holders.
    pub fn used(&self) -> Reading<Bytes> {
        match (&self.memory, self.device.memory) {
            (Ok(figures), _) => Ok(figures.used()),
            (Err(missing), MemoryKind::Unified) => self.balance.and_then(|balance| balance.used).ok_or_else(|| missing.clone()),
            (Err(missing), _) => Err(missing.clone()),
        }
    }

    /// Total memory: of the newest good reading, else of the static facts.
    pub fn total(&self) -> Reading<Bytes> {
        self.last_memory.map_or_else(|| self.device.total.clone(), |(_, figures)| Ok(figures.total))
    }

    /// Time since the last good reading of memory.
    pub fn age(&self, now: Timestamp) -> Option<Period> {
        self.last_memory.map(|(t, _)| now.since(t))
    }

    /// Σ of the holders, if there is a list and all its sizes are known.
    pub fn sum_of_holders(&self) -> Option<Bytes> {
        self.holders.as_ref().ok()?.iter().map(|holder| holder.used()).sum()
    }

    /// The identity of the current list: with the memory read right after it, or, while that has not come, with the newest
    /// reading. So the terms add up with the listed sizes at every moment, also between a list and its memory.
    pub fn accounts(&self) -> Option<Balance> {
        let own = self.balance.filter(|balance| self.holders.is_ok() && self.holders_at.is_none_or(|list| list <= balance.t));
        let newest = || {
            let at = if self.memory.is_ok() { self.last_memory.map(|(t, _)| t) } else { self.holders_at };
            Balance::of(at?, self)
        };
        own.or_else(newest)
    }
}

impl HolderView {
    /// The pid as the driver gives it.
    pub fn pid(&self) -> Pid {
        self.holder.pid
    }

    /// The memory it holds, where the list tells.
    pub fn used(&self) -> Option<Bytes> {
        self.holder.used.as_ref().ok().copied()
    }

    /// Whose it is; unknown where nothing is known but the pid.
    pub fn relation(&self) -> Relation {
        self.process.as_ref().map_or(Relation::Unknown, |process| process.relation)
    }

    /// In which lists it stands.
    pub fn kind(&self) -> HolderKind {
        self.holder.kind
    }

    /// Its memory at a moment of the past, from its history.
    pub fn used_at(&self, t: Timestamp) -> Option<Bytes> {
        if t < self.first_seen || self.gone_at.is_some_and(|gone| t > gone) {
            return None;
        }
        self.series.as_ref()?.at(t)
    }
}
