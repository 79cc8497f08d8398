//! Opening and closing the library, and the words for its errors.

use std::ffi::{c_char, c_uint};
use std::sync::atomic::Ordering;

use nvml_wrapper_sys::bindings::nvmlReturn_t;
use vramscope::scenario::ErrorCode;

use crate::call::{anytime, counter, strike};
use crate::counters::Counter;
use crate::library::{self, OPEN, wait_while};

/// Opens the library.
#[unsafe(no_mangle)]
pub extern "C" fn nvmlInit_v2() -> nvmlReturn_t {
    open(counter!(nvmlInit_v2))
}

/// Opens the library, as callers of old did.
#[unsafe(no_mangle)]
pub extern "C" fn nvmlInit() -> nvmlReturn_t {
    open(counter!(nvmlInit))
}

/// Opens the library; no flag changes what the stand-in does.
#[unsafe(no_mangle)]
pub extern "C" fn nvmlInitWithFlags(_flags: c_uint) -> nvmlReturn_t {
    open(counter!(nvmlInitWithFlags))
}

fn open(counter: &'static Counter) -> nvmlReturn_t {
    if let Err(error) = library::library() {
        complain(error);
    }
    anytime(counter, |library| {
        let driver = library.world.driver();
        wait_while(|| driver.init_hang);
        if let Some(error) = driver.init_error {
            return Err(error);
        }
        strike(library, counter.name, None)?;
        library::open();
        Ok(())
    })
}

#[expect(clippy::print_stderr, reason = "a library has no other way to say that its scenario is wrong")]
fn complain(error: &str) {
    eprintln!("fake-nvml: {error}");
}

/// Closes the library once for each time it was opened.
#[unsafe(no_mangle)]
pub extern "C" fn nvmlShutdown() -> nvmlReturn_t {
    let code = anytime(counter!(nvmlShutdown), |_| {
        let close = |open: u64| open.checked_sub(1);
        OPEN.fetch_update(Ordering::AcqRel, Ordering::Acquire, close).map(drop).map_err(|_| ErrorCode::Uninitialized)
    });
    crate::counters::write(crate::counters::nanos());
    code
}

/// The driver's words for an error.
#[unsafe(no_mangle)]
pub extern "C" fn nvmlErrorString(code: nvmlReturn_t) -> *const c_char {
    let words = match code {
        0 => c"The operation was successful",
        1 => c"Uninitialized",
        2 => c"Invalid Argument",
        3 => c"Not Supported",
        4 => c"Insufficient Permissions",
        5 => c"Already Initialized",
        6 => c"Not Found",
        7 => c"Insufficient Size",
        8 => c"Insufficient External Power",
        9 => c"Driver Not Loaded",
        10 => c"Timeout",
        11 => c"Interrupt Request Issue",
        12 => c"NVML Shared Library Not Found",
        13 => c"Function Not Found",
        14 => c"Corrupted infoROM",
        15 => c"GPU is lost",
        16 => c"GPU requires restart",
        17 => c"The operating system has blocked the request.",
        18 => c"RM has detected an NVML/RM version mismatch.",
        19 => c"GPU is currently in use",
        20 => c"Insufficient memory",
        21 => c"No data",
        25 => c"Argument version mismatch",
        _ => c"Unknown Error",
    };
    words.as_ptr()
}
