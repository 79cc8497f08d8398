//! Use smaller tiles in the kernel.

use super::{Code, Effort, Side, Tip, Topic};
use crate::domain::Framework;

/// The entry.
pub const TIP: Tip = Tip {
    id: "smaller_kernel_tiles",
    title: "Use smaller tiles in the kernel",
    topic: Topic::Host,
    sides: &[Side::Training, Side::Inference],
    effort: Effort::Lines,
    does: "A thread block wants more on-chip shared memory than the GPU has; the card's memory has nothing to \
           do with it.",
    code: &[Code { of: "Triton", lines: &[r#"triton.Config({"BLOCK_M": 64, "BLOCK_N": 64}, num_stages=2, num_warps=4)"#] }],
    cost: "Perhaps a slower kernel.",
    not_when: &["the message is about GPU memory: 'CUDA out of memory'"],
    frameworks: &[Framework::Triton],
    sources: &["https://triton-lang.org/main/python-api/generated/triton.autotune.html"],
    applies: None,
};
