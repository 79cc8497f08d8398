//! A call that failed: which, with what code, and what that means for the reading.

use nvml_wrapper::error::NvmlError;
use nvml_wrapper_sys::bindings as sys;

use super::calls::Call;
use super::raw;
use crate::domain::{Missing, text};

/// A failed call. Small and `Copy`: the hot path compares it and builds texts only for news.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The function.
    pub call: Call,
    /// The library's code (`nvmlReturn_t`).
    pub code: u32,
}

/// Turns the wrapper's error into the library's code. A missing symbol becomes `FUNCTION_NOT_FOUND`.
pub fn code(error: NvmlError) -> u32 {
    match error {
        NvmlError::FailedToLoadSymbol(_) => sys::nvmlReturn_enum_NVML_ERROR_FUNCTION_NOT_FOUND,
        other => other.into(),
    }
}

impl Fault {
    /// A fault of the wrapper's.
    pub fn of(call: Call) -> impl FnOnce(NvmlError) -> Self {
        move |error| Self { call, code: code(error) }
    }

    /// The device fell off the bus or needs a reset: its handle must not be used again (nvitop#139).
    pub fn is_lost(self) -> bool {
        matches!(
            self.code,
            sys::nvmlReturn_enum_NVML_ERROR_GPU_IS_LOST
                | sys::nvmlReturn_enum_NVML_ERROR_RESET_REQUIRED
                | sys::nvmlReturn_enum_NVML_ERROR_GPU_NOT_FOUND
        )
    }

    /// The handle is no longer good: a call that once worked calls it invalid (MIG reconfigured, card replaced).
    pub fn is_stale(self) -> bool {
        matches!(
            self.code,
            sys::nvmlReturn_enum_NVML_ERROR_INVALID_ARGUMENT
                | sys::nvmlReturn_enum_NVML_ERROR_NOT_FOUND
                | sys::nvmlReturn_enum_NVML_ERROR_INVALID_STATE
        )
    }

    /// The library has no such function, or not in this shape: an older form may do.
    pub fn is_absent(self) -> bool {
        matches!(
            self.code,
            sys::nvmlReturn_enum_NVML_ERROR_FUNCTION_NOT_FOUND
                | sys::nvmlReturn_enum_NVML_ERROR_ARGUMENT_VERSION_MISMATCH
                | sys::nvmlReturn_enum_NVML_ERROR_DEPRECATED
        )
    }

    /// The device does not have it.
    pub fn is_unsupported(self) -> bool {
        self.code == sys::nvmlReturn_enum_NVML_ERROR_NOT_SUPPORTED || self.is_absent()
    }

    /// Not for this user. `OPERATING_SYSTEM` is how a cgroup says so.
    pub fn is_denied(self) -> bool {
        matches!(self.code, sys::nvmlReturn_enum_NVML_ERROR_NO_PERMISSION | sys::nvmlReturn_enum_NVML_ERROR_OPERATING_SYSTEM)
    }

    /// The function's name and the library's own words.
    pub fn words(self) -> String {
        format!("{}: {}", self.call.name(), words(self.code))
    }

    /// What the reading is for it.
    pub fn missing(self) -> Missing {
        let words = self.words().into();
        if self.is_lost() {
            Missing::Lost(words)
        } else if self.is_denied() {
            Missing::Denied(words)
        } else if self.is_unsupported() {
            Missing::Unsupported(words)
        } else {
            Missing::Failed(words)
        }
    }
}

/// The library's words for a code.
pub fn words(code: u32) -> String {
    let words = raw::error_text(code).unwrap_or_default();
    let words = text::clean(words.trim(), 120);
    if words.is_empty() { format!("error {code}") } else { words }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_become_reasons() {
        for (code, word) in [(3, "N/A"), (4, "denied"), (13, "N/A"), (15, "lost"), (16, "lost"), (999, "failed"), (77, "failed")]
        {
            assert_eq!(Fault { call: Call::MemoryV2, code }.missing().word(), word, "{code}");
        }
        let symbol = Fault::of(Call::ComputeV3)(NvmlError::FailedToLoadSymbol("x".into()));
        assert!(symbol.is_absent());
        assert!(Fault { call: Call::MemoryV2, code: 2 }.is_stale());
    }
}
