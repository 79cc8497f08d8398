//! What does not change about a device: read once, and again when it comes back.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use nvml_wrapper::Device;
use nvml_wrapper_sys::bindings as sys;

use super::calls::Call;
use super::card::{Card, Handle};
use super::fault::Fault;
use super::fleet::Fleet;
use super::memory::MemoryReader;
use super::raw;
use crate::domain::{self, Bytes, DeviceId, MemoryFigures, MemoryKind, Missing, Reading, text};
use crate::sampler::Caller;
use crate::source::host;

/// What a memory reading of unified memory comes to, even where the driver gives figures: they are the host's.
pub const UNIFIED: Fault = Fault { call: Call::MemoryV2, code: sys::nvmlReturn_enum_NVML_ERROR_NOT_SUPPORTED };
/// `NVML_DEVICE_ADDRESSING_MODE_ATS`: host and device share page tables (Grace).
const ATS: u32 = 2;

/// A handle for a device: by UUID once that is known, since indices move; by index at first.
pub fn look_up(caller: &mut Caller, fleet: &Fleet, card: &Card) -> Result<Handle, Fault> {
    let nvml = fleet.nvml;
    let facts = card.facts();
    if !card.is_attached() {
        let call = Call::HandleByIndex;
        let index = facts.index.unwrap_or(card.gpu.0);
        return caller.call(call as u8, || nvml.device_by_index(index)).map(Arc::new).map_err(Fault::of(call));
    }
    let call = Call::HandleByUuid;
    match caller.call(call as u8, || nvml.device_by_uuid(&*facts.id.0)).map_err(Fault::of(call)) {
        Ok(device) => Ok(Arc::new(device)),
        Err(fault) if fault.is_absent() => scan(caller, fleet, &facts.id).ok_or(fault).map(Arc::new),
        Err(fault) => Err(fault),
    }
}

/// The device with this UUID, by asking each.
fn scan(caller: &mut Caller, fleet: &Fleet, id: &DeviceId) -> Option<Device<'static>> {
    let count = caller.call(Call::Count as u8, || fleet.nvml.device_count()).ok()?;
    (0..count).find_map(|index| {
        let device = caller.call(Call::HandleByIndex as u8, || fleet.nvml.device_by_index(index)).ok()?;
        let uuid = caller.call(Call::Uuid as u8, || device.uuid()).ok()?;
        (uuid == *id.0).then_some(device)
    })
}

/// Reads the facts. Without a UUID there is no device to speak of; all else may be missing.
pub fn read(caller: &mut Caller, handle: &Handle, card: &Card) -> Result<domain::Device, Fault> {
    let known = card.facts();
    let instance = known.parent.is_some();
    let id = if card.is_attached() { known.id.clone() } else { uuid(caller, handle)? };
    let index = if instance { None } else { caller.call(Call::Index as u8, || handle.index()).ok().or(known.index) };
    let pci = if instance {
        known.pci.clone()
    } else {
        caller
            .call(Call::Pci as u8, || handle.pci_info())
            .map(|pci| bus_id(&pci.bus_id).into())
            .map_err(|error| Fault::of(Call::Pci)(error).missing())
    };
    let name: Reading<Arc<str>> = caller
        .call(Call::Name as u8, || handle.name())
        .map(|name| text::clean(&name, 96).into())
        .map_err(|error| Fault::of(Call::Name)(error).missing());
    let memory = MemoryReader::default().read(caller, handle);
    let kind = memory_kind(caller, handle, &memory);
    if !instance {
        read_mig(caller, handle, card);
        if let Ok(minor) = caller.call(Call::Minor as u8, || handle.minor_number()) {
            card.set_minor(minor);
        }
    }
    let total = match (kind, memory) {
        (MemoryKind::Unified, _) => Err(Missing::Unsupported("the memory is the system's".into())),
        (_, Ok(figures)) => Ok(figures.total),
        (_, Err(fault)) => Err(fault.missing()),
    };
    let name = if instance { name.map(|name| profile(&name)) } else { name };
    Ok(domain::Device { gpu: card.gpu, id, index, pci, name, memory: kind, total, parent: known.parent.clone() })
}

/// The UUID, cleaned.
pub fn uuid(caller: &mut Caller, handle: &Device<'static>) -> Result<DeviceId, Fault> {
    let uuid = caller.call(Call::Uuid as u8, || handle.uuid()).map_err(Fault::of(Call::Uuid))?;
    Ok(DeviceId(text::clean(&uuid, 96).into()))
}

/// Learns whether a GPU can be, and is, cut into instances.
pub fn read_mig(caller: &mut Caller, handle: &Handle, card: &Card) {
    let mode = caller.call(Call::MigMode as u8, || handle.mig_mode()).map_err(Fault::of(Call::MigMode));
    // A call that fails for another reason says nothing of what was known.
    if mode.as_ref().is_ok() || mode.as_ref().is_err_and(|fault| fault.is_unsupported()) {
        card.can_mig.store(mode.is_ok(), Ordering::Release);
        card.mig.store(mode.is_ok_and(|mode| mode.current == sys::NVML_DEVICE_MIG_ENABLE), Ordering::Release);
    }
}

fn memory_kind(caller: &mut Caller, handle: &Handle, memory: &Result<MemoryFigures, Fault>) -> MemoryKind {
    match memory {
        Err(fault) if fault.code == sys::nvmlReturn_enum_NVML_ERROR_NOT_SUPPORTED => MemoryKind::Unified,
        Err(_) => MemoryKind::Dedicated,
        // One unconfirmed report of a GB10 has success with the host's memory as total (nvitop#208).
        Ok(figures) if host::memory::read().is_some_and(|host| same(host.total, figures.total)) => MemoryKind::Unified,
        Ok(_) => {
            let node = caller.call(Call::NumaNode as u8, || handle.numa_node_id());
            if node.is_ok_and(|node| node != u32::MAX) {
                return MemoryKind::Numa;
            }
            match caller.call(Call::AddressingMode as u8, || raw::addressing_mode(handle)) {
                Ok(ATS) => MemoryKind::Numa,
                _ => MemoryKind::Dedicated,
            }
        }
    }
}

/// A card of 24 GB in a host of 24 GB differs by far more than a MiB.
fn same(host: Bytes, device: Bytes) -> bool {
    host.0.abs_diff(device.0) < domain::bytes::MIB
}

/// NVML writes the domain with eight digits in capitals, Linux with four in small letters.
fn bus_id(nvml: &str) -> String {
    let id = text::clean(nvml, 32).to_ascii_lowercase();
    match id.split_once(':') {
        Some((domain, rest)) if domain.len() == 8 => match domain.strip_prefix("0000") {
            Some(short) => format!("{short}:{rest}"),
            None => id,
        },
        _ => id,
    }
}

/// `NVIDIA A100-SXM4-80GB MIG 1g.10gb` is `1g.10gb` under its parent.
fn profile(name: &str) -> Arc<str> {
    name.rsplit_once("MIG ").map_or(name, |(_, profile)| profile).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bus_ids_are_written_as_linux_does() {
        assert_eq!(bus_id("00000000:1B:00.0"), "0000:1b:00.0");
        assert_eq!(bus_id("0000:1B:00.0"), "0000:1b:00.0");
        assert_eq!(bus_id("00010000:01:00.0"), "00010000:01:00.0");
        assert_eq!(bus_id("odd"), "odd");
    }

    #[test]
    fn an_instance_is_called_by_its_profile() {
        assert_eq!(&*profile("NVIDIA A100-SXM4-80GB MIG 1g.10gb"), "1g.10gb");
        assert_eq!(&*profile("NVIDIA A100"), "NVIDIA A100");
    }
}
