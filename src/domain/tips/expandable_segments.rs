//! Let segments grow.

use super::{Code, Effort, Side, Tip, Topic};
use crate::domain::advice::{Case, Proposal, highs, range};
use crate::domain::{Bytes, Framework};

/// The entry.
pub const TIP: Tip = Tip {
    id: "expandable_segments",
    title: "Let segments grow",
    topic: Topic::Allocator,
    sides: &[Side::Training, Side::Inference],
    effort: Effort::Flag,
    does: "The allocator extends one segment instead of asking for ever new ones, so that free pieces between \
           them no longer lie idle. Saves up to what is reserved but unallocated.",
    code: &[Code { of: "shell, before Python starts", lines: &["export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"] }],
    cost: "None known for most programs. No CUDA IPC; conflicts with torch_memory_saver and vLLM's sleep mode.",
    not_when: &[
        "reserved but unallocated memory is small: PyTorch printed this hint with every OOM before 2.14",
        "PyTorch before 2.1, Windows, older ROCm: a warning and no effect",
        "backend:cudaMallocAsync: it ignores the options of the native allocator",
        "it is set already",
    ],
    frameworks: &[Framework::PyTorch],
    sources: &[
        "https://docs.pytorch.org/docs/stable/notes/cuda.html#optimizing-memory-usage-with-pytorch-cuda-alloc-conf",
        "https://github.com/pytorch/pytorch/issues/134338",
    ],
    applies: Some(applies),
};

fn applies(case: &Case) -> Option<Proposal> {
    let grown = highs(case).filter(|_| case.may_be(Framework::PyTorch) && !case.facts.wddm)?;
    let why = format!(
        "irregular highs have added {grown}, as fragmentation does: {}growing segments should save {} of it",
        case.if_pytorch(),
        range(Bytes::ZERO, grown)
    );
    Proposal::saving(Bytes::ZERO, grown, why)
}
