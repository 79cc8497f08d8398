//! Run fewer data-loader workers.

use super::{Code, Effort, Side, Tip, Topic};
use crate::domain::Framework;

/// The entry.
pub const TIP: Tip = Tip {
    id: "fewer_dataloader_workers",
    title: "Run fewer data-loader workers",
    topic: Topic::Host,
    sides: &[Side::Training],
    effort: Effort::Flag,
    does: "Each worker is a process with its own copy of what it touches and a queue of batches.",
    code: &[Code { of: "PyTorch", lines: &["DataLoader(dataset, num_workers=2, prefetch_factor=2, persistent_workers=True)"] }],
    cost: "The GPU may wait for data.",
    not_when: &["the GPU is what is full, unless workers open CUDA contexts"],
    frameworks: &[Framework::PyTorch],
    sources: &["https://docs.pytorch.org/docs/stable/data.html"],
    applies: None,
};
