//! Ask for the memory of another process.

use super::{Code, Effort, Side, Tip, Topic};
use crate::domain::advice::{Case, Proposal, SIZE};
use crate::domain::{FindingKind, Relation};

/// The entry.
pub const TIP: Tip = Tip {
    id: "free_other_process",
    title: "Ask for the memory of another process",
    topic: Topic::Sharing,
    sides: &[Side::Training, Side::Inference, Side::Serving, Side::Operator],
    effort: Effort::Flag,
    does: "Another process holds what is missing. Its owner can stop it, shrink it, or shut the idle notebook \
           down.",
    code: &[Code {
        of: "shell",
        lines: &[
            "vramscope once                # who holds what",
            "ps -o pid,user,etime,args -p PID",
            "kill PID                      # your own only",
        ],
    }],
    cost: "Somebody's work.",
    not_when: &["the pid is the run itself: inside a container the numbers differ", "what it holds would not be enough"],
    frameworks: &[],
    sources: &["https://docs.nvidia.com/deploy/nvidia-smi/index.html"],
    applies: Some(applies),
};

fn applies(case: &Case) -> Option<Proposal> {
    let facts = case.facts;
    if case.is(&[FindingKind::Oom, FindingKind::ProbableOom]) {
        case.own()?;
        let other = facts
            .others
            .iter()
            .filter(|other| !other.kin && matches!(other.relation, Relation::Mine | Relation::Foreign))
            .max_by_key(|other| other.used)?;
        let held = other.used.filter(|held| facts.total.is_some_and(|total| held.0 >= total.0 / 10))?;
        let who = Case::name(other);
        let order = if other.is_own() { "stopped, it gives that back" } else { "its owner can give that back" };
        return Proposal::saving(held, held, format!("{who} held {held} of the same card: {order}"));
    }
    // A stranger's memory is news where it is in the way of mine.
    let stranger = case.foreign().filter(|_| case.mine().next().is_some())?;
    let newcomer = case.is(&[FindingKind::ForeignArrival]);
    let grows = [
        FindingKind::LeakStep,
        FindingKind::LeakEpoch,
        FindingKind::Staircase,
        FindingKind::ContextPileup,
        FindingKind::Preallocated,
    ];
    let squeezes = case.is(&grows) && case.tight();
    if !(newcomer || squeezes) {
        return None;
    }
    let held = case.bytes(SIZE).or(stranger.used)?;
    let who = Case::name(stranger);
    Proposal::saving(held, held, format!("{who} holds {held} of the card that you use: ask its owner"))
}
