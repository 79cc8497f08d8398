//! A finding in its situation, with the questions that tips ask of it.

use super::{Facts, HEADROOM, Party};
use crate::domain::{Anatomy, Bytes, Finding, FindingKind, Framework, Quantity, Relation, RiskLevel, Role};

/// A finding and what is known around it.
#[derive(Clone, Copy, Debug)]
pub struct Case<'a> {
    /// What was seen.
    pub finding: &'a Finding,
    /// Where.
    pub facts: &'a Facts,
}

/// What a tip proposes: the bytes it should save, from and to, and the evidence in one sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposal {
    /// None where that can't be told from what was measured.
    pub saves: Option<(Bytes, Bytes)>,
    /// The evidence and the saving.
    pub why: String,
}

/// What comes and goes with every step, and where that was seen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Swing {
    /// How much.
    pub bytes: Bytes,
    /// The share of it that is surely what a step computes: a periodic swing is, a single spike may be something else.
    pub sure: f64,
    /// What it does, before the bytes: "its steps swing".
    pub words: &'static str,
    /// What has to hold for the saving: "if a step does that, ", or nothing.
    pub given: &'static str,
}

/// Less is noise: allocators take memory in blocks of 2 and 20 MiB.
const LEAST: Bytes = Bytes::mib(64);
/// From this share of a card on, weights and states fill it: what a step adds is no longer what has to shrink.
const FILLED: f64 = 0.7;
/// A card is tight when less than this share of it is left.
const TIGHT: f64 = 0.1;
/// Less than this share of a card is not worth a change while it is not tight.
const WORTH: f64 = 0.02;

impl Proposal {
    /// With a range of bytes; none if that would be noise.
    pub fn saving(from: Bytes, to: Bytes, why: String) -> Option<Self> {
        (to >= LEAST).then_some(Self { saves: Some((from.min(to), to)), why })
    }

    /// Without bytes.
    pub fn unmeasured(why: String) -> Self {
        Self { saves: None, why }
    }

    /// The middle of the range.
    pub fn middle(&self) -> Option<u64> {
        self.saves.map(|(from, to)| from.0 / 2 + to.0 / 2)
    }
}

impl Swing {
    /// Seen to come and go with every step.
    fn of_steps(bytes: Bytes) -> Self {
        Self { bytes, sure: 0.8, words: "its steps swing", given: "" }
    }
}

/// A range of sizes in words: "9.65 to 10.7 GiB", "about 10.7 GiB" where both ends read nearly alike, "up to 3.20 GiB" from nothing.
pub fn range(from: Bytes, to: Bytes) -> String {
    if from == Bytes::ZERO {
        return format!("up to {to}");
    }
    let (low, high) = (from.to_string(), to.to_string());
    if to.0 - from.0.min(to.0) <= to.0 / 50 {
        return format!("about {high}");
    }
    match (low.split_once(' '), high.split_once(' ')) {
        (Some((number, unit)), Some((_, other))) if unit == other => format!("{number} to {high}"),
        _ => format!("{low} to {high}"),
    }
}

/// A share of a size.
pub fn share(bytes: Bytes, of: f64) -> Bytes {
    Bytes((bytes.0 as f64 * of) as u64)
}

impl<'a> Case<'a> {
    /// Whether the finding is one of these.
    pub fn is(&self, kinds: &[FindingKind]) -> bool {
        kinds.contains(&self.finding.kind)
    }

    /// The first of these sizes that the evidence has.
    pub fn bytes(&self, names: &[&str]) -> Option<Bytes> {
        names.iter().find_map(|name| self.finding.bytes(name))
    }

    /// A number of things in the evidence.
    pub fn count(&self, name: &str) -> Option<u64> {
        match self.finding.figure(name)? {
            Quantity::Count(count) => Some(*count),
            _ => None,
        }
    }

    /// A rate of the evidence in bytes per second.
    pub fn rate(&self, name: &str) -> Option<f64> {
        match self.finding.figure(name)? {
            Quantity::Rate(rate) if rate.is_finite() => Some(*rate),
            _ => None,
        }
    }

    /// The process that the finding names, if it is mine to change.
    pub fn own(&self) -> Option<&'a Party> {
        self.facts.process.as_ref().filter(|process| process.is_own())
    }

    /// The process that the finding names, if it is someone else's, of a known owner.
    pub fn foreign(&self) -> Option<&'a Party> {
        self.facts.process.as_ref().filter(|process| process.relation == Relation::Foreign)
    }

    /// Processes of mine on the device, the named one included.
    pub fn mine(&self) -> impl Iterator<Item = &'a Party> {
        self.facts.process.iter().chain(&self.facts.others).filter(|party| party.is_own())
    }

    /// The named process, if it is mine and may train: engines that serve don't.
    pub fn trainer(&self) -> Option<&'a Party> {
        self.own().filter(|process| process.workload.role != Role::Serving)
    }

    /// The named process, if it is mine and serves.
    pub fn server(&self) -> Option<&'a Party> {
        self.own().filter(|process| process.workload.role == Role::Serving)
    }

    /// What the named process uses, as far as its command or the finding tells.
    pub fn framework(&self) -> Option<Framework> {
        let told = || match self.finding.figure("program")? {
            Quantity::Text(name) => name.parse().ok(),
            _ => None,
        };
        self.facts.process.as_ref()?.workload.framework.or_else(told)
    }

    /// Whether the named process may use this framework: it is known to, or nothing is known of it.
    pub fn may_be(&self, framework: Framework) -> bool {
        self.framework().is_none_or(|known| known == framework)
    }

    /// Whether the named process is known to use this framework.
    pub fn uses(&self, framework: Framework) -> bool {
        self.framework() == Some(framework)
    }

    /// "If this runs PyTorch, " where the command does not tell.
    pub fn if_pytorch(&self) -> &'static str {
        if self.uses(Framework::PyTorch) { "" } else { "if it runs PyTorch, " }
    }

    /// The estimate of where the memory goes, or one in which nothing is known.
    pub fn anatomy(&self) -> Anatomy {
        self.facts.anatomy.unwrap_or_default()
    }

    /// What is left on the device: at the peak, where the evidence tells, or now, whichever is less.
    pub fn headroom(&self) -> Option<Bytes> {
        [self.bytes(HEADROOM), self.facts.headroom].into_iter().flatten().min()
    }

    /// Whether little is left on the device.
    pub fn tight(&self) -> bool {
        let scarce = |(headroom, total): (Bytes, Bytes)| (headroom.0 as f64) < total.0 as f64 * TIGHT;
        self.facts.risk.is_some_and(|risk| risk >= RiskLevel::Watch) || self.headroom().zip(self.facts.total).is_some_and(scarce)
    }

    /// Whether an allocation of the usual size fails soon: an engine that has the card to itself leaves little on purpose, and is
    /// not in need for that.
    pub fn squeezed(&self) -> bool {
        self.facts.risk.is_some_and(RiskLevel::is_alarm) || self.headroom().is_some_and(|headroom| headroom < Bytes::gib(1))
    }

    /// Whether so many bytes are worth a change: little is left on the card, or they are a good part of it.
    pub fn matters(&self, bytes: Bytes) -> bool {
        self.tight() || self.facts.total.is_none_or(|total| bytes.0 as f64 >= total.0 as f64 * WORTH)
    }

    /// Weights, gradients and optimizer states, where all that is known of them includes the weights.
    pub fn states(&self) -> Option<Bytes> {
        let anatomy = self.anatomy();
        let weights = anatomy.weights?;
        Some([anatomy.gradients, anatomy.optimizer].into_iter().flatten().fold(weights, Bytes::saturating_add))
    }

    /// Whether weights and states fill the card, so that a smaller step is no help.
    pub fn states_fill(&self) -> bool {
        self.states().zip(self.facts.total).is_some_and(|(states, total)| states.0 as f64 >= total.0 as f64 * FILLED)
    }

    /// What a step of the named training process adds and gives back, by the finding or by the anatomy; none where the finding
    /// is of another thing, or where states fill the card.
    pub fn swing(&self) -> Option<Swing> {
        self.trainer()?;
        if self.states_fill() {
            return None;
        }
        let of_anatomy = || self.anatomy().swing.map(Swing::of_steps);
        match self.finding.kind {
            FindingKind::Sawtooth if self.tight() => of_anatomy().or_else(|| self.bytes(&["amplitude"]).map(Swing::of_steps)),
            FindingKind::Spike => {
                let height = self.bytes(&["height"]).filter(|height| self.computes() && self.matters(*height))?;
                // Where its steps are seen, what rises above them is something else.
                let steps = self.bytes(&["swing"]).map(Swing::of_steps);
                Some(steps.unwrap_or(Swing { bytes: height, sure: 0.5, words: "it spikes by", given: "if a step does that, " }))
            }
            // Where growth made it fail, a smaller step would only have put that off.
            FindingKind::Oom | FindingKind::ProbableOom if self.facts.cause.is_none() => of_anatomy(),
            _ => None,
        }
        .filter(|swing| swing.bytes >= LEAST)
    }

    /// Whether nothing speaks against the GPU computing.
    pub fn computes(&self) -> bool {
        self.facts.busy != Some(false)
    }

    /// How a party is called: "pid 4242 of user2".
    pub fn name(party: &Party) -> String {
        party.user.as_ref().map_or_else(|| format!("pid {}", party.pid), |user| format!("pid {} of {user}", party.pid))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_read_well() {
        for (from, to, words) in [
            (Bytes::gib(8), Bytes::gib(10), "8.00 to 10.0 GiB"),
            (Bytes::mib(500), Bytes::gib(2), "500 MiB to 2.00 GiB"),
            (Bytes::gib(10), Bytes::gib(10), "about 10.0 GiB"),
            (Bytes::ZERO, Bytes::gib(3), "up to 3.00 GiB"),
        ] {
            assert_eq!(range(from, to), words);
        }
    }
}
