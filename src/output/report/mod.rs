//! What a recording says as a whole: a fold over its records, and the documents made of it.
//!
//! The analysis is that of the dashboard, made anew from the samples: what is said at a time depends on the records up to then
//! alone. [`Basis::Recorded`] shows what was said when it was recorded instead.

mod device;
mod fold;
mod holder;
pub mod json;

use std::sync::Arc;

use crate::domain::{Device, DeviceId, Finding, Risk};
use crate::timeline::{Problem, Reader};

pub use device::DeviceRow;
pub use holder::HolderRow;

/// Whose findings and risks are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// Those of this program, from the samples.
    Samples,
    /// Those that are stored in the file.
    Recorded,
}

/// A recording has nothing to report of.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name} has no usable memory figure: {why}")]
pub struct Unusable {
    /// The file.
    pub name: String,
    /// What it lacks.
    pub why: String,
}

/// A recording as a whole.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Some of it comes from a simulation.
    pub simulated: bool,
    /// In the order in which they appeared.
    pub devices: Vec<DeviceRow>,
    /// By device, the largest first.
    pub holders: Vec<HolderRow>,
    /// As they were said: one with the number of an earlier one renews it.
    pub findings: Vec<Arc<Finding>>,
    /// As they were said.
    pub risks: Vec<Arc<Risk>>,
    /// What was wrong with the file.
    pub problems: Vec<Problem>,
}

impl Report {
    /// Reads a recording to its end.
    ///
    /// # Errors
    /// There is no memory figure in it, neither of a device nor of a holder.
    pub fn of(reader: &mut Reader, basis: Basis) -> Result<Self, Unusable> {
        fold::fold(reader, basis)
    }

    /// Leaves out all but these devices and what is about them.
    pub fn keep(&mut self, wanted: impl Fn(&Device) -> bool) {
        self.devices.retain(|row| wanted(&row.device));
        let device = |id: &DeviceId| self.devices.iter().any(|row| row.device.id == *id);
        let gpu = |gpu| self.devices.iter().any(|row| row.device.gpu == gpu);
        self.holders.retain(|holder| device(&holder.device));
        self.findings.retain(|finding| gpu(finding.gpu));
        self.risks.retain(|risk| gpu(risk.gpu));
    }
}
