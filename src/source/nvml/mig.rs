//! MIG: instances under their GPU, each a device of its own; found by asking every place, since places have holes.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use nvml_wrapper_sys::bindings as sys;

use super::calls::Call;
use super::card::{Card, Handle, lock};
use super::facts;
use super::fault::Fault;
use super::fleet::Fleet;
use super::raw::{self, InstancePart};
use crate::domain::{Device, DeviceId, MemoryKind, Missing};
use crate::sampler::Caller;

/// One instance of a GPU.
#[derive(Clone)]
pub struct Instance {
    /// Its device.
    pub card: Arc<Card>,
    /// GPU instance and compute instance.
    pub number: (u32, u32),
    /// Its UUID.
    pub id: DeviceId,
}

/// Looks at all places of a GPU: new instances get a key and threads of their own, gone ones count as lost.
pub fn refresh(caller: &mut Caller, fleet: &Arc<Fleet>, parent: &Arc<Card>, handle: &Handle) -> Result<(), Fault> {
    parent.instances_read(caller.now());
    // Some GPUs are cut without a reset, so that nothing else tells of it (Hopper).
    facts::read_mig(caller, handle, parent);
    let found = if parent.mig.load(Ordering::Acquire) { discover(caller, handle)? } else { Vec::new() };
    let now = caller.now();
    let known: Vec<Instance> = lock(&parent.instances).clone();
    let mut present = Vec::with_capacity(found.len());
    for (device, id, number) in found.into_iter().filter(|(_, id, _)| fleet.shows(id, &parent.facts().id)) {
        let card = match known.iter().find(|instance| instance.id == id) {
            Some(instance) => {
                if instance.card.handle().is_none() {
                    instance.card.take_handle(device);
                }
                Arc::clone(&instance.card)
            }
            None => adopt(caller, fleet, parent, &device, &id),
        };
        present.push(Instance { card, number, id });
    }
    let gone: Vec<&Instance> = known.iter().filter(|known| present.iter().all(|instance| instance.id != known.id)).collect();
    for gone in gone {
        // Its own threads see that too, unless the driver still answers for the old handle.
        if let Some(handle) = gone.card.handle() {
            gone.card.fail(&handle, Fault { call: Call::MigHandle, code: sys::nvmlReturn_enum_NVML_ERROR_GPU_NOT_FOUND }, now);
        }
        // It may come back: its key and its history stay its own.
        present.push(Instance { number: (u32::MAX, u32::MAX), ..gone.clone() });
    }
    *lock(&parent.instances) = present;
    Ok(())
}

/// What is found at a place: handle, UUID, GPU instance and compute instance.
type Found = (Handle, DeviceId, (u32, u32));

/// The instances there are.
pub fn discover(caller: &mut Caller, handle: &Handle) -> Result<Vec<Found>, Fault> {
    // The count is that of places, not of instances.
    let places = caller.call(Call::MigCount as u8, || handle.mig_device_count()).map_err(Fault::of(Call::MigCount))?;
    let mut found = Vec::new();
    for place in 0..places.min(64) {
        let instance = match caller.call(Call::MigHandle as u8, || handle.mig_device_by_index(place)) {
            Ok(instance) => Arc::new(instance),
            Err(error) => {
                let fault = Fault::of(Call::MigHandle)(error);
                if fault.is_lost() {
                    return Err(fault);
                }
                continue;
            }
        };
        let Ok(id) = facts::uuid(caller, &instance) else { continue };
        let mut part = |call: Call, part| caller.call(call as u8, || raw::instance_id(&instance, part)).unwrap_or(u32::MAX);
        let number = (part(Call::GpuInstanceId, InstancePart::Gpu), part(Call::ComputeInstanceId, InstancePart::Compute));
        found.push((instance, id, number));
    }
    Ok(found)
}

fn adopt(caller: &mut Caller, fleet: &Arc<Fleet>, parent: &Arc<Card>, handle: &Handle, id: &DeviceId) -> Arc<Card> {
    let of = parent.facts();
    let card = Arc::new(Card::new(
        fleet.studio.clone(),
        Device {
            gpu: fleet.next_key(),
            id: id.clone(),
            index: None,
            pci: of.pci.clone(),
            name: Err(Missing::Pending),
            memory: MemoryKind::Dedicated,
            total: Err(Missing::Pending),
            parent: Some(of.id.clone()),
        },
    ));
    card.take_handle(Arc::clone(handle));
    if let Some(minor) = parent.minor() {
        card.set_minor(minor);
    }
    let facts = facts::read(caller, handle, &card).unwrap_or_else(|_| (*card.facts()).clone());
    card.bind(facts);
    fleet.start_memory(&card);
    fleet.start_processes(&card);
    card
}
