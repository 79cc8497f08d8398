//! Spread the load over the cards.

use super::{Code, Effort, Side, Tip, Topic};
use crate::domain::advice::{Case, Proposal, range, share};
use crate::domain::{FindingKind, Framework};

/// The entry.
pub const TIP: Tip = Tip {
    id: "balance_devices",
    title: "Spread the load over the cards",
    topic: Topic::Sharing,
    sides: &[Side::Training],
    effort: Effort::Redesign,
    does: "DataParallel gathers outputs and losses on its first card; pipeline stages and experts differ in \
           size. The fullest card decides what fits.",
    code: &[
        Code {
            of: "PyTorch",
            lines: &["model = DistributedDataParallel(model, device_ids=[local_rank])  # instead of DataParallel"],
        },
        Code {
            of: "accelerate",
            lines: &[
                r#"max_memory = {0: "60GiB", 1: "75GiB"}"#,
                r#"AutoModel.from_pretrained(name, device_map="balanced_low_0", max_memory=max_memory)"#,
            ],
        },
    ],
    cost: "One process per card; stages have to be cut anew.",
    not_when: &["the cards do different work on purpose"],
    frameworks: &[Framework::PyTorch],
    sources: &[
        "https://docs.pytorch.org/docs/stable/generated/torch.nn.DataParallel.html",
        "https://huggingface.co/docs/accelerate/concept_guides/big_model_inference",
    ],
    applies: Some(applies),
};

fn applies(case: &Case) -> Option<Proposal> {
    case.own().filter(|_| case.is(&[FindingKind::Imbalance]))?;
    let (high, low) = (case.bytes(&["most"])?, case.bytes(&["least"])?);
    let gap = high.saturating_sub(low);
    // Two cards meet halfway; with more of them the fullest gives more away.
    let (from, to) = (share(gap, 0.25), share(gap, 0.5));
    let why = format!(
        "the job holds {high} on this card and {low} on another: balanced, this one should hold {} less",
        range(from, to)
    );
    Proposal::saving(from, to, why)
}
