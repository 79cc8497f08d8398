//! Load, heat and power of a device.

use std::ffi::c_uint;

use nvml_wrapper_sys::bindings::{nvmlDevice_t, nvmlReturn_t, nvmlTemperatureSensors_t, nvmlUtilization_t};
use vramscope::scenario::ErrorCode;

use crate::call::{Target, counter, device, put};
use crate::device::whole;

/// Percent of time in which the card computes, and in which its memory is accessed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetUtilizationRates(handle: nvmlDevice_t, to: *mut nvmlUtilization_t) -> nvmlReturn_t {
    device(counter!(nvmlDeviceGetUtilizationRates), handle, |target| {
        let busy = target.world.utilization(target.place.device.gpu, target.t).ok_or(ErrorCode::NotSupported)?;
        // SAFETY: null, or valid by the header.
        unsafe { put(to, nvmlUtilization_t { gpu: busy as c_uint, memory: (busy * 0.55) as c_uint }) }
    })
}

fn heat(target: &Target) -> Result<(f32, f32), ErrorCode> {
    whole(target)?;
    target.world.heat(target.place.device.gpu, target.t).ok_or(ErrorCode::NotSupported)
}

/// °C of the one sensor there is.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetTemperature(
    handle: nvmlDevice_t,
    sensor: nvmlTemperatureSensors_t,
    to: *mut c_uint,
) -> nvmlReturn_t {
    device(counter!(nvmlDeviceGetTemperature), handle, |target| {
        if sensor != 0 {
            return Err(ErrorCode::InvalidArgument);
        }
        // SAFETY: null, or valid by the header.
        unsafe { put(to, heat(target)?.0 as c_uint) }
    })
}

/// Milliwatts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetPowerUsage(handle: nvmlDevice_t, to: *mut c_uint) -> nvmlReturn_t {
    device(counter!(nvmlDeviceGetPowerUsage), handle, |target| {
        // SAFETY: null, or valid by the header.
        unsafe { put(to, (heat(target)?.1 * 1000.0) as c_uint) }
    })
}

/// The limit in milliwatts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetEnforcedPowerLimit(handle: nvmlDevice_t, to: *mut c_uint) -> nvmlReturn_t {
    device(counter!(nvmlDeviceGetEnforcedPowerLimit), handle, |target| {
        whole(target)?;
        // SAFETY: null, or valid by the header.
        unsafe { put(to, 700_000) }
    })
}
