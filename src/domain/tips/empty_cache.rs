//! Empty the cache between phases.

use super::{Code, Effort, Side, Tip, Topic};
use crate::domain::advice::{Case, Proposal, range, share};
use crate::domain::{FindingKind, Framework};

/// The entry.
pub const TIP: Tip = Tip {
    id: "empty_cache",
    title: "Empty the cache between phases",
    topic: Topic::Allocator,
    sides: &[Side::Training, Side::Inference],
    effort: Effort::Lines,
    does: "Gives whole free blocks back to the driver, for another process, another library, or another phase \
           with other shapes.",
    code: &[Code {
        of: "PyTorch",
        lines: &[
            "del optimizer_of_phase_one",
            "gc.collect()",
            "torch.cuda.empty_cache()  # once, between training and evaluation",
        ],
    }],
    cost: "It waits for the GPU, and blocks have to be taken anew: in a loop it slows every step.",
    not_when: &[
        "after an OOM: the allocator has done it before it raised",
        "live tensors: it frees none",
        "what is reserved but unallocated is in split blocks",
    ],
    frameworks: &[Framework::PyTorch],
    sources: &[
        "https://docs.pytorch.org/docs/stable/generated/torch.cuda.memory.empty_cache.html",
        "https://docs.pytorch.org/docs/stable/notes/cuda.html#memory-management",
    ],
    applies: Some(applies),
};

fn applies(case: &Case) -> Option<Proposal> {
    // What a process leaves that ends is no cache.
    let ended = case.count("left").is_some_and(|left| left > 0);
    case.trainer().filter(|_| case.may_be(Framework::PyTorch))?;
    // It serves others, or the next phase of a full card; a cache with nobody waiting is no waste.
    let between = case.is(&[FindingKind::Release, FindingKind::EvalJump, FindingKind::ForeignArrival]);
    let cached = case.anatomy().cached.filter(|_| between && !ended && case.tight())?;
    let from = share(cached, 0.5);
    let why = format!("{cached} is free but kept by its allocator: emptied between phases it gives back {}", range(from, cached));
    Proposal::saving(from, cached, why)
}
