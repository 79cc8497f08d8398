//! What is seen: one detector a file, each for one kind of finding, listed in [`DETECTORS`].
//!
//! A detector looks at a device about once a second, at what the analyst keeps of its series: whatever came and went in
//! between is in there. It says a finding once, renews it when it has doubled, and once more when it is over. The names of
//! its evidence are told at the top of its file; advice and readers of files rest on them.

mod churn;
mod context_pileup;
mod context_start;
mod eval_jump;
mod fast_swing;
mod foreign_arrival;
mod graph_capture;
mod imbalance;
mod leak_epoch;
mod leak_step;
mod loading;
mod lost;
mod optimizer_step;
mod orphan;
mod plateau;
mod preallocated;
mod probable_oom;
mod rank0_pileup;
mod release;
mod saturating;
mod sawtooth;
mod scene;
mod spike;
mod staircase;
mod stall;
mod unattributed;
mod warmup;

use std::fmt;

use super::FindingKind;
pub(crate) use preallocated::pool_program;
pub(crate) use scene::{Draft, Open, Say, Scene, evidence};

/// Sees one kind of finding on one device.
pub(crate) trait Detector: fmt::Debug + Send + Sync {
    /// Looks, after about a second or a change of the device's state.
    fn look(&mut self, scene: &Scene<'_>, say: &mut Say<'_>);
}

/// A detector as it is listed.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// What it sees; its id.
    pub kind: FindingKind,
    /// A line for people.
    pub title: &'static str,
    /// What it concludes from.
    pub rests_on: &'static str,
    make: fn() -> Box<dyn Detector>,
}

impl Entry {
    /// A detector for one device.
    pub(crate) fn make(&self) -> Box<dyn Detector> {
        (self.make)()
    }
}

/// All detectors, in the order in which they look.
pub static DETECTORS: &[Entry] = &[
    stall::ENTRY,
    lost::ENTRY,
    probable_oom::ENTRY,
    release::ENTRY,
    foreign_arrival::ENTRY,
    context_start::ENTRY,
    loading::ENTRY,
    preallocated::ENTRY,
    graph_capture::ENTRY,
    warmup::ENTRY,
    optimizer_step::ENTRY,
    eval_jump::ENTRY,
    spike::ENTRY,
    sawtooth::ENTRY,
    fast_swing::ENTRY,
    plateau::ENTRY,
    churn::ENTRY,
    leak_step::ENTRY,
    leak_epoch::ENTRY,
    saturating::ENTRY,
    staircase::ENTRY,
    orphan::ENTRY,
    unattributed::ENTRY,
    context_pileup::ENTRY,
    rank0_pileup::ENTRY,
    imbalance::ENTRY,
];
