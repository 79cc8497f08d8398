//! Memory of a device.

use std::ffi::c_uint;

use nvml_wrapper_sys::bindings::{nvmlBAR1Memory_t, nvmlDevice_t, nvmlMemory_t, nvmlMemory_v2_t, nvmlReturn_t};
use vramscope::domain::MemoryFigures;
use vramscope::scenario::ErrorCode;

use crate::call::{Target, counter, device, put};

/// None where memory is shared with the host: the driver says that it does not know.
fn figures(target: &Target) -> Result<MemoryFigures, ErrorCode> {
    target.world.figures(target.place.device.gpu, target.t).ok_or(ErrorCode::NotSupported)
}

/// Version 1: what the driver keeps for itself counts as used.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetMemoryInfo(handle: nvmlDevice_t, to: *mut nvmlMemory_t) -> nvmlReturn_t {
    device(counter!(nvmlDeviceGetMemoryInfo), handle, |target| {
        let MemoryFigures { total, free, .. } = figures(target)?;
        // SAFETY: null, or valid by the header.
        unsafe { put(to, nvmlMemory_t { total: total.0, free: free.0, used: total.0 - free.0 }) }
    })
}

/// Version 2: what the driver keeps for itself stands apart.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetMemoryInfo_v2(handle: nvmlDevice_t, to: *mut nvmlMemory_v2_t) -> nvmlReturn_t {
    device(counter!(nvmlDeviceGetMemoryInfo_v2), handle, |target| {
        const VERSION: c_uint = size_of::<nvmlMemory_v2_t>() as c_uint | (2 << 24);
        if to.is_null() {
            return Err(ErrorCode::InvalidArgument);
        }
        // SAFETY: not null, so valid by the header; its first field is set by the caller.
        let version = unsafe { (&raw const (*to).version).read() };
        if version != VERSION {
            return Err(ErrorCode::ArgumentVersionMismatch);
        }
        let figures = figures(target)?;
        // SAFETY: as above; the version and the gap after it stay as they are.
        unsafe {
            put(&raw mut (*to).total, figures.total.0)?;
            put(&raw mut (*to).reserved, figures.reserved.unwrap_or_default().0)?;
            put(&raw mut (*to).free, figures.free.0)?;
            put(&raw mut (*to).used, figures.used().0)
        }
    })
}

/// The window through which the host reaches the card.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetBAR1MemoryInfo(handle: nvmlDevice_t, to: *mut nvmlBAR1Memory_t) -> nvmlReturn_t {
    device(counter!(nvmlDeviceGetBAR1MemoryInfo), handle, |target| {
        crate::device::whole(target)?;
        let (total, used) = (1_u64 << 37, 5_u64 << 20);
        // SAFETY: null, or valid by the header.
        unsafe { put(to, nvmlBAR1Memory_t { bar1Total: total, bar1Free: total - used, bar1Used: used }) }
    })
}
