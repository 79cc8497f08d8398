//! Give the job more host memory.

use super::{Code, Effort, Side, Tip, Topic};
use crate::domain::Framework;

/// The entry.
pub const TIP: Tip = Tip {
    id: "host_more_ram",
    title: "Give the job more host memory",
    topic: Topic::Host,
    sides: &[Side::Training, Side::Inference, Side::Serving, Side::Operator],
    effort: Effort::Flag,
    does: "Exit code 137, 'Killed' and WinError 1455 are host memory, not GPU memory.",
    code: &[
        Code { of: "Slurm", lines: &["#SBATCH --mem=128G"] },
        Code { of: "Kubernetes", lines: &[r#"resources: {limits: {memory: "128Gi"}}"#] },
        Code { of: "Docker", lines: &["docker run --memory=128g IMAGE"] },
        Code { of: "Windows", lines: &["System > Advanced > Performance > Virtual memory: a larger page file"] },
    ],
    cost: "Memory of the node.",
    not_when: &["the message names CUDA or the GPU"],
    frameworks: &[Framework::Linux, Framework::Slurm, Framework::Kubernetes, Framework::Windows],
    sources: &[
        "https://slurm.schedmd.com/sbatch.html",
        "https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/",
    ],
    applies: None,
};
