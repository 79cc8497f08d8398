//! Give the engine a larger share.

use super::{Code, Effort, Side, Tip, Topic};
use crate::domain::Framework;

/// The entry.
pub const TIP: Tip = Tip {
    id: "raise_gpu_memory_utilization",
    title: "Give the engine a larger share",
    topic: Topic::Serving,
    sides: &[Side::Serving],
    effort: Effort::Flag,
    does: "What weights, activations and graphs leave of the share becomes KV cache.",
    code: &[
        Code { of: "vLLM", lines: &["vllm serve MODEL --gpu-memory-utilization 0.95"] },
        Code {
            of: "SGLang, while the KV pool is made",
            lines: &["python -m sglang.launch_server --model-path MODEL --mem-fraction-static 0.92"],
        },
    ],
    cost: "Less room for others, and for what the engine takes outside its share.",
    not_when: &[
        "others hold memory on the card: the share counts from the total",
        "graph capture or a request failed: then lower it",
    ],
    frameworks: &[Framework::Vllm, Framework::Sglang],
    sources: &[
        "https://docs.vllm.ai/en/latest/configuration/optimization.html",
        "https://docs.sglang.io/advanced_features/hyperparameter_tuning.html",
    ],
    applies: None,
};
