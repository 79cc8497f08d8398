//! Give JAX a smaller share.

use super::{Code, Effort, Side, Tip, Topic};
use crate::domain::Framework;
use crate::domain::advice::{Case, Proposal, pool_in_the_way, range, share};

/// The entry.
pub const TIP: Tip = Tip {
    id: "preallocate_fraction",
    title: "Give JAX a smaller share",
    topic: Topic::Allocator,
    sides: &[Side::Training, Side::Inference, Side::Serving],
    effort: Effort::Flag,
    does: "JAX takes 75 % of the card with its first operation. A smaller share leaves the rest to others.",
    code: &[Code { of: "shell", lines: &["export XLA_CLIENT_MEM_FRACTION=.50"] }],
    cost: "The program has that much less.",
    not_when: &["one program has the card to itself", "one program is too large: a smaller share does not make it fit"],
    frameworks: &[Framework::Jax],
    sources: &["https://docs.jax.dev/en/latest/gpu_memory_allocation.html"],
    applies: Some(applies),
};

fn applies(case: &Case) -> Option<Proposal> {
    let held = pool_in_the_way(case).filter(|_| case.uses(Framework::Jax))?;
    // From .75 to .50 is a quarter of the card.
    let quarter = share(case.facts.total?, 0.25);
    let why = format!(
        "JAX has taken {held} in advance, and others on this card need room: .50 instead of .75 leaves {}",
        range(quarter, quarter)
    );
    Proposal::saving(quarter, quarter, why)
}
