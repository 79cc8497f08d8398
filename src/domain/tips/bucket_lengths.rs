//! Bucket or pad to few lengths.

use super::{Code, Effort, Side, Tip, Topic};
use crate::domain::Bytes;
use crate::domain::advice::{Case, Proposal, highs, range};

/// The entry.
pub const TIP: Tip = Tip {
    id: "bucket_lengths",
    title: "Bucket or pad to few lengths",
    topic: Topic::Growth,
    sides: &[Side::Training],
    effort: Effort::Lines,
    does: "Few distinct shapes let the allocator reuse its blocks; with ever new lengths it keeps one set for \
           each high.",
    code: &[
        Code {
            of: "transformers",
            lines: &[
                r#"TrainingArguments(train_sampling_strategy="group_by_length")  # 5.x"#,
                "DataCollatorWithPadding(tokenizer, pad_to_multiple_of=64)",
            ],
        },
        Code { of: "PyTorch", lines: &["length = -(-length // 64) * 64  # the next multiple of 64"] },
    ],
    cost: "Padding computes for nothing; sorted batches are less random.",
    not_when: &["all samples have one length", "growth goes on at a constant rate: that is a leak"],
    frameworks: &[],
    sources: &[
        "https://huggingface.co/docs/transformers/perf_train_gpu_one",
        "https://docs.pytorch.org/docs/stable/notes/cuda.html#optimizing-memory-usage-with-pytorch-cuda-alloc-conf",
    ],
    applies: Some(applies),
};

fn applies(case: &Case) -> Option<Proposal> {
    let grown = highs(case)?;
    let why = format!("irregular highs have added {grown}: blocks that are reused should save {}", range(Bytes::ZERO, grown));
    Proposal::saving(Bytes::ZERO, grown, why)
}
