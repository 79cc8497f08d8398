//! Process lists in all their versions, and the load by process.

use std::ffi::c_uint;

use nvml_wrapper_sys::bindings::{nvmlDevice_t, nvmlProcessUtilizationSample_t, nvmlReturn_t};
use rustix::time::{ClockId, clock_gettime};
use vramscope::domain::HolderKind;
use vramscope::scenario::{ErrorCode, Row, RowFormat};

use crate::call::{Outcome, Target, counter, device, put};
use crate::counters::Counter;

/// The driver's word for a value that there is none of.
const NOT_AVAILABLE: u64 = u64::MAX;

/// The layout of a row.
#[derive(Clone, Copy)]
enum Layout {
    /// pid, memory: 16 bytes.
    Two,
    /// With both instance ids: 24 bytes.
    Four,
    /// With protected memory: 32 bytes.
    Five,
}

impl Layout {
    const fn stride(self) -> usize {
        match self {
            Self::Two => 16,
            Self::Four => 24,
            Self::Five => 32,
        }
    }

    /// Version 3 has five fields on some drivers.
    fn third(target: &Target) -> Self {
        match target.world.driver().row_format {
            RowFormat::Four => Self::Four,
            RowFormat::Five => Self::Five,
        }
    }

    /// Writes one row field by field: what lies between stays as it is.
    ///
    /// # Safety
    /// `to` is valid for writing `self.stride()` bytes.
    unsafe fn write(self, to: *mut u8, pid: u32, used: u64, (gpu, compute): (u32, u32)) {
        // SAFETY: all offsets are within the stride.
        unsafe {
            to.cast::<u32>().write_unaligned(pid);
            to.add(8).cast::<u64>().write_unaligned(used);
            if matches!(self, Self::Four | Self::Five) {
                to.add(16).cast::<u32>().write_unaligned(gpu);
                to.add(20).cast::<u32>().write_unaligned(compute);
            }
            if matches!(self, Self::Five) {
                to.add(24).cast::<u64>().write_unaligned(0);
            }
        }
    }
}

/// The rows of one kind of list.
fn rows(target: &Target, kind: HolderKind) -> Vec<Row> {
    let mut rows = Vec::new();
    target.world.rows(target.place.device.gpu, target.t, &mut rows);
    rows.retain(|row| row.kind.contains(kind));
    rows
}

/// # Safety
/// `count` is null or valid; `to` is null or valid for `*count` rows of the layout.
unsafe fn list(target: &Target, kind: HolderKind, layout: Layout, count: *mut c_uint, to: *mut u8) -> Outcome {
    if count.is_null() {
        return Err(ErrorCode::InvalidArgument);
    }
    // SAFETY: not null, so valid by the contract.
    let room = unsafe { count.read() };
    let rows = rows(target, kind);
    let needed = rows.len() as u32;
    if room < needed {
        // A list that grows is longer when it is read than when its length was asked for.
        let growth = if room == 0 { target.world.driver().list_growth } else { 0 };
        // SAFETY: as above.
        unsafe { put(count, needed.saturating_sub(growth).max(1))? };
        return Err(ErrorCode::InsufficientSize);
    }
    if to.is_null() && needed > 0 {
        return Err(ErrorCode::InvalidArgument);
    }
    // SAFETY: as above.
    unsafe { put(count, needed)? };
    for (n, row) in rows.iter().enumerate() {
        let used = if target.world.sizes_unavailable() { NOT_AVAILABLE } else { row.used.0 };
        let of = row.instance.and_then(|gpu| target.world.place(gpu)).or(Some(target.place));
        let instance = of.and_then(|place| place.instance).unwrap_or((u32::MAX, u32::MAX));
        // SAFETY: there is room for all rows.
        unsafe { layout.write(to.add(n * layout.stride()), target.library.shown(row.pid), used, instance) };
    }
    Ok(())
}

/// # Safety
/// As [`list`], for the layout that `layout` picks.
unsafe fn answer(
    counter: &'static Counter,
    handle: nvmlDevice_t,
    kind: HolderKind,
    layout: fn(&Target) -> Layout,
    count: *mut c_uint,
    to: *mut u8,
) -> nvmlReturn_t {
    // SAFETY: by the contract.
    device(counter, handle, |target| unsafe { list(target, kind, layout(target), count, to) })
}

macro_rules! lists {
    ($($name:ident: $kind:ident, $layout:expr, $doc:literal;)*) => {$(
        #[doc = $doc]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(handle: nvmlDevice_t, count: *mut c_uint, to: *mut u8) -> nvmlReturn_t {
            // SAFETY: null or valid by the header.
            unsafe { answer(counter!($name), handle, HolderKind::$kind, $layout, count, to) }
        }
    )*};
}

lists! {
    nvmlDeviceGetComputeRunningProcesses: C, |_| Layout::Two, "Compute processes, version 1: without instance ids.";
    nvmlDeviceGetComputeRunningProcesses_v2: C, |_| Layout::Four, "Compute processes, version 2.";
    nvmlDeviceGetComputeRunningProcesses_v3: C, Layout::third, "Compute processes, version 3.";
    nvmlDeviceGetGraphicsRunningProcesses: G, |_| Layout::Two, "Graphics processes, version 1: without instance ids.";
    nvmlDeviceGetGraphicsRunningProcesses_v2: G, |_| Layout::Four, "Graphics processes, version 2.";
    nvmlDeviceGetGraphicsRunningProcesses_v3: G, Layout::third, "Graphics processes, version 3.";
    nvmlDeviceGetMPSComputeRunningProcesses: M, |_| Layout::Two, "Clients of the Multi-Process Service, version 1.";
    nvmlDeviceGetMPSComputeRunningProcesses_v2: M, |_| Layout::Four, "Clients of the Multi-Process Service, version 2.";
    nvmlDeviceGetMPSComputeRunningProcesses_v3: M, Layout::third, "Clients of the Multi-Process Service, version 3.";
}

/// Load by process since a moment of the wall clock in microseconds. Nothing new is an error: not found.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetProcessUtilization(
    handle: nvmlDevice_t,
    to: *mut nvmlProcessUtilizationSample_t,
    count: *mut c_uint,
    since: u64,
) -> nvmlReturn_t {
    device(counter!(nvmlDeviceGetProcessUtilization), handle, |target| {
        if target.place.instance.is_some() || target.world.mig_enabled(target.place.card) {
            return Err(ErrorCode::NotSupported);
        }
        if count.is_null() {
            return Err(ErrorCode::InvalidArgument);
        }
        let mut rows = Vec::new();
        target.world.rows(target.place.device.gpu, target.t, &mut rows);
        rows.retain(|row| row.utilization >= 1.0);
        let now = clock_gettime(ClockId::Realtime);
        let now = u64::try_from(now.tv_sec.saturating_mul(1_000_000).saturating_add(now.tv_nsec / 1_000)).unwrap_or(0);
        if rows.is_empty() || since > now {
            return Err(ErrorCode::NotFound);
        }
        // SAFETY: not null, so valid by the header.
        let room = unsafe { count.read() };
        // SAFETY: as above.
        unsafe { put(count, rows.len() as u32)? };
        if to.is_null() || (room as usize) < rows.len() {
            return Err(ErrorCode::InsufficientSize);
        }
        for (n, row) in rows.iter().enumerate() {
            let sample = nvmlProcessUtilizationSample_t {
                pid: target.library.shown(row.pid),
                timeStamp: now,
                smUtil: row.utilization as c_uint,
                memUtil: (row.utilization * 0.55) as c_uint,
                encUtil: 0,
                decUtil: 0,
            };
            // SAFETY: there is room for all rows by the check above.
            unsafe { put(to.add(n), sample)? };
        }
        Ok(())
    })
}
