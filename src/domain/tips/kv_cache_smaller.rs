//! Shrink the KV cache.

use super::{Code, Effort, Side, Tip, Topic};
use crate::domain::advice::{Case, Proposal};
use crate::domain::{FindingKind, Framework};

/// The entry.
pub const TIP: Tip = Tip {
    id: "kv_cache_smaller",
    title: "Shrink the KV cache",
    topic: Topic::Serving,
    sides: &[Side::Inference, Side::Serving],
    effort: Effort::Flag,
    does: "It takes 2 x layers x KV heads x head size x bytes for each token: 128 KiB for Llama 3 8B in \
           bfloat16, so 1 GiB for 8192 tokens, times the sequences at once. fp8 or q8_0 halves it.",
    code: &[
        Code { of: "vLLM", lines: &["vllm serve MODEL --max-model-len 16384 --kv-cache-dtype fp8"] },
        Code {
            of: "SGLang",
            lines: &[
                "python -m sglang.launch_server --model-path MODEL \\",
                "    --context-length 16384 --kv-cache-dtype fp8_e5m2",
            ],
        },
        Code { of: "llama.cpp", lines: &["llama-server -m MODEL.gguf -c 16384 -fa on -ctk q8_0 -ctv q8_0"] },
        Code {
            of: "Ollama",
            lines: &["OLLAMA_CONTEXT_LENGTH=16384 OLLAMA_FLASH_ATTENTION=1 OLLAMA_KV_CACHE_TYPE=q8_0 ollama serve"],
        },
    ],
    cost: "Shorter contexts, or a little quality.",
    not_when: &[
        "the weights leave nothing for it: quantize or split those",
        "vLLM and SGLang fill their share of the card whatever the length: that lowers what is needed, not \
           what is taken",
    ],
    frameworks: &[Framework::Vllm, Framework::Sglang, Framework::LlamaCpp, Framework::Ollama],
    sources: &[
        "https://docs.vllm.ai/en/latest/configuration/conserving_memory.html",
        "https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md",
        "https://docs.ollama.com/faq",
    ],
    applies: Some(applies),
};

fn applies(case: &Case) -> Option<Proposal> {
    // The others fill their share of the card whatever the cache needs.
    case.own().filter(|_| case.uses(Framework::LlamaCpp) || case.uses(Framework::Ollama))?;
    case.is(&[FindingKind::Oom, FindingKind::ProbableOom]).then(|| {
        Proposal::unmeasured("it ran out of memory: half the context, or a cache of 8 bits, needs half the cache".to_owned())
    })
}
