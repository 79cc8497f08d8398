//! Where things are: the cards of a scenario and their MIG instances, with all that the file leaves open derived.

use std::sync::Arc;

use super::file::{Card, Instance, Manager};
use super::hash::mix;
use super::track::Track;
use super::values::Time;
use crate::domain::text::clean;
use crate::domain::{Bytes, Device, DeviceId, Gpu, MemoryKind, Missing};

/// A card or a MIG instance.
#[derive(Clone, Debug)]
pub struct Place {
    /// Its facts as the stream has them.
    pub device: Arc<Device>,
    /// The card it is or is part of, by its number in the file.
    pub card: u32,
    /// Kept by the driver.
    pub reserved: Bytes,
    /// All its memory, whether or not the driver tells.
    pub size: Bytes,
    /// Of a MIG instance: GPU instance, compute instance.
    pub instance: Option<(u32, u32)>,
    /// Used beside what processes hold.
    pub(super) overhead: u64,
    /// From when to when it exists.
    pub(super) life: (u64, u64),
    /// Of a card: its instances.
    pub(super) instances: Vec<usize>,
    pub(super) held: Vec<Holding>,
    pub(super) temperature: [f32; 2],
    pub(super) power: [f32; 2],
}

/// What a process holds in a place.
#[derive(Clone, Debug)]
pub(super) struct Holding {
    pub actor: usize,
    pub track: Track,
}

/// Finds the place that a process names.
pub(super) fn find(places: &[Place], card: u32, instance: Option<&str>, cards: &[Card]) -> Result<usize, String> {
    let here = places.get(card as usize).ok_or_else(|| format!("there is no device {card}"))?;
    let Some(id) = instance else {
        return if here.instances.is_empty() {
            Ok(card as usize)
        } else {
            Err(format!("device {card} is split; expected `instance` with the id of one of its MIG instances"))
        };
    };
    let ids = cards.iter().flat_map(|card| &card.mig).map(|instance| instance.get_ref().id.as_str());
    let first = places.iter().position(|place| place.instance.is_some()).unwrap_or(places.len());
    let found = ids.zip(first..).find(|(name, _)| *name == id).map(|(_, n)| n);
    found
        .filter(|n| here.instances.contains(n))
        .ok_or_else(|| format!("device {card} has no MIG instance `{}`; expected one of its ids", clean(id, 40)))
}

/// Cards by number, then the instances of all in the file's order.
pub(super) fn lay_out(entries: &[Card], seed: u64) -> (Vec<Place>, u32) {
    let mut places = Vec::new();
    let mut owners = Vec::new();
    for entry in entries {
        for _ in 0..entry.copies {
            let number = places.len() as u32;
            owners.extend(entry.mig.iter().map(|instance| (number, instance.get_ref())));
            places.push(card(entry, number, seed));
        }
    }
    let cards = places.len() as u32;
    for (parent, instance) in owners {
        let number = places.len();
        let (uuid, heat, pci) = {
            let card = &mut places[parent as usize];
            card.instances.push(number);
            (card.device.id.clone(), (card.temperature, card.power), card.device.pci.clone())
        };
        let device = Device {
            gpu: Gpu(number as u32),
            id: DeviceId(uuid_of("MIG-", mix(seed, 0x4d49_4700 + number as u64)).into()),
            index: None,
            pci,
            name: Ok(clean(&instance.profile, 64).into()),
            memory: MemoryKind::Dedicated,
            total: Ok(instance.total.0),
            parent: Some(uuid),
        };
        places.push(Place {
            device: Arc::new(device),
            card: parent,
            reserved: instance.reserved.0,
            size: instance.total.0,
            instance: Some((instance.gi, instance.ci)),
            overhead: instance.overhead.0.0,
            life: life(instance),
            instances: Vec::new(),
            held: Vec::new(),
            temperature: heat.0,
            power: heat.1,
        });
    }
    (places, cards)
}

fn life(instance: &Instance) -> (u64, u64) {
    (instance.from.us(), instance.until.map_or(u64::MAX, Time::us))
}

fn card(entry: &Card, number: u32, seed: u64) -> Place {
    // Bus numbers as on an eight-card board.
    const BUSES: [u32; 8] = [0x1b, 0x43, 0x52, 0x61, 0x9d, 0xc3, 0xd1, 0xdf];
    let bus = BUSES.get(number as usize).copied().unwrap_or(0x10 + number % 0xf0);
    let (domain, bus) = if number < 8 { (0, bus) } else { (1 + number / 8, bus) };
    let unified = entry.memory == Manager::Unified;
    let alone = entry.copies == 1;
    let uuid = entry
        .uuid
        .as_deref()
        .filter(|_| alone)
        .map_or_else(|| uuid_of("GPU-", mix(seed, u64::from(number))), |uuid| clean(uuid, 80));
    let pci = entry.pci.as_deref().filter(|_| alone).map_or_else(|| format!("{domain:04x}:{bus:02x}:00.0"), |pci| clean(pci, 31));
    let device = Device {
        gpu: Gpu(number),
        id: DeviceId(uuid.into()),
        index: Some(number),
        pci: Ok(pci.into()),
        name: Ok(clean(&entry.name, 90).into()),
        memory: match entry.memory {
            Manager::Dedicated => MemoryKind::Dedicated,
            Manager::Unified => MemoryKind::Unified,
            Manager::Numa => MemoryKind::Numa,
        },
        total: if unified { Err(Missing::Unsupported("memory is shared with the host".into())) } else { Ok(entry.total.0) },
        parent: None,
    };
    Place {
        device: Arc::new(device),
        card: number,
        reserved: entry.reserved.0,
        size: entry.total.0,
        instance: None,
        overhead: entry.overhead.0.0,
        life: (0, u64::MAX),
        instances: Vec::new(),
        held: Vec::new(),
        temperature: entry.temperature.map(|number| number.0),
        power: entry.power.map(|number| number.0),
    }
}

/// A UUID in the driver's form.
fn uuid_of(prefix: &str, seed: u64) -> String {
    let (a, b) = (mix(seed, 1), mix(seed, 2));
    let (c, d) = ((a >> 16) & 0xffff, a & 0xffff);
    format!("{prefix}{:08x}-{c:04x}-{d:04x}-{:04x}-{:012x}", a >> 32, b >> 48, b & 0xffff_ffff_ffff)
}
