//! Static facts of a device.

use std::ffi::{c_char, c_uint};

use nvml_wrapper_sys::bindings::{
    nvmlBrandType_t, nvmlComputeMode_t, nvmlDevice_t, nvmlDeviceAddressingMode_t, nvmlDeviceArchitecture_t, nvmlEnableState_t,
    nvmlPciInfo_t, nvmlReturn_t,
};
use vramscope::domain::MemoryKind;
use vramscope::scenario::ErrorCode;

use crate::call::{Target, counter, device, put, put_text};

fn name(target: &Target) -> String {
    let own = target.place.device.name.as_deref().unwrap_or("NVIDIA Graphics Device");
    let card = target.world.places().get(target.place.card as usize).and_then(|card| card.device.name.as_deref().ok());
    match (target.place.instance, card) {
        (Some(_), Some(card)) => format!("{card} MIG {own}"),
        _ => own.to_owned(),
    }
}

/// The product's name; of a MIG instance with its profile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetName(handle: nvmlDevice_t, to: *mut c_char, length: c_uint) -> nvmlReturn_t {
    // SAFETY: the caller says how much room there is.
    device(counter!(nvmlDeviceGetName), handle, |target| unsafe { put_text(to, length, &name(target)) })
}

/// The UUID.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetUUID(handle: nvmlDevice_t, to: *mut c_char, length: c_uint) -> nvmlReturn_t {
    // SAFETY: the caller says how much room there is.
    device(counter!(nvmlDeviceGetUUID), handle, |target| unsafe { put_text(to, length, &target.place.device.id.0) })
}

/// The index under which the card can be asked for.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetIndex(handle: nvmlDevice_t, to: *mut c_uint) -> nvmlReturn_t {
    device(counter!(nvmlDeviceGetIndex), handle, |target| {
        let order = target.world.order(target.t);
        let index = match target.place.instance {
            None => order.iter().position(|&card| card == target.place.card),
            Some(_) => crate::mig::slots(target).position(|place| place.device.gpu == target.place.device.gpu),
        };
        // SAFETY: null, or valid by the header.
        unsafe { put(to, index.ok_or(ErrorCode::Unknown)? as c_uint) }
    })
}

/// The number of the device file.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetMinorNumber(handle: nvmlDevice_t, to: *mut c_uint) -> nvmlReturn_t {
    device(counter!(nvmlDeviceGetMinorNumber), handle, |target| {
        whole(target)?;
        // SAFETY: null, or valid by the header.
        unsafe { put(to, target.place.card) }
    })
}

/// Refuses MIG instances.
pub(crate) fn whole(target: &Target) -> Result<(), ErrorCode> {
    if target.place.instance.is_some() { Err(ErrorCode::NotSupported) } else { Ok(()) }
}

/// Where the card is on the bus.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetPciInfo_v3(handle: nvmlDevice_t, to: *mut nvmlPciInfo_t) -> nvmlReturn_t {
    device(counter!(nvmlDeviceGetPciInfo_v3), handle, |target| {
        let (domain, bus, slot) = crate::system::bus_of(target.world, target.place.card).ok_or(ErrorCode::Unknown)?;
        let mut info = nvmlPciInfo_t {
            busIdLegacy: [0; 16],
            domain,
            bus,
            device: slot,
            pciDeviceId: 0x2330_10de,
            pciSubSystemId: 0x16c1_10de,
            busId: [0; 32],
        };
        write_text(&mut info.busIdLegacy, &format!("{:04X}:{bus:02X}:{slot:02X}.0", domain & 0xffff));
        write_text(&mut info.busId, &format!("{domain:08X}:{bus:02X}:{slot:02X}.0"));
        // SAFETY: null, or valid by the header.
        unsafe { put(to, info) }
    })
}

fn write_text(to: &mut [c_char], text: &str) {
    for (slot, byte) in to.iter_mut().zip(text.bytes()) {
        *slot = byte as c_char;
    }
}

/// The product line.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetBrand(handle: nvmlDevice_t, to: *mut nvmlBrandType_t) -> nvmlReturn_t {
    device(counter!(nvmlDeviceGetBrand), handle, |target| {
        // Tesla, GeForce RTX, or NVIDIA as new server cards say.
        let name = name(target);
        let brand = if name.starts_with("Tesla") {
            2
        } else if name.contains("GeForce") {
            16
        } else {
            14
        };
        // SAFETY: null, or valid by the header.
        unsafe { put(to, brand) }
    })
}

/// The generation of the chip.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetArchitecture(handle: nvmlDevice_t, to: *mut nvmlDeviceArchitecture_t) -> nvmlReturn_t {
    device(counter!(nvmlDeviceGetArchitecture), handle, |target| {
        let name = name(target);
        let known = [("V100", 5), ("A100", 7), ("RTX 40", 8), ("H100", 9), ("H200", 9), ("GB", 10), ("B200", 10)];
        let architecture = known.iter().find(|(part, _)| name.contains(part)).map_or(u32::MAX, |&(_, number)| number);
        // SAFETY: null, or valid by the header.
        unsafe { put(to, architecture) }
    })
}

/// Who may compute: everybody.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetComputeMode(handle: nvmlDevice_t, to: *mut nvmlComputeMode_t) -> nvmlReturn_t {
    // SAFETY: null, or valid by the header.
    device(counter!(nvmlDeviceGetComputeMode), handle, |_| unsafe { put(to, 0) })
}

/// Whether the driver stays loaded without users.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetPersistenceMode(handle: nvmlDevice_t, to: *mut nvmlEnableState_t) -> nvmlReturn_t {
    device(counter!(nvmlDeviceGetPersistenceMode), handle, |target| {
        whole(target)?;
        // SAFETY: null, or valid by the header.
        unsafe { put(to, 1) }
    })
}

/// The NUMA node of memory that the system manages.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetNumaNodeId(handle: nvmlDevice_t, to: *mut c_uint) -> nvmlReturn_t {
    device(counter!(nvmlDeviceGetNumaNodeId), handle, |target| {
        if target.place.device.memory != MemoryKind::Numa {
            return Err(ErrorCode::NotSupported);
        }
        // SAFETY: null, or valid by the header.
        unsafe { put(to, target.place.card + 1) }
    })
}

/// How the card reaches pageable memory: not at all, or by the host's page tables.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetAddressingMode(handle: nvmlDevice_t, to: *mut nvmlDeviceAddressingMode_t) -> nvmlReturn_t {
    device(counter!(nvmlDeviceGetAddressingMode), handle, |target| {
        const VERSION: c_uint = size_of::<nvmlDeviceAddressingMode_t>() as c_uint | (1 << 24);
        if to.is_null() {
            return Err(ErrorCode::InvalidArgument);
        }
        // SAFETY: not null, so valid by the header; its first field is set by the caller.
        let version = unsafe { (&raw const (*to).version).read() };
        if version != VERSION {
            return Err(ErrorCode::ArgumentVersionMismatch);
        }
        let value = if target.place.device.memory == MemoryKind::Dedicated { 0 } else { 2 };
        // SAFETY: as above.
        unsafe { put(&raw mut (*to).value, value) }
    })
}
