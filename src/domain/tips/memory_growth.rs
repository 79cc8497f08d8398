//! Let TensorFlow take memory as it needs it.

use super::{Code, Effort, Side, Tip, Topic};
use crate::domain::Framework;
use crate::domain::advice::{Case, Proposal, pool_in_the_way};

/// The entry.
pub const TIP: Tip = Tip {
    id: "memory_growth",
    title: "Let TensorFlow take memory as it needs it",
    topic: Topic::Allocator,
    sides: &[Side::Training, Side::Inference, Side::Serving],
    effort: Effort::Flag,
    does: "Without it TensorFlow takes nearly the whole card when it starts.",
    code: &[
        Code {
            of: "TensorFlow",
            lines: &[
                r#"for gpu in tf.config.list_physical_devices("GPU"):"#,
                "    tf.config.experimental.set_memory_growth(gpu, True)",
            ],
        },
        Code {
            of: "shell",
            lines: &[
                "export TF_FORCE_GPU_ALLOW_GROWTH=true",
                "export TF_GPU_ALLOCATOR=cuda_malloc_async  # against fragmentation",
            ],
        },
    ],
    cost: "What was taken is not given back; more fragmentation.",
    not_when: &["one program has the card to itself: taking all is harmless", "the model does not fit"],
    frameworks: &[Framework::TensorFlow],
    sources: &["https://www.tensorflow.org/guide/gpu#limiting_gpu_memory_growth"],
    applies: Some(applies),
};

fn applies(case: &Case) -> Option<Proposal> {
    let held = pool_in_the_way(case).filter(|_| case.uses(Framework::TensorFlow))?;
    Some(Proposal::unmeasured(format!("TensorFlow has taken {held} in advance, and others on this card need room")))
}
