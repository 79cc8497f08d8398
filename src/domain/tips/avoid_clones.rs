//! Drop needless copies.

use super::{Code, Effort, Side, Tip, Topic};
use crate::domain::Framework;

/// The entry.
pub const TIP: Tip = Tip {
    id: "avoid_clones",
    title: "Drop needless copies",
    topic: Topic::Step,
    sides: &[Side::Training, Side::Inference],
    effort: Effort::Lines,
    does: "clone(), contiguous(), cat() and a dtype that goes back and forth each hold a second tensor while \
           the first is still alive.",
    code: &[Code {
        of: "PyTorch",
        lines: &[
            "x = x.transpose(1, 2)            # a view: no memory",
            "out = torch.empty(shape, device=dev)",
            "torch.stack(parts, out=out)      # no list and copy at once",
        ],
    }],
    cost: "None, where the copy is not needed.",
    not_when: &["a kernel needs contiguous memory: the copy then happens inside"],
    frameworks: &[Framework::PyTorch],
    sources: &["https://docs.pytorch.org/docs/stable/tensor_view.html"],
    applies: None,
};
