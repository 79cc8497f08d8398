//! Where the memory of a process goes, as documents write it: parts that could not be separated are null.

use serde::Serialize;

use crate::domain::{Anatomy, Bytes};

/// The parts by name.
#[derive(Serialize)]
pub struct AnatomyEntry {
    context: Option<Bytes>,
    weights: Option<Bytes>,
    gradients: Option<Bytes>,
    optimizer: Option<Bytes>,
    swing: Option<Bytes>,
    cached: Option<Bytes>,
}

impl From<Anatomy> for AnatomyEntry {
    fn from(anatomy: Anatomy) -> Self {
        let Anatomy { context, weights, gradients, optimizer, swing, cached } = anatomy;
        Self { context, weights, gradients, optimizer, swing, cached }
    }
}
