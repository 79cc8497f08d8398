//! The thread that sees calls which do not return. It calls nothing that can block, and nothing waits for it.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use super::clock::Clock;
use super::condition::Condition;
use super::inflight::InFlight;
use crate::domain::Period;

/// A call older than this is told.
pub const LIMIT: Period = Period::secs(1);
/// How often the slots are looked at: an idle watchdog costs some 20 µs a second.
const LOOK: Period = Period::millis(250);

/// One thread's slot, its number, and the device whose state it bears on.
type Watched = (usize, Arc<InFlight>, Arc<Condition>);

/// The slots that are watched. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Watchdog {
    watched: Arc<Mutex<Vec<Watched>>>,
    next: Arc<AtomicUsize>,
}

impl Watchdog {
    /// Watches one thread's slot; the number tells that thread's stalls from those of others.
    pub fn watch(&self, slot: Arc<InFlight>, condition: Arc<Condition>) -> usize {
        let worker = self.next.fetch_add(1, Ordering::Relaxed);
        self.watched.lock().unwrap_or_else(PoisonError::into_inner).push((worker, slot, condition));
        worker
    }

    /// Starts the thread.
    pub fn start(&self, clock: Clock, stop: Arc<AtomicBool>) -> std::io::Result<()> {
        let dog = self.clone();
        thread::Builder::new().name("watchdog".into()).spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                thread::sleep(LOOK.std());
                let now = clock.now();
                let mut watched = dog.watched.lock().unwrap_or_else(PoisonError::into_inner);
                // A slot that nobody else holds is of a thread or a probe that has ended.
                watched.retain(|(_, slot, _)| Arc::strong_count(slot) > 1);
                for (worker, slot, condition) in watched.iter() {
                    condition.watch(*worker, slot, LIMIT, now);
                }
            }
        })?;
        Ok(())
    }
}
