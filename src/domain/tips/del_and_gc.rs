//! Drop references, then collect.

use super::{Code, Effort, Side, Tip, Topic};
use crate::domain::Framework;
use crate::domain::advice::{Case, Leak, Proposal};

/// The entry.
pub const TIP: Tip = Tip {
    id: "del_and_gc",
    title: "Drop references, then collect",
    topic: Topic::Growth,
    sides: &[Side::Training, Side::Inference],
    effort: Effort::Lines,
    does: "A tensor is freed when its last name is gone: a variable of the step before, an exception's \
           traceback, a cycle. Frees what was kept by accident.",
    code: &[Code {
        of: "PyTorch",
        lines: &[
            "del batch, outputs, loss",
            "gc.collect()             # cycles: frames, hooks, modules",
            "torch.cuda.empty_cache() # only where another process or library needs it",
        ],
    }],
    cost: "gc.collect() halts the program for a moment: once an epoch, not every step.",
    not_when: &[
        "what grows is still referenced by a list, a metric or a hook: find it first",
        "inside the except block of an OOM: the exception holds the frames, leave the block first",
    ],
    frameworks: &[Framework::PyTorch],
    sources: &["https://docs.pytorch.org/docs/stable/notes/faq.html"],
    applies: Some(applies),
};

fn applies(case: &Case) -> Option<Proposal> {
    case.trainer().filter(|_| case.may_be(Framework::PyTorch))?;
    let leak = Leak::of(case)?;
    let why = format!("{leak}: names and cycles that outlive their step may hold it; that is {}", leak.range());
    Proposal::saving(leak.grown, leak.at_full, why)
}
