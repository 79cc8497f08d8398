//! Recompute activations in the backward pass.

use super::{Code, Effort, Side, Tip, Topic};
use crate::domain::Framework;
use crate::domain::advice::{Case, Proposal, Swing, range, share};

/// The entry.
pub const TIP: Tip = Tip {
    id: "gradient_checkpointing",
    title: "Recompute activations in the backward pass",
    topic: Topic::Step,
    sides: &[Side::Training],
    effort: Effort::Lines,
    does: "Keeps the inputs of each block alone and computes the rest again in the backward pass. For 32 \
           layers of width 4096 at 2048 tokens that leaves 1.4 of 28.5 GiB.",
    code: &[
        Code {
            of: "PyTorch",
            lines: &[
                "from torch.utils.checkpoint import checkpoint",
                "for block in self.blocks:",
                "    x = checkpoint(block, x, use_reentrant=False)",
            ],
        },
        Code {
            of: "transformers",
            lines: &[r#"model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})"#],
        },
        Code { of: "JAX", lines: &["block = jax.checkpoint(block)"] },
    ],
    cost: "One more forward pass: at most a third more computation, some 20 % of time as measured by \
           transformers.",
    not_when: &[
        "inference, loading and the optimizer step: there is no backward pass to save for",
        "weights and optimizer states fill the card",
        "it is on already",
    ],
    frameworks: &[Framework::PyTorch, Framework::Jax, Framework::DeepSpeed],
    sources: &[
        "https://docs.pytorch.org/docs/stable/checkpoint.html",
        "https://huggingface.co/docs/transformers/grad_checkpointing",
        "https://arxiv.org/abs/2205.05198",
        "https://arxiv.org/abs/1604.06174",
    ],
    applies: Some(applies),
};

fn applies(case: &Case) -> Option<Proposal> {
    let swing = case.swing()?;
    // Nearly all activations go; what of the swing is logits, gradients and workspaces stays.
    let (from, to) = (share(swing.bytes, swing.sure / 2.0), share(swing.bytes, 0.8));
    let Swing { bytes, words, given, .. } = swing;
    let why =
        format!("{words} {bytes}: {given}recomputing activations should save {}, unless it does so already", range(from, to));
    Proposal::saving(from, to, why)
}
