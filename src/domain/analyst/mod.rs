//! The analyst: a pure fold over the sample stream that says what it sees, and how close each device is to running out.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Anatomy, DeviceState, Finding, Gpu, Pid, Risk, RiskLevel, Sample, SampleBody, Shape};

/// Something to be said from a sample.
#[derive(Clone, Debug, PartialEq)]
pub enum Said {
    /// A finding, new or renewed; its advice is empty.
    Finding(Arc<Finding>),
    /// The risk of a device or a job from now on.
    Risk(Arc<Risk>),
}

/// Folds samples into findings, risk, shapes and anatomy. What is said at a time depends on the samples up to it alone.
#[derive(Debug, Default)]
pub struct Analyst {
    risks: BTreeMap<Gpu, Arc<Risk>>,
    jobs: BTreeMap<Pid, Arc<Risk>>,
}

impl Analyst {
    /// Nothing known yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes one sample, and pushes what is to be said from it.
    pub fn observe(&mut self, sample: &Sample, said: &mut Vec<Said>) {
        let _ = said;
        match &sample.body {
            SampleBody::Memory { gpu, figures: Ok(figures) } => {
                let risk = Risk {
                    t: sample.t,
                    gpu: *gpu,
                    level: RiskLevel::Ok,
                    full_in: None,
                    job: None,
                    headroom: Some(figures.free),
                    request: None,
                    reason: Arc::from(""),
                };
                self.risks.insert(*gpu, Arc::new(risk));
            }
            SampleBody::State { gpu: Some(gpu), state: DeviceState::Lost, .. } => {
                self.risks.remove(gpu);
            }
            _ => {}
        }
    }

    /// The risk of a device or MIG instance now, at most a second old; none while nothing is known of it.
    pub fn risk(&self, gpu: Gpu) -> Option<&Arc<Risk>> {
        self.risks.get(&gpu)
    }

    /// The risk of each job on its tightest device.
    pub fn job_risks(&self) -> impl Iterator<Item = &Arc<Risk>> {
        self.jobs.values()
    }

    /// The one word for a device's series so far.
    pub fn shape(&self, gpu: Gpu) -> Shape {
        let _ = gpu;
        Shape::Unknown
    }

    /// The one word for a holder's series on a device so far.
    pub fn holder_shape(&self, gpu: Gpu, pid: Pid) -> Shape {
        let _ = (gpu, pid);
        Shape::Unknown
    }

    /// Where the memory of a process on a device goes, as far as its phases were seen.
    pub fn anatomy(&self, gpu: Gpu, pid: Pid) -> Option<Anatomy> {
        let _ = (gpu, pid);
        None
    }
}
