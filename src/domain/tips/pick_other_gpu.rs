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
    let mover = match case.finding.kind {
        FindingKind::ForeignArrival => case.mine().max_by_key(|party| party.used)?,
        FindingKind::Oom | FindingKind::ProbableOom => {
            // Alone on its card it would run out on another one of that size too.
            let shared = case.facts.others.iter().any(|other| other.used.is_some_and(|held| held >= Bytes::gib(1)));
            case.own().filter(|_| shared)?
        }
        _ => return None,
    };
    let (gpu, room) = case.facts.roomiest?;
    // What it can have where it is: what it holds, and what is left.
    let here = case.headroom()?.saturating_add(mover.used?);
    let gain = room.saturating_sub(here);
    // Less than that is the noise of two readings, and no reason for a restart.
    if gain < Bytes::gib(1) {
        return None;
    }
    let why = format!("GPU {gpu} has {room} left, and pid {} can have {here} on this one: a move gains {gain}", mover.pid);
    Proposal::saving(gain, gain, why)
}
