//! Layer 4: samples in, sinks and the fold, latest snapshot out.
//!
//! One thread owns the [`Monitor`]. It reads no clock: it wakes at a sample, lets those of the same tick arrive, takes
//! them all in one go in the order of their times, publishes and rests while further samples gather. Viewers get the newest snapshot, sinks every
//! sample.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::RecvTimeoutError;
use std::thread;
use std::time::Duration;

use tokio::sync::watch;

use crate::domain::{Health, Monitor, Period, Said, Sample, SampleBody, Snapshot};
use crate::sampler::SampleReceiver;
use crate::sampler::clock::Clock;

/// Gets every sample, in order.
pub trait Sink: Send {
    /// Takes one sample; must not block for long.
    fn push(&mut self, sample: &Sample);
    /// Takes what the analysis said from the sample before.
    fn said(&mut self, said: &Said);
    /// The stream has ended.
    fn finish(self: Box<Self>);
}

/// How long after a sample those of the same tick are waited for: cards are read at the same time by threads of their own.
const TICK: Duration = Duration::from_millis(8);

/// The rest between two snapshots: nobody draws numbers more often than ten times a second.
const REST: Duration = Duration::from_millis(92);

/// The same while the first readings come in, so that the first frames are not late; it lasts for [`START_TURNS`].
const START_REST: Duration = Duration::from_millis(2);
const START_TURNS: u32 = 60;

/// With so many samples in one go the source is faster than the rests allow: a hurried simulation, a node that is read
/// every millisecond.
const BACKLOG: usize = 1_000;

/// Starts the pipeline's thread. It ends, and the sinks with it, when all senders are gone.
///
/// # Errors
/// The system gives no thread.
pub fn spawn(samples: SampleReceiver, sinks: Vec<Box<dyn Sink>>) -> io::Result<watch::Receiver<Arc<Snapshot>>> {
    let (publish, snapshots) = watch::channel(Arc::new(Snapshot::default()));
    thread::Builder::new().name("pipeline".to_owned()).spawn(move || run(&samples, sinks, &publish))?;
    Ok(snapshots)
}

fn run(samples: &SampleReceiver, mut sinks: Vec<Box<dyn Sink>>, publish: &watch::Sender<Arc<Snapshot>>) {
    let mut monitor = Monitor::new();
    let mut batch: Vec<Sample> = Vec::new();
    let mut turns = 0;
    while let Ok(first) = samples.queue.recv() {
        let starting = turns < START_TURNS;
        if !starting {
            thread::sleep(TICK);
        }
        // No more than were there at once: a fast source must not keep the snapshot from being published.
        batch.extend(std::iter::once(first).chain(samples.queue.try_iter().take(4_096)));
        // Cards are read by threads of their own, which are heard in another order than they read in.
        batch.sort_by_key(|sample| sample.t);
        let behind = batch.len() >= BACKLOG;
        for sample in batch.drain(..) {
            take(&mut monitor, &mut sinks, &sample);
        }
        let lost = samples.take_dropped();
        if lost > 0 {
            let t = monitor.now();
            take(&mut monitor, &mut sinks, &Sample { t, body: SampleBody::Health(Health::Dropped { count: lost }) });
        }
        publish.send_replace(Arc::new(monitor.snapshot()));
        turns += u32::from(starting);
        if !behind {
            thread::sleep(if starting { START_REST } else { REST });
        }
    }
    for sink in sinks {
        sink.finish();
    }
}

fn take(monitor: &mut Monitor, sinks: &mut [Box<dyn Sink>], sample: &Sample) {
    for sink in &mut *sinks {
        sink.push(sample);
    }
    monitor.ingest(sample);
    for said in monitor.take_said() {
        for sink in &mut *sinks {
            sink.said(&said);
        }
    }
}

/// Folds samples until `done` says that the picture is complete. False when `wait` ran out or the source ended before.
pub fn collect(samples: &SampleReceiver, monitor: &mut Monitor, wait: Period, mut done: impl FnMut(&Snapshot) -> bool) -> bool {
    let clock = Clock::start();
    loop {
        let left = Period(wait.0.saturating_sub(clock.now().0));
        if left == Period::ZERO {
            return false;
        }
        match samples.queue.recv_timeout(left.std()) {
            Ok(sample) => {
                monitor.ingest(&sample);
                if done(&monitor.snapshot()) {
                    return true;
                }
            }
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;
    use crate::domain::Timestamp;
    use crate::sampler::channel;

    struct Count(mpsc::Sender<usize>, usize);

    impl Sink for Count {
        fn push(&mut self, _: &Sample) {
            self.1 += 1;
        }
        fn said(&mut self, _: &Said) {}
        fn finish(self: Box<Self>) {
            let _ = self.0.send(self.1);
        }
    }

    fn mark(t: u64) -> Sample {
        Sample { t: Timestamp::millis(t), body: SampleBody::Mark(Arc::from("x")) }
    }

    #[test]
    fn sinks_get_every_sample_and_viewers_the_newest_snapshot() {
        let (tx, rx) = channel(10_000);
        let (done, count) = mpsc::channel();
        let snapshots = spawn(rx, vec![Box::new(Count(done, 0))]).expect("a thread");
        for t in 0..9_000 {
            assert!(tx.send(mark(t)));
        }
        drop(tx);
        assert_eq!(count.recv(), Ok(9_000));
        let last = snapshots.borrow();
        assert_eq!(last.at, Timestamp::millis(8_999));
        assert_eq!(last.marks.len(), Snapshot::MAX_MARKS);
    }

    #[test]
    fn a_full_queue_loses_samples_and_says_so() {
        let (tx, rx) = channel(2);
        for t in 0..5 {
            assert!(tx.send(mark(t)));
        }
        let snapshots = spawn(rx, Vec::new()).expect("a thread");
        drop(tx);
        let mut newest = snapshots.clone();
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(async { while newest.changed().await.is_ok() {} });
        assert_eq!(snapshots.borrow().dropped, 3);
        assert_eq!(snapshots.borrow().marks.len(), 2);
    }

    #[test]
    fn collecting_ends_when_complete_or_out_of_time() {
        let (tx, rx) = channel(10);
        tx.send(mark(1));
        tx.send(mark(2));
        let mut monitor = Monitor::new();
        assert!(collect(&rx, &mut monitor, Period::secs(60), |snapshot| snapshot.marks.len() == 2));
        assert!(!collect(&rx, &mut monitor, Period::millis(1), |_| false), "nothing more comes");
        drop(tx);
        assert!(!collect(&rx, &mut monitor, Period::secs(60), |_| false), "nobody sends any more");
    }
}
