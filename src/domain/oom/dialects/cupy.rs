//! `CuPy`'s memory pool.

use super::passage::group;
use super::{Dialect, Passage};
use crate::domain::oom::event::{Cause, Event};
use crate::domain::oom::size::{Pattern, size};
use crate::domain::{Bytes, Framework};

/// The dialect.
pub const DIALECT: Dialect = Dialect { id: "cupy", marks: &["ut of memory", "ErrorMemoryAllocation", "OUT_OF_MEMORY"], read };

static POOL: Pattern = Pattern::new(r"(?:cupy[\w.]*\.)?OutOfMemoryError: (?:Out of memory allocating|out of memory to allocate) SIZE(?: \((?:allocated so far|total): SIZE(?:, limit set to: SIZE)?\))?");
static RUNTIME: Pattern = Pattern::new(r"CUDA(?:Runtime|Driver)Error: (?:cudaErrorMemoryAllocation|CUDA_ERROR_OUT_OF_MEMORY)");
static PINNED: Pattern = Pattern::new(r"alloc_pinned|PinnedMemory|hostAlloc");

fn read(passage: &Passage) -> Option<Event> {
    if let Some(found) = passage.find(&POOL) {
        let mut event = Event::device(DIALECT.id, Framework::Cupy);
        let at = |n: usize| size(group(&found, n));
        event.figures.requested = at(1);
        event.figures.allocated = at(2);
        event.figures.allowed = at(3);
        let needed = event.figures.requested.unwrap_or_default().saturating_add(event.figures.allocated.unwrap_or_default());
        if event.figures.allowed.is_some_and(|allowed: Bytes| needed > allowed) {
            event.cause = Some(Cause::MemoryCap);
        }
        return Some(event);
    }
    passage.find(&RUNTIME)?;
    if PINNED.is_match(passage.before) {
        return Some(Event::host(DIALECT.id, Framework::Cupy));
    }
    Some(Event::device(DIALECT.id, Framework::Cupy))
}

#[cfg(test)]
mod tests {
    use super::super::passage::read_text;
    use super::*;

    #[test]
    fn a_limit_is_the_cause_only_where_one_is_printed() {
        for (text, figures, cause) in [
            ("cupy.cuda.memory.OutOfMemoryError: Out of memory allocating 9,663,676,416 bytes (allocated so far: 4,026,531,840 bytes, limit set to: 12,884,901,888 bytes).", (9_663_676_416, 4_026_531_840), Some(Cause::MemoryCap)),
            ("cupy.cuda.memory.OutOfMemoryError: Out of memory allocating 800,000,000 bytes (allocated so far: 1,024 bytes).", (800_000_000, 1_024), None),
            ("cupy.cuda.memory.OutOfMemoryError: out of memory to allocate 800000000 bytes (total: 1024 bytes)", (800_000_000, 1_024), None),
        ] {
            let event = read_text(&DIALECT, text).expect(text);
            assert_eq!((event.figures.requested, event.figures.allocated), (Some(Bytes(figures.0)), Some(Bytes(figures.1))), "{text}");
            assert_eq!(event.cause, cause, "{text}");
        }
        assert!(read_text(&DIALECT, "cupy_backends.cuda.api.runtime.CUDARuntimeError: cudaErrorMemoryAllocation: out of memory").is_some());
    }
}
