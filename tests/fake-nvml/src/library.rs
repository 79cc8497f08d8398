//! The library's own state: its scenario, its clock, and who waits.

use std::ffi::{CStr, OsString, c_char, c_int, c_void};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use vramscope::domain::{Pid, Timestamp};
use vramscope::scenario::{Scenario, World};

/// What the scenario file and the environment say.
pub(crate) struct Library {
    pub world: World,
    speed: f64,
    /// Scenario pid, live pid.
    pids: Vec<(u32, u32)>,
}

/// No time is held.
const RUNNING: u64 = u64::MAX;

static LIBRARY: OnceLock<Result<Library, String>> = OnceLock::new();
/// How often `nvmlInit` was called more than `nvmlShutdown`.
pub(crate) static OPEN: AtomicU64 = AtomicU64::new(0);
/// The boot-time clock at the first opening, in microseconds; 0 before it.
static ORIGIN: AtomicU64 = AtomicU64::new(0);
/// The held time.
static HELD: AtomicU64 = AtomicU64::new(RUNNING);
/// No call hangs any more.
static RELEASED: AtomicBool = AtomicBool::new(false);
static WAITING: Mutex<()> = Mutex::new(());
static WAKE: Condvar = Condvar::new();

/// The library, read at its first use.
pub(crate) fn library() -> Result<&'static Library, &'static str> {
    LIBRARY.get_or_init(Library::read).as_ref().map_err(String::as_str)
}

/// A variable of the environment.
#[expect(clippy::disallowed_methods, reason = "a library is configured by the environment alone")]
pub(crate) fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

fn boot_time() -> u64 {
    let now = clock_gettime(ClockId::Boottime);
    u64::try_from(now.tv_sec.saturating_mul(1_000_000).saturating_add(now.tv_nsec / 1_000)).unwrap_or(0)
}

impl Library {
    fn read() -> Result<Self, String> {
        let beside = || own_path().map(|path| path.with_extension("toml")).filter(|path| path.is_file());
        let scenario = match variable("FAKE_NVML_SCENARIO").or_else(|| beside().map(OsString::from)) {
            Some(name) => Scenario::load(&name.to_string_lossy()),
            None => Scenario::load("default"),
        };
        let world = scenario.and_then(|scenario| World::new(&scenario)).map_err(|error| error.to_string())?;
        let speed = match variable("FAKE_NVML_SPEED") {
            Some(text) => text
                .to_str()
                .and_then(|text| text.parse::<f64>().ok())
                .filter(|speed| speed.is_finite() && *speed > 0.0)
                .ok_or("FAKE_NVML_SPEED is not a number above 0")?,
            None => 1.0,
        };
        let pids = variable("FAKE_NVML_PIDS").unwrap_or_default();
        let pids = pids.to_string_lossy().split(',').filter(|pair| !pair.is_empty()).map(pair).collect::<Result<_, _>>()?;
        Ok(Self { world, speed, pids })
    }

    /// The scenario's time now.
    pub(crate) fn now(&self) -> Timestamp {
        let held = HELD.load(Ordering::Acquire);
        let origin = ORIGIN.load(Ordering::Acquire);
        if held != RUNNING {
            Timestamp(held)
        } else if origin == 0 {
            Timestamp::ZERO
        } else {
            Timestamp((boot_time().saturating_sub(origin) as f64 * self.speed) as u64)
        }
    }

    /// The pid that callers see.
    pub(crate) fn shown(&self, pid: Pid) -> u32 {
        self.pids.iter().find(|(scenario, _)| *scenario == pid.0).map_or(pid.0, |&(_, live)| live)
    }

    /// The scenario's pid of a live process.
    pub(crate) fn own(&self, pid: u32) -> Pid {
        Pid(self.pids.iter().find(|(_, live)| *live == pid).map_or(pid, |&(scenario, _)| scenario))
    }
}

fn pair(text: &str) -> Result<(u32, u32), String> {
    let bad = || format!("FAKE_NVML_PIDS: `{text}` is not SCENARIO_PID=PID or SCENARIO_PID=self");
    let (scenario, live) = text.split_once('=').ok_or_else(bad)?;
    let live = if live == "self" { std::process::id() } else { live.trim().parse().map_err(|_| bad())? };
    Ok((scenario.trim().parse().map_err(|_| bad())?, live))
}

/// The clock starts at the first opening.
pub(crate) fn open() {
    let now = boot_time().max(1);
    // The clock goes on if it already runs.
    let _ = ORIGIN.compare_exchange(0, now, Ordering::AcqRel, Ordering::Acquire);
    OPEN.fetch_add(1, Ordering::AcqRel);
}

/// Holds the time.
pub(crate) fn hold(us: u64) {
    HELD.store(us, Ordering::Release);
    WAKE.notify_all();
}

/// Ends all hangs, now and later.
pub(crate) fn release() {
    RELEASED.store(true, Ordering::Release);
    WAKE.notify_all();
}

/// Blocks while `hangs` says so and nobody released the hangs.
pub(crate) fn wait_while(hangs: impl Fn() -> bool) {
    let mut waiting = WAITING.lock().unwrap_or_else(PoisonError::into_inner);
    while !RELEASED.load(Ordering::Acquire) && hangs() {
        // The scenario's time may end a hang, and nobody says so.
        let woken = WAKE.wait_timeout(waiting, Duration::from_millis(20));
        waiting = woken.unwrap_or_else(PoisonError::into_inner).0;
    }
}

#[repr(C)]
struct Found {
    file: *const c_char,
    base: *mut c_void,
    symbol: *const c_char,
    address: *mut c_void,
}

unsafe extern "C" {
    fn dladdr(address: *const c_void, found: *mut Found) -> c_int;
}

/// The file from which this library was loaded.
fn own_path() -> Option<PathBuf> {
    use std::os::unix::ffi::OsStrExt as _;
    let mut found =
        Found { file: std::ptr::null(), base: std::ptr::null_mut(), symbol: std::ptr::null(), address: std::ptr::null_mut() };
    let own: *const AtomicU64 = &raw const OPEN;
    // SAFETY: any address may be asked about, and `found` is valid for writing.
    let known = unsafe { dladdr(own.cast(), &raw mut found) };
    if known == 0 || found.file.is_null() {
        return None;
    }
    // SAFETY: dladdr gave a C string that lives as long as the library is loaded.
    let file = unsafe { CStr::from_ptr(found.file) };
    Some(PathBuf::from(std::ffi::OsStr::from_bytes(file.to_bytes())))
}
