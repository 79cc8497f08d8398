//! How often each function was called, and for how long.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use rustix::time::{ClockId, clock_gettime};

/// The calls of one function.
pub(crate) struct Counter {
    /// The function's symbol.
    pub name: &'static str,
    known: AtomicBool,
    calls: AtomicU64,
    nanos: AtomicU64,
}

/// Every function that was called.
static ALL: Mutex<Vec<&'static Counter>> = Mutex::new(Vec::new());
/// When the file was written last, in nanoseconds.
static WRITTEN: AtomicU64 = AtomicU64::new(0);
/// One writer at a time.
static WRITER: Mutex<()> = Mutex::new(());

impl Counter {
    pub(crate) const fn new(name: &'static str) -> Self {
        Self { name, known: AtomicBool::new(false), calls: AtomicU64::new(0), nanos: AtomicU64::new(0) }
    }

    /// Counts a call that begins.
    pub(crate) fn begin(&'static self) {
        if !self.known.swap(true, Ordering::Relaxed) {
            ALL.lock().unwrap_or_else(PoisonError::into_inner).push(self);
        }
        self.calls.fetch_add(1, Ordering::Relaxed);
    }

    /// Adds the time of a call that ended, and writes the file if it is a second old.
    pub(crate) fn end(&'static self, since: u64) {
        let now = nanos();
        self.nanos.fetch_add(now.saturating_sub(since), Ordering::Relaxed);
        if now.saturating_sub(WRITTEN.load(Ordering::Relaxed)) > 1_000_000_000 {
            write(now);
        }
    }
}

/// Nanoseconds on a clock that only goes forward.
pub(crate) fn nanos() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    u64::try_from(now.tv_sec.saturating_mul(1_000_000_000).saturating_add(now.tv_nsec)).unwrap_or(0)
}

/// Calls of a function so far.
pub(crate) fn calls(name: &str) -> u64 {
    let all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
    // Generic code has one counter for each use of a name.
    all.iter().filter(|counter| counter.name == name).map(|counter| counter.calls.load(Ordering::Relaxed)).sum()
}

/// Writes the file, if one was asked for.
pub(crate) fn write(now: u64) {
    static FILE: OnceLock<Option<PathBuf>> = OnceLock::new();
    let Some(file) = FILE.get_or_init(|| crate::library::variable("FAKE_NVML_COUNTERS").map(PathBuf::from)) else { return };
    let Ok(_writing) = WRITER.try_lock() else { return };
    WRITTEN.store(now, Ordering::Relaxed);
    let mut text = String::new();
    for counter in ALL.lock().unwrap_or_else(PoisonError::into_inner).iter() {
        let (calls, nanos) = (counter.calls.load(Ordering::Relaxed), counter.nanos.load(Ordering::Relaxed));
        // Writing to a string can't fail.
        let _ = writeln!(text, "{}\t{calls}\t{nanos}", counter.name);
    }
    // A reader sees the old file or the new one; without either it will say so itself.
    let draft = file.with_extension("part");
    if std::fs::write(&draft, text).is_ok() {
        let _ = std::fs::rename(&draft, file);
    }
}
