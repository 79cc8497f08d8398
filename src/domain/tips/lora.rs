//! Train adapters instead of all weights.

use super::{Code, Effort, Side, Tip, Topic};
use crate::domain::Framework;
use crate::domain::advice::{Case, Proposal, range, share, states};

/// The entry.
pub const TIP: Tip = Tip {
    id: "lora",
    title: "Train adapters instead of all weights",
    topic: Topic::States,
    sides: &[Side::Training],
    effort: Effort::Redesign,
    does: "Gradients and optimizer states exist for trained weights alone. LoRA trains a per cent or so and \
           keeps the rest frozen in 16 bits; QLoRA keeps the rest in 4 bits, some 0.6 bytes per parameter.",
    code: &[Code {
        of: "PEFT",
        lines: &[
            "from peft import LoraConfig, get_peft_model",
            r#"model = get_peft_model(model, LoraConfig(r=16, target_modules="all-linear"))"#,
        ],
    }],
    cost: "The model learns less than with all weights trained; activations stay as they are.",
    not_when: &["pre-training", "the peak is in activations"],
    frameworks: &[Framework::PyTorch],
    sources: &[
        "https://huggingface.co/docs/peft/main/en/conceptual_guides/lora",
        "https://arxiv.org/abs/2106.09685",
        "https://arxiv.org/abs/2305.14314",
    ],
    applies: Some(applies),
};

fn applies(case: &Case) -> Option<Proposal> {
    case.trainer().filter(|_| case.may_be(Framework::PyTorch))?;
    let states = states(case)?;
    let to = states.saturating_add(case.anatomy().gradients.unwrap_or_default());
    let from = share(states, 0.9);
    let why = format!(
        "optimizer states took {states}: with adapters alone trained, states and gradients should take {} less",
        range(from, to)
    );
    Proposal::saving(from, to, why)
}
