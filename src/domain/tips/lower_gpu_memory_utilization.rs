//! Give the engine a smaller share.

use super::{Code, Effort, Side, Tip, Topic};
use crate::domain::advice::{Case, Proposal, pool_in_the_way, range, share};
use crate::domain::{FindingKind, Framework};

/// The entry.
pub const TIP: Tip = Tip {
    id: "lower_gpu_memory_utilization",
    title: "Give the engine a smaller share",
    topic: Topic::Serving,
    sides: &[Side::Serving],
    effort: Effort::Flag,
    does: "The engine takes its share at the start and never more: 0.05 less leaves a twentieth of the card \
           to others and to the engine's own graphs.",
    code: &[
        Code { of: "vLLM", lines: &["vllm serve MODEL --gpu-memory-utilization 0.80"] },
        Code { of: "SGLang", lines: &["python -m sglang.launch_server --model-path MODEL --mem-fraction-static 0.80"] },
    ],
    cost: "A smaller KV cache: fewer requests at once, more preemption.",
    not_when: &[
        "the engine has the card to itself and starts: a full pool is harmless",
        "no memory for cache blocks: that needs a larger share",
    ],
    frameworks: &[Framework::Vllm, Framework::Sglang],
    sources: &[
        "https://docs.vllm.ai/en/latest/configuration/conserving_memory.html",
        "https://docs.sglang.io/advanced_features/hyperparameter_tuning.html",
        "https://docs.sglang.io/references/faq.html",
    ],
    applies: Some(applies),
};

fn applies(case: &Case) -> Option<Proposal> {
    case.own().filter(|_| case.uses(Framework::Vllm) || case.uses(Framework::Sglang))?;
    let step = share(case.facts.total?, 0.05);
    let need = match case.finding.kind {
        FindingKind::GraphCapture if case.squeezed() => {
            "its graphs are captured beside its share, and next to nothing is left".to_owned()
        }
        FindingKind::Oom | FindingKind::ProbableOom => "it ran out of memory outside its pool".to_owned(),
        _ => format!("its pool holds {}, and others on this card need room", pool_in_the_way(case)?),
    };
    Proposal::saving(step, step, format!("{need}: each 0.05 less leaves {}", range(step, step)))
}
