//! Keep some layers on the CPU.

use super::{Code, Effort, Side, Tip, Topic};
use crate::domain::Framework;

/// The entry.
pub const TIP: Tip = Tip {
    id: "fewer_gpu_layers",
    title: "Keep some layers on the CPU",
    topic: Topic::Serving,
    sides: &[Side::Inference, Side::Serving],
    effort: Effort::Flag,
    does: "Each layer that stays in host memory saves its weights and its part of the KV cache.",
    code: &[
        Code {
            of: "llama.cpp",
            lines: &["llama-server -m MODEL.gguf -ngl 24", "llama-server -m MODEL.gguf --n-cpu-moe 16  # experts alone"],
        },
        Code { of: "Ollama", lines: &[r#"{"model": "MODEL", "options": {"num_gpu": 24}}"#] },
    ],
    cost: "Those layers run at the speed of the CPU.",
    not_when: &["a smaller quantization or context would do: it is faster"],
    frameworks: &[Framework::LlamaCpp, Framework::Ollama],
    sources: &["https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md"],
    applies: None,
};
