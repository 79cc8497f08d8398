//! One message about memory, as a dialect read it.

use crate::domain::{Bytes, Framework};

/// What kind of failure it is; the words of `--json`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, strum::Display, strum::EnumString, strum::EnumIter)]
#[strum(serialize_all = "snake_case")]
pub enum Kind {
    /// GPU memory could not be had: the run failed, or an engine refused to start.
    DeviceOom,
    /// System RAM, the limit of a container or job, or page-locked memory ran out.
    HostOom,
    /// `/dev/shm` ran out.
    HostShm,
    /// A kernel wants more on-chip shared memory than there is.
    SharedMemoryLimit,
    /// Another limit that is reported in the words of memory.
    ResourceLimit,
    /// It failed, and the program says that this is no failure, or visibly went on.
    Recovered,
    /// No memory failure.
    NotOom,
}

/// Why it failed; the words of `--json`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, strum::Display, strum::EnumString, strum::EnumIter)]
#[strum(serialize_all = "snake_case")]
pub enum Cause {
    /// Memory that the allocator holds and does not use would cover the request.
    Fragmentation,
    /// Without other processes the request would fit.
    ForeignProcess,
    /// One step's working set does not fit.
    BatchTooLarge,
    /// Evaluation keeps autograd graphs or its outputs.
    EvalWithoutNoGrad,
    /// Optimizer states were being made.
    OptimizerState,
    /// Weights (or the scene) were being loaded, or leave nothing for the rest.
    ModelTooLarge,
    /// Use at constant work grows step by step.
    LeakOverSteps,
    /// The KV cache or its share of the card.
    KvCache,
    /// One request is bigger than the card.
    OversizedTensor,
    /// A configured limit refused it, not the card.
    MemoryCap,
    /// The numbers contradict a full card.
    DriverState,
    /// RAM of the host.
    HostMemory,
    /// On-chip memory of a kernel.
    KernelLimit,
    /// The driver's limit of sessions.
    SessionLimit,
    /// The size asked for is garbage.
    CorruptSize,
    /// The text does not tell.
    Unknown,
    /// Nothing failed.
    None,
}

/// What a message says in bytes. Unknown is none, never zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// The allocation that failed.
    pub requested: Option<Bytes>,
    /// Physical size of the device.
    pub capacity: Option<Bytes>,
    /// Free on the device; for a failure of the host, free system memory.
    pub free: Option<Bytes>,
    /// All device memory of this process.
    pub process: Option<Bytes>,
    /// Live in the framework's allocator.
    pub allocated: Option<Bytes>,
    /// Held by the allocator and not live.
    pub unallocated: Option<Bytes>,
    /// A configured limit.
    pub allowed: Option<Bytes>,
}

impl Figures {
    /// In the order of the fields.
    pub fn all(&self) -> [Option<Bytes>; 7] {
        [self.requested, self.capacity, self.free, self.process, self.allocated, self.unallocated, self.allowed]
    }

    fn all_mut(&mut self) -> [&mut Option<Bytes>; 7] {
        [
            &mut self.requested,
            &mut self.capacity,
            &mut self.free,
            &mut self.process,
            &mut self.allocated,
            &mut self.unallocated,
            &mut self.allowed,
        ]
    }

    /// How many are known.
    pub fn known(&self) -> usize {
        self.all().into_iter().flatten().count()
    }

    /// Whether no figure that both know differs: by more than rounding, where they come from different messages.
    pub fn agree(&self, other: &Self, rounded: bool) -> bool {
        self.all().into_iter().zip(other.all()).all(|pair| match pair {
            (Some(a), Some(b)) => a == b || rounded && nearly(a, b),
            _ => true,
        })
    }

    /// Whether both know some figure.
    pub fn overlap(&self, other: &Self) -> bool {
        self.all().into_iter().zip(other.all()).any(|(a, b)| a.is_some() && b.is_some())
    }

    /// Takes what only the other knows.
    pub fn complete(&mut self, other: &Self) {
        for (own, other) in self.all_mut().into_iter().zip(other.all()) {
            *own = own.or(other);
        }
    }
}

/// Whether two printed figures can be one: no farther apart than a rounding to two decimals of a GiB, or to half a per cent.
fn nearly(a: Bytes, b: Bytes) -> bool {
    a.0.abs_diff(b.0) <= (a.0.max(b.0) / 200).max(5_300)
}

/// Another process on the card, as listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OtherProcess {
    /// Its pid, in whichever namespace it was printed.
    pub pid: u64,
    /// What it holds; none where the driver does not say.
    pub bytes: Option<Bytes>,
}

/// Which allocator refused: what of its options can help depends on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Allocator {
    /// PyTorch's own, on CUDA.
    Native,
    /// PyTorch's own, on ROCm.
    Hip,
    /// PyTorch on Intel GPUs.
    Xpu,
    /// PyTorch on Apple GPUs.
    Mps,
    /// PyTorch with `backend:cudaMallocAsync`.
    Async,
    /// Not told, or of another library.
    #[default]
    Other,
}

/// What was going on, where the message itself tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Weights are loaded.
    Loading,
    /// The KV cache is made.
    KvCache,
    /// Buffers of the computation are made.
    Compute,
    /// Graphs are captured.
    GraphCapture,
    /// The context or a library's handle is made.
    Context,
    /// An engine checks before it starts.
    StartCheck,
    /// Serving requests.
    Running,
}

/// A message about memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// What kind of failure, by the message alone.
    pub kind: Kind,
    /// The dialect that read it.
    pub dialect: &'static str,
    /// The library that formats it.
    pub framework: Option<Framework>,
    /// Releases that print exactly this form, as a PEP 440 specifier.
    pub versions: Option<&'static str>,
    /// The device as printed.
    pub device: Option<u32>,
    /// What it says in bytes.
    pub figures: Figures,
    /// Other processes, in printed order.
    pub others: Vec<OtherProcess>,
    /// The rank that said it.
    pub rank: Option<u32>,
    /// Whether that rank is a 0 that a run of one process prints too.
    pub sole: bool,
    /// When, in seconds of whatever clock the log has.
    pub time: Option<f64>,
    /// The cause, where the message itself leaves no other.
    pub cause: Option<Cause>,
    /// What was going on, where the message itself tells.
    pub stage: Option<Stage>,
    /// Which allocator refused.
    pub allocator: Allocator,
    /// Memory of captured graphs, as printed.
    pub pools: Option<Bytes>,
    /// Whether it is a try that the program may repeat with less.
    pub soft: bool,
    /// Whether it only says again, or in general words, what another message tells.
    pub echo: bool,
    /// Where the message begins, in bytes from the start of the log.
    pub offset: u64,
    /// The line it begins in, from 1 where lines could be counted.
    pub line: u64,
    /// Where it ends.
    pub end: u64,
    /// What was killed, where one process is named.
    pub subject: Option<u64>,
    /// The message, harmless and cut.
    pub text: String,
}

impl Event {
    /// Of a kind, by a dialect; everything else unknown.
    pub fn new(kind: Kind, dialect: &'static str, framework: Framework) -> Self {
        Self {
            kind,
            dialect,
            framework: Some(framework),
            versions: None,
            device: None,
            figures: Figures::default(),
            others: Vec::new(),
            rank: None,
            sole: false,
            time: None,
            cause: None,
            stage: None,
            allocator: Allocator::Other,
            pools: None,
            soft: false,
            echo: false,
            offset: 0,
            line: 0,
            end: 0,
            subject: None,
            text: String::new(),
        }
    }

    /// GPU memory could not be had.
    pub fn device(dialect: &'static str, framework: Framework) -> Self {
        Self::new(Kind::DeviceOom, dialect, framework)
    }

    /// RAM ran out.
    pub fn host(dialect: &'static str, framework: Framework) -> Self {
        Self { cause: Some(Cause::HostMemory), ..Self::new(Kind::HostOom, dialect, framework) }
    }

    /// How much it tells: of two readings of one text the one that tells more is right.
    pub fn tells(&self) -> usize {
        self.figures.known() + self.others.len() + usize::from(self.device.is_some()) + usize::from(self.versions.is_some())
    }
}
