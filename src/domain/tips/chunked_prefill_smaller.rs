//! Prefill in smaller chunks.

use super::{Code, Effort, Side, Tip, Topic};
use crate::domain::Framework;

/// The entry.
pub const TIP: Tip = Tip {
    id: "chunked_prefill_smaller",
    title: "Prefill in smaller chunks",
    topic: Topic::Serving,
    sides: &[Side::Serving],
    effort: Effort::Flag,
    does: "Long prompts are read in chunks; activations grow with the chunk.",
    code: &[
        Code { of: "vLLM", lines: &["vllm serve MODEL --max-num-batched-tokens 2048"] },
        Code { of: "SGLang", lines: &["python -m sglang.launch_server --model-path MODEL --chunked-prefill-size 2048"] },
        Code { of: "llama.cpp", lines: &["llama-server -m MODEL.gguf -ub 256"] },
    ],
    cost: "Long prompts take longer.",
    not_when: &["it fails while decoding or at start-up"],
    frameworks: &[Framework::Vllm, Framework::Sglang, Framework::LlamaCpp],
    sources: &[
        "https://docs.vllm.ai/en/latest/configuration/optimization.html",
        "https://docs.sglang.io/advanced_features/hyperparameter_tuning.html",
        "https://docs.sglang.io/references/faq.html",
    ],
    applies: None,
};
