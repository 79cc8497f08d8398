//! Raise the configured limit.

use super::{Code, Effort, Side, Tip, Topic};
use crate::domain::Framework;

/// The entry.
pub const TIP: Tip = Tip {
    id: "raise_memory_cap",
    title: "Raise the configured limit",
    topic: Topic::Allocator,
    sides: &[Side::Training, Side::Inference, Side::Serving],
    effort: Effort::Flag,
    does: "The card has room, and a limit that was set refuses it.",
    code: &[
        Code { of: "PyTorch", lines: &["torch.cuda.set_per_process_memory_fraction(1.0)"] },
        Code { of: "CuPy", lines: &["cupy.get_default_memory_pool().set_limit(size=0)  # none; also CUPY_GPU_MEMORY_LIMIT"] },
        Code { of: "ONNX Runtime", lines: &[r#"("CUDAExecutionProvider", {"gpu_mem_limit": 20 * 2**30})"#] },
        Code {
            of: "PyTorch on Apple",
            lines: &["export PYTORCH_MPS_HIGH_WATERMARK_RATIO=1.7  # 0.0: no limit, and the system may fail"],
        },
    ],
    cost: "Others have that much less.",
    not_when: &["the card itself is full"],
    frameworks: &[Framework::PyTorch, Framework::Cupy, Framework::Rmm, Framework::OnnxRuntime],
    sources: &[
        "https://docs.pytorch.org/docs/stable/generated/torch.cuda.memory.set_per_process_memory_fraction.html",
        "https://docs.cupy.dev/en/stable/user_guide/memory.html",
    ],
    applies: None,
};
