//! Load and gather checkpoints on the CPU.

use super::{Code, Effort, Side, Tip, Topic};
use crate::domain::advice::{Case, Proposal, pile, range, share};
use crate::domain::{Bytes, FindingKind, Framework};

/// The entry.
pub const TIP: Tip = Tip {
    id: "load_on_cpu",
    title: "Load and gather checkpoints on the CPU",
    topic: Topic::States,
    sides: &[Side::Training, Side::Inference],
    effort: Effort::Lines,
    does: "torch.load puts tensors back where they were saved: on GPU 0 of every rank, as a second copy \
           beside the model. Gathering sharded weights on the GPU for a checkpoint is such a copy too.",
    code: &[
        Code {
            of: "PyTorch",
            lines: &[r#"state = torch.load(path, map_location="cpu", mmap=True)"#, "model.load_state_dict(state)", "del state"],
        },
        Code {
            of: "PyTorch, sharded weights",
            lines: &[
                "from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict",
                "options = StateDictOptions(full_state_dict=True, cpu_offload=True)",
                "state = get_model_state_dict(model, options=options)",
            ],
        },
        Code { of: "safetensors", lines: &["from safetensors.torch import load_model", "load_model(model, path)"] },
    ],
    cost: "A little more time while loading and saving, and host memory for the copy.",
    not_when: &["the spike comes with every step: that is no checkpoint"],
    frameworks: &[Framework::PyTorch],
    sources: &[
        "https://docs.pytorch.org/docs/stable/distributed.checkpoint.html",
        "https://docs.pytorch.org/docs/stable/generated/torch.load.html",
        "https://docs.pytorch.org/tutorials/recipes/recipes/module_load_state_dict_tips.html",
    ],
    applies: Some(applies),
};

fn applies(case: &Case) -> Option<Proposal> {
    if pile(case).is_some() && case.is(&[FindingKind::Rank0Pileup]) {
        let why = "checkpoints loaded without map_location put every rank on the first card too".to_owned();
        return Some(Proposal::unmeasured(why));
    }
    case.trainer().filter(|_| case.may_be(Framework::PyTorch))?;
    let height = case.bytes(&["height"]).filter(|height| case.is(&[FindingKind::Spike]) && case.matters(*height))?;
    // A second copy of the weights is as high as the weights.
    let copies = |weights: &Bytes| (share(*weights, 0.75)..=share(*weights, 1.25)).contains(&height);
    if let Some(weights) = case.anatomy().weights.filter(copies) {
        let from = share(height, 0.75);
        let back = range(from, height);
        let why = format!(
            "it spikes by {height}, as much as its weights ({weights}), as a second copy does: on the CPU that saves {back}"
        );
        return Proposal::saving(from, height, why);
    }
    // What rises above steps that are seen is none of them.
    case.bytes(&["swing"])?;
    let why = format!(
        "it spikes {height} above its steps, as gathering or loading a checkpoint does: through the CPU that saves {}",
        range(Bytes::ZERO, height)
    );
    Proposal::saving(Bytes::ZERO, height, why)
}
