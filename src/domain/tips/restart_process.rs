//! Restart, and look at the device.

use super::{Code, Effort, Side, Tip, Topic};
use crate::domain::FindingKind;
use crate::domain::advice::{Case, Proposal};

/// The entry.
pub const TIP: Tip = Tip {
    id: "restart_process",
    title: "Restart, and look at the device",
    topic: Topic::Sharing,
    sides: &[Side::Serving, Side::Operator],
    effort: Effort::Flag,
    does: "A lost device, a stale driver state or a dead child does not come back within the process.",
    code: &[Code {
        of: "shell",
        lines: &[
            "sudo dmesg | grep -iE 'nvrm|xid'",
            "nvidia-smi -L",
            "ls -l /dev/nvidia*",
            "docker restart CONTAINER     # device nodes of a container can go stale",
        ],
    }],
    cost: "What was not saved.",
    not_when: &["the card is simply full"],
    frameworks: &[],
    sources: &["https://docs.nvidia.com/deploy/xid-errors/index.html"],
    applies: Some(applies),
};

fn applies(case: &Case) -> Option<Proposal> {
    let why = match case.finding.kind {
        FindingKind::Lost => "the device was lost: processes that had it open will not get it back",
        FindingKind::Stall => "the driver does not answer: the kernel log says why",
        _ => return None,
    };
    Some(Proposal::unmeasured(why.to_owned()))
}
