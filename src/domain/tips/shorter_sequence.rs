//! Shorten sequences, shrink images, drop frames.

use super::{Code, Effort, Side, Tip, Topic};
use crate::domain::Bytes;
use crate::domain::advice::{Case, Proposal, highs, range};

/// The entry.
pub const TIP: Tip = Tip {
    id: "shorter_sequence",
    title: "Shorten sequences, shrink images, drop frames",
    topic: Topic::Step,
    sides: &[Side::Training, Side::Inference],
    effort: Effort::Flag,
    does: "Activations grow with the number of tokens, pixels or frames; without an efficient attention \
           kernel with its square.",
    code: &[
        Code { of: "tokenizer", lines: &["tokenizer(texts, truncation=True, max_length=2048)"] },
        Code { of: "TRL", lines: &["SFTConfig(max_length=2048)"] },
    ],
    cost: "The model sees less of each sample.",
    not_when: &["weights and optimizer states fill the card", "few samples are long: cap or bucket those instead"],
    frameworks: &[],
    sources: &["https://arxiv.org/abs/2205.05198", "https://huggingface.co/docs/trl/reducing_memory_usage"],
    applies: Some(applies),
};

fn applies(case: &Case) -> Option<Proposal> {
    let grown = highs(case)?;
    let why = format!(
        "its highest steps stand {grown} above the first: a cap on the longest samples saves {}",
        range(Bytes::ZERO, grown)
    );
    Proposal::saving(Bytes::ZERO, grown, why)
}
