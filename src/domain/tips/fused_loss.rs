//! Never build the full logits.

use super::{Code, Effort, Side, Tip, Topic};
use crate::domain::Framework;

/// The entry.
pub const TIP: Tip = Tip {
    id: "fused_loss",
    title: "Never build the full logits",
    topic: Topic::Step,
    sides: &[Side::Training],
    effort: Effort::Lines,
    does: "Logits take tokens x vocabulary x (2 + 4) bytes and about as much again in the backward pass. \
           16384 tokens of a vocabulary of 248320 made a peak of 47.6 GB; fused with the last layer it was \
           6.1 GB (Liger) or 3.1 GB (cut cross entropy).",
    code: &[
        Code { of: "transformers, TRL", lines: &["TrainingArguments(use_liger_kernel=True)  # pip install liger-kernel"] },
        Code {
            of: "cut cross entropy",
            lines: &[
                "from cut_cross_entropy import linear_cross_entropy",
                "loss = linear_cross_entropy(hidden, lm_head.weight, labels, shift=1)",
            ],
        },
    ],
    cost: "A kernel library that has to know the model. Metrics computed from logits are no longer available.",
    not_when: &["small vocabularies: images, classification", "the model returns logits for something else"],
    frameworks: &[Framework::PyTorch, Framework::Jax],
    sources: &[
        "https://github.com/linkedin/Liger-Kernel",
        "https://github.com/apple/ml-cross-entropy",
        "https://github.com/huggingface/trl/issues/6858",
    ],
    applies: None,
};
