//! Which devices the user wants: by index, or by UUID or its beginning. A GPU brings its MIG instances along.

use std::sync::Arc;

use super::{SourceError, SourceErrorKind};
use crate::domain::cuda::{Unit, Visible};
use crate::domain::text::clean;
use crate::domain::{Device, DeviceId, Gpu, SampleBody};

/// A choice of devices; an empty one takes all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    wanted: Vec<Arc<str>>,
}

/// The devices that CUDA sees: GPUs with all that they are cut into, or one instance with the GPU that it is part of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen(Option<Vec<DeviceId>>);

impl Seen {
    /// Of what is there; everything where `visible` is none.
    ///
    /// # Errors
    /// CUDA sees nothing, or what it sees can't be told; of the kind [`SourceErrorKind::Setting`].
    pub fn new(visible: Option<&Visible>, units: &[Unit]) -> Result<Self, SourceError> {
        let Some(visible) = visible else { return Ok(Self(None)) };
        visible.resolve(units, false).map(|ids| Self(Some(ids))).map_err(|blind| SourceError {
            kind: SourceErrorKind::Setting("visible"),
            what: "no choice of GPUs".to_owned(),
            why: blind.to_string(),
            fix: "Set CUDA_DEVICE_ORDER=PCI_BUS_ID, name UUIDs as `nvidia-smi -L` lists them, or leave --visible away."
                .to_owned(),
        })
    }

    /// The error where nothing is left of those that are named otherwise.
    pub fn none_left() -> SourceError {
        SourceError {
            kind: SourceErrorKind::Setting("visible"),
            what: "no GPU is left".to_owned(),
            why: "none of those that --gpus names is among those that CUDA_VISIBLE_DEVICES shows".to_owned(),
            fix: "Leave one of the two away.".to_owned(),
        }
    }

    /// Whether a GPU is shown: itself, or for one of its instances.
    pub fn has_gpu(&self, unit: &Unit) -> bool {
        self.0.as_ref().is_none_or(|ids| ids.contains(&unit.id) || unit.instances.iter().any(|(id, _)| ids.contains(id)))
    }

    /// Whether an instance is shown: itself, or with all of its GPU.
    pub fn has_instance(&self, id: &DeviceId, parent: &DeviceId) -> bool {
        self.0.as_ref().is_none_or(|ids| ids.contains(id) || ids.contains(parent))
    }
}

impl Selection {
    /// Those that are named.
    pub fn new(wanted: &[Arc<str>]) -> Self {
        Self { wanted: wanted.to_vec() }
    }

    /// Whether a device is wanted: itself, or the GPU that it is part of, whose index is then `index`.
    pub fn takes(&self, index: Option<u32>, id: &DeviceId, parent: Option<&DeviceId>) -> bool {
        self.wanted.is_empty()
            || self.wanted.iter().any(|name| fits(name, index, id) || parent.is_some_and(|id| fits(name, None, id)))
    }

    /// The error for the first name that no device has.
    ///
    /// # Errors
    /// Of the kind [`SourceErrorKind::Setting`].
    pub fn check<'a>(&self, devices: impl Iterator<Item = &'a Device> + Clone) -> Result<(), SourceError> {
        let unknown = self.wanted.iter().find(|name| !devices.clone().any(|device| fits(name, device.index, &device.id)));
        let Some(name) = unknown else { return Ok(()) };
        let known: Vec<String> = devices.filter_map(|device| device.index).map(|index| index.to_string()).collect();
        Err(SourceError {
            kind: SourceErrorKind::Setting("gpus"),
            what: format!("unknown GPU `{}`", clean(name, 60)),
            why: "there is none of this name".to_owned(),
            fix: format!("The GPUs here are {}; a UUID or its beginning does as well.", known.join(", ")),
        })
    }
}

fn fits(name: &str, index: Option<u32>, id: &DeviceId) -> bool {
    name.parse::<u32>().map_or_else(|_| id.0.starts_with(name), |number| Some(number) == index)
}

/// The device that a sample is about; none where it is about the whole.
pub fn gpu_of(body: &SampleBody) -> Option<Gpu> {
    use crate::domain::Health::{Dropped, Pace, Panicked, Problem};
    match body {
        SampleBody::Device(device) => Some(device.gpu),
        SampleBody::Memory { gpu, .. }
        | SampleBody::Holders { gpu, .. }
        | SampleBody::Gap { gpu, .. }
        | SampleBody::Health(Pace { gpu, .. }) => Some(*gpu),
        SampleBody::Usage(usage) => Some(usage.gpu),
        SampleBody::State { gpu, .. } | SampleBody::Health(Problem { gpu, .. }) => *gpu,
        SampleBody::Health(Dropped { .. } | Panicked { .. })
        | SampleBody::Header(_)
        | SampleBody::Process(_)
        | SampleBody::Handles { .. }
        | SampleBody::Host(_)
        | SampleBody::Mark(_)
        | SampleBody::Exit { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_taken_by_index_uuid_or_parent() {
        let (gpu, other) = (DeviceId("GPU-8f1c".into()), DeviceId("GPU-77".into()));
        let mig = DeviceId("MIG-1".into());
        for (wanted, takes) in
            [(&["1"][..], true), (&["GPU-8f"], true), (&["0"], false), (&["0", "GPU-77", "1"], true), (&[], true)]
        {
            let wanted: Vec<Arc<str>> = wanted.iter().map(|&name| name.into()).collect();
            assert_eq!(Selection::new(&wanted).takes(Some(1), &gpu, None), takes, "{wanted:?}");
        }
        let selection = Selection::new(&["GPU-77".into()]);
        assert!(selection.takes(None, &mig, Some(&other)) && !selection.takes(None, &mig, Some(&gpu)));
    }
}
