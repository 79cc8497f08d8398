//! `CUDA.jl` and the other GPU packages of Julia.

use super::{Dialect, Passage};
use crate::domain::Framework;
use crate::domain::oom::event::{Cause, Event};
use crate::domain::oom::size::{Pattern, size};

/// The dialect.
pub const DIALECT: Dialect = Dialect { id: "cuda_jl", marks: &["ut of GPU memory", "OutOfGPUMemory"], read };

static HEAD: Pattern = Pattern::new(r"(?:Out of GPU memory|OutOfGPUMemoryError)");
static ASKED: Pattern = Pattern::new(r"trying to allocate SIZE");
static USAGE: Pattern = Pattern::new(r"Effective GPU memory usage: [\d.]+% \(SIZE/SIZE\)");
static POOL: Pattern = Pattern::new(r"Memory pool usage: SIZE(?: \(SIZE reserved\))?");
static OLD_POOL: Pattern = Pattern::new(r"CUDA allocator usage: SIZE");
static LIMIT: Pattern = Pattern::new(r"(?:Hard|Soft)? ?[Mm]emory limit: SIZE");

fn read(passage: &Passage) -> Option<Event> {
    let found = passage.find_said(&HEAD)?;
    let text = passage.from(&found);
    let mut event = Event::device(DIALECT.id, Framework::CudaJl);
    let figures = &mut event.figures;
    figures.requested = ASKED.size(text);
    if let Some(usage) = USAGE.captures(text) {
        let at = |n: usize| usage.get(n).and_then(|group| size(group.as_str()));
        figures.capacity = at(2);
        figures.free = at(2).zip(at(1)).map(|(total, used)| total.saturating_sub(used));
    }
    if let Some(pool) = POOL.captures(text) {
        let at = |n: usize| pool.get(n).and_then(|group| size(group.as_str()));
        figures.allocated = at(1);
        figures.unallocated = at(2).zip(at(1)).map(|(reserved, used)| reserved.saturating_sub(used));
    }
    figures.allocated = figures.allocated.or_else(|| OLD_POOL.size(text));
    figures.allowed = LIMIT.size(text);
    if figures.allowed.is_some() && figures.free > figures.requested {
        event.cause = Some(Cause::MemoryCap);
    }
    Some(event)
}

#[cfg(test)]
mod tests {
    use super::super::passage::read_text;
    use super::*;
    use crate::domain::Bytes;
    use crate::domain::bytes::{GIB, MIB};

    #[test]
    fn usage_of_card_and_pool_is_read() {
        let text = "ERROR: LoadError: Out of GPU memory trying to allocate 4.000 GiB\nEffective GPU memory usage: 99.86% (23.500 GiB/24.000 GiB)\nMemory pool usage: 20.000 GiB (22.000 GiB reserved)\n";
        let figures = read_text(&DIALECT, text).expect("read").figures;
        let bytes = [4 * GIB, 24 * GIB, 512 * MIB, 0, 20 * GIB, 2 * GIB, 0].map(|bytes| (bytes > 0).then_some(Bytes(bytes)));
        assert_eq!(figures.all(), bytes);
    }
}
