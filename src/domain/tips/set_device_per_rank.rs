//! Bind each rank to its card.

use super::{Code, Effort, Side, Tip, Topic};
use crate::domain::advice::{Case, Proposal, pile, share};
use crate::domain::{FindingKind, Framework};

/// The entry.
pub const TIP: Tip = Tip {
    id: "set_device_per_rank",
    title: "Bind each rank to its card",
    topic: Topic::Sharing,
    sides: &[Side::Training],
    effort: Effort::Lines,
    does: "Without it every rank also opens a context on the first card, 400 to 1000 MiB each, and may load its \
           checkpoint there.",
    code: &[
        Code {
            of: "PyTorch",
            lines: &[
                r#"torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))  # before any CUDA call"#,
                r#"dist.init_process_group("nccl", device_id=torch.device("cuda", local_rank))"#,
                r#"torch.load(path, map_location="cpu")"#,
            ],
        },
        Code { of: "shell", lines: &["CUDA_VISIBLE_DEVICES=$LOCAL_RANK python train.py  # one card per rank"] },
    ],
    cost: "None.",
    not_when: &["rows of 0 MiB on every card: those are peers of NVLink"],
    frameworks: &[Framework::PyTorch],
    sources: &[
        "https://docs.pytorch.org/docs/stable/distributed.html",
        "https://docs.pytorch.org/tutorials/intermediate/ddp_tutorial.html",
    ],
    applies: Some(applies),
};

fn applies(case: &Case) -> Option<Proposal> {
    let (held, count) = pile(case).filter(|_| case.is(&[FindingKind::Rank0Pileup]))?;
    let why = format!("{count} other ranks hold {held} on this card: bound to their own, they give back all of it");
    Proposal::saving(share(held, 0.9), held, why)
}
