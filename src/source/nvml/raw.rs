//! The calls that the wrapper does not have, or not safely enough: the only `unsafe` file.
//!
//! The wrapper's raw methods panic where a symbol is missing, so only its `Result` fields are used. Its process lists read
//! rows of 24 bytes; some R535 drivers write rows of 32 bytes into them and past the end (NVML facts 5.3).
#![expect(unsafe_code, reason = "calls into the driver's library")]

use std::ffi::{CStr, c_uint};
use std::sync::OnceLock;

use nvml_wrapper::{Device, Nvml};
use nvml_wrapper_sys::bindings as sys;

/// Success, as all calls here use it: anything else is an error.
const SUCCESS: u32 = sys::nvmlReturn_enum_NVML_SUCCESS;
/// What a call returns whose symbol the library lacks.
const NO_SYMBOL: u32 = sys::nvmlReturn_enum_NVML_ERROR_FUNCTION_NOT_FOUND;

/// The first library that was opened: its words for errors are asked without passing it along everywhere.
static OPENED: OnceLock<&'static Nvml> = OnceLock::new();

/// Makes a library the one whose words are used for errors.
pub fn remember(nvml: &'static Nvml) {
    // A second library in one process (tests) has the same words.
    let _ = OPENED.set(nvml);
}

/// The library's words for an error; none before one is open.
pub fn error_text(code: u32) -> Option<String> {
    let function = OPENED.get()?.lib().nvmlErrorString.as_ref().ok()?;
    // SAFETY: the function takes a number and returns a static string of the library, which is never unloaded (leaked).
    let pointer = unsafe { function(code) };
    if pointer.is_null() {
        return None;
    }
    // SAFETY: not null, and a NUL-terminated string that lives as long as the library.
    Some(unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned())
}

/// Ends the process without running destructors, those of loaded libraries included. Nothing is flushed.
pub fn end_process(code: u8) -> ! {
    // SAFETY: the call takes a number and never returns; no state of this process is looked at again.
    unsafe { libc::_exit(i32::from(code)) }
}

/// Memory without `reserved`: (total, free).
pub fn memory_v1(device: &Device<'static>) -> Result<(u64, u64), u32> {
    let function = device.nvml().lib().nvmlDeviceGetMemoryInfo.as_ref().map_err(|_| NO_SYMBOL)?;
    let mut info = sys::nvmlMemory_t { total: 0, free: 0, used: 0 };
    // SAFETY: the handle came from this library, the structure is the one this symbol has had since its first version.
    check(unsafe { function(device.handle(), &raw mut info) })?;
    Ok((info.total, info.free))
}

/// How the device translates addresses: 0 none, 1 HMM, 2 ATS.
pub fn addressing_mode(device: &Device<'static>) -> Result<u32, u32> {
    let function = device.nvml().lib().nvmlDeviceGetAddressingMode.as_ref().map_err(|_| NO_SYMBOL)?;
    let size = size_of::<sys::nvmlDeviceAddressingMode_t>() as u32;
    let mut mode = sys::nvmlDeviceAddressingMode_t { version: size | (1 << 24), value: 0 };
    // SAFETY: the handle came from this library, and the structure carries its version.
    check(unsafe { function(device.handle(), &raw mut mode) })?;
    Ok(mode.value)
}

/// Which part of a MIG instance's number.
#[derive(Clone, Copy, Debug)]
pub enum InstancePart {
    /// The GPU instance.
    Gpu,
    /// The compute instance within it.
    Compute,
}

/// A MIG instance's number.
pub fn instance_id(device: &Device<'static>, part: InstancePart) -> Result<u32, u32> {
    let lib = device.nvml().lib();
    let function = match part {
        InstancePart::Gpu => lib.nvmlDeviceGetGpuInstanceId.as_ref(),
        InstancePart::Compute => lib.nvmlDeviceGetComputeInstanceId.as_ref(),
    };
    let mut id: c_uint = 0;
    // SAFETY: the handle came from this library, the number is written to a place of its size.
    check(unsafe { function.map_err(|_| NO_SYMBOL)?(device.handle(), &raw mut id) })?;
    Ok(id)
}

/// Which of the driver's process lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum List {
    /// Compute.
    Compute,
    /// Graphics.
    Graphics,
    /// Clients of the Multi-Process Service.
    Mps,
}

/// Which form of a process list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Form {
    /// Rows of pid and memory.
    V1,
    /// With instance numbers.
    V2,
    /// The same rows under a new name, or with a fifth field (R535).
    V3,
}

/// Words of eight bytes kept for the widest row there is (five fields).
const ROW: usize = 4;
/// What no driver writes: not a pid, not a size, not the all-ones of "not available".
pub const SENTINEL: u64 = 0xA5C3_5A3C_96E1_87F2;

/// A buffer for process lists, kept between readings. It has room for the widest row, whatever the row turns out to be.
#[derive(Debug)]
pub struct Rows {
    words: Vec<u64>,
}

impl Rows {
    /// Room for some rows.
    pub fn new(rows: usize) -> Self {
        Self { words: vec![SENTINEL; rows.max(1) * ROW] }
    }

    /// Rows that fit.
    pub fn capacity(&self) -> usize {
        self.words.len() / ROW
    }

    /// Makes room for at least so many rows.
    pub fn grow(&mut self, rows: usize) {
        self.words.resize(rows.max(self.capacity()) * ROW, SENTINEL);
    }

    /// The words that were written, up to the last one that is no sentinel.
    pub fn written(&self) -> &[u64] {
        let end = self.words.iter().rposition(|word| *word != SENTINEL).map_or(0, |last| last + 1);
        self.words.get(..end).unwrap_or_default()
    }
}

/// Reads a list into `rows`. Gives the number of rows that the library says it wrote, or its error and the number it wants.
pub fn process_list(device: &Device<'static>, list: List, form: Form, rows: &mut Rows) -> Result<usize, (u32, usize)> {
    rows.words.fill(SENTINEL);
    let lib = device.nvml().lib();
    let mut count = rows.capacity() as c_uint;
    let handle = {
        // SAFETY: the handle is only passed to the library that it came from, while that library is loaded.
        unsafe { device.handle() }
    };
    macro_rules! call {
        ($symbol:ident) => {
            match lib.$symbol.as_ref() {
                // SAFETY: the buffer is aligned to 8 bytes and holds 32 bytes for each of `count` rows, the size of the widest
                // row any driver writes (five fields); rows of 16 and 24 bytes fit as well. `count` and the buffer outlive the call.
                Ok(function) => unsafe { function(handle, &raw mut count, rows.words.as_mut_ptr().cast()) },
                Err(_) => NO_SYMBOL,
            }
        };
    }
    let code = match (list, form) {
        (List::Compute, Form::V3) => call!(nvmlDeviceGetComputeRunningProcesses_v3),
        (List::Compute, Form::V2) => call!(nvmlDeviceGetComputeRunningProcesses_v2),
        (List::Compute, Form::V1) => call!(nvmlDeviceGetComputeRunningProcesses),
        (List::Graphics, Form::V3) => call!(nvmlDeviceGetGraphicsRunningProcesses_v3),
        (List::Graphics, Form::V2) => call!(nvmlDeviceGetGraphicsRunningProcesses_v2),
        (List::Graphics, Form::V1) => call!(nvmlDeviceGetGraphicsRunningProcesses),
        (List::Mps, Form::V3) => call!(nvmlDeviceGetMPSComputeRunningProcesses_v3),
        (List::Mps, Form::V2) => call!(nvmlDeviceGetMPSComputeRunningProcesses_v2),
        (List::Mps, Form::V1) => call!(nvmlDeviceGetMPSComputeRunningProcesses),
    };
    check(code).map(|()| count as usize).map_err(|code| (code, count as usize))
}

/// Load of one process over the driver's last sample.
#[derive(Clone, Copy, Debug)]
pub struct ProcessLoad {
    /// The pid.
    pub pid: u32,
    /// When, in the driver's microseconds.
    pub at: u64,
    /// Percent of the device's SM time.
    pub sm: u32,
}

/// A buffer for [`process_load`], kept between readings.
#[derive(Debug)]
pub struct Loads(Vec<sys::nvmlProcessUtilizationSample_t>);

impl Loads {
    /// Room for some samples.
    pub fn new(samples: usize) -> Self {
        let empty = sys::nvmlProcessUtilizationSample_t { pid: 0, timeStamp: 0, smUtil: 0, memUtil: 0, encUtil: 0, decUtil: 0 };
        Self(vec![empty; samples.max(1)])
    }

    /// Samples that fit.
    pub fn capacity(&self) -> usize {
        self.0.len()
    }

    /// The first `count` samples.
    pub fn samples(&self, count: usize) -> impl Iterator<Item = ProcessLoad> {
        self.0.iter().take(count).map(|sample| ProcessLoad { pid: sample.pid, at: sample.timeStamp, sm: sample.smUtil })
    }
}

/// Reads load samples newer than `since`. Gives their number, or the error and the number the library wants.
pub fn process_load(device: &Device<'static>, since: u64, loads: &mut Loads) -> Result<usize, (u32, usize)> {
    let function = device.nvml().lib().nvmlDeviceGetProcessUtilization.as_ref().map_err(|_| (NO_SYMBOL, 0))?;
    let mut count = loads.capacity() as c_uint;
    // SAFETY: the handle came from this library, and the buffer holds `count` samples; both outlive the call.
    let code = unsafe { function(device.handle(), loads.0.as_mut_ptr(), &raw mut count, since) };
    check(code).map(|()| count as usize).map_err(|code| (code, count as usize))
}

fn check(code: u32) -> Result<(), u32> {
    if code == SUCCESS { Ok(()) } else { Err(code) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_knows_what_was_written() {
        let mut rows = Rows::new(2);
        assert!(rows.written().is_empty());
        if let Some(word) = rows.words.get_mut(4) {
            *word = 0;
        }
        assert_eq!(rows.written().len(), 5);
        rows.grow(3);
        assert_eq!((rows.capacity(), rows.written().len()), (3, 5));
        rows.grow(1);
        assert_eq!(rows.capacity(), 3, "never smaller");
    }
}
