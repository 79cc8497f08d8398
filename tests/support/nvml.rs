//! A running NVML source whose samples are waited for with a deadline, never slept for.

use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use vramscope::domain::{Gpu, Sample, SampleBody};
use vramscope::sampler::{Clock, SampleReceiver, channel};
use vramscope::source::nvml::{NvmlOptions, NvmlSource};
use vramscope::source::{Source, SourceError, SourceHandle};

/// How long anything may take on a busy machine.
const DEADLINE: Duration = Duration::from_secs(30);

/// The stream of a live source, and all that came of it so far.
pub struct Stream {
    handle: SourceHandle,
    receiver: SampleReceiver,
    /// Everything received, in order.
    pub seen: Vec<Sample>,
}

impl Stream {
    /// Starts the source on a library.
    pub fn start(library: &Path) -> Self {
        Self::with(NvmlOptions { lib: Some(library.into()), ..NvmlOptions::default() })
    }

    /// Starts the source with options of its own.
    pub fn with(options: NvmlOptions) -> Self {
        let (samples, receiver) = channel(1 << 16);
        let handle = Box::new(NvmlSource { options }).start(samples);
        Self { handle, receiver, seen: Vec::new() }
    }

    /// What came of opening it.
    pub fn opened(&self) -> Result<(), SourceError> {
        self.handle.opened.recv_timeout(DEADLINE).expect("the source opens or fails")
    }

    /// Waits for the next sample that fits, and gives it.
    pub fn wait(&mut self, what: &str, mut fits: impl FnMut(&Sample) -> bool) -> Sample {
        let clock = Clock::start();
        loop {
            let left = DEADLINE.saturating_sub(Duration::from_micros(clock.now().0));
            match self.receiver.queue.recv_timeout(left) {
                Ok(sample) => {
                    self.seen.push(sample.clone());
                    if fits(&sample) {
                        return sample;
                    }
                }
                Err(RecvTimeoutError::Timeout) => panic!("no {what} within {DEADLINE:?}; the last were {:#?}", self.tail()),
                Err(RecvTimeoutError::Disconnected) => panic!("the source ended before {what}"),
            }
        }
    }

    /// Waits for the next body that `pick` takes.
    pub fn next<T>(&mut self, what: &str, mut pick: impl FnMut(&SampleBody) -> Option<T>) -> T {
        let mut found = None;
        self.wait(what, |sample| {
            found = pick(&sample.body);
            found.is_some()
        });
        found.expect("waited for it")
    }

    /// Waits for a process list of a device and what is known of it.
    pub fn holders(&mut self, gpu: u32) -> vramscope::domain::Reading<Vec<vramscope::domain::Holder>> {
        self.next("a process list", |body| match body {
            SampleBody::Holders { gpu: of, list } if *of == Gpu(gpu) => Some(list.clone().map(|list| list.to_vec())),
            _ => None,
        })
    }

    /// Waits for a reading of a device's memory.
    pub fn memory(&mut self, gpu: u32) -> vramscope::domain::Reading<vramscope::domain::MemoryFigures> {
        self.next("a reading of memory", |body| match body {
            SampleBody::Memory { gpu: of, figures } if *of == Gpu(gpu) => Some(figures.clone()),
            _ => None,
        })
    }

    /// Waits for a device's record.
    pub fn device(&mut self, gpu: u32) -> std::sync::Arc<vramscope::domain::Device> {
        self.next("a device", |body| match body {
            SampleBody::Device(device) if device.gpu == Gpu(gpu) => Some(device.clone()),
            _ => None,
        })
    }

    fn tail(&self) -> &[Sample] {
        self.seen.get(self.seen.len().saturating_sub(12)..).unwrap_or_default()
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.handle.stop.store(true, Ordering::Relaxed);
    }
}
