//! All devices of one library, and the threads that read them.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex};

use nvml_wrapper::Nvml;

use super::calls::NAMES;
use super::card::{Card, lock};
use super::fault::Fault;
use super::memory::MemoryProbe;
use super::processes::ProcessProbe;
use crate::domain::{DeviceId, Gpu, Health, MemoryKind, Period, ProbeKind, SampleBody};
use crate::sampler::{Beat, Caller, Pacing, Studio, Watchdog, worker};
use crate::source::host::people::People;
use crate::source::host::who::Cards;
use crate::source::selection::Seen;

/// Memory is read this often while something goes on.
const FASTEST: Period = Period::millis(50);
/// And this often on an idle card.
const IDLE: Period = Period::secs(1);
/// Lists are read at most this often, whatever memory does.
const SPACING: Period = Period::millis(250);

/// What all devices share.
pub struct Fleet {
    /// The library.
    pub nvml: &'static Nvml,
    /// Clock, stream and end.
    pub studio: Studio,
    /// Sees calls that do not return.
    pub watchdog: Watchdog,
    /// The processes met.
    pub people: Arc<People>,
    /// What the search for open nodes needs to know.
    pub cards: Arc<Cards>,
    memory_interval: Option<Period>,
    process_interval: Period,
    driver: Mutex<Arc<str>>,
    next_key: AtomicU32,
    attached: Sender<(Gpu, Result<(), Fault>)>,
    open: AtomicBool,
    seen: Seen,
}

impl Fleet {
    /// No device yet. Whole GPUs have the keys below `count`; `attached` hears of each that was found or failed.
    pub fn new(
        nvml: &'static Nvml,
        studio: Studio,
        watchdog: Watchdog,
        (people, cards): (Arc<People>, Arc<Cards>),
        intervals: (Option<Period>, Period),
        count: u32,
        attached: Sender<(Gpu, Result<(), Fault>)>,
    ) -> Self {
        let driver = Mutex::new(Arc::from("of unknown version"));
        let (memory_interval, process_interval) = intervals;
        let next_key = AtomicU32::new(count);
        Self {
            nvml,
            studio,
            watchdog,
            people,
            cards,
            memory_interval,
            process_interval,
            driver,
            next_key,
            attached,
            open: AtomicBool::new(false),
            seen: Seen::default(),
        }
    }

    /// The same with these instances alone.
    pub fn showing(self, seen: Seen) -> Self {
        Self { seen, ..self }
    }

    /// Whether an instance is wanted.
    pub fn shows(&self, instance: &DeviceId, of: &DeviceId) -> bool {
        self.seen.has_instance(instance, of)
    }

    /// The driver's version.
    pub fn driver(&self) -> Arc<str> {
        Arc::clone(&lock(&self.driver))
    }

    /// The driver's version became known.
    pub fn set_driver(&self, version: Arc<str>) {
        *lock(&self.driver) = version;
    }

    /// The next free key, for an instance.
    pub fn next_key(&self) -> Gpu {
        Gpu(self.next_key.fetch_add(1, Ordering::Relaxed))
    }

    /// The devices that answered are all there, with their instances.
    pub fn finish_opening(&self) {
        self.open.store(true, Ordering::Release);
    }

    /// Whether instances may be looked for: before that the opening thread does so, in order.
    pub fn is_open(&self) -> bool {
        self.open.load(Ordering::Acquire)
    }

    /// A watched way into the driver for a thread of a device.
    pub fn caller(&self, card: &Card, leaves_gap: bool) -> Caller {
        Caller::new(self.studio.clock, Arc::clone(&card.condition), &self.watchdog, NAMES, leaves_gap)
    }

    /// A device was found, or could not be for the first time.
    pub fn attached(self: &Arc<Self>, card: &Arc<Card>, found: Result<(), Fault>) {
        // While opening, a GPU that is cut into instances waits for their keys: its list names them.
        if found.is_ok() && (self.is_open() || !card.mig.load(Ordering::Acquire)) {
            self.start_processes(card);
        }
        // Nobody listens once the source is open.
        let _ = self.attached.send((card.gpu, found));
    }

    /// Starts the memory worker of a device.
    pub fn start_memory(self: &Arc<Self>, card: &Arc<Card>) {
        let pacing = match self.memory_interval {
            Some(interval) => Pacing::fixed(interval),
            None => Pacing::adaptive(FASTEST, IDLE),
        };
        let beat = Beat {
            pacing,
            offset: Period::ZERO,
            spacing: Period::ZERO,
            poke: Arc::clone(&card.memory),
            told_as: Some((card.gpu, ProbeKind::Memory)),
        };
        let (fleet, of) = (Arc::clone(self), Arc::clone(card));
        let make = move || MemoryProbe::new(Arc::clone(&fleet), Arc::clone(&of));
        self.must_start(
            card,
            &format!("mem:{}", card.gpu),
            worker::spawn(&format!("mem:{}", card.gpu), self.studio.clone(), beat, make),
        );
    }

    /// Starts the process worker of a device, once.
    pub fn start_processes(self: &Arc<Self>, card: &Arc<Card>) {
        if card.lists_read.swap(true, Ordering::AcqRel) {
            return;
        }
        let of = card.facts();
        // An instance has no node of its own.
        self.cards.expect(card.gpu, card.minor().filter(|_| of.parent.is_none()));
        // The list is the only figure of unified memory.
        let unified = of.memory == MemoryKind::Unified;
        let interval = if unified { self.process_interval.min(SPACING) } else { self.process_interval };
        let pacing = match self.memory_interval {
            Some(_) => Pacing::fixed(interval),
            None => Pacing::adaptive(interval, interval),
        };
        let beat = Beat {
            pacing,
            // Just after the tick of the memory readings, which the dearer lists must not hold up; the same for all
            // cards, so that what is new comes in one go and costs the readers one wake and one frame.
            offset: Period::millis(2),
            spacing: SPACING,
            poke: Arc::clone(&card.processes),
            told_as: Some((card.gpu, ProbeKind::Processes)),
        };
        let (fleet, of) = (Arc::clone(self), Arc::clone(card));
        let make = move || ProcessProbe::new(Arc::clone(&fleet), Arc::clone(&of));
        self.must_start(
            card,
            &format!("proc:{}", card.gpu),
            worker::spawn(&format!("proc:{}", card.gpu), self.studio.clone(), beat, make),
        );
    }

    /// A thread that can't be started is told: its readings will not come.
    fn must_start(&self, card: &Card, thread: &str, started: std::io::Result<()>) {
        if let Err(error) = started {
            let problem = Health::Problem {
                gpu: Some(card.gpu),
                what: format!("the thread {thread} can't be started").into(),
                why: error.to_string().into(),
                fix: "raise the limit of threads (`ulimit -u`)".into(),
            };
            self.studio.send(self.studio.clock.now(), SampleBody::Health(problem));
        }
    }
}
