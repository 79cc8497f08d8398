//! PyTorch on Apple GPUs: one pool with a watermark.

use super::{Dialect, Passage};
use crate::domain::Framework;
use crate::domain::oom::event::{Allocator, Event};
use crate::domain::oom::size::{Pattern, size};

/// The dialect.
pub const DIALECT: Dialect = Dialect { id: "pytorch_mps", marks: &["MPS backend out of memory"], read };

static HEAD: Pattern = Pattern::new(
    r"MPS backend out of memory \((?:MPS|currently) allocated: SIZE(?:, other allocations: SIZE)?, max allowed: (?:SIZE|unlimited)\)\.(?: Tried to allocate SIZE)?",
);
static BINARY: Pattern = Pattern::new(r"[KMG]iB");

fn read(passage: &Passage) -> Option<Event> {
    let found = passage.find(&HEAD)?;
    let at = |n: usize| found.get(n).and_then(|group| size(group.as_str()));
    let mut event = Event::device(DIALECT.id, Framework::PyTorch);
    // GB was printed for GiB up to 2.4 or so.
    event.versions = Some(if BINARY.is_match(found.get(0)?.as_str()) { ">=2.5" } else { ">=2.0" });
    event.allocator = Allocator::Mps;
    event.figures.allocated = at(1);
    event.figures.allowed = at(3);
    event.figures.requested = at(4);
    Some(event)
}

#[cfg(test)]
mod tests {
    use super::super::passage::read_text;
    use super::*;
    use crate::domain::Bytes;
    use crate::domain::bytes::{GIB, MIB};

    #[test]
    fn the_watermark_is_a_limit() {
        for (unit, mega) in [("GB", "MB"), ("GiB", "MiB")] {
            let text = format!("RuntimeError: MPS backend out of memory (MPS allocated: 16.00 {unit}, other allocations: 588.19 {mega}, max allowed: 18.00 {unit}). Tried to allocate 216.00 {mega} on private pool. Use PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0");
            let figures = read_text(&DIALECT, &text).expect("read").figures;
            assert_eq!(figures.allocated, Some(Bytes(16 * GIB)));
            assert_eq!(figures.allowed, Some(Bytes(18 * GIB)));
            assert_eq!(figures.requested, Some(Bytes(216 * MIB)));
        }
    }
}
