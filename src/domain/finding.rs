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

/// How much a finding matters to somebody who looks at the screen; ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Weight {
    /// What belongs to a healthy run.
    Routine,
    /// Worth knowing, and perhaps something to do.
    Notable,
    /// It ends a run, or ended one.
    Grave,
}

impl FindingKind {
    /// What it is called on a screen.
    pub fn title(self) -> &'static str {
        match self {
            Self::ContextStart => "CUDA context",
            Self::Loading => "loading",
            Self::Warmup => "warm-up",
            Self::OptimizerStep => "optimizer states",
            Self::EvalJump => "evaluation jump",
            Self::LeakStep => "leak, step by step",
            Self::LeakEpoch => "leak, epoch by epoch",
            Self::Staircase => "staircase of record highs",
            Self::Spike => "spike",
            Self::Sawtooth => "sawtooth",
            Self::Plateau => "plateau",
            Self::Preallocated => "pool taken in advance",
            Self::GraphCapture => "CUDA graphs captured",
            Self::Release => "release",
            Self::Churn => "models come and go",
            Self::ForeignArrival => "another user's process came",
            Self::Orphan => "memory left behind",
            Self::Unattributed => "memory of no visible process",
            Self::ContextPileup => "workers with contexts of their own",
            Self::Rank0Pileup => "ranks pile up on one card",
            Self::Imbalance => "cards of one job filled unevenly",
            Self::Saturating => "growth that slows down",
            Self::FastSwing => "swings faster than it is read",
            Self::Stall => "the driver did not answer",
            Self::Lost => "the card was lost",
            Self::Oom => "out of memory",
            Self::ProbableOom => "probably out of memory",
        }
    }

    /// How much it matters.
    pub fn weight(self) -> Weight {
        match self {
            Self::ContextStart
            | Self::Loading
            | Self::Warmup
            | Self::OptimizerStep
            | Self::Sawtooth
            | Self::Plateau
            | Self::Preallocated
            | Self::GraphCapture
            | Self::Release
            | Self::Churn
            | Self::Saturating => Weight::Routine,
            Self::EvalJump
            | Self::Staircase
            | Self::Spike
            | Self::ForeignArrival
            | Self::Orphan
            | Self::Unattributed
            | Self::ContextPileup
            | Self::Rank0Pileup
            | Self::Imbalance
            | Self::FastSwing
            | Self::Stall => Weight::Notable,
            Self::LeakStep | Self::LeakEpoch | Self::Lost | Self::Oom | Self::ProbableOom => Weight::Grave,
        }
    }
}

impl std::fmt::Display for Quantity {
    /// With its unit: `9.8 GiB`, `+150 MiB/s`, `1m 7s`, `45 %`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Bytes(bytes) => bytes.fmt(f),
            Self::Rate(rate) => {
                let sign = if *rate < 0.0 { '-' } else { '+' };
                write!(f, "{sign}{}/s", Bytes(rate.abs() as u64))
            }
            Self::Span(span) => span.fmt(f),
            Self::Share(share) => write!(f, "{:.0} %", share * 100.0),
            Self::Count(count) => count.fmt(f),
            Self::Text(text) => f.write_str(text),
        }
    }
}

impl Finding {
    /// What it rests on, in words: `rate +150 MiB/s, grown 9.8 GiB`.
    pub fn evidence_text(&self) -> String {
        let figures: Vec<String> =
            self.evidence.iter().map(|(name, quantity)| format!("{} {quantity}", name.replace('_', " "))).collect();
        figures.join(", ")
    }

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

    #[test]
    fn evidence_reads_as_words_with_units() {
        let finding = Finding {
            t: Timestamp::secs(9),
            n: 1,
            gpu: Gpu(0),
            kind: FindingKind::LeakStep,
            certainty: Certainty::Likely,
            pid: None,
            from: Timestamp::ZERO,
            to: None,
            evidence: vec![
                ("rate".into(), Quantity::Rate(150.0 * 1024.0 * 1024.0)),
                ("per_step".into(), Quantity::Bytes(Bytes::mib(20))),
                ("share".into(), Quantity::Share(0.45)),
            ],
            advice: Arc::from([]),
        };
        assert_eq!(finding.evidence_text(), "rate +150 MiB/s, per step 20.0 MiB, share 45 %");
        assert_eq!(finding.bytes("per_step"), Some(Bytes::mib(20)));
    }
}
