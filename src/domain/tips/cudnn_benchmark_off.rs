//! Stop trying convolution algorithms.

use super::{Code, Effort, Side, Tip, Topic};
use crate::domain::advice::{Case, Proposal, range};
use crate::domain::{Bytes, FindingKind, Framework, Period};

/// The entry.
pub const TIP: Tip = Tip {
    id: "cudnn_benchmark_off",
    title: "Stop trying convolution algorithms",
    topic: Topic::Allocator,
    sides: &[Side::Training, Side::Inference],
    effort: Effort::Flag,
    does: "With benchmark on, cuDNN tries algorithms for each new shape, and their workspaces can take \
           gigabytes for a moment.",
    code: &[Code { of: "PyTorch", lines: &["torch.backends.cudnn.benchmark = False  # the default"] }],
    cost: "Convolutions of constant shape may be slower.",
    not_when: &["the program never set it", "there are no convolutions"],
    frameworks: &[Framework::PyTorch],
    sources: &["https://docs.pytorch.org/docs/stable/backends.html#torch.backends.cudnn.torch.backends.cudnn.benchmark"],
    applies: Some(applies),
};

fn applies(case: &Case) -> Option<Proposal> {
    let process = case.trainer().filter(|_| case.may_be(Framework::PyTorch) && case.is(&[FindingKind::Spike]))?;
    // It tries each shape when it first comes.
    process.age.filter(|age| *age <= EARLY)?;
    let height = case.bytes(&["height"])?;
    let why = format!(
        "it spikes by {height} soon after its start: if cuDNN tries algorithms there, without that it saves {}",
        range(Bytes::ZERO, height)
    );
    Proposal::saving(Bytes::ZERO, height, why)
}

/// How long after its start a process is still new to its shapes.
const EARLY: Period = Period::secs(300);
