//! Facts of the system, and handles of its devices.

use std::ffi::{CStr, c_char, c_int, c_uint};

use nvml_wrapper_sys::bindings::{nvmlDevice_t, nvmlReturn_t};
use vramscope::domain::{Gpu, Timestamp, Wall};
use vramscope::scenario::{ErrorCode, World};

use crate::call::{Outcome, counter, handle, put, put_text, strike, system};
use crate::library::Library;

/// The driver's version.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlSystemGetDriverVersion(version: *mut c_char, length: c_uint) -> nvmlReturn_t {
    system(counter!(nvmlSystemGetDriverVersion), |library, _| {
        // SAFETY: the caller says how much room there is.
        unsafe { put_text(version, length, &library.world.versions().0) }
    })
}

/// The library's version: CUDA's, then the driver's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlSystemGetNVMLVersion(version: *mut c_char, length: c_uint) -> nvmlReturn_t {
    system(counter!(nvmlSystemGetNVMLVersion), |library, _| {
        let (driver, cuda) = library.world.versions();
        let major = cuda.split('.').next().unwrap_or_default();
        // SAFETY: the caller says how much room there is.
        unsafe { put_text(version, length, &format!("{major}.{driver}")) }
    })
}

fn cuda(library: &Library) -> c_int {
    let (_, cuda) = library.world.versions();
    let mut parts = cuda.split('.').map(|part| part.parse::<c_int>().unwrap_or(0).clamp(0, 99));
    parts.next().unwrap_or(0) * 1000 + parts.next().unwrap_or(0) * 10
}

/// The CUDA version that the driver supports, 12080 for 12.8.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlSystemGetCudaDriverVersion(version: *mut c_int) -> nvmlReturn_t {
    // SAFETY: null, or valid by the header.
    system(counter!(nvmlSystemGetCudaDriverVersion), |library, _| unsafe { put(version, cuda(library)) })
}

/// The CUDA version that the driver supports, 12080 for 12.8.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlSystemGetCudaDriverVersion_v2(version: *mut c_int) -> nvmlReturn_t {
    // SAFETY: null, or valid by the header.
    system(counter!(nvmlSystemGetCudaDriverVersion_v2), |library, _| unsafe { put(version, cuda(library)) })
}

/// A process's name; cut to the room there is.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlSystemGetProcessName(pid: c_uint, name: *mut c_char, length: c_uint) -> nvmlReturn_t {
    system(counter!(nvmlSystemGetProcessName), |library, t| {
        let process = library.world.process(library.own(pid), t, Wall(0)).ok_or(ErrorCode::NotFound)?;
        let command = process.command.map_err(|_| ErrorCode::NotFound)?;
        let room = (length as usize).checked_sub(1).ok_or(ErrorCode::InvalidArgument)?;
        let end = command.floor_char_boundary(room);
        // SAFETY: the caller says how much room there is.
        unsafe { put_text(name, length, command.get(..end).unwrap_or_default()) }
    })
}

/// How many cards there are.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetCount_v2(count: *mut c_uint) -> nvmlReturn_t {
    // SAFETY: null, or valid by the header.
    system(counter!(nvmlDeviceGetCount_v2), |library, _| unsafe { put(count, library.world.cards()) })
}

/// Writes the handle of a place, after the faults that strike asking for it.
///
/// # Safety
/// `to` is null, or valid for writing a handle.
unsafe fn hand_out(library: &Library, call: &str, number: usize, t: Timestamp, to: *mut nvmlDevice_t) -> Outcome {
    if to.is_null() {
        return Err(ErrorCode::InvalidArgument);
    }
    let place = library.world.places().get(number).ok_or(ErrorCode::NotFound)?;
    strike(library, call, Some(place.card))?;
    // SAFETY: by the contract.
    unsafe { put(to, handle(&library.world, place, t)?) }
}

/// A card by the driver's index.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetHandleByIndex_v2(index: c_uint, device: *mut nvmlDevice_t) -> nvmlReturn_t {
    let counter = counter!(nvmlDeviceGetHandleByIndex_v2);
    system(counter, |library, t| {
        let card = *library.world.order(t).get(index as usize).ok_or(ErrorCode::InvalidArgument)?;
        // SAFETY: null, or valid by the header.
        unsafe { hand_out(library, counter.name, card as usize, t, device) }
    })
}

/// A card or MIG instance by its UUID.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetHandleByUUID(uuid: *const c_char, device: *mut nvmlDevice_t) -> nvmlReturn_t {
    let counter = counter!(nvmlDeviceGetHandleByUUID);
    system(counter, |library, t| {
        // SAFETY: null, or a C string by the header.
        let uuid = unsafe { text(uuid)? };
        let world = &library.world;
        let found = world.places().iter().position(|place| *place.device.id.0 == *uuid && world.exists(place, t));
        // SAFETY: null, or valid by the header.
        unsafe { hand_out(library, counter.name, found.ok_or(ErrorCode::NotFound)?, t, device) }
    })
}

/// A card by its PCI bus id, with a domain of four or eight digits or none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetHandleByPciBusId_v2(id: *const c_char, device: *mut nvmlDevice_t) -> nvmlReturn_t {
    let counter = counter!(nvmlDeviceGetHandleByPciBusId_v2);
    system(counter, |library, t| {
        // SAFETY: null, or a C string by the header.
        let id = bus(&unsafe { text(id)? }).ok_or(ErrorCode::InvalidArgument)?;
        let card = cards(&library.world).find(|&card| bus_of(&library.world, card) == Some(id));
        // SAFETY: null, or valid by the header.
        unsafe { hand_out(library, counter.name, card.ok_or(ErrorCode::NotFound)? as usize, t, device) }
    })
}

fn cards(world: &World) -> std::ops::Range<u32> {
    0..world.cards()
}

/// Domain, bus and device of a card.
pub(crate) fn bus_of(world: &World, card: u32) -> Option<(u32, u32, u32)> {
    bus(world.place(Gpu(card))?.device.pci.as_deref().ok()?)
}

fn bus(id: &str) -> Option<(u32, u32, u32)> {
    let number = |text: &str| u32::from_str_radix(text, 16).ok();
    let id = id.strip_suffix(".0").unwrap_or(id);
    let parts: Vec<&str> = id.split(':').collect();
    match *parts.as_slice() {
        [domain, bus, device] => Some((number(domain)?, number(bus)?, number(device)?)),
        [bus, device] => Some((0, number(bus)?, number(device)?)),
        _ => None,
    }
}

/// # Safety
/// `from` is null, or a C string.
unsafe fn text(from: *const c_char) -> Result<String, ErrorCode> {
    if from.is_null() {
        return Err(ErrorCode::InvalidArgument);
    }
    // SAFETY: not null, so a C string by the contract.
    Ok(unsafe { CStr::from_ptr(from) }.to_string_lossy().into_owned())
}
