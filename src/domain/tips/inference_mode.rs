//! Evaluate under `inference_mode`.

use super::{Code, Effort, Side, Tip, Topic};
use crate::domain::advice::{Case, Proposal, evaluation, range, share};
use crate::domain::{FindingKind, Framework};

/// The entry.
pub const TIP: Tip = Tip {
    id: "inference_mode",
    title: "Evaluate under inference_mode",
    topic: Topic::Growth,
    sides: &[Side::Training, Side::Inference],
    effort: Effort::Lines,
    does: "Without a graph, only the layer at work keeps its activations instead of all of them.",
    code: &[Code {
        of: "PyTorch",
        lines: &[
            "@torch.inference_mode()",
            "def evaluate(model, loader):",
            "    model.eval()  # dropout and batch norm; it does not stop the graph",
            "    ...",
        ],
    }],
    cost: "None. What comes out cannot enter autograd later; use torch.no_grad() for that.",
    not_when: &[
        "training steps",
        "the loop already has no_grad: then halve the evaluation batch",
        "memory is kept by collected outputs: move those to the CPU",
    ],
    frameworks: &[Framework::PyTorch],
    sources: &[
        "https://docs.pytorch.org/docs/stable/generated/torch.autograd.grad_mode.inference_mode.html",
        "https://docs.pytorch.org/docs/stable/notes/faq.html",
    ],
    applies: Some(applies),
};

fn applies(case: &Case) -> Option<Proposal> {
    case.trainer().filter(|_| case.may_be(Framework::PyTorch))?;
    let (what, rise) = match evaluation(case) {
        Some(rise) => ("evaluation added", rise),
        None => ("each epoch adds", case.bytes(&["step"]).filter(|_| case.is(&[FindingKind::LeakEpoch]))?),
    };
    let (from, to) = (share(rise, 0.5), rise);
    let less = range(from, to);
    let why = format!(
        "{what} {rise}: {}under inference_mode that should be {less} less, unless it is there already",
        case.if_pytorch()
    );
    Proposal::saving(from, to, why)
}
