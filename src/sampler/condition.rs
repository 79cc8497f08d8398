//! The state of one device as its threads and the watchdog see it, and the samples that tell of a change.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::SampleSender;
use super::inflight::InFlight;
use crate::domain::{DeviceState, Gpu, Period, Sample, SampleBody, Timestamp};

/// No good reading yet.
const NEVER: u64 = u64::MAX;

/// A call and when the trouble began.
type Cause = (&'static str, Timestamp);

/// The state of a device, or of the driver as a whole.
///
/// Every change goes through one lock in which the sample is sent as well: so the last state in the stream is the last
/// state there was, whichever thread saw it.
#[derive(Debug)]
pub struct Condition {
    gpu: Option<Gpu>,
    samples: SampleSender,
    last_good: AtomicU64,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    lost: Option<Cause>,
    failed: Option<Cause>,
    /// One entry for each thread whose call does not return.
    stalled: Vec<(usize, Cause)>,
    shown: DeviceState,
    repeated: Timestamp,
}

impl Inner {
    /// The worst of what is wrong: a lost device answers wrongly, whatever else is slow.
    fn worst(&self) -> (DeviceState, Option<Cause>) {
        let oldest = self.stalled.iter().map(|(_, cause)| *cause).min_by_key(|(_, since)| *since);
        match (self.lost, oldest, self.failed) {
            (Some(cause), ..) => (DeviceState::Lost, Some(cause)),
            (None, Some(cause), _) => (DeviceState::Stalled, Some(cause)),
            (None, None, Some(cause)) => (DeviceState::Failed, Some(cause)),
            (None, None, None) => (DeviceState::Ok, None),
        }
    }
}

impl Condition {
    /// A device (or, without one, the driver) that is well so far.
    pub fn new(gpu: Option<Gpu>, samples: SampleSender) -> Self {
        Self { gpu, samples, last_good: AtomicU64::new(NEVER), inner: Mutex::default() }
    }

    /// A good reading of memory came in.
    pub fn good(&self, now: Timestamp) {
        self.last_good.store(now.0, Ordering::Relaxed);
    }

    /// Whether the device counts as lost.
    pub fn is_lost(&self) -> bool {
        self.lock().lost.is_some()
    }

    /// The device fell off the bus, needs a reset, or is no longer found.
    pub fn lost(&self, call: &'static str, now: Timestamp) {
        self.change(now, |inner| inner.lost = inner.lost.or(Some((call, now))));
    }

    /// A lost device answers again. True where it was lost: then the time without it is a gap.
    pub fn found(&self, now: Timestamp) -> bool {
        let mut inner = self.lock();
        if inner.lost.take().is_none() {
            return false;
        }
        inner.failed = None;
        self.show(&mut inner, now);
        self.gap(now, "the device was lost");
        true
    }

    /// Its memory can't be read, or can again.
    pub fn failed(&self, call: Option<&'static str>, now: Timestamp) {
        self.change(now, |inner| inner.failed = call.map(|call| (call, inner.failed.map_or(now, |(_, since)| since))));
    }

    /// Looks whether a thread's call has been in flight for longer than `limit`; repeats the news once a second.
    pub fn watch(&self, worker: usize, slot: &InFlight, limit: Period, now: Timestamp) {
        let Some(pending) = slot.pending().filter(|pending| now.since(pending.since) > limit) else { return };
        let mut inner = self.lock();
        if !pending.reported {
            // The thread takes this lock after its call returned, so that its all-clear can't come before the alarm.
            if !slot.report(pending) {
                return;
            }
            inner.stalled.push((worker, (pending.call, pending.since)));
            self.show(&mut inner, now);
        } else if now.since(inner.repeated) >= Period::millis(990) {
            self.send_state(&mut inner, now);
        }
    }

    /// A call that [`Condition::watch`] had reported came back.
    pub fn returned(&self, worker: usize, now: Timestamp, leaves_gap: bool) {
        let mut inner = self.lock();
        inner.stalled.retain(|(stalled, _)| *stalled != worker);
        self.show(&mut inner, now);
        if leaves_gap && inner.lost.is_none() {
            self.gap(now, "the driver did not answer");
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, now: Timestamp, change: impl FnOnce(&mut Inner)) {
        let mut inner = self.lock();
        change(&mut inner);
        self.show(&mut inner, now);
    }

    fn show(&self, inner: &mut Inner, now: Timestamp) {
        if inner.worst().0 != inner.shown {
            self.send_state(inner, now);
        }
    }

    fn send_state(&self, inner: &mut Inner, now: Timestamp) {
        let (state, cause) = inner.worst();
        inner.shown = state;
        inner.repeated = now;
        let (call, since) = cause.map_or((None, now), |(call, since)| (Some(call), since));
        self.samples.send(Sample { t: now, body: SampleBody::State { gpu: self.gpu, state, call, since } });
    }

    fn gap(&self, now: Timestamp, reason: &'static str) {
        let from = self.last_good.load(Ordering::Relaxed);
        if let (Some(gpu), true) = (self.gpu, from != NEVER) {
            let body = SampleBody::Gap { gpu, from: Timestamp(from), reason: Arc::from(reason) };
            self.samples.send(Sample { t: now, body });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sampler::channel;

    fn states(receiver: &crate::sampler::SampleReceiver) -> Vec<String> {
        receiver
            .queue
            .try_iter()
            .map(|sample| match sample.body {
                SampleBody::State { state, call, .. } => format!("{state} {}", call.unwrap_or("-")),
                SampleBody::Gap { from, .. } => format!("gap from {}", from.0),
                other => format!("{other:?}"),
            })
            .collect()
    }

    #[test]
    fn a_call_that_does_not_return_is_told_again_each_second_and_leaves_a_gap() {
        let (samples, receiver) = channel(64);
        let condition = Condition::new(Some(Gpu(1)), samples);
        let slot = InFlight::new(&["read"]);
        condition.good(Timestamp(7));
        slot.enter(0, Timestamp::secs(1));
        let limit = Period::secs(1);
        for ms in (1_000..4_100).step_by(250) {
            condition.watch(0, &slot, limit, Timestamp::millis(ms));
        }
        assert_eq!(states(&receiver), ["stalled read"; 2], "first seen at 2.25 s, again at 3.25 s");
        assert!(slot.leave());
        condition.returned(0, Timestamp::secs(5), true);
        assert_eq!(states(&receiver), ["ok -", "gap from 7"]);
    }

    #[test]
    fn lost_outweighs_a_stall_and_two_stalls_end_one_by_one() {
        let (samples, receiver) = channel(64);
        let condition = Condition::new(Some(Gpu(0)), samples);
        let (memory, lists) = (InFlight::new(&["memory"]), InFlight::new(&["lists"]));
        memory.enter(0, Timestamp::secs(1));
        lists.enter(0, Timestamp::secs(2));
        condition.watch(0, &memory, Period::secs(1), Timestamp::secs(4));
        condition.watch(1, &lists, Period::secs(1), Timestamp::secs(4));
        condition.returned(0, Timestamp::secs(5), true);
        condition.lost("memory", Timestamp::secs(5));
        condition.returned(1, Timestamp::secs(6), false);
        assert!(condition.found(Timestamp::secs(9)));
        assert!(!condition.found(Timestamp::secs(9)));
        assert_eq!(states(&receiver), ["stalled memory", "lost memory", "ok -"]);
    }
}
