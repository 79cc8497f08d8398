//! Ask the framework what holds the memory.

use super::{Code, Effort, Side, Tip, Topic};
use crate::domain::advice::{Case, Leak, Proposal};
use crate::domain::{FindingKind, Framework};

/// The entry.
pub const TIP: Tip = Tip {
    id: "memory_profiler",
    title: "Ask the framework what holds the memory",
    topic: Topic::Diagnosis,
    sides: &[Side::Training, Side::Inference, Side::Serving],
    effort: Effort::Lines,
    does: "From outside only blocks can be seen. The framework knows each tensor, and the line that made it.",
    code: &[
        Code {
            of: "PyTorch, in numbers",
            lines: &["print(torch.cuda.memory_summary())", "torch.cuda.max_memory_allocated(), torch.cuda.memory_reserved()"],
        },
        Code {
            of: "PyTorch, a recording",
            lines: &[
                "torch.cuda.memory._record_memory_history(max_entries=100_000)",
                "...  # a few steps",
                r#"torch.cuda.memory._dump_snapshot("mem.pickle")  # open it at https://docs.pytorch.org/memory_viz"#,
            ],
        },
        Code {
            of: "PyTorch, with operators",
            lines: &[
                "with torch.profiler.profile(profile_memory=True, with_stack=True) as prof:",
                "    step()",
                r#"print(prof.key_averages().table(sort_by="self_device_memory_usage"))"#,
            ],
        },
        Code { of: "JAX", lines: &[r#"jax.profiler.save_device_memory_profile("memory.prof")"#] },
        Code { of: "TensorFlow", lines: &[r#"tf.config.experimental.get_memory_info("GPU:0")"#] },
    ],
    cost: "Recording stacks slows the steps that are recorded.",
    not_when: &["memory outside the framework: contexts, NCCL, other processes"],
    frameworks: &[Framework::PyTorch, Framework::Jax, Framework::TensorFlow],
    sources: &[
        "https://docs.pytorch.org/docs/stable/torch_cuda_memory.html",
        "https://docs.pytorch.org/docs/stable/profiler.html",
        "https://docs.jax.dev/en/latest/device_memory_profiling.html",
    ],
    applies: Some(applies),
};

fn applies(case: &Case) -> Option<Proposal> {
    case.trainer()?;
    if let Some(leak) = Leak::of(case) {
        return Some(Proposal::unmeasured(format!("{leak}: two recordings some steps apart show what stays")));
    }
    case.is(&[FindingKind::Oom, FindingKind::ProbableOom])
        .then(|| Proposal::unmeasured("it ran out of memory: a recording of the first steps shows what takes it".to_owned()))
}
