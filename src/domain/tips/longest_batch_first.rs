//! Run the longest batch first.

use super::{Code, Effort, Side, Tip, Topic};
use crate::domain::advice::{Case, Proposal, highs};

/// The entry.
pub const TIP: Tip = Tip {
    id: "longest_batch_first",
    title: "Run the longest batch first",
    topic: Topic::Growth,
    sides: &[Side::Training],
    effort: Effort::Lines,
    does: "The first step then takes what the largest will ever need: an OOM comes in the first minute \
           instead of the ninth hour, and smaller blocks are cut from the large ones.",
    code: &[Code {
        of: "PyTorch",
        lines: &[
            "longest = max(dataset, key=len)",
            "model(collate([longest] * batch_size)).loss.backward()",
            "optimizer.zero_grad()",
        ],
    }],
    cost: "One step of work; it does not lower the peak.",
    not_when: &["what is needed is less memory, not an earlier answer"],
    frameworks: &[],
    sources: &[
        "https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html",
        "https://docs.pytorch.org/docs/stable/notes/cuda.html#memory-management",
    ],
    applies: Some(applies),
};

fn applies(case: &Case) -> Option<Proposal> {
    let grown = highs(case)?;
    Some(Proposal::unmeasured(format!(
        "irregular highs have added {grown}: the longest batch at the start shows at once whether it fits"
    )))
}
