//! The pure fold over the sample stream: same samples in, same snapshot out.

use super::{Sample, Snapshot};

/// Folds samples into a [`Snapshot`].
#[derive(Debug, Default)]
pub struct Monitor {
    snapshot: Snapshot,
}

impl Monitor {
    /// Nothing known yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes one sample; they come in order of time.
    pub fn ingest(&mut self, sample: &Sample) {
        self.snapshot.at = self.snapshot.at.max(sample.t);
    }

    /// The picture so far; cheap.
    pub fn snapshot(&self) -> Snapshot {
        self.snapshot.clone()
    }
}
