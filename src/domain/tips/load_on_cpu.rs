//! Load checkpoints on the CPU.

use super::{Code, Effort, Side, Tip, Topic};
use crate::domain::advice::{Case, Proposal, range, share};
use crate::domain::{FindingKind, Framework};

/// The entry.
pub const TIP: Tip = Tip {
    id: "load_on_cpu",
    title: "Load checkpoints on the CPU",
    topic: Topic::States,
    sides: &[Side::Training, Side::Inference],
    effort: Effort::Lines,
    does: "torch.load puts tensors back where they were saved: on GPU 0 of every rank, as a second copy \
           beside the model.",
    code: &[
        Code {
            of: "PyTorch",
            lines: &[r#"state = torch.load(path, map_location="cpu", mmap=True)"#, "model.load_state_dict(state)", "del state"],
        },
        Code { of: "safetensors", lines: &["from safetensors.torch import load_model", "load_model(model, path)"] },
    ],
    cost: "A little more time while loading.",
    not_when: &["the spike comes with every step: that is no checkpoint"],
    frameworks: &[Framework::PyTorch],
    sources: &[
        "https://docs.pytorch.org/docs/stable/generated/torch.load.html",
        "https://docs.pytorch.org/tutorials/recipes/recipes/module_load_state_dict_tips.html",
    ],
    applies: Some(applies),
};

fn applies(case: &Case) -> Option<Proposal> {
    case.trainer().filter(|_| case.may_be(Framework::PyTorch))?;
    if case.is(&[FindingKind::Rank0Pileup]) {
        let why = "checkpoints loaded without map_location put every rank on the first card too".to_owned();
        return Some(Proposal::unmeasured(why));
    }
    let height = case.bytes(&["height"]).filter(|_| case.is(&[FindingKind::Spike]))?;
    let weights = case.anatomy().weights?;
    // A second copy of the weights is as high as the weights.
    if !(share(weights, 0.75)..=share(weights, 1.25)).contains(&height) {
        return None;
    }
    let from = share(height, 0.75);
    let why = format!(
        "it spikes by {height}, as much as the weights ({weights}): a second copy on the GPU; on the CPU it saves {}",
        range(from, height)
    );
    Proposal::saving(from, height, why)
}
