//! Update the driver or the library.

use super::{Code, Effort, Side, Tip, Topic};

/// The entry.
pub const TIP: Tip = Tip {
    id: "update_software",
    title: "Update the driver or the library",
    topic: Topic::Diagnosis,
    sides: &[Side::Training, Side::Inference, Side::Serving, Side::Operator],
    effort: Effort::Flag,
    does: "Known leaks and wrong readings are mended in newer versions; new cards need new libraries.",
    code: &[Code {
        of: "shell",
        lines: &[
            "nvidia-smi --query-gpu=driver_version --format=csv",
            r#"python -c "import torch; print(torch.__version__, torch.version.cuda)""#,
        ],
    }],
    cost: "A test of everything else.",
    not_when: &["nothing in the release notes fits"],
    frameworks: &[],
    sources: &["https://docs.nvidia.com/datacenter/tesla/index.html", "https://github.com/pytorch/pytorch/releases"],
    applies: None,
};
