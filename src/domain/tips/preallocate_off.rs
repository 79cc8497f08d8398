//! Let JAX take memory as it needs it.

use super::{Code, Effort, Side, Tip, Topic};
use crate::domain::Framework;
use crate::domain::advice::{Case, Proposal, pool_in_the_way};

/// The entry.
pub const TIP: Tip = Tip {
    id: "preallocate_off",
    title: "Let JAX take memory as it needs it",
    topic: Topic::Allocator,
    sides: &[Side::Training, Side::Inference, Side::Serving],
    effort: Effort::Flag,
    does: "JAX then starts small and grows.",
    code: &[Code { of: "shell", lines: &["export XLA_PYTHON_CLIENT_PREALLOCATE=false"] }],
    cost: "Slower allocation and more fragmentation: a program near the size of the card may fail.",
    not_when: &[
        "one program is too large: its buffers are planned before it runs",
        "memory has to come back: it grows, and gives nothing back",
    ],
    frameworks: &[Framework::Jax],
    sources: &["https://docs.jax.dev/en/latest/gpu_memory_allocation.html"],
    applies: Some(applies),
};

fn applies(case: &Case) -> Option<Proposal> {
    let held = pool_in_the_way(case).filter(|_| case.uses(Framework::Jax))?;
    Some(Proposal::unmeasured(format!("JAX has taken {held} in advance, and others on this card need room")))
}
