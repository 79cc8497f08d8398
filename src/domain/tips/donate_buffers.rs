//! Donate buffers that are replaced.

use super::{Code, Effort, Side, Tip, Topic};
use crate::domain::Framework;

/// The entry.
pub const TIP: Tip = Tip {
    id: "donate_buffers",
    title: "Donate buffers that are replaced",
    topic: Topic::States,
    sides: &[Side::Training],
    effort: Effort::Flag,
    does: "A jitted step that returns a new state keeps the old one until it ends: two copies of weights and \
           optimizer states. Donated, the new one takes the old one's memory.",
    code: &[Code { of: "JAX", lines: &["step = jax.jit(step, donate_argnums=(0,))  # the train state"] }],
    cost: "The old state can't be used after the call.",
    not_when: &["the state is used again after the step"],
    frameworks: &[Framework::Jax],
    sources: &["https://docs.jax.dev/en/latest/buffer_donation.html"],
    applies: None,
};
