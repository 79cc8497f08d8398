//! Process in chunks or tiles.

use super::{Code, Effort, Side, Tip, Topic};
use crate::domain::advice::{Case, Proposal, range, share};
use crate::domain::{FindingKind, Framework, Role};

/// The entry.
pub const TIP: Tip = Tip {
    id: "chunk_or_tile",
    title: "Process in chunks or tiles",
    topic: Topic::Step,
    sides: &[Side::Training, Side::Inference],
    effort: Effort::Lines,
    does: "What one call takes for all is taken for a part at a time: tiles of an image, chunks of a matrix, \
           partitions of a table.",
    code: &[
        Code { of: "PyTorch", lines: &["out = torch.cat([f(part) for part in x.split(1024)])"] },
        Code { of: "diffusers", lines: &["pipe.vae.enable_tiling()", "pipe.vae.enable_slicing()"] },
    ],
    cost: "More, smaller kernels; seams or overlaps where neighbours matter.",
    not_when: &["the whole result has to be there at once", "training: the graph keeps every chunk, unless it is checkpointed"],
    frameworks: &[],
    sources: &["https://huggingface.co/docs/diffusers/optimization/memory"],
    applies: Some(applies),
};

fn applies(case: &Case) -> Option<Proposal> {
    let process = case.own().filter(|process| process.workload.role == Role::Serving)?;
    let height = case.bytes(&["height"]).filter(|_| case.is(&[FindingKind::Spike]) && case.tight())?;
    // An engine with a pool has its own knobs, and its spikes are not one operation's.
    if process.workload.framework != Some(Framework::PyTorch) {
        return None;
    }
    let (from, to) = (share(height, 0.25), share(height, 0.75));
    let why = format!("one operation takes {height} for a moment: in tiles or chunks it should take {} less", range(from, to));
    Proposal::saving(from, to, why)
}
