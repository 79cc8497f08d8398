//! One thread's way into the driver: each call is timed and visible to the watchdog.

use std::sync::Arc;

use super::clock::Clock;
use super::condition::Condition;
use super::inflight::InFlight;
use super::watchdog::Watchdog;
use crate::domain::{Period, Timestamp};

/// Makes the calls of one thread.
#[derive(Debug)]
pub struct Caller {
    slot: Arc<InFlight>,
    condition: Arc<Condition>,
    clock: Clock,
    worker: usize,
    /// Whether nothing is known of the device's memory while this thread waits.
    leaves_gap: bool,
    spent: Period,
    /// When the newest call returned.
    returned: Timestamp,
}

/// Ends a call when it returns and when it panics.
struct Running<'a> {
    caller: &'a mut Caller,
    began: Timestamp,
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        let reported = self.caller.slot.leave();
        let now = self.caller.clock.now();
        self.caller.spent = Period(self.caller.spent.0.saturating_add(now.since(self.began).0));
        self.caller.returned = now;
        if reported {
            self.caller.condition.returned(self.caller.worker, now, self.caller.leaves_gap);
        }
    }
}

impl Caller {
    /// A caller watched by `watchdog`; `names` are the calls' names by number.
    pub fn new(
        clock: Clock,
        condition: Arc<Condition>,
        watchdog: &Watchdog,
        names: &'static [&'static str],
        leaves_gap: bool,
    ) -> Self {
        let slot = Arc::new(InFlight::new(names));
        let worker = watchdog.watch(Arc::clone(&slot), Arc::clone(&condition));
        Self { slot, condition, clock, worker, leaves_gap, spent: Period::ZERO, returned: clock.now() }
    }

    /// Makes a call.
    pub fn call<R>(&mut self, number: u8, call: impl FnOnce() -> R) -> R {
        let began = self.clock.now();
        self.slot.enter(number, began);
        let _running = Running { caller: self, began };
        call()
    }

    /// Time spent in calls since this was asked last.
    pub fn take_spent(&mut self) -> Period {
        std::mem::take(&mut self.spent)
    }

    /// When the newest call returned: the time of a reading.
    pub fn returned(&self) -> Timestamp {
        self.returned
    }

    /// The time now.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }
}
