//! What was seen and what to do about it: findings, their evidence, and the advice that goes with them.

use std::borrow::Cow;
use std::sync::Arc;

use super::{Bytes, Gpu, Period, Pid, Timestamp};

/// What a detector saw; a closed list (DESIGN.md section 2). Written in `snake_case`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, strum::Display, strum::EnumString, strum::EnumIter)]
#[strum(serialize_all = "snake_case")]
pub enum FindingKind {
    /// A new CUDA context: some 250 to 560 MiB in one or two jumps.
    ContextStart,
    /// Weights being loaded.
    Loading,
    /// The first steps: activations, gradients, allocator warm-up.
    Warmup,
    /// Optimizer states made at the end of the first `step()`.
    OptimizerStep,
    /// A step up when an evaluation begins.
    EvalJump,
    /// Growth at a constant rate, step by step.
    LeakStep,
    /// Equal steps, one per epoch or evaluation.
    LeakEpoch,
    /// Record highs of irregular height at irregular times: variable lengths, fragmentation.
    Staircase,
    /// Up and back down within half a minute.
    Spike,
    /// Periodic allocation and release, floor and ceiling constant.
    Sawtooth,
    /// Flat for a while.
    Plateau,
    /// Most of the card taken in advance, then flat: a pool.
    Preallocated,
    /// Many small steps after a pool: CUDA graphs being captured.
    GraphCapture,
    /// A large part given back.
    Release,
    /// Rises and falls of minutes: models loaded and unloaded.
    Churn,
    /// A process of another user came.
    ForeignArrival,
    /// Bytes that stayed when their holder or its parent went.
    Orphan,
    /// Memory that no visible process holds, persistently, without such an event seen.
    Unattributed,
    /// Many equal bare contexts of one parent: workers that touched the GPU.
    ContextPileup,
    /// Ranks of a job that also hold a context on the first card.
    Rank0Pileup,
    /// The cards of one job are filled very differently.
    Imbalance,
    /// Growth that slows towards a ceiling.
    Saturating,
    /// It swings faster than it is sampled.
    FastSwing,
    /// The driver did not answer.
    Stall,
    /// The device was lost.
    Lost,
    /// An out-of-memory message was seen.
    Oom,
    /// An out-of-memory failure as seen from outside.
    ProbableOom,
}

/// How sure a statement is. Everything inferred is likely and shows its evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, strum::Display, strum::EnumString)]
#[strum(serialize_all = "lowercase")]
pub enum Certainty {
    /// The figures say so themselves.
    Fact,
    /// Inferred.
    Likely,
}

/// One figure of evidence.
#[derive(Clone, Debug, PartialEq)]
pub enum Quantity {
    /// A size.
    Bytes(Bytes),
    /// Bytes per second; negative for a fall.
    Rate(f64),
    /// A span of time.
    Span(Period),
    /// A share, 0 to 1.
    Share(f64),
    /// A number of things.
    Count(u64),
    /// A word.
    Text(Arc<str>),
}

/// Named figures in the order in which they are told. Names are `snake_case`, with the meaning of a JSON field.
pub type Evidence = Vec<(Cow<'static, str>, Quantity)>;

/// What a detector saw. A record with the number of an earlier one renews it: the first stays true of its own time.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// When it was said: it depends on samples up to then alone.
    pub t: Timestamp,
    /// Its number in this stream, from 1.
    pub n: u32,
    /// Where; for one over several cards the fullest.
    pub gpu: Gpu,
    /// What.
    pub kind: FindingKind,
    /// How sure.
    pub certainty: Certainty,
    /// The process that caused it, where one can be named.
    pub pid: Option<Pid>,
    /// When it began.
    pub from: Timestamp,
    /// When it ended; none while it lasts.
    pub to: Option<Timestamp>,
    /// What it rests on.
    pub evidence: Evidence,
    /// What to do, most bytes per effort first. None for what needs nothing done.
    pub advice: Arc<[Advice]>,
}

/// A tip applied to a finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advice {
    /// The tip's id in the catalogue.
    pub tip: Cow<'static, str>,
    /// Bytes that it should save at the peak, from and to; none where that can't be told from what was measured.
    pub saves: Option<(Bytes, Bytes)>,
    /// The evidence and the saving in one sentence.
    pub why: Arc<str>,
}

/// The one word for a series as a whole in reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, strum::Display, strum::EnumString, strum::EnumIter)]
#[strum(serialize_all = "snake_case")]
pub enum Shape {
    /// Next to nothing held.
    Idle,
    /// Still loading when it ended.
    Loading,
    /// Flat but for small changes.
    Steady,
    /// A pool taken in advance.
    Preallocated,
    /// Periodic between a constant floor and a constant ceiling.
    Sawtooth,
    /// Growth at a constant rate.
    Leak,
    /// Record highs of irregular height, ever rarer.
    Staircase,
    /// A few lasting changes of level.
    Steps,
    /// Level with short spikes.
    Spiky,
    /// Rises and falls of minutes.
    Churn,
    /// It grows, and none of the other words fits.
    Growing,
    /// Too little seen.
    #[default]
    Unknown,
}

/// Where the memory of a training process goes, as far as its phases were seen. Parts that could not be separated are none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Anatomy {
    /// CUDA context and libraries.
    pub context: Option<Bytes>,
    /// Weights.
    pub weights: Option<Bytes>,
    /// Gradients and what the first step left allocated.
    pub gradients: Option<Bytes>,
    /// Optimizer states.
    pub optimizer: Option<Bytes>,
    /// What comes and goes with every step: activations, temporaries.
    pub swing: Option<Bytes>,
    /// Kept by the allocator after a release.
    pub cached: Option<Bytes>,
}

impl Finding {
    /// A figure of the evidence by its name.
    pub fn figure(&self, name: &str) -> Option<&Quantity> {
        self.evidence.iter().find(|(own, _)| own == name).map(|(_, quantity)| quantity)
    }

    /// A size of the evidence by its name.
    pub fn bytes(&self, name: &str) -> Option<Bytes> {
        match self.figure(name)? {
            Quantity::Bytes(bytes) => Some(*bytes),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_the_contract() {
        assert_eq!(FindingKind::Rank0Pileup.to_string(), "rank0_pileup");
        assert_eq!("probable_oom".parse(), Ok(FindingKind::ProbableOom));
        assert_eq!(Shape::Preallocated.to_string(), "preallocated");
        assert_eq!(Certainty::Likely.to_string(), "likely");
    }
}
