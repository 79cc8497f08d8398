//! Log numbers, not tensors.

use super::{Code, Effort, Side, Tip, Topic};
use crate::domain::advice::{Case, Leak, Proposal, evaluation, range};
use crate::domain::{Bytes, Framework};

/// The entry.
pub const TIP: Tip = Tip {
    id: "detach_logged_tensors",
    title: "Log numbers, not tensors",
    topic: Topic::Growth,
    sides: &[Side::Training, Side::Inference],
    effort: Effort::Lines,
    does: "A loss that is added up or a prediction kept in a list holds the whole graph behind it. A number \
           or a detached copy on the CPU holds nothing.",
    code: &[
        Code { of: "PyTorch", lines: &["total += loss.item()", "predictions.append(logits.detach().cpu())"] },
        Code { of: "transformers", lines: &["TrainingArguments(eval_accumulation_steps=8, prediction_loss_only=True)"] },
    ],
    cost: ".item() and .cpu() wait for the GPU: log every few steps.",
    not_when: &["memory is level at constant work", "the growth comes from ever longer inputs"],
    frameworks: &[Framework::PyTorch],
    sources: &["https://docs.pytorch.org/docs/stable/notes/faq.html"],
    applies: Some(applies),
};

fn applies(case: &Case) -> Option<Proposal> {
    case.trainer().filter(|_| case.may_be(Framework::PyTorch))?;
    if let Some(rise) = evaluation(case) {
        let why = format!("evaluation added {rise}: outputs collected on the GPU may be {} of it", range(Bytes::ZERO, rise));
        return Proposal::saving(Bytes::ZERO, rise, why);
    }
    let leak = Leak::of(case)?;
    let why = format!("{leak}: usually a loss or an output that is kept with its graph; that is {}", leak.range());
    Proposal::saving(leak.grown, leak.at_full, why)
}
