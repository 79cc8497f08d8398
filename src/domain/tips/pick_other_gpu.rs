//! Move to another GPU.

use super::{Code, Effort, Side, Tip, Topic};
use crate::domain::advice::{Case, Proposal};
use crate::domain::{Bytes, FindingKind};

/// The entry.
pub const TIP: Tip = Tip {
    id: "pick_other_gpu",
    title: "Move to another GPU",
    topic: Topic::Sharing,
    sides: &[Side::Training, Side::Inference, Side::Serving],
    effort: Effort::Flag,
    does: "The process sees and uses the cards that are named, and no other.",
    code: &[Code {
        of: "shell",
        lines: &[
            "CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=1 python train.py",
            "HIP_VISIBLE_DEVICES=1 python train.py  # AMD",
        ],
    }],
    cost: "A restart.",
    not_when: &["the other cards are as full", "several ranks of one job have to stay together"],
    frameworks: &[],
    sources: &["https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#env-vars"],
    applies: Some(applies),
};

fn applies(case: &Case) -> Option<Proposal> {
    let moves = match case.finding.kind {
        FindingKind::ForeignArrival => case.mine().next().is_some(),
        FindingKind::Oom | FindingKind::ProbableOom => {
            case.own().is_some() && case.facts.others.iter().any(|other| other.used.is_some_and(|held| held >= Bytes::gib(1)))
        }
        _ => false,
    };
    let (gpu, room) = case.facts.roomiest.filter(|_| moves)?;
    let here = case.facts.headroom?;
    // A move has to bring more than the noise of two readings.
    let gain = room.saturating_sub(here);
    if gain < Bytes::gib(1) {
        return None;
    }
    Proposal::saving(gain, gain, format!("GPU {gpu} has {room} left, this one {here}: a move gains {gain}"))
}
