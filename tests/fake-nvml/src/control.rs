//! Controls for tests, not part of the driver's interface.

use std::ffi::{CStr, c_char};

use crate::{counters, library};

/// Holds the scenario's time at `us` microseconds.
#[unsafe(no_mangle)]
pub extern "C" fn fake_nvml_set_time_us(us: u64) {
    library::hold(us);
}

/// Ends all hangs, now and later.
#[unsafe(no_mangle)]
pub extern "C" fn fake_nvml_release() {
    library::release();
}

/// How often a function was called.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fake_nvml_calls(name: *const c_char) -> u64 {
    if name.is_null() {
        return 0;
    }
    // SAFETY: not null, so a C string by the contract.
    let name = unsafe { CStr::from_ptr(name) };
    counters::calls(&name.to_string_lossy())
}
