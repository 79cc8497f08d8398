//! MIG: a card's instances and their place in it.

use std::ffi::c_uint;

use nvml_wrapper_sys::bindings::{nvmlDevice_t, nvmlDeviceAttributes_t, nvmlReturn_t};
use vramscope::scenario::{ErrorCode, Place};

use crate::call::{Target, counter, device, handle as handle_of, put};
use crate::device::whole;

/// Whether cards of this name can be split.
fn splittable(target: &Target) -> bool {
    let name = target.world.places().get(target.place.card as usize).and_then(|card| card.device.name.as_deref().ok());
    name.is_some_and(|name| ["A100", "A30", "H100", "H200", "B200"].iter().any(|part| name.contains(part)))
}

/// Every instance that the card ever has, in the order of its slots.
pub(crate) fn slots(target: &Target) -> impl Iterator<Item = &'static Place> {
    let card = target.place.card;
    target.world.places().iter().filter(move |place| place.card == card && place.instance.is_some())
}

/// Whether the card is split now and after a reset.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetMigMode(handle: nvmlDevice_t, now: *mut c_uint, pending: *mut c_uint) -> nvmlReturn_t {
    device(counter!(nvmlDeviceGetMigMode), handle, |target| {
        whole(target)?;
        if now.is_null() || pending.is_null() {
            return Err(ErrorCode::InvalidArgument);
        }
        let enabled = target.world.mig_enabled(target.place.card);
        if !enabled && !splittable(target) {
            return Err(ErrorCode::NotSupported);
        }
        // SAFETY: valid by the header.
        unsafe {
            put(now, c_uint::from(enabled))?;
            put(pending, c_uint::from(enabled))
        }
    })
}

/// How many slots for instances there are, used or not.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetMaxMigDeviceCount(handle: nvmlDevice_t, to: *mut c_uint) -> nvmlReturn_t {
    device(counter!(nvmlDeviceGetMaxMigDeviceCount), handle, |target| {
        whole(target)?;
        let most = if splittable(target) { 7_u32.max(slots(target).count() as u32) } else { 0 };
        // SAFETY: null, or valid by the header.
        unsafe { put(to, most) }
    })
}

/// The instance in a slot; empty slots lie between used ones.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetMigDeviceHandleByIndex(
    handle: nvmlDevice_t,
    index: c_uint,
    to: *mut nvmlDevice_t,
) -> nvmlReturn_t {
    device(counter!(nvmlDeviceGetMigDeviceHandleByIndex), handle, |target| {
        if target.place.instance.is_some() {
            return Err(ErrorCode::InvalidArgument);
        }
        if !target.world.mig_enabled(target.place.card) {
            return Err(ErrorCode::NotSupported);
        }
        let here = slots(target).nth(index as usize).filter(|place| target.world.exists(place, target.t));
        let handle = handle_of(target.world, here.ok_or(ErrorCode::NotFound)?, target.t)?;
        // SAFETY: null, or valid by the header.
        unsafe { put(to, handle) }
    })
}

/// The card that an instance is part of.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetDeviceHandleFromMigDeviceHandle(
    handle: nvmlDevice_t,
    to: *mut nvmlDevice_t,
) -> nvmlReturn_t {
    device(counter!(nvmlDeviceGetDeviceHandleFromMigDeviceHandle), handle, |target| {
        target.place.instance.ok_or(ErrorCode::InvalidArgument)?;
        let card = target.world.places().get(target.place.card as usize).ok_or(ErrorCode::NotFound)?;
        // SAFETY: null, or valid by the header.
        unsafe { put(to, handle_of(target.world, card, target.t)?) }
    })
}

/// Whether a handle is an instance's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceIsMigDeviceHandle(handle: nvmlDevice_t, to: *mut c_uint) -> nvmlReturn_t {
    device(counter!(nvmlDeviceIsMigDeviceHandle), handle, |target| {
        // SAFETY: null, or valid by the header.
        unsafe { put(to, c_uint::from(target.place.instance.is_some())) }
    })
}

/// The GPU instance's number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetGpuInstanceId(handle: nvmlDevice_t, to: *mut c_uint) -> nvmlReturn_t {
    device(counter!(nvmlDeviceGetGpuInstanceId), handle, |target| {
        let (gpu, _) = target.place.instance.ok_or(ErrorCode::NotSupported)?;
        // SAFETY: null, or valid by the header.
        unsafe { put(to, gpu) }
    })
}

/// The compute instance's number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetComputeInstanceId(handle: nvmlDevice_t, to: *mut c_uint) -> nvmlReturn_t {
    device(counter!(nvmlDeviceGetComputeInstanceId), handle, |target| {
        let (_, compute) = target.place.instance.ok_or(ErrorCode::NotSupported)?;
        // SAFETY: null, or valid by the header.
        unsafe { put(to, compute) }
    })
}

/// What an instance has of its card.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetAttributes_v2(handle: nvmlDevice_t, to: *mut nvmlDeviceAttributes_t) -> nvmlReturn_t {
    device(counter!(nvmlDeviceGetAttributes_v2), handle, |target| {
        target.place.instance.ok_or(ErrorCode::NotSupported)?;
        let profile = target.place.device.name.as_deref().unwrap_or_default();
        let slices = profile.split('g').next().and_then(|slices| slices.parse().ok()).unwrap_or(1_u32).clamp(1, 7);
        let attributes = nvmlDeviceAttributes_t {
            multiprocessorCount: 14 * slices,
            sharedCopyEngineCount: slices,
            sharedDecoderCount: slices / 2,
            sharedEncoderCount: 0,
            sharedJpegCount: 0,
            sharedOfaCount: 0,
            gpuInstanceSliceCount: slices,
            computeInstanceSliceCount: slices,
            memorySizeMB: target.place.size.0 >> 20,
        };
        // SAFETY: null, or valid by the header.
        unsafe { put(to, attributes) }
    })
}
