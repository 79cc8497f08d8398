//! Which devices the user means: by index, UUID or the beginning of one.

use std::sync::Arc;

use nvml_wrapper::Nvml;

use super::calls::Call;
use super::{facts, mig};
use crate::domain::cuda::{Unit, Visible};
use crate::domain::text;
use crate::sampler::Caller;
use crate::source::selection::Seen;
use crate::source::{SourceError, SourceErrorKind};

/// The indices of the devices named; all where none is. Devices are attached to only where a UUID must be compared.
pub fn indices(caller: &mut Caller, nvml: &'static Nvml, count: u32, names: &[String]) -> Result<Vec<u32>, SourceError> {
    if names.is_empty() {
        return Ok((0..count).collect());
    }
    let mut uuids: Option<Vec<(u32, String)>> = None;
    let mut chosen = Vec::new();
    for name in names {
        let name = name.trim();
        if let Ok(index) = name.parse::<u32>() {
            if index >= count {
                return Err(unknown(name, &format!("the devices are {}", range(count))));
            }
            chosen.push(index);
            continue;
        }
        let uuids = uuids.get_or_insert_with(|| read_uuids(caller, nvml, count));
        chosen.push(by_uuid(uuids, name, count)?);
    }
    chosen.sort_unstable();
    chosen.dedup();
    Ok(chosen)
}

/// Of the indices those that CUDA is shown, and which instances it is shown; all where nothing is said. Devices are attached to
/// only where something is.
pub fn visible(
    caller: &mut Caller,
    nvml: &'static Nvml,
    count: u32,
    mut indices: Vec<u32>,
    visible: Option<&Visible>,
) -> Result<(Vec<u32>, Seen), SourceError> {
    let units = if visible.is_some() { read_units(caller, nvml, count) } else { Vec::new() };
    let seen = Seen::new(visible, &units)?;
    if visible.is_some() {
        indices.retain(|index| units.iter().any(|unit| unit.index == *index && seen.has_gpu(unit)));
    }
    if indices.is_empty() {
        return Err(Seen::none_left());
    }
    Ok((indices, seen))
}

/// All devices as CUDA sees them.
fn read_units(caller: &mut Caller, nvml: &'static Nvml, count: u32) -> Vec<Unit> {
    let mut units = Vec::new();
    for index in 0..count {
        let Ok(device) = caller.call(Call::HandleByIndex as u8, || nvml.device_by_index(index)) else { continue };
        let Ok(id) = facts::uuid(caller, &device) else { continue };
        let model = caller.call(Call::Name as u8, || device.name()).ok();
        let found = mig::discover(caller, &Arc::new(device)).unwrap_or_default();
        units.push(Unit {
            id,
            index,
            model: model.map(|model| text::clean(&model, 96).into()),
            instances: found.into_iter().map(|(_, id, numbers)| (id, Some(numbers))).collect(),
        });
    }
    units
}

/// UUIDs of all devices; with those of their MIG instances, which stand for their GPU.
fn read_uuids(caller: &mut Caller, nvml: &'static Nvml, count: u32) -> Vec<(u32, String)> {
    let mut uuids = Vec::new();
    for index in 0..count {
        let Ok(device) = caller.call(Call::HandleByIndex as u8, || nvml.device_by_index(index)) else { continue };
        if let Ok(uuid) = caller.call(Call::Uuid as u8, || device.uuid()) {
            uuids.push((index, uuid));
        }
        let places = caller.call(Call::MigCount as u8, || device.mig_device_count()).unwrap_or(0);
        for place in 0..places.min(64) {
            let Ok(instance) = caller.call(Call::MigHandle as u8, || device.mig_device_by_index(place)) else { continue };
            if let Ok(uuid) = caller.call(Call::Uuid as u8, || instance.uuid()) {
                uuids.push((index, uuid));
            }
        }
    }
    uuids
}

fn by_uuid(uuids: &[(u32, String)], name: &str, count: u32) -> Result<u32, SourceError> {
    // `strip_prefix` alone would let an empty name mean anything.
    let mut found: Vec<u32> =
        uuids.iter().filter(|(_, uuid)| !name.is_empty() && uuid.starts_with(name)).map(|(index, _)| *index).collect();
    found.dedup();
    match found.as_slice() {
        [index] => Ok(*index),
        [] => Err(unknown(name, &format!("no UUID begins like that; the devices are {}", range(count)))),
        several => Err(unknown(name, &format!("that is the beginning of {} UUIDs", several.len()))),
    }
}

fn range(count: u32) -> String {
    if count == 1 { "0 alone".into() } else { format!("0 to {}", count.saturating_sub(1)) }
}

fn unknown(name: &str, why: &str) -> SourceError {
    SourceError {
        kind: SourceErrorKind::Setting("gpus"),
        what: format!("unknown GPU `{}`", text::clean(name, 60)),
        why: why.into(),
        fix: "Name indices or UUIDs as `nvidia-smi -L` lists them, joined by commas.".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uuid_is_named_by_its_beginning() {
        let uuids = vec![(0, "GPU-aaaa-1".to_string()), (1, "GPU-aabb-2".into()), (1, "MIG-cc".into()), (1, "MIG-cd".into())];
        assert_eq!(by_uuid(&uuids, "GPU-aab", 2), Ok(1));
        assert_eq!(by_uuid(&uuids, "MIG-c", 2), Ok(1), "both stand for their GPU");
        for (name, words) in [("GPU-a", "2 UUIDs"), ("GPU-x", "no UUID"), ("", "no UUID")] {
            let error = by_uuid(&uuids, name, 2).expect_err(name);
            assert_eq!(error.kind, SourceErrorKind::Setting("gpus"));
            assert!(error.to_string().contains(words) && error.to_string().contains(name), "{error}");
        }
    }
}
