//! Halve the micro-batch and accumulate gradients.

use super::{Code, Effort, Side, Tip, Topic};
use crate::domain::advice::{Case, Proposal, Swing, evaluation, range, share};

/// The entry.
pub const TIP: Tip = Tip {
    id: "reduce_batch_accumulate",
    title: "Halve the micro-batch and accumulate gradients",
    topic: Topic::Step,
    sides: &[Side::Training, Side::Inference],
    effort: Effort::Flag,
    does: "What a step saves for the backward pass grows with the micro-batch: half of it needs half of the \
           activations and logits. Accumulating gradients over twice as many micro-batches keeps the \
           effective batch.",
    code: &[
        Code {
            of: "PyTorch",
            lines: &[
                "loss = model(batch).loss / accumulate",
                "loss.backward()",
                "if (step + 1) % accumulate == 0:",
                "    optimizer.step()",
                "    optimizer.zero_grad()",
            ],
        },
        Code {
            of: "transformers",
            lines: &[
                "TrainingArguments(",
                "    per_device_train_batch_size=8,",
                "    gradient_accumulation_steps=4,",
                "    auto_find_batch_size=True,  # halves by itself after an OOM",
                ")",
            ],
        },
        Code { of: "DeepSpeed", lines: &[r#"{"train_micro_batch_size_per_gpu": 8, "gradient_accumulation_steps": 4}"#] },
    ],
    cost: "More, smaller kernels: throughput falls once the micro-batch no longer fills the GPU. Batch norm \
           sees the smaller batch.",
    not_when: &[
        "weights, gradients and optimizer states fill the card: they do not depend on the batch",
        "one single sample does not fit",
        "while weights are being loaded",
    ],
    frameworks: &[],
    sources: &[
        "https://huggingface.co/docs/transformers/model_memory_anatomy",
        "https://huggingface.co/docs/accelerate/usage_guides/gradient_accumulation",
        "https://arxiv.org/abs/2205.05198",
    ],
    applies: Some(applies),
};

fn applies(case: &Case) -> Option<Proposal> {
    if let Some(rise) = evaluation(case) {
        let (from, to) = (share(rise, 0.4), share(rise, 0.5));
        let why = format!("evaluation added {rise}: half the evaluation batch should take {} off that", range(from, to));
        return Proposal::saving(from, to, why);
    }
    let swing = case.swing()?;
    // Half of what a step computes goes with half the batch; temporaries and gradients within the swing do not.
    let (from, to) = (share(swing.bytes, swing.sure / 2.0), share(swing.bytes, 0.5));
    let Swing { bytes, words, given, .. } = swing;
    let why = format!("{words} {bytes}: {given}half the batch should lower the peak of a step by {}", range(from, to));
    Proposal::saving(from, to, why)
}
