//! Split the model over several GPUs.

use super::{Code, Effort, Side, Tip, Topic};
use crate::domain::Framework;

/// The entry.
pub const TIP: Tip = Tip {
    id: "split_across_gpus",
    title: "Split the model over several GPUs",
    topic: Topic::States,
    sides: &[Side::Inference, Side::Serving],
    effort: Effort::Flag,
    does: "Each card holds a part of every layer (tensor parallel) or some of the layers (pipeline).",
    code: &[
        Code { of: "vLLM", lines: &["vllm serve MODEL --tensor-parallel-size 2"] },
        Code { of: "SGLang", lines: &["python -m sglang.launch_server --model-path MODEL --tp 2"] },
        Code { of: "transformers", lines: &[r#"AutoModelForCausalLM.from_pretrained(name, device_map="auto")"#] },
        Code { of: "llama.cpp", lines: &["llama-server -m MODEL.gguf --tensor-split 1,1"] },
    ],
    cost: "Traffic between the cards for every token; without NVLink it is slow.",
    not_when: &["there is one GPU", "the model fits, and the batch or the KV cache does not: making those smaller is cheaper"],
    frameworks: &[Framework::PyTorch, Framework::Vllm, Framework::Sglang, Framework::LlamaCpp],
    sources: &[
        "https://docs.vllm.ai/en/latest/configuration/conserving_memory.html",
        "https://huggingface.co/docs/accelerate/concept_guides/big_model_inference",
    ],
    applies: None,
};
