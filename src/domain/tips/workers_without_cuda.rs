//! Keep CUDA out of data-loader workers.

use super::{Code, Effort, Side, Tip, Topic};
use crate::domain::advice::{Case, Proposal, pile, share};
use crate::domain::{FindingKind, Framework};

/// The entry.
pub const TIP: Tip = Tip {
    id: "workers_without_cuda",
    title: "Keep CUDA out of data-loader workers",
    topic: Topic::Sharing,
    sides: &[Side::Training],
    effort: Effort::Lines,
    does: "A worker that touches the GPU opens a context: 24 workers of 520 MiB took 12.2 GiB.",
    code: &[
        Code {
            of: "PyTorch",
            lines: &[
                "def collate(samples):      # tensors of the CPU alone",
                "    return torch.stack(samples)",
                r#"DataLoader(dataset, num_workers=8, multiprocessing_context="spawn", pin_memory=True)"#,
            ],
        },
        Code { of: "in the worker's init function", lines: &[r#"os.environ["CUDA_VISIBLE_DEVICES"] = """#] },
    ],
    cost: "None; copies to the GPU move to the main process.",
    not_when: &["the small processes are ranks: each needs its context"],
    frameworks: &[Framework::PyTorch],
    sources: &[
        "https://docs.pytorch.org/docs/stable/notes/multiprocessing.html",
        "https://docs.pytorch.org/docs/stable/data.html",
    ],
    applies: Some(applies),
};

fn applies(case: &Case) -> Option<Proposal> {
    let (held, count) = pile(case).filter(|_| case.is(&[FindingKind::ContextPileup]))?;
    let why = format!("{count} equal contexts hold {held}: workers that never touch the GPU hold nothing");
    Proposal::saving(share(held, 0.9), held, why)
}
