//! PyTorch with `backend:cudaMallocAsync`, which ComfyUI and others choose; and the short form that ComfyUI shows.

use super::passage::group;
use super::{Dialect, Passage};
use crate::domain::oom::event::{Allocator, Cause, Event};
use crate::domain::oom::size::Pattern;
use crate::domain::{Bytes, Framework};

/// The dialect.
pub const DIALECT: Dialect = Dialect { id: "pytorch_async", marks: &["llocation on device"], read };

static HEAD: Pattern = Pattern::new(r"Allocation on device ?(\d{1,5})? ?(would exceed allowed memory)?");
static SPOKEN: Pattern = Pattern::new(r"(?:OutOfMemoryError:?|Exception during processing !!!|!!!) $");
static ALLOCATED: Pattern = Pattern::new(r"Currently allocated ?: SIZE");
static REQUESTED: Pattern = Pattern::new(r"Requested ?: SIZE");
static LIMIT: Pattern = Pattern::new(r"Device limit ?: SIZE");
static FREE: Pattern = Pattern::new(r"Free \(according to CUDA\) ?: SIZE");
static ALLOWED: Pattern = Pattern::new(r"PyTorch limit \(set by user-supplied memory fraction\) ?: SIZE");
static NEXT: Pattern = Pattern::new(r"Allocation on device");

fn read(passage: &Passage) -> Option<Event> {
    let found = passage.find(&HEAD)?;
    let exceeds = found.get(2).is_some();
    if !exceeds && !SPOKEN.is_match(passage.head(&found)) {
        return None;
    }
    let text = passage.from(&found);
    let end = NEXT.regex().find_iter(text).nth(1).map_or(text.len(), |next| next.start());
    let text = text.get(..end).unwrap_or(text);
    let mut event = Event::device(DIALECT.id, Framework::PyTorch);
    event.versions = Some(">=2.0");
    event.allocator = Allocator::Async;
    event.device = group(&found, 1).parse().ok();
    let figures = &mut event.figures;
    figures.requested = REQUESTED.size(text);
    figures.capacity = LIMIT.size(text);
    figures.free = FREE.size(text);
    figures.allocated = ALLOCATED.size(text);
    // No limit is printed as the largest number there is. A limit of the whole card is none either.
    figures.allowed = ALLOWED.size(text).filter(|allowed| figures.capacity.is_none_or(|capacity| *allowed < capacity));
    let full = figures.requested.unwrap_or_default().saturating_add(figures.allocated.unwrap_or_default());
    if figures.allowed.is_some_and(|allowed: Bytes| full > allowed) {
        event.cause = Some(Cause::MemoryCap);
    }
    Some(event)
}

#[cfg(test)]
mod tests {
    use super::super::passage::read_text;
    use super::*;
    use crate::domain::bytes::GIB;

    #[test]
    fn both_forms_are_read() {
        let long = "torch.OutOfMemoryError: Allocation on device 1 would exceed allowed memory. (out of memory)\nCurrently allocated     : 5.50 GiB\nRequested               : 1.00 GiB\nDevice limit            : 16.00 GiB\nFree (according to CUDA): 9.00 GiB\nPyTorch limit (set by user-supplied memory fraction)\n                        : 6.00 GiB\n";
        let found = read_text(&DIALECT, long).expect("the long form");
        assert_eq!((found.device, found.cause), (Some(1), Some(Cause::MemoryCap)));
        assert_eq!(found.figures.allowed, Some(Bytes(6 * GIB)));
        let unlimited = read_text(&DIALECT, &long.replace("6.00 GiB", "17179869184.00 GiB")).expect("without a limit");
        assert_eq!((unlimited.figures.allowed, unlimited.cause), (None, None));
        let short = read_text(&DIALECT, "torch.OutOfMemoryError: Allocation on device").expect("the short form");
        assert_eq!((short.device, short.figures.known()), (None, 0));
        assert_eq!(read_text(&DIALECT, "Allocation on device 0 took 3 ms"), None);
    }
}
