//! Capture fewer CUDA graphs.

use super::{Code, Effort, Side, Tip, Topic};
use crate::domain::advice::{Case, Proposal, range, share};
use crate::domain::{FindingKind, Framework};

/// The entry.
pub const TIP: Tip = Tip {
    id: "disable_cuda_graphs",
    title: "Capture fewer CUDA graphs",
    topic: Topic::Serving,
    sides: &[Side::Serving],
    effort: Effort::Flag,
    does: "Each captured size keeps memory of its own, 1 to 3 GiB in all for vLLM.",
    code: &[
        Code {
            of: "vLLM",
            lines: &["vllm serve MODEL --max-cudagraph-capture-size 64", "vllm serve MODEL --enforce-eager  # none at all"],
        },
        Code { of: "SGLang", lines: &["python -m sglang.launch_server --model-path MODEL --cuda-graph-max-bs 16"] },
    ],
    cost: "Slower decoding, without any graphs markedly so.",
    not_when: &["memory ran out before the capture"],
    frameworks: &[Framework::Vllm, Framework::Sglang, Framework::PyTorch],
    sources: &[
        "https://docs.vllm.ai/en/latest/configuration/conserving_memory.html",
        "https://docs.sglang.io/advanced_features/hyperparameter_tuning.html",
    ],
    applies: Some(applies),
};

fn applies(case: &Case) -> Option<Proposal> {
    case.own().filter(|_| case.is(&[FindingKind::GraphCapture]) && case.squeezed())?;
    let rise = case.bytes(&["rise"])?;
    let from = share(rise, 0.5);
    let why = format!("captured graphs took {rise}, and little is left: fewer sizes give back {}", range(from, rise));
    Proposal::saving(from, rise, why)
}
