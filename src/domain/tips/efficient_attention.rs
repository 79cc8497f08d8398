//! Use a fused attention kernel.

use super::{Code, Effort, Side, Tip, Topic};
use crate::domain::Framework;

/// The entry.
pub const TIP: Tip = Tip {
    id: "efficient_attention",
    title: "Use a fused attention kernel",
    topic: Topic::Step,
    sides: &[Side::Training, Side::Inference, Side::Serving],
    effort: Effort::Lines,
    does: "A score matrix of batch x heads x length x length is never written out: the quadratic term of the \
           memory vanishes.",
    code: &[
        Code { of: "PyTorch", lines: &["F.scaled_dot_product_attention(q, k, v, is_causal=True)"] },
        Code {
            of: "transformers",
            lines: &[r#"AutoModel.from_pretrained(name, attn_implementation="sdpa")  # or "flash_attention_2""#],
        },
        Code { of: "JAX", lines: &[r#"jax.nn.dot_product_attention(q, k, v, is_causal=True, implementation="cudnn")"#] },
        Code { of: "diffusers", lines: &["pipe.enable_attention_slicing()  # where no fused kernel fits"] },
    ],
    cost: "None in most cases: it is faster too. Attention weights can't be returned.",
    not_when: &["the model uses one already: transformers does where it can", "sequences are short"],
    frameworks: &[Framework::PyTorch, Framework::Jax],
    sources: &[
        "https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.scaled_dot_product_attention.html",
        "https://arxiv.org/abs/2205.05198",
    ],
    applies: None,
};
