//! Whose allocator or engine it is, and what a command line tells of that.

use super::Process;
use super::command::{Invocation, title};

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
const NAMES: &[(&str, Framework, Role)] = &[
    ("vllm", Framework::Vllm, Role::Serving),
    ("sglang", Framework::Sglang, Role::Serving),
    ("ollama", Framework::Ollama, Role::Serving),
    ("ollama_llama_server", Framework::Ollama, Role::Serving),
    ("llama-server", Framework::LlamaCpp, Role::Serving),
    ("llama-cli", Framework::LlamaCpp, Role::Serving),
    ("llama-swap", Framework::LlamaCpp, Role::Serving),
    ("llama_cpp", Framework::LlamaCpp, Role::Serving),
    ("tritonserver", Framework::TensorRt, Role::Serving),
    ("trtllm-serve", Framework::TensorRt, Role::Serving),
    ("text-generation-launcher", Framework::PyTorch, Role::Serving),
    ("text-generation", Framework::PyTorch, Role::Serving),
    ("text-generation-server", Framework::PyTorch, Role::Serving),
    ("tensorflow_model_server", Framework::TensorFlow, Role::Serving),
    ("torchserve", Framework::PyTorch, Role::Serving),
    ("blender", Framework::Blender, Role::Serving),
    ("ffmpeg", Framework::Ffmpeg, Role::Serving),
    ("deepspeed", Framework::PyTorch, Role::Training),
    ("torchrun", Framework::PyTorch, Role::Training),
    ("torch.distributed.run", Framework::PyTorch, Role::Training),
    ("torch.distributed.launch", Framework::PyTorch, Role::Training),
    ("accelerate", Framework::PyTorch, Role::Training),
    ("axolotl", Framework::PyTorch, Role::Training),
    ("composer", Framework::PyTorch, Role::Training),
    ("torchtune", Framework::PyTorch, Role::Training),
    ("megatron", Framework::PyTorch, Role::Training),
    ("maxtext", Framework::Jax, Role::Training),
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
        let run = Invocation::parse(command);
        let title = title(command);
        let subjects = [run.program, run.name(), &title];
        // `vllm.entrypoints.openai`, `VLLM::EngineCore`: names may be parts.
        let mut parts = subjects.iter().flat_map(|word| word.split(['.', ':']).chain([*word]));
        let known = parts.find_map(|part| NAMES.iter().find(|(name, ..)| part.eq_ignore_ascii_case(name)));
        if let Some((_, framework, role)) = known {
            return Self { framework: Some(*framework), role: *role };
        }
        let lower = subjects.map(str::to_ascii_lowercase);
        let has = |part: &str| lower.iter().any(|word| word.contains(part));
        let framework = HINTS.iter().find(|(hint, _)| has(hint)).map(|(_, framework)| *framework);
        let role = if TRAINS.iter().any(|part| has(part)) { Role::Training } else { Role::Unknown };
        Self { framework, role }
    }
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
            ("VLLM::EngineCore", Some(F::Vllm), Role::Serving),
            ("env CUDA_VISIBLE_DEVICES=1 nohup python -u sft.py", None, Role::Training),
            ("accelerate launch --config_file a.yaml run.py", Some(F::PyTorch), Role::Training),
            ("[python]", None, Role::Unknown),
            ("", None, Role::Unknown),
        ] {
            assert_eq!(Workload::of(command), Workload { framework, role }, "{command}");
        }
    }
}
