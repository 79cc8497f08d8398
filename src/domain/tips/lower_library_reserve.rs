//! Shrink a library's own reserve.

use super::{Code, Effort, Side, Tip, Topic};

/// The entry.
pub const TIP: Tip = Tip {
    id: "lower_library_reserve",
    title: "Shrink a library's own reserve",
    topic: Topic::Allocator,
    sides: &[Side::Inference, Side::Serving],
    effort: Effort::Flag,
    does: "Some libraries reserve scratch memory when they start, in Faiss up to 1.5 GiB.",
    code: &[
        Code { of: "Faiss", lines: &["res = faiss.StandardGpuResources()", "res.setTempMemory(256 * 1024 * 1024)"] },
        Code { of: "RMM", lines: &["rmm.reinitialize(pool_allocator=True, initial_pool_size=2**30)"] },
    ],
    cost: "Slower, where the reserve was needed.",
    not_when: &["it is the data that is too large"],
    frameworks: &[],
    sources: &["https://github.com/facebookresearch/faiss/wiki/Faiss-on-the-GPU"],
    applies: None,
};
