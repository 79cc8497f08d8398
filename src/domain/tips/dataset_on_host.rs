//! Feed batches, keep the data set on the host.

use super::{Code, Effort, Side, Tip, Topic};
use crate::domain::Framework;

/// The entry.
pub const TIP: Tip = Tip {
    id: "dataset_on_host",
    title: "Feed batches, keep the data set on the host",
    topic: Topic::States,
    sides: &[Side::Training, Side::Inference],
    effort: Effort::Lines,
    does: "Arrays given whole become constants on the GPU. A pipeline holds a batch or two.",
    code: &[
        Code {
            of: "TensorFlow",
            lines: &["dataset = tf.data.Dataset.from_generator(read, output_signature=spec).batch(64).prefetch(2)"],
        },
        Code {
            of: "PyTorch",
            lines: &[
                "for batch in DataLoader(dataset, batch_size=64, pin_memory=True):",
                r#"    batch = batch.to("cuda", non_blocking=True)"#,
            ],
        },
    ],
    cost: "Copies in every step; prefetching hides them.",
    not_when: &["the data set is small against the card, and speed is what counts"],
    frameworks: &[Framework::TensorFlow, Framework::PyTorch, Framework::Jax],
    sources: &["https://www.tensorflow.org/guide/data"],
    applies: None,
};
