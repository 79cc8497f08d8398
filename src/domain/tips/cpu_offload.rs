//! Keep states in host memory.

use super::{Code, Effort, Side, Tip, Topic};
use crate::domain::advice::{Case, Proposal, range, share, states};
use crate::domain::{Framework, MemoryKind};

/// The entry.
pub const TIP: Tip = Tip {
    id: "cpu_offload",
    title: "Keep states in host memory",
    topic: Topic::States,
    sides: &[Side::Training, Side::Inference, Side::Serving],
    effort: Effort::Redesign,
    does: "Optimizer states, weights or activations lie in host memory and come when they are needed.",
    code: &[
        Code { of: "DeepSpeed", lines: &[r#"{"zero_optimization": {"stage": 2, "offload_optimizer": {"device": "cpu"}}}"#] },
        Code {
            of: "PyTorch FSDP",
            lines: &[
                "from torch.distributed.fsdp import CPUOffloadPolicy, fully_shard",
                "fully_shard(model, offload_policy=CPUOffloadPolicy())",
            ],
        },
        Code {
            of: "PyTorch, activations",
            lines: &["with torch.autograd.graph.save_on_cpu(pin_memory=True):", "    loss = model(batch).loss"],
        },
        Code { of: "diffusers", lines: &["pipe.enable_model_cpu_offload()"] },
        Code { of: "vLLM", lines: &["vllm serve MODEL --cpu-offload-gb 8"] },
    ],
    cost: "PCIe speed for what is moved, and host memory: DeepSpeed counts about 18 bytes per parameter times \
           1.5.",
    not_when: &["host memory is short too", "unified memory (GB10, Jetson): it is the same memory"],
    frameworks: &[Framework::PyTorch, Framework::DeepSpeed, Framework::Vllm],
    sources: &[
        "https://deepspeed.readthedocs.io/en/latest/memory.html",
        "https://docs.pytorch.org/docs/stable/distributed.fsdp.fully_shard.html",
        "https://docs.vllm.ai/en/latest/configuration/conserving_memory.html",
    ],
    applies: Some(applies),
};

fn applies(case: &Case) -> Option<Proposal> {
    case.trainer().filter(|_| case.facts.memory == MemoryKind::Dedicated)?;
    let states = states(case)?;
    let from = share(states, 0.9);
    let why = format!("optimizer states took {states}: in host memory they give back {}", range(from, states));
    Proposal::saving(from, states, why)
}
