//! Find and end what was left behind.

use super::{Code, Effort, Side, Tip, Topic};
use crate::domain::advice::{Case, Proposal, SIZE, range};
use crate::domain::{Bytes, FindingKind, MemoryKind};

/// The entry.
pub const TIP: Tip = Tip {
    id: "clean_orphan",
    title: "Find and end what was left behind",
    topic: Topic::Sharing,
    sides: &[Side::Operator],
    effort: Effort::Lines,
    does: "Memory outlives a process while a child, a container or a dead parent still has the device open.",
    code: &[Code {
        of: "shell",
        lines: &[
            "sudo fuser -v /dev/nvidia*           # who has the device open",
            "ps -eo pid,ppid,stat,user,args | grep -i python",
            "sudo kill PID                        # a child whose parent has gone",
            "docker ps -q | xargs -n1 docker top  # processes of containers",
        ],
    }],
    cost: "A process that still works may be ended: look at it first.",
    not_when: &[
        "Grace: the system keeps pages after exit, and gives them to the next",
        "display servers, MPS clients and other containers hold it visibly",
        "a process in state D: only a reset or a reboot helps",
    ],
    frameworks: &[],
    sources: &["https://docs.nvidia.com/deploy/nvidia-smi/index.html", "https://man7.org/linux/man-pages/man1/fuser.1.html"],
    applies: Some(applies),
};

fn applies(case: &Case) -> Option<Proposal> {
    let sorted = case.facts.memory == MemoryKind::Dedicated && !case.facts.wddm;
    let left = case.bytes(SIZE).filter(|_| sorted && case.is(&[FindingKind::Orphan, FindingKind::Unattributed]))?;
    let what = match (case.finding.pid, case.count("holders")) {
        // Listed children hold it: ended, they give back what they hold.
        (Some(pid), Some(children)) if children > 0 && case.finding.kind == FindingKind::Orphan => {
            let why = format!("pid {pid} went, and {children} of its children still hold {left}: ended, they give it back");
            return Proposal::saving(left, left, why);
        }
        (Some(pid), _) if case.finding.kind == FindingKind::Orphan => format!("pid {pid} went, and {left} stayed"),
        _ => format!("no process that can be seen holds {left}"),
    };
    let back = range(Bytes::ZERO, left);
    Proposal::saving(Bytes::ZERO, left, format!("{what}: ending what has the device open gives back {back}"))
}
