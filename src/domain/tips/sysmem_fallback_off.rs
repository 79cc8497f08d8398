//! Fail instead of spilling into host memory.

use super::{Code, Effort, Side, Tip, Topic};
use crate::domain::advice::{Case, Proposal};
use crate::domain::{FindingKind, Framework};

/// The entry.
pub const TIP: Tip = Tip {
    id: "sysmem_fallback_off",
    title: "Fail instead of spilling into host memory",
    topic: Topic::Sharing,
    sides: &[Side::Training, Side::Inference, Side::Operator],
    effort: Effort::Flag,
    does: "Since driver 536.40 a full card on Windows spills into host memory: no error, but PCIe speed.",
    code: &[Code {
        of: "NVIDIA Control Panel",
        lines: &["Manage 3D settings > CUDA - Sysmem Fallback Policy > Prefer No Sysmem Fallback"],
    }],
    cost: "Programs that only just did not fit fail now.",
    not_when: &["Linux: there is no such fallback", "slow is better than not at all"],
    frameworks: &[Framework::Windows],
    sources: &["https://nvidia.custhelp.com/app/answers/detail/a_id/5490"],
    applies: Some(applies),
};

fn applies(case: &Case) -> Option<Proposal> {
    let grows = [
        FindingKind::LeakStep,
        FindingKind::LeakEpoch,
        FindingKind::Staircase,
        FindingKind::EvalJump,
        FindingKind::OptimizerStep,
        FindingKind::Spike,
    ];
    case.own().filter(|_| case.facts.wddm && case.is(&grows) && case.tight())?;
    let why = "the card is nearly full, and this driver then moves memory to the host: it becomes slow, and does not fail";
    Some(Proposal::unmeasured(why.to_owned()))
}
