//! What every call has in common: it is counted, it is struck by faults, it never unwinds into C.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::Ordering;

use nvml_wrapper_sys::bindings::{nvmlDevice_t, nvmlReturn_t};
use vramscope::domain::{Period, Timestamp};
use vramscope::scenario::{ErrorCode, Place, World};

use crate::counters::{Counter, nanos};
use crate::library::{Library, OPEN, library, wait_while};

/// What a function comes to.
pub(crate) type Outcome = Result<(), ErrorCode>;

/// The counter of one function.
macro_rules! counter {
    ($name:ident) => {{
        static COUNTER: crate::counters::Counter = crate::counters::Counter::new(stringify!($name));
        &COUNTER
    }};
}
pub(crate) use counter;

/// A call that needs no open library.
pub(crate) fn anytime(counter: &'static Counter, body: impl FnOnce(&'static Library) -> Outcome) -> nvmlReturn_t {
    counter.begin();
    let since = nanos();
    let guarded = AssertUnwindSafe(|| library().map_err(|_| ErrorCode::Unknown).and_then(body));
    let code = match catch_unwind(guarded).unwrap_or(Err(ErrorCode::Unknown)) {
        Ok(()) => 0,
        Err(code) => code.number(),
    };
    counter.end(since);
    code
}

/// A call about the system.
pub(crate) fn system(counter: &'static Counter, body: impl FnOnce(&'static Library, Timestamp) -> Outcome) -> nvmlReturn_t {
    anytime(counter, |library| {
        if OPEN.load(Ordering::Acquire) == 0 {
            return Err(ErrorCode::Uninitialized);
        }
        strike(library, counter.name, None)?;
        body(library, library.now())
    })
}

/// What a call about a device works on.
pub(crate) struct Target {
    pub library: &'static Library,
    pub world: &'static World,
    pub place: &'static Place,
    pub t: Timestamp,
}

/// A call about a device.
pub(crate) fn device(counter: &'static Counter, handle: nvmlDevice_t, body: impl FnOnce(&Target) -> Outcome) -> nvmlReturn_t {
    anytime(counter, |library| {
        if OPEN.load(Ordering::Acquire) == 0 {
            return Err(ErrorCode::Uninitialized);
        }
        let place = resolve(&library.world, handle, library.now())?;
        strike(library, counter.name, Some(place.card))?;
        // Time has passed where the call took some.
        let t = library.now();
        let place = resolve(&library.world, handle, t)?;
        body(&Target { library, world: &library.world, place, t })
    })
}

/// Lets the faults of the scenario strike a call: waiting first, then failing.
pub(crate) fn strike(library: &Library, call: &str, card: Option<u32>) -> Outcome {
    let world = &library.world;
    wait_while(|| world.faults(call, card, library.now()).any(|fault| fault.hang));
    let t = library.now();
    let waits = world.faults(call, card, t).filter_map(|fault| fault.latency).chain(world.driver().latency);
    let wait = waits.map(|wait| wait.0).max().unwrap_or(Period::ZERO);
    if wait > Period::ZERO {
        std::thread::sleep(wait.std());
    }
    for fault in world.faults(call, card, t) {
        if fault.panic {
            // Without the hook: the panic is the scenario's, not a mistake to print.
            resume_unwind(Box::new("the scenario says so"));
        }
        if let Some(error) = fault.error {
            return Err(error);
        }
    }
    Ok(())
}

/// How often a card was lost until `t`: handles from before a loss never work again.
fn losses(world: &World, card: u32, t: Timestamp) -> usize {
    world.losses(card).filter(|lost| t.0 >= lost.from.0.0).count()
}

/// A handle: a number in the shape of a pointer that nobody may follow.
pub(crate) fn handle(world: &World, place: &Place, t: Timestamp) -> Result<nvmlDevice_t, ErrorCode> {
    if world.is_lost(place.card, t) {
        return Err(ErrorCode::GpuIsLost);
    }
    let number = (losses(world, place.card, t) << 24) | ((place.device.gpu.0 as usize + 1) << 4);
    Ok(std::ptr::without_provenance_mut(number))
}

/// What a handle stands for.
fn resolve(world: &'static World, handle: nvmlDevice_t, t: Timestamp) -> Result<&'static Place, ErrorCode> {
    let number = handle.addr();
    let index = ((number & 0x00ff_ffff) >> 4).checked_sub(1).ok_or(ErrorCode::InvalidArgument)?;
    let place = world.places().get(index).filter(|_| number.is_multiple_of(16)).ok_or(ErrorCode::InvalidArgument)?;
    if world.is_lost(place.card, t) || losses(world, place.card, t) != number >> 24 {
        return Err(ErrorCode::GpuIsLost);
    }
    if world.exists(place, t) { Ok(place) } else { Err(ErrorCode::InvalidArgument) }
}

/// Writes a value to where the caller wants it.
///
/// # Safety
/// `to` is null, or valid for writing a `T`.
pub(crate) unsafe fn put<T>(to: *mut T, value: T) -> Outcome {
    if to.is_null() {
        return Err(ErrorCode::InvalidArgument);
    }
    // SAFETY: not null, so valid by the contract.
    unsafe { to.write(value) };
    Ok(())
}

/// Writes a text and its end to where the caller wants it.
///
/// # Safety
/// `to` is null, or valid for writing `room` bytes.
pub(crate) unsafe fn put_text(to: *mut std::ffi::c_char, room: u32, text: &str) -> Outcome {
    if to.is_null() {
        return Err(ErrorCode::InvalidArgument);
    }
    if text.len() >= room as usize {
        return Err(ErrorCode::InsufficientSize);
    }
    // SAFETY: the text and its end fit into `room` bytes, and it lies elsewhere.
    unsafe {
        to.cast::<u8>().copy_from_nonoverlapping(text.as_ptr(), text.len());
        to.add(text.len()).write(0);
    }
    Ok(())
}
