//! Give the container more shared memory.

use super::{Code, Effort, Side, Tip, Topic};
use crate::domain::Framework;

/// The entry.
pub const TIP: Tip = Tip {
    id: "raise_shm",
    title: "Give the container more shared memory",
    topic: Topic::Host,
    sides: &[Side::Training, Side::Operator],
    effort: Effort::Flag,
    does: "Data-loader workers pass batches through /dev/shm; a container has 64 MB of it. Bus errors come \
           from there.",
    code: &[
        Code { of: "Docker", lines: &["docker run --shm-size=16g IMAGE  # or --ipc=host"] },
        Code {
            of: "Kubernetes",
            lines: &[
                "volumes: [{name: shm, emptyDir: {medium: Memory, sizeLimit: 16Gi}}]",
                "volumeMounts: [{name: shm, mountPath: /dev/shm}]",
            ],
        },
    ],
    cost: "It counts as memory of the container.",
    not_when: &["the message names CUDA"],
    frameworks: &[Framework::PyTorch, Framework::Linux, Framework::Kubernetes],
    sources: &[
        "https://docs.docker.com/reference/cli/docker/container/run/",
        "https://docs.pytorch.org/docs/stable/multiprocessing.html",
    ],
    applies: None,
};
