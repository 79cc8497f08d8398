//! Stop giving memory back in every step.

use super::{Code, Effort, Side, Tip, Topic};
use crate::domain::Framework;

/// The entry.
pub const TIP: Tip = Tip {
    id: "keep_freed_memory",
    title: "Stop giving memory back in every step",
    topic: Topic::Allocator,
    sides: &[Side::Training, Side::Inference],
    effort: Effort::Lines,
    does: "A pool that returns its memory at each synchronisation, or empty_cache() in the loop, takes it \
           from the driver anew every time. Keeping it makes steps faster, and others can no longer slip into \
           the gap.",
    code: &[
        Code {
            of: "CUDA",
            lines: &["uint64_t keep = UINT64_MAX;", "cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep);"],
        },
        Code { of: "PyTorch", lines: &["# remove torch.cuda.empty_cache() from the loop"] },
        Code { of: "JAX", lines: &["unset XLA_PYTHON_CLIENT_ALLOCATOR  # platform is for debugging: very slow"] },
    ],
    cost: "Memory stays taken between the steps: another process no longer finds it.",
    not_when: &["another process needs the memory in between"],
    frameworks: &[Framework::PyTorch, Framework::Cuda, Framework::Jax],
    sources: &[
        "https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__MEMORY__POOLS.html",
        "https://docs.jax.dev/en/latest/gpu_memory_allocation.html",
    ],
    applies: None,
};
