//! Shard states over the GPUs.

use super::{Code, Effort, Side, Tip, Topic};
use crate::domain::Framework;
use crate::domain::advice::{Case, Proposal, range, share, states};

/// The entry.
pub const TIP: Tip = Tip {
    id: "shard_states",
    title: "Shard states over the GPUs",
    topic: Topic::States,
    sides: &[Side::Training],
    effort: Effort::Redesign,
    does: "Each of N cards keeps a part. Mixed-precision Adam takes 16 bytes per parameter; ZeRO-1 makes that \
           4 + 12/N, ZeRO-2 2 + 14/N, ZeRO-3 and FSDP 16/N. 7.5 billion parameters: 120 GB alone, 41.3, 28.1 \
           and 15.0 GB on 8 cards.",
    code: &[
        Code {
            of: "PyTorch",
            lines: &[
                "from torch.distributed.fsdp import fully_shard",
                "for block in model.blocks:",
                "    fully_shard(block)",
                "fully_shard(model)",
            ],
        },
        Code { of: "DeepSpeed", lines: &[r#"{"zero_optimization": {"stage": 2}}"#] },
        Code {
            of: "DeepSpeed, an estimate first",
            lines: &[
                "from deepspeed.runtime.zero.stage3 import estimate_zero3_model_states_mem_needs_all_live",
                "estimate_zero3_model_states_mem_needs_all_live(model, num_gpus_per_node=8)",
            ],
        },
    ],
    cost: "Communication in every step, the more the higher the stage; checkpoints need gathering.",
    not_when: &["there is one GPU", "it is sharded already", "the peak is in activations"],
    frameworks: &[Framework::PyTorch, Framework::DeepSpeed, Framework::Jax],
    sources: &[
        "https://arxiv.org/abs/1910.02054",
        "https://deepspeed.readthedocs.io/en/latest/memory.html",
        "https://docs.pytorch.org/docs/stable/distributed.fsdp.fully_shard.html",
    ],
    applies: Some(applies),
};

fn applies(case: &Case) -> Option<Proposal> {
    case.trainer()?;
    let cards = case.facts.cards.filter(|cards| *cards > 1)?;
    let states = states(case)?;
    let all = case.states().unwrap_or(states).max(states);
    // From ZeRO-1 over two cards to everything over all of them.
    let (from, to) = (share(states, 0.5), share(all, 1.0 - 1.0 / f64::from(cards)));
    let why = format!("optimizer states took {states}: over 2 to {cards} GPUs each should hold {} less", range(from, to));
    Proposal::saving(from, to, why)
}
