//! Leave room for NCCL, cuBLAS and cuDNN.

use super::{Code, Effort, Side, Tip, Topic};
use crate::domain::Framework;

/// The entry.
pub const TIP: Tip = Tip {
    id: "leave_headroom_for_libraries",
    title: "Leave room for NCCL, cuBLAS and cuDNN",
    topic: Topic::Allocator,
    sides: &[Side::Training, Side::Inference, Side::Serving],
    effort: Effort::Flag,
    does: "Libraries take their buffers outside the framework's pool, 0.5 to 1.5 GiB in all. A pool that \
           takes everything leaves them nothing.",
    code: &[
        Code {
            of: "PyTorch",
            lines: &["torch.cuda.set_per_process_memory_fraction(0.95)", "dist.barrier()  # early: NCCL takes its buffers now"],
        },
        Code { of: "NCCL", lines: &["export NCCL_BUFFSIZE=2097152  # default 4 MiB per channel"] },
    ],
    cost: "The framework itself has that much less.",
    not_when: &["the framework's own allocation failed"],
    frameworks: &[Framework::PyTorch, Framework::Nccl, Framework::Cuda],
    sources: &[
        "https://docs.pytorch.org/docs/stable/generated/torch.cuda.memory.set_per_process_memory_fraction.html",
        "https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html",
    ],
    applies: None,
};
