//! Accounting: peaks of processes that the driver keeps.

use std::ffi::c_uint;

use nvml_wrapper_sys::bindings::{nvmlAccountingStats_t, nvmlDevice_t, nvmlEnableState_t, nvmlReturn_t};
use vramscope::domain::Timestamp;
use vramscope::scenario::{ErrorCode, Row};

use crate::call::{Target, counter, device, put};
use crate::device::whole;

fn enabled(target: &Target) -> Result<(), ErrorCode> {
    whole(target)?;
    if target.world.driver().accounting { Ok(()) } else { Err(ErrorCode::NotSupported) }
}

/// Whether peaks are kept.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetAccountingMode(handle: nvmlDevice_t, to: *mut nvmlEnableState_t) -> nvmlReturn_t {
    device(counter!(nvmlDeviceGetAccountingMode), handle, |target| {
        whole(target)?;
        // SAFETY: null, or valid by the header.
        unsafe { put(to, nvmlEnableState_t::from(target.world.driver().accounting)) }
    })
}

/// How many processes are kept.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetAccountingBufferSize(handle: nvmlDevice_t, to: *mut c_uint) -> nvmlReturn_t {
    device(counter!(nvmlDeviceGetAccountingBufferSize), handle, |target| {
        enabled(target)?;
        // SAFETY: null, or valid by the header.
        unsafe { put(to, 4000) }
    })
}

fn rows(target: &Target, t: Timestamp) -> Vec<Row> {
    let mut rows = Vec::new();
    target.world.rows(target.place.device.gpu, t, &mut rows);
    rows
}

/// The processes that can be asked about.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetAccountingPids(handle: nvmlDevice_t, count: *mut c_uint, to: *mut c_uint) -> nvmlReturn_t {
    device(counter!(nvmlDeviceGetAccountingPids), handle, |target| {
        enabled(target)?;
        if count.is_null() {
            return Err(ErrorCode::InvalidArgument);
        }
        let rows = rows(target, target.t);
        // SAFETY: not null, so valid by the header.
        let room = unsafe { count.read() };
        // SAFETY: as above.
        unsafe { put(count, rows.len() as u32)? };
        if (room as usize) < rows.len() {
            return Err(ErrorCode::InsufficientSize);
        }
        for (n, row) in rows.iter().enumerate() {
            // SAFETY: there is room for all by the check above.
            unsafe { put(to.wrapping_add(n), target.library.shown(row.pid))? };
        }
        Ok(())
    })
}

/// A process's peak and times.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetAccountingStats(
    handle: nvmlDevice_t,
    pid: c_uint,
    to: *mut nvmlAccountingStats_t,
) -> nvmlReturn_t {
    device(counter!(nvmlDeviceGetAccountingStats), handle, |target| {
        enabled(target)?;
        let pid = target.library.own(pid);
        let (world, gpu) = (target.world, target.place.device.gpu);
        let peak = world.peak(pid, gpu, Timestamp::ZERO, target.t).filter(|peak| peak.0 > 0).ok_or(ErrorCode::NotFound)?;
        let now = rows(target, target.t).into_iter().find(|row| row.pid == pid);
        let stats = nvmlAccountingStats_t {
            gpuUtilization: now.map_or(0, |row| row.utilization as c_uint),
            memoryUtilization: now.map_or(0, |row| (row.utilization * 0.55) as c_uint),
            maxMemoryUsage: peak.0,
            // Zero while it runs; how long it ran is not part of the story.
            time: u64::from(now.is_none()),
            startTime: 0,
            isRunning: c_uint::from(now.is_some()),
            reserved: [0; 5],
        };
        // SAFETY: null, or valid by the header.
        unsafe { put(to, stats) }
    })
}
