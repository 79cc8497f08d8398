//! The fake driver, held at any moment of its scenario, and a running NVML source whose samples are waited for with a
//! deadline, never slept for.
#![expect(unsafe_code, reason = "the fake driver is controlled by C functions of its own")]

use std::ffi::{CStr, c_char};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use vramscope::domain::{Device, DeviceState, Gpu, Holder, MemoryFigures, Reading, Sample, SampleBody};
use vramscope::sampler::{Clock, SampleReceiver, channel};
use vramscope::source::nvml::{NvmlOptions, NvmlSource};
use vramscope::source::{Source, SourceError, SourceHandle};

/// How long anything may take on a busy machine.
const DEADLINE: Duration = Duration::from_secs(30);

/// A fake driver in a file of its own, with the time of its scenario held.
pub struct Fake {
    /// The library.
    pub path: PathBuf,
    library: libloading::Library,
    _dir: tempfile::TempDir,
}

impl Fake {
    /// A driver that plays a scenario (a name, or a text), held at its beginning.
    pub fn stage(scenario: &str) -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let text = super::scenario::FAULTY.iter().find(|(id, _)| *id == scenario).map_or(scenario, |(_, text)| *text);
        let path = fake_nvml::stage(dir.path(), text).unwrap_or_else(|error| panic!("{error}"));
        // SAFETY: the fake driver has no code that runs when it is loaded.
        let library = unsafe { libloading::Library::new(&path) }.expect("the library loads");
        let fake = Self { path, library, _dir: dir };
        fake.at(0.0);
        fake
    }

    /// Holds the scenario's time.
    pub fn at(&self, seconds: f64) {
        // SAFETY: the function has this type.
        unsafe {
            let set: libloading::Symbol<'_, extern "C" fn(u64)> =
                self.library.get(b"fake_nvml_set_time_us\0").expect("the fake driver");
            set((seconds * 1e6) as u64);
        }
    }

    /// How often a function was called.
    pub fn calls(&self, name: &CStr) -> u64 {
        // SAFETY: the function has this type, and reads the name during the call alone.
        unsafe {
            let calls: libloading::Symbol<'_, unsafe extern "C" fn(*const c_char) -> u64> =
                self.library.get(b"fake_nvml_calls\0").expect("the fake driver");
            calls(name.as_ptr())
        }
    }
}

impl Drop for Fake {
    /// Ends the hangs, so that no thread waits in here after the test.
    fn drop(&mut self) {
        // SAFETY: the function has this type.
        unsafe {
            let release: libloading::Symbol<'_, extern "C" fn()> =
                self.library.get(b"fake_nvml_release\0").expect("the fake driver");
            release();
        }
    }
}

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

    /// The first body since `from` (a length of [`Stream::seen`]) that `pick` takes, waiting for it if need be: for what
    /// threads tell in no fixed order.
    pub fn since<T>(&mut self, from: usize, what: &str, mut pick: impl FnMut(&SampleBody) -> Option<T>) -> T {
        match self.seen[from..].iter().find_map(|sample| pick(&sample.body)) {
            Some(found) => found,
            None => self.next(what, pick),
        }
    }

    /// Waits for a process list of a device and what is known of it.
    pub fn holders(&mut self, gpu: u32) -> Reading<Vec<Holder>> {
        self.next("a process list", |body| match body {
            SampleBody::Holders { gpu: of, list } if *of == Gpu(gpu) => Some(list.clone().map(|list| list.to_vec())),
            _ => None,
        })
    }

    /// Waits for a reading of a device's memory.
    pub fn memory(&mut self, gpu: u32) -> Reading<MemoryFigures> {
        self.next("a reading of memory", |body| match body {
            SampleBody::Memory { gpu: of, figures } if *of == Gpu(gpu) => Some(figures.clone()),
            _ => None,
        })
    }

    /// Waits for a device's record.
    pub fn device(&mut self, gpu: u32) -> Arc<Device> {
        self.next("a device", |body| match body {
            SampleBody::Device(device) if device.gpu == Gpu(gpu) => Some(device.clone()),
            _ => None,
        })
    }

    /// Waits for a state of a device (or, without one, of the driver), and gives the call.
    pub fn state(&mut self, gpu: Option<u32>, wanted: DeviceState) -> Option<&'static str> {
        self.next(&format!("state {wanted} of {gpu:?}"), |body| match body {
            SampleBody::State { gpu: of, state, call, .. } if *of == gpu.map(Gpu) && *state == wanted => Some(*call),
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
