//! One device as its threads share it: the handle, what they tell each other, and the order of what they send.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use nvml_wrapper::Device;

use super::fault::Fault;
use super::mig::Instance;
use crate::domain::{self, Gpu, MemoryFigures, MemoryKind, Period, SampleBody, Timestamp, bytes::MIB};
use crate::sampler::{Condition, Poke, Studio};

/// A handle of a device. Dropped once the driver says that the device is lost, never used after that.
pub type Handle = Arc<Device<'static>>;

/// A lost device is looked up again after this long.
pub const LOOK_AGAIN: Period = Period::secs(3);
/// A memory record is made at least this often. A little less than a second, so that a grid of 50 ms meets it.
const REFRESH: Period = Period::millis(960);
/// Places of instances are looked at this often.
const INSTANCES: Period = Period::secs(10);
/// And no more often than this where a list names an instance that is not known.
const INSTANCES_AT_ONCE: Period = Period::secs(2);
/// Not yet.
const NEVER: u64 = u64::MAX;

/// One GPU or MIG instance.
pub struct Card {
    /// Its key, for as long as the program runs.
    pub gpu: Gpu,
    /// What all threads share.
    pub studio: Studio,
    /// Whether it answers.
    pub condition: Arc<Condition>,
    /// Asks the memory worker for a reading.
    pub memory: Arc<Poke>,
    /// Asks the process worker for a reading.
    pub processes: Arc<Poke>,
    /// A compute process holds memory, or it computes. True until the contrary is known.
    pub busy: AtomicBool,
    /// It can be cut into instances.
    pub can_mig: AtomicBool,
    /// It is cut into instances.
    pub mig: AtomicBool,
    /// Its process worker runs.
    pub lists_read: AtomicBool,
    /// Something is wrong: spares the hot path the lock of `condition`.
    pub ill: AtomicBool,
    /// A list named an instance that is not known.
    instances_stale: AtomicBool,
    /// When the instances were looked at.
    instances_at: AtomicU64,
    /// The number of its node, `/dev/nvidiaN`, which is not its index; that of its GPU for an instance.
    minor: AtomicU64,
    /// Its instances.
    pub instances: Mutex<Vec<Instance>>,
    facts: Mutex<Arc<domain::Device>>,
    /// Whether a record of it was sent.
    introduced: AtomicBool,
    /// It was found at least once, so that its UUID is known.
    attached: AtomicBool,
    handle: Mutex<Option<Handle>>,
    look_at: AtomicU64,
    /// Used memory at the newest process list.
    listed: AtomicU64,
    sent: Mutex<Sent>,
}

/// The newest memory record.
#[derive(Debug, Default)]
struct Sent {
    t: Timestamp,
    memory: Option<Result<MemoryFigures, Fault>>,
}

/// The right to send records whose order matters.
pub struct Post<'a> {
    card: &'a Card,
    sent: MutexGuard<'a, Sent>,
}

impl Card {
    /// A device of which `facts` is known so far.
    pub fn new(studio: Studio, facts: domain::Device) -> Self {
        let condition = Arc::new(Condition::new(Some(facts.gpu), studio.samples.clone()));
        Self {
            gpu: facts.gpu,
            studio,
            condition,
            memory: Arc::default(),
            processes: Arc::default(),
            busy: AtomicBool::new(true),
            can_mig: AtomicBool::new(false),
            mig: AtomicBool::new(false),
            lists_read: AtomicBool::new(false),
            ill: AtomicBool::new(false),
            instances_stale: AtomicBool::new(false),
            instances_at: AtomicU64::new(NEVER),
            minor: AtomicU64::new(NEVER),
            instances: Mutex::default(),
            facts: Mutex::new(Arc::new(facts)),
            introduced: AtomicBool::new(false),
            attached: AtomicBool::new(false),
            handle: Mutex::default(),
            look_at: AtomicU64::new(0),
            listed: AtomicU64::new(NEVER),
            sent: Mutex::default(),
        }
    }

    /// Its static facts.
    pub fn facts(&self) -> Arc<domain::Device> {
        Arc::clone(&lock(&self.facts))
    }

    /// Binds new facts and sends them.
    pub fn bind(&self, facts: domain::Device) {
        let facts = Arc::new(facts);
        self.introduced.store(true, Ordering::Release);
        *lock(&self.facts) = Arc::clone(&facts);
        self.attached.store(true, Ordering::Release);
        self.studio.send(self.studio.clock.now(), SampleBody::Device(facts));
    }

    /// Sends what is known of it though it could not be attached, before anything else is told of it. True the first time.
    pub fn introduce(&self) -> bool {
        let first = !self.introduced.swap(true, Ordering::AcqRel);
        if first {
            self.studio.send(self.studio.clock.now(), SampleBody::Device(self.facts()));
        }
        first
    }

    /// The number of its node, once known.
    pub fn minor(&self) -> Option<u32> {
        u32::try_from(self.minor.load(Ordering::Acquire)).ok()
    }

    /// The number of its node became known.
    pub fn set_minor(&self, minor: u32) {
        self.minor.store(u64::from(minor), Ordering::Release);
    }

    /// Whether it was found at least once.
    pub fn is_attached(&self) -> bool {
        self.attached.load(Ordering::Acquire)
    }

    /// The handle; none while it is lost.
    pub fn handle(&self) -> Option<Handle> {
        lock(&self.handle).clone()
    }

    /// Takes a new handle.
    pub fn take_handle(&self, handle: Handle) {
        *lock(&self.handle) = Some(handle);
    }

    /// Whether it is time to look it up again.
    pub fn may_look(&self, now: Timestamp) -> bool {
        now.0 >= self.look_at.load(Ordering::Relaxed)
    }

    /// It could not be found: look again later.
    pub fn look_later(&self, now: Timestamp) {
        self.look_at.store((now + LOOK_AGAIN).0, Ordering::Relaxed);
    }

    /// A call failed by `handle`. Drops the handle where it is no longer good. True where it was dropped.
    pub fn fail(&self, handle: &Handle, fault: Fault, now: Timestamp) -> bool {
        if !fault.is_lost() && !fault.is_stale() {
            return false;
        }
        {
            let mut current = lock(&self.handle);
            if current.as_ref().is_some_and(|current| Arc::ptr_eq(current, handle)) {
                *current = None;
            }
        }
        self.ill.store(true, Ordering::Release);
        if fault.is_lost() {
            self.condition.lost(fault.call.name(), now);
            self.look_later(now);
        } else {
            // Stale handles are looked up at once: most are found again, and nobody needs to know.
            self.look_at.store(0, Ordering::Relaxed);
        }
        true
    }

    /// Whether used memory moved so far from that of the newest list that its owner is worth a look.
    pub fn has_jumped(&self, figures: &MemoryFigures) -> bool {
        let listed = self.listed.load(Ordering::Relaxed);
        listed != NEVER && figures.used().0.abs_diff(listed) >= (64 * MIB).max(figures.total.0 / 200)
    }

    /// Used memory at a list that was just read.
    pub fn set_listed(&self, figures: &MemoryFigures) {
        self.listed.store(figures.used().0, Ordering::Relaxed);
    }

    /// Says whether something goes on, and wakes the memory worker where that is news.
    pub fn set_busy(&self, busy: bool) {
        if !self.busy.swap(busy, Ordering::AcqRel) && busy {
            self.memory.poke();
        }
    }

    /// Whether its memory is the system's.
    pub fn is_unified(&self) -> bool {
        lock(&self.facts).memory == MemoryKind::Unified
    }

    /// The instances are being looked at.
    pub fn instances_read(&self, now: Timestamp) {
        self.instances_stale.store(false, Ordering::Release);
        self.instances_at.store(now.0, Ordering::Release);
    }

    /// A list named an instance that is not known, or an instance's handle went bad.
    pub fn doubt_instances(&self) {
        self.instances_stale.store(true, Ordering::Release);
    }

    /// Whether it is time to look at the instances again.
    pub fn may_read_instances(&self, now: Timestamp) -> bool {
        let at = self.instances_at.load(Ordering::Acquire);
        let patience = if self.instances_stale.load(Ordering::Acquire) { INSTANCES_AT_ONCE } else { INSTANCES };
        self.can_mig.load(Ordering::Acquire) && (at == NEVER || now.since(Timestamp(at)) >= patience)
    }

    /// The right to send.
    pub fn post(&self) -> Post<'_> {
        Post { card: self, sent: lock(&self.sent) }
    }
}

impl Post<'_> {
    /// Sends a record, not earlier than those before it.
    pub fn send(&mut self, t: Timestamp, body: SampleBody) -> bool {
        self.sent.t = self.sent.t.max(t);
        self.card.studio.send(self.sent.t, body)
    }

    /// Sends a reading of memory where it is news, or where the last one is a second old. A reading from before the newest
    /// record is dropped: between a process list and its memory no other may stand. False once nobody listens.
    pub fn memory(&mut self, t: Timestamp, reading: Result<MemoryFigures, Fault>) -> bool {
        if t < self.sent.t && self.sent.memory.is_some() {
            return true;
        }
        if self.sent.memory == Some(reading) && t.since(self.sent.t) < REFRESH {
            return true;
        }
        self.pair(t, reading)
    }

    /// Sends a reading of memory whatever came before.
    pub fn pair(&mut self, t: Timestamp, reading: Result<MemoryFigures, Fault>) -> bool {
        self.sent.memory = Some(reading);
        let figures = reading.map_err(Fault::missing);
        self.send(t, SampleBody::Memory { gpu: self.card.gpu, figures })
    }
}

/// A lock that a panic elsewhere does not close.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
