//! `PaddlePaddle`.

use super::passage::group;
use super::{Dialect, Passage};
use crate::domain::Framework;
use crate::domain::oom::event::{Cause, Event};
use crate::domain::oom::size::Pattern;

/// The dialect.
pub const DIALECT: Dialect = Dialect { id: "paddle", marks: &["ut of memory error on", "ALLOC_FAILED", "out of memory"], read };

static HEAD: Pattern = Pattern::new(r"Out of memory error on (?:GPU|XPU|NPU|DCU|device|\w+) ?(\d+)\.");
static ASKED: Pattern = Pattern::new(r"Cannot allocate SIZE memory on");
static FREE: Pattern = Pattern::new(r"available memory is only SIZE");
static LIMIT: Pattern = Pattern::new(r"maximum GPU memory usage is limited to SIZE");
static EXTERNAL: Pattern = Pattern::new(r"(?:\(External\) ?|ExternalError: )(?:CUDA error\(2\)|CUBLAS error\(3\)|CUDNN error\(2\)|CU\w+ error\(\d+\), ?\w*(?:ALLOC_FAILED|out of memory))");
static HOST: Pattern = Pattern::new(r"Fail to alloc memory of INT size");

fn read(passage: &Passage) -> Option<Event> {
    if let Some(found) = passage.find(&HEAD) {
        let text = passage.from(&found);
        let mut event = Event::device(DIALECT.id, Framework::Paddle);
        event.device = group(&found, 1).parse().ok();
        event.figures.requested = ASKED.size(text);
        event.figures.free = FREE.size(text);
        event.figures.allowed = LIMIT.size(text);
        event.cause = event.figures.allowed.is_some().then_some(Cause::MemoryCap);
        return Some(event);
    }
    if passage.find(&EXTERNAL).is_some() {
        return Some(Event::device(DIALECT.id, Framework::Paddle));
    }
    let found = passage.find(&HOST)?;
    let mut event = Event::host(DIALECT.id, Framework::Paddle);
    event.figures.requested = crate::domain::oom::size::number(group(&found, 1)).map(crate::domain::Bytes);
    Some(event)
}

#[cfg(test)]
mod tests {
    use super::super::passage::read_text;
    use super::*;
    use crate::domain::Bytes;
    use crate::domain::bytes::{GIB, MIB};

    #[test]
    fn old_and_new_forms_are_read() {
        for (text, cause) in [
            ("Out of memory error on GPU 2. Cannot allocate 2.000000GB memory on GPU 2, 23.391663GB memory has been allocated and available memory is only 256.000000MB.", None),
            ("Out of memory error on GPU 2. Cannot allocate 2.000000GB memory on GPU 2, available memory is only 256.000000MB.", None),
            ("Out of memory error on GPU 2. Cannot allocate 2.000000GB memory on GPU 2, 7.39GB memory has been allocated and available memory is only 256.000000MB.\nCurrently `FLAGS_gpu_memory_limit_mb` is 8192, so the maximum GPU memory usage is limited to 8192 MB.", Some(Cause::MemoryCap)),
        ] {
            let event = read_text(&DIALECT, text).expect(text);
            assert_eq!((event.device, event.figures.requested, event.figures.free, event.cause), (Some(2), Some(Bytes(2 * GIB)), Some(Bytes(256 * MIB)), cause), "{text}");
        }
        assert!(read_text(&DIALECT, "OSError: (External) CUDA error(2), out of memory.").is_some());
    }
}
