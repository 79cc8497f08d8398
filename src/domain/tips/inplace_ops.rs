//! Work in place where autograd allows it.

use super::{Code, Effort, Side, Tip, Topic};
use crate::domain::Framework;

/// The entry.
pub const TIP: Tip = Tip {
    id: "inplace_ops",
    title: "Work in place where autograd allows it",
    topic: Topic::Step,
    sides: &[Side::Training, Side::Inference],
    effort: Effort::Lines,
    does: "Saves one tensor of the size of the result for each operation.",
    code: &[Code {
        of: "PyTorch",
        lines: &["x.add_(y)  # instead of x = x + y", "nn.ReLU(inplace=True)", "logits.div_(temperature)"],
    }],
    cost: "Autograd refuses where the old value is needed for a gradient; code is harder to follow.",
    not_when: &["the value is needed in the backward pass", "the allocator keeps the block anyway: only the peak can fall"],
    frameworks: &[Framework::PyTorch],
    sources: &["https://docs.pytorch.org/docs/stable/notes/autograd.html#in-place-operations-with-autograd"],
    applies: None,
};
