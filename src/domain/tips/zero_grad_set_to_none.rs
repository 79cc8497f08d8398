//! Let gradients go between steps.

use super::{Code, Effort, Side, Tip, Topic};
use crate::domain::Framework;

/// The entry.
pub const TIP: Tip = Tip {
    id: "zero_grad_set_to_none",
    title: "Let gradients go between steps",
    topic: Topic::States,
    sides: &[Side::Training],
    effort: Effort::Flag,
    does: "Frees 4 bytes (16-bit gradients: 2) per parameter between two backward passes. It is the default \
           since PyTorch 2.0: this matters where old code says False.",
    code: &[Code { of: "PyTorch", lines: &["optimizer.zero_grad(set_to_none=True)"] }],
    cost: "None. Code that reads .grad has to expect None.",
    not_when: &[
        "PyTorch 2.0 and newer, unless the code passes False",
        "the peak is in the backward pass: gradients are needed there",
    ],
    frameworks: &[Framework::PyTorch],
    sources: &["https://docs.pytorch.org/docs/stable/generated/torch.optim.Optimizer.zero_grad.html"],
    applies: None,
};
