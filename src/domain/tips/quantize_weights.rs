//! Load smaller weights.

use super::{Code, Effort, Side, Tip, Topic};
use crate::domain::Framework;

/// The entry.
pub const TIP: Tip = Tip {
    id: "quantize_weights",
    title: "Load smaller weights",
    topic: Topic::States,
    sides: &[Side::Inference, Side::Serving],
    effort: Effort::Flag,
    does: "Weights take 4 bytes per parameter in float32, 2 in bfloat16, 1 in 8 bits, half a byte and some 5 \
           to 10 % in 4 bits.",
    code: &[
        Code {
            of: "transformers",
            lines: &[
                "AutoModelForCausalLM.from_pretrained(name, dtype=torch.bfloat16)",
                "AutoModelForCausalLM.from_pretrained(",
                "    name, quantization_config=BitsAndBytesConfig(load_in_4bit=True))",
            ],
        },
        Code { of: "vLLM", lines: &["vllm serve MODEL --quantization fp8"] },
        Code { of: "llama.cpp, Ollama", lines: &["llama-server -hf USER/MODEL:Q4_K_M", "ollama run MODEL:q4_K_M"] },
    ],
    cost: "Quality, little at 8 bits and more at 4; some kernels are slower.",
    not_when: &["the KV cache or the batch is what fills the card"],
    frameworks: &[Framework::PyTorch, Framework::Vllm, Framework::Sglang, Framework::LlamaCpp, Framework::Ollama],
    sources: &[
        "https://huggingface.co/docs/transformers/quantization/overview",
        "https://docs.vllm.ai/en/latest/configuration/conserving_memory.html",
        "https://huggingface.co/docs/transformers/model_memory_anatomy",
    ],
    applies: None,
};
