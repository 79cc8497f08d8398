//! Whose allocator or engine it is, and what a command line tells of that.

use super::Process;

/// A library, engine or system that takes memory or fails to get it; the words of `--json`.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    strum::Display,
    strum::EnumString,
    strum::EnumIter,
    strum::IntoStaticStr,
)]
#[strum(serialize_all = "lowercase")]
pub enum Framework {
    /// PyTorch and what stands on it.
    PyTorch,
    /// TensorFlow and Keras on it.
    TensorFlow,
    /// JAX and what stands on it.
    Jax,
    /// The CUDA runtime or driver by itself.
    Cuda,
    /// NVIDIA's collectives.
    Nccl,
    /// The serving engine vLLM.
    Vllm,
    /// The serving engine `SGLang`.
    Sglang,
    /// llama.cpp and its server.
    #[strum(serialize = "llama.cpp")]
    LlamaCpp,
    /// Ollama.
    Ollama,
    /// `CuPy`.
    Cupy,
    /// Numba.
    Numba,
    /// The RAPIDS memory manager.
    Rmm,
    /// ONNX Runtime.
    OnnxRuntime,
    /// `TensorRT` and Triton Inference Server's plans.
    TensorRt,
    /// `PaddlePaddle`.
    Paddle,
    /// `MXNet`.
    Mxnet,
    /// `XGBoost`.
    Xgboost,
    /// The kernel language Triton.
    Triton,
    /// Faiss.
    Faiss,
    /// Blender.
    Blender,
    /// `FFmpeg` and NVENC.
    Ffmpeg,
    /// `CUDA.jl`.
    #[strum(serialize = "cuda.jl")]
    CudaJl,
    /// Candle.
    Candle,
    /// `DeepSpeed`.
    DeepSpeed,
    /// The Linux kernel.
    Linux,
    /// Slurm.
    Slurm,
    /// Kubernetes.
    Kubernetes,
    /// Windows.
    Windows,
}

/// What a process is there for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Role {
    /// It trains.
    Training,
    /// It answers requests.
    Serving,
    /// Its command does not tell: a script, a notebook.
    #[default]
    Unknown,
}

/// What a command line tells of a process. A guess by names: it may steer advice, never a figure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Workload {
    /// Whose allocator it uses, where the names tell.
    pub framework: Option<Framework>,
    /// What it is there for.
    pub role: Role,
}

/// Names of programs and modules that tell both; the first that a command has decides.
const NAMES: &[(&str, Option<Framework>, Role)] = &[
    ("vllm", Some(Framework::Vllm), Role::Serving),
    ("sglang", Some(Framework::Sglang), Role::Serving),
    ("ollama", Some(Framework::Ollama), Role::Serving),
    ("ollama_llama_server", Some(Framework::Ollama), Role::Serving),
    ("llama-server", Some(Framework::LlamaCpp), Role::Serving),
    ("llama-cli", Some(Framework::LlamaCpp), Role::Serving),
    ("llama-swap", Some(Framework::LlamaCpp), Role::Serving),
    ("llama_cpp", Some(Framework::LlamaCpp), Role::Serving),
    ("tritonserver", Some(Framework::TensorRt), Role::Serving),
    ("trtllm-serve", Some(Framework::TensorRt), Role::Serving),
    ("text-generation-launcher", Some(Framework::PyTorch), Role::Serving),
    ("text-generation-server", Some(Framework::PyTorch), Role::Serving),
    ("ComfyUI", Some(Framework::PyTorch), Role::Serving),
    ("tensorflow_model_server", Some(Framework::TensorFlow), Role::Serving),
    ("torchserve", Some(Framework::PyTorch), Role::Serving),
    ("blender", Some(Framework::Blender), Role::Serving),
    ("ffmpeg", Some(Framework::Ffmpeg), Role::Serving),
    ("deepspeed", Some(Framework::PyTorch), Role::Training),
    ("torchrun", Some(Framework::PyTorch), Role::Training),
    ("torch.distributed.run", Some(Framework::PyTorch), Role::Training),
    ("torch.distributed.launch", Some(Framework::PyTorch), Role::Training),
    ("accelerate", Some(Framework::PyTorch), Role::Training),
    ("axolotl", Some(Framework::PyTorch), Role::Training),
    ("torchtune", Some(Framework::PyTorch), Role::Training),
    ("megatron", Some(Framework::PyTorch), Role::Training),
    ("maxtext", Some(Framework::Jax), Role::Training),
];

/// Parts of words that tell a framework alone.
const HINTS: &[(&str, Framework)] = &[
    ("jax", Framework::Jax),
    ("flax", Framework::Jax),
    ("tensorflow", Framework::TensorFlow),
    ("keras", Framework::TensorFlow),
    ("torch", Framework::PyTorch),
    ("lightning", Framework::PyTorch),
    ("paddle", Framework::Paddle),
];

/// Parts of a script's or module's name that tell that it trains.
const TRAINS: &[&str] = &["train", "finetune", "fine_tune", "fine-tune", "sft", "dpo", "grpo", "run_clm", "run_mlm"];

/// No more of a command line is looked at, in words.
const WORDS: usize = 32;

impl Workload {
    /// What the command line of a process tells, and else the launcher of the job that it is part of.
    pub fn of_process(process: &Process) -> Self {
        let own = process.command.as_ref().map(|command| Self::of(command)).unwrap_or_default();
        let launched = process.job.as_ref().map(|job| Self::of(&job.launcher)).unwrap_or_default();
        Self {
            framework: own.framework.or(launched.framework),
            role: if own.role == Role::Unknown { launched.role } else { own.role },
        }
    }

    /// What a command line tells. Only the program, and the script or module that it runs, are looked at, not what stands in
    /// options: a data set may be called anything.
    pub fn of(command: &str) -> Self {
        let subject: Vec<&str> = subjects(command);
        for word in &subject {
            let parts = || word.split(['/', '\\', '.']).chain([*word]);
            if let Some((_, framework, role)) =
                NAMES.iter().find(|(name, ..)| parts().any(|part| part.eq_ignore_ascii_case(name)))
            {
                return Self { framework: *framework, role: *role };
            }
        }
        let lower: Vec<String> = subject.iter().map(|word| word.to_ascii_lowercase()).collect();
        let framework =
            HINTS.iter().find(|(hint, _)| lower.iter().any(|word| word.contains(hint))).map(|(_, framework)| *framework);
        let file = |word: &String| word.rsplit(['/', '\\']).next().unwrap_or_default().to_owned();
        let trains = lower.iter().map(file).any(|name| TRAINS.iter().any(|part| name.contains(part)));
        Self { framework, role: if trains { Role::Training } else { Role::Unknown } }
    }
}

/// The program, and the words after it up to the script or module that it runs: options in between are passed over.
fn subjects(command: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut words = command.split_whitespace().take(WORDS).peekable();
    if let Some(program) = words.next() {
        found.push(program);
    }
    while let Some(word) = words.next() {
        match word {
            // The word after it is the module, and it is the last that counts.
            "-m" => {
                found.extend(words.next());
                break;
            }
            _ if word.starts_with('-') => {}
            // `torchrun --nproc_per_node 8 train.py`: the value of an option is no script.
            _ if word.contains(['.', '/', '\\']) || found.len() == 1 && word.chars().any(char::is_alphabetic) => {
                found.push(word);
                break;
            }
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_tell_by_program_script_or_module() {
        use Framework as F;
        for (command, framework, role) in [
            ("python train.py --bs 64", None, Role::Training),
            ("/usr/bin/python3.12 -u /home/u/exp/finetune_lora.py", None, Role::Training),
            ("python -m vllm.entrypoints.openai.api_server --model x", Some(F::Vllm), Role::Serving),
            ("/opt/venv/bin/vllm serve meta-llama/Llama-3.1-8B", Some(F::Vllm), Role::Serving),
            ("python -m sglang.launch_server --model-path x", Some(F::Sglang), Role::Serving),
            ("/usr/local/bin/ollama runner --model y", Some(F::Ollama), Role::Serving),
            ("llama-server -m model.gguf -c 8192", Some(F::LlamaCpp), Role::Serving),
            ("torchrun --nproc_per_node 8 pretrain.py", Some(F::PyTorch), Role::Training),
            ("python -m torch.distributed.run train.py", Some(F::PyTorch), Role::Training),
            ("python jax_train.py", Some(F::Jax), Role::Training),
            ("python main.py --data imagenet/train", None, Role::Unknown),
            ("python -m ipykernel_launcher -f kernel-5d1c.json", None, Role::Unknown),
            ("[python]", None, Role::Unknown),
            ("", None, Role::Unknown),
        ] {
            assert_eq!(Workload::of(command), Workload { framework, role }, "{command}");
        }
    }
}
