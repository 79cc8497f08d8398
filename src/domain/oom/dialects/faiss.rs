//! Faiss on GPUs.

use super::passage::group;
use super::{Dialect, Passage};
use crate::domain::oom::event::{Cause, Event, Stage};
use crate::domain::oom::size::{Pattern, number};
use crate::domain::{Bytes, Framework};

/// The dialect.
pub const DIALECT: Dialect = Dialect { id: "faiss", marks: &["out of memory"], read };

static ALLOC: Pattern = Pattern::new(r"alloc fail type (\w+) dev (\d+) space (\w+) stream \w+ size INT bytes");
static RETRY: Pattern = Pattern::new(r"no temp space\)?; retrying");

fn read(passage: &Passage) -> Option<Event> {
    let found = passage.find(&ALLOC)?;
    // Its log says so before it takes the memory elsewhere.
    if RETRY.is_match(passage.line()) {
        return None;
    }
    let mut event = Event::device(DIALECT.id, Framework::Faiss);
    event.device = group(&found, 2).parse().ok();
    event.figures.requested = number(group(&found, 4)).map(Bytes);
    if !group(&found, 1).starts_with("Temporary") {
        event.stage = Some(Stage::Loading);
        event.cause = Some(Cause::ModelTooLarge);
    }
    Some(event)
}

#[cfg(test)]
mod tests {
    use super::super::passage::read_text;
    use super::*;

    #[test]
    fn data_and_scratch_are_told_apart() {
        for (kind, cause) in [("FlatData", Some(Cause::ModelTooLarge)), ("TemporaryMemoryOverflow", None)] {
            let text = format!("RuntimeError: Error in virtual void* faiss::gpu::StandardGpuResourcesImpl::allocMemory(const faiss::gpu::AllocRequest&) at /x/StandardGpuResources.cpp:452: Error: 'err == cudaSuccess' failed: StandardGpuResources: alloc fail type {kind} dev 1 space Device stream 0x7effcc5f47a0 size 4513349632 bytes (cudaMalloc error out of memory [2])");
            let event = read_text(&DIALECT, &text).expect("read");
            assert_eq!((event.device, event.figures.requested, event.cause), (Some(1), Some(Bytes(4_513_349_632)), cause));
        }
    }
}
