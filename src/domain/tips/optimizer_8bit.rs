//! Keep optimizer states in 8 bits.

use super::{Code, Effort, Side, Tip, Topic};
use crate::domain::Framework;
use crate::domain::advice::{Case, Proposal, range, share, states};

/// The entry.
pub const TIP: Tip = Tip {
    id: "optimizer_8bit",
    title: "Keep optimizer states in 8 bits",
    topic: Topic::States,
    sides: &[Side::Training],
    effort: Effort::Lines,
    does: "AdamW keeps 8 bytes per 32-bit parameter; in blocks of 8 bits it is 2. Pure bfloat16 training \
           keeps 4. Adafactor keeps rows and columns alone.",
    code: &[
        Code {
            of: "bitsandbytes",
            lines: &["import bitsandbytes as bnb", "optimizer = bnb.optim.AdamW8bit(model.parameters(), lr=1e-4)"],
        },
        Code {
            of: "transformers",
            lines: &[r#"TrainingArguments(optim="adamw_bnb_8bit")  # or "paged_adamw_8bit", "adafactor""#],
        },
    ],
    cost: "A library; results match 32 bits in the paper's tasks, not in all. Tensors below 4096 elements \
           stay in 32 bits.",
    not_when: &["most weights are frozen (LoRA): there are hardly any states", "the peak is in activations"],
    frameworks: &[Framework::PyTorch],
    sources: &[
        "https://huggingface.co/docs/bitsandbytes/optimizers",
        "https://arxiv.org/abs/2110.02861",
        "https://huggingface.co/docs/transformers/model_memory_anatomy",
    ],
    applies: Some(applies),
};

fn applies(case: &Case) -> Option<Proposal> {
    case.trainer().filter(|_| case.may_be(Framework::PyTorch))?;
    let states = states(case)?;
    // 8 bytes become 2; states of bfloat16 weights, 4, become 2.
    let (from, to) = (share(states, 0.5), share(states, 0.75));
    let why = format!("optimizer states took {states} at the first step: in 8 bits they should take {} less", range(from, to));
    Proposal::saving(from, to, why)
}
