//! Compute in bfloat16.

use super::{Code, Effort, Side, Tip, Topic};
use crate::domain::Framework;
use crate::domain::advice::{Case, Proposal, Swing, range, share};

/// The entry.
pub const TIP: Tip = Tip {
    id: "mixed_precision",
    title: "Compute in bfloat16",
    topic: Topic::Step,
    sides: &[Side::Training, Side::Inference],
    effort: Effort::Lines,
    does: "Under autocast matrix multiplications run in 16 bits, and what they save for the backward pass \
           takes half the room.",
    code: &[
        Code {
            of: "PyTorch",
            lines: &[
                r#"with torch.amp.autocast("cuda", dtype=torch.bfloat16):"#,
                "    loss = model(batch).loss",
                "loss.backward()",
            ],
        },
        Code { of: "PyTorch, float16", lines: &[r#"scaler = torch.amp.GradScaler("cuda")  # bfloat16 needs none"#] },
        Code { of: "transformers", lines: &["TrainingArguments(bf16=True)"] },
        Code { of: "TensorFlow", lines: &[r#"tf.keras.mixed_precision.set_global_policy("mixed_bfloat16")"#] },
    ],
    cost: "Less precision; reductions and the loss should stay in 32 bits, as autocast has it. bfloat16 needs \
           Ampere or newer.",
    not_when: &[
        "model and optimizer states are the problem: the 32-bit weights stay, and a 16-bit copy beside them \
           makes 6 bytes of 4 per parameter",
        "it already runs in 16 bits",
    ],
    frameworks: &[Framework::PyTorch, Framework::TensorFlow, Framework::Jax],
    sources: &["https://docs.pytorch.org/docs/stable/amp.html", "https://huggingface.co/docs/transformers/model_memory_anatomy"],
    applies: Some(applies),
};

fn applies(case: &Case) -> Option<Proposal> {
    let swing = case.swing()?;
    // At most half, of what comes from matrix multiplications; the rest stays in 32 bits.
    let (from, to) = (share(swing.bytes, swing.sure / 4.0), share(swing.bytes, 0.45));
    let Swing { bytes, words, given, .. } = swing;
    let why = format!("{words} {bytes}: {given}unless it already computes in 16 bits, autocast should save {}", range(from, to));
    Proposal::saving(from, to, why)
}
