//! Check shapes and sizes.

use super::{Code, Effort, Side, Tip, Topic};

/// The entry.
pub const TIP: Tip = Tip {
    id: "check_inputs",
    title: "Check shapes and sizes",
    topic: Topic::Diagnosis,
    sides: &[Side::Training, Side::Inference, Side::Serving],
    effort: Effort::Lines,
    does: "A request larger than the card, or one that makes no sense, is a mistake: a wrong axis, an outer \
           product by broadcasting, a length read as bytes.",
    code: &[Code {
        of: "PyTorch",
        lines: &["assert x.shape == (batch, length, width), x.shape", "x.element_size() * x.nelement() / 2**30  # GiB"],
    }],
    cost: "None.",
    not_when: &["the request is about as large as those that worked"],
    frameworks: &[],
    sources: &["https://docs.pytorch.org/docs/stable/notes/broadcasting.html"],
    applies: None,
};
