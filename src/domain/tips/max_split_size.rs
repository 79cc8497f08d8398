//! Do not split large blocks.

use super::{Code, Effort, Side, Tip, Topic};
use crate::domain::advice::{Case, Proposal, highs, range};
use crate::domain::{Bytes, Framework};

/// The entry.
pub const TIP: Tip = Tip {
    id: "max_split_size",
    title: "Do not split large blocks",
    topic: Topic::Allocator,
    sides: &[Side::Training, Side::Inference],
    effort: Effort::Flag,
    does: "Blocks above this size are never cut for small requests, so that large requests find them whole. \
           The last resort where segments can't grow.",
    code: &[Code {
        of: "shell, before Python starts",
        lines: &["export PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:256  # above 20"],
    }],
    cost: "Slower allocation; with a small value more memory is taken, not less.",
    not_when: &[
        "expandable segments are at hand (PyTorch 2.1 and newer on Linux): use those, and not both before 2.5",
        "PyTorch before 1.10",
        "reserved but unallocated memory is small",
    ],
    frameworks: &[Framework::PyTorch],
    sources: &[
        "https://docs.pytorch.org/docs/stable/notes/cuda.html#optimizing-memory-usage-with-pytorch-cuda-alloc-conf",
        "https://github.com/pytorch/pytorch/issues/134338",
    ],
    applies: Some(applies),
};

fn applies(case: &Case) -> Option<Proposal> {
    // Elsewhere segments can grow.
    let grown = highs(case).filter(|_| case.may_be(Framework::PyTorch) && case.facts.wddm)?;
    let why = format!(
        "irregular highs have added {grown}, and segments can't grow on Windows: {}unsplit blocks may save {} of it",
        case.if_pytorch(),
        range(Bytes::ZERO, grown)
    );
    Proposal::saving(Bytes::ZERO, grown, why)
}
