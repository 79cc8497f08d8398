//! The bounded queue between readers and the pipeline: a full one loses samples, counts them, and never blocks a reader.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};

use crate::domain::Sample;

/// Where readers put their samples. Clones feed the same queue.
#[derive(Clone, Debug)]
pub struct SampleSender {
    queue: SyncSender<Sample>,
    dropped: Arc<AtomicU64>,
}

/// The other end, for the pipeline.
#[derive(Debug)]
pub struct SampleReceiver {
    /// The samples, in the order in which they were put in.
    pub queue: Receiver<Sample>,
    dropped: Arc<AtomicU64>,
}

/// A queue of at most `capacity` samples.
pub fn channel(capacity: usize) -> (SampleSender, SampleReceiver) {
    let (tx, rx) = sync_channel(capacity);
    let dropped = Arc::new(AtomicU64::new(0));
    (SampleSender { queue: tx, dropped: Arc::clone(&dropped) }, SampleReceiver { queue: rx, dropped })
}

impl SampleSender {
    /// Puts a sample in, or counts it as lost where the queue is full. False once nobody listens any more.
    pub fn send(&self, sample: Sample) -> bool {
        match self.queue.try_send(sample) {
            Ok(()) => true,
            Err(TrySendError::Full(_)) => {
                self.dropped.fetch_add(1, Ordering::Relaxed);
                true
            }
            Err(TrySendError::Disconnected(_)) => false,
        }
    }

    /// Puts a sample in and waits for room: for simulators and files, which can wait. False once nobody listens.
    pub fn send_waiting(&self, sample: Sample) -> bool {
        self.queue.send(sample).is_ok()
    }
}

impl SampleReceiver {
    /// Samples lost since the last call.
    pub fn take_dropped(&self) -> u64 {
        self.dropped.swap(0, Ordering::Relaxed)
    }
}
