//! One process on one device over a whole recording.

use std::sync::Arc;

use crate::domain::{Anatomy, Bytes, Device, DeviceId, Gpu, Pid, Process, ProcessKey, Relation, Shape, Timestamp};

/// A process on a device over the whole recording.
#[derive(Clone, Debug)]
pub struct HolderRow {
    /// The key of its device.
    pub gpu: Gpu,
    /// Its identity: a key may be bound anew.
    pub device: DeviceId,
    /// pid and start.
    pub key: ProcessKey,
    /// Who it is; none where nothing is known but the pid.
    pub process: Option<Arc<Process>>,
    /// The one word for its series.
    pub shape: Shape,
    /// Where its memory goes.
    pub anatomy: Anatomy,
    /// The most it held.
    pub peak: Option<Bytes>,
    /// The first list that names it.
    pub first: Timestamp,
    /// The last one.
    pub last: Timestamp,
    /// The first and the last known size.
    sizes: Option<(Bytes, Bytes)>,
}

impl HolderRow {
    /// A holder that a list names for the first time.
    pub fn new(device: &Device, key: ProcessKey, t: Timestamp) -> Self {
        let (process, shape, anatomy) = (None, Shape::Unknown, Anatomy::default());
        Self {
            gpu: device.gpu,
            device: device.id.clone(),
            key,
            process,
            shape,
            anatomy,
            peak: None,
            first: t,
            last: t,
            sizes: None,
        }
    }

    /// The pid.
    pub fn pid(&self) -> Pid {
        self.key.pid
    }

    /// Whose it is.
    pub fn relation(&self) -> Relation {
        self.process.as_ref().map_or(Relation::Unknown, |process| process.relation)
    }

    /// What it holds in the end more than in the beginning, in bytes; negative where it is less.
    pub fn grew(&self) -> Option<i64> {
        let (first, last) = self.sizes?;
        i64::try_from(i128::from(last.0) - i128::from(first.0)).ok()
    }

    /// A list names it.
    pub fn listed(&mut self, t: Timestamp, used: Option<Bytes>) {
        self.last = self.last.max(t);
        let Some(used) = used else { return };
        self.peak = self.peak.max(Some(used));
        self.sizes = Some((self.sizes.map_or(used, |(first, _)| first), used));
    }
}
