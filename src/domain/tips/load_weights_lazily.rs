//! Map weights instead of copying them.

use super::{Code, Effort, Side, Tip, Topic};
use crate::domain::Framework;

/// The entry.
pub const TIP: Tip = Tip {
    id: "load_weights_lazily",
    title: "Map weights instead of copying them",
    topic: Topic::Host,
    sides: &[Side::Training, Side::Inference, Side::Serving],
    effort: Effort::Flag,
    does: "A checkpoint that is read whole stands in host memory twice while the model is filled.",
    code: &[
        Code { of: "PyTorch", lines: &[r#"torch.load(path, map_location="cpu", mmap=True)"#] },
        Code { of: "safetensors", lines: &["from safetensors.torch import load_file", "state = load_file(path)"] },
        Code { of: "llama.cpp", lines: &["llama-server -m MODEL.gguf  # mmap is the default"] },
    ],
    cost: "Slow on network file systems.",
    not_when: &["GPU memory is what is full"],
    frameworks: &[Framework::PyTorch, Framework::LlamaCpp],
    sources: &["https://docs.pytorch.org/docs/stable/generated/torch.load.html", "https://huggingface.co/docs/safetensors/index"],
    applies: None,
};
