//! The RAPIDS memory manager: cuDF, cuML, Dask, Spark.

use super::{Dialect, Passage};
use crate::domain::Framework;
use crate::domain::oom::event::{Cause, Event, Kind};
use crate::domain::oom::size::Pattern;

/// The dialect.
pub const DIALECT: Dialect = Dialect { id: "rmm", marks: &["pool size exceeded", "bad_alloc: out_of_memory", "bad_alloc: CUDA", "bad_alloc: RMM", "OUT_OF_MEMORY", "RetryOOM", "MemoryAllocation", "failed to allocate ", "bad_alloc"], read };

static HEAD: Pattern = Pattern::new(r"(?:RMM failure at|bad_alloc: out_of_memory|bad_alloc: CUDA error|bad_alloc: RMM|RMM_ERROR_OUT_OF_MEMORY|CUDA error at: [^\n]{0,200}rmm/mr|CUDA error \(failed to allocate)");
static BYTES: Pattern = Pattern::new(r"failed to allocate (\d[\d,]* bytes)");
static ASKED: Pattern = Pattern::new(r"failed to allocate SIZE");
static RETRY: Pattern = Pattern::new(r"Gpu(?:SplitAnd)?RetryOOM");
static LIMIT: Pattern = Pattern::new(r"(?:Exceeded memory limit|memory limit exceeded)");
static HOST: Pattern = Pattern::new(r"pinned_(?:host_)?memory_resource|PinnedHostMemory|host_memory_resource");

fn read(passage: &Passage) -> Option<Event> {
    if passage.find(&RETRY).is_some() {
        return Some(Event::new(Kind::Recovered, DIALECT.id, Framework::Rmm));
    }
    let found = passage.find(&HEAD)?;
    let text = passage.from(&found);
    if HOST.is_match(text) {
        return Some(Event::host(DIALECT.id, Framework::Rmm));
    }
    let mut event = Event::device(DIALECT.id, Framework::Rmm);
    event.figures.requested = BYTES.size(text).or_else(|| ASKED.size(text));
    event.cause = LIMIT.is_match(text).then_some(Cause::MemoryCap);
    Some(event)
}

#[cfg(test)]
mod tests {
    use super::super::passage::read_text;
    use super::*;
    use crate::domain::Bytes;

    #[test]
    fn the_exact_size_is_taken_from_wherever_it_stands() {
        for (text, asked) in [
            ("MemoryError: std::bad_alloc: out_of_memory: RMM failure at:/opt/include/rmm/mr/device/pool_memory_resource.hpp:257: Maximum pool size exceeded (failed to allocate 5.250000 GiB): std::bad_alloc: out_of_memory: CUDA error (failed to allocate 5637144576 bytes) at: x: cudaErrorMemoryAllocation out of memory", Some(5_637_144_576)),
            ("MemoryError: std::bad_alloc: out_of_memory: CUDA error at: /opt/include/rmm/mr/device/cuda_memory_resource.hpp:70: cudaErrorMemoryAllocation out of memory", None),
            ("RuntimeError: RMM failure at: /opt/include/rmm/mr/device/pool_memory_resource.hpp:196: Maximum pool size exceeded", None),
        ] {
            let event = read_text(&DIALECT, text).expect(text);
            assert_eq!(event.figures.requested, asked.map(Bytes), "{text}");
        }
    }
}
