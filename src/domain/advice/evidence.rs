//! What tips read from the evidence of findings, in one place: the names that detectors use, and figures made of several.

use std::fmt;

use super::Case;
use crate::domain::{Bytes, FindingKind, Relation};

/// What was left at the peak.
pub const HEADROOM: &[&str] = &["headroom", "spare"];
/// What a newcomer or a pool holds, and what was left behind.
pub const SIZE: &[&str] = &["size"];

/// Growth that does not end: what it has taken, and what it will have taken when the card is full.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Leak {
    /// Bytes that it has taken since it was seen to begin.
    pub grown: Bytes,
    /// Bytes that it will have taken when the card is full; `grown` where the headroom is not known.
    pub at_full: Bytes,
    /// Bytes per second.
    pub rate: Option<f64>,
}

impl Leak {
    /// The leak that a finding is of.
    pub fn of(case: &Case) -> Option<Self> {
        if !case.is(&[FindingKind::LeakStep, FindingKind::LeakEpoch]) {
            return None;
        }
        let grown = case.bytes(&["grown"])?;
        // What is over takes no more.
        let room = case.bytes(HEADROOM).or(case.facts.headroom).filter(|_| case.finding.to.is_none());
        let at_full = grown.saturating_add(room.unwrap_or_default());
        Some(Self { grown, at_full, rate: case.rate("rate").filter(|rate| *rate > 0.0) })
    }

    /// What its end gives back, now and when the card would be full.
    pub fn range(&self) -> String {
        if self.grown == self.at_full {
            format!("{}", self.grown)
        } else {
            format!("{} now, {} by the time the card is full", self.grown, self.at_full)
        }
    }
}

impl fmt::Display for Leak {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "it has grown by {}", self.grown)?;
        match self.rate {
            Some(rate) => write!(f, ", {} a minute", Bytes((rate * 60.0) as u64)),
            None => Ok(()),
        }
    }
}

/// Optimizer states: the step that a finding is of, or those of a process that ran out of memory by its anatomy. A step on a card
/// with room is no trouble.
pub fn states(case: &Case) -> Option<Bytes> {
    match case.finding.kind {
        FindingKind::OptimizerStep if case.tight() => case.bytes(&["rise"]),
        FindingKind::Oom | FindingKind::ProbableOom => case.anatomy().optimizer,
        // A step whose size does not help any more: the states are what is left to shrink.
        FindingKind::Spike | FindingKind::Sawtooth if case.states_fill() => case.anatomy().optimizer,
        _ => None,
    }
}

/// By how much irregular highs of a training process of mine have raised its level, where that matters.
pub fn highs(case: &Case) -> Option<Bytes> {
    case.trainer().filter(|_| case.is(&[FindingKind::Staircase]))?;
    case.bytes(&["grown"]).filter(|grown| case.matters(*grown))
}

/// By how much an evaluation of mine raised the level, where that matters.
pub fn evaluation(case: &Case) -> Option<Bytes> {
    case.trainer().filter(|_| case.is(&[FindingKind::EvalJump]))?;
    case.bytes(&["rise"]).filter(|rise| case.matters(*rise))
}

/// What a pool of mine holds while someone else on the card needs room; none where nobody does.
pub fn pool_in_the_way(case: &Case) -> Option<Bytes> {
    let process = case.own().filter(|_| case.is(&[FindingKind::Preallocated]) && case.tight())?;
    // Displays and daemons are no newcomers.
    let waits = case.facts.others.iter().any(|other| !other.kin && other.relation != Relation::System);
    case.bytes(SIZE).or(process.used).filter(|_| waits)
}

/// What piled-up contexts of mine hold, and how many they are.
pub fn pile(case: &Case) -> Option<(Bytes, u64)> {
    let name = match case.finding.kind {
        FindingKind::ContextPileup => "contexts",
        FindingKind::Rank0Pileup => "ranks",
        _ => return None,
    };
    let count = case.count(name).filter(|count| *count > 0)?;
    // No process is named where several are meant: so many of mine have to be there.
    let mine = case.own().is_some() || case.mine().count() as u64 >= count;
    let held = case.bytes(&["total"]).filter(|_| mine)?;
    Some((held, count))
}
