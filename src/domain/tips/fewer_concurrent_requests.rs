//! Serve fewer requests at once.

use super::{Code, Effort, Side, Tip, Topic};
use crate::domain::Framework;

/// The entry.
pub const TIP: Tip = Tip {
    id: "fewer_concurrent_requests",
    title: "Serve fewer requests at once",
    topic: Topic::Serving,
    sides: &[Side::Inference, Side::Serving],
    effort: Effort::Flag,
    does: "The KV cache and the batch of a decoding step grow with the sequences that run together.",
    code: &[
        Code { of: "vLLM", lines: &["vllm serve MODEL --max-num-seqs 64"] },
        Code { of: "SGLang", lines: &["python -m sglang.launch_server --model-path MODEL --max-running-requests 64"] },
        Code { of: "llama.cpp", lines: &["llama-server -m MODEL.gguf --parallel 1"] },
        Code { of: "Ollama", lines: &["OLLAMA_NUM_PARALLEL=1 ollama serve"] },
    ],
    cost: "Requests wait.",
    not_when: &["it fails with one request"],
    frameworks: &[Framework::Vllm, Framework::Sglang, Framework::LlamaCpp, Framework::Ollama],
    sources: &[
        "https://docs.vllm.ai/en/latest/configuration/optimization.html",
        "https://docs.sglang.io/references/faq.html",
        "https://docs.ollama.com/faq",
    ],
    applies: None,
};
