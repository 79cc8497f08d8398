//! RAM as programs speak of it: Python, NumPy, C++, Java, Ray, and the page-locked memory of CUDA.

use super::passage::group;
use super::{Dialect, Passage};
use crate::domain::Framework;
use crate::domain::oom::event::{Event, Kind};
use crate::domain::oom::size::{Pattern, number, size};

/// The dialect.
pub const DIALECT: Dialect = Dialect {
    id: "host",
    marks: &["MemoryError", "Cannot allocate memory", "bad_alloc", "OutOfMemoryError", "low on memory", "memory pressure", "out of memory", "allocate pinned", "/dev/shm"],
    read,
};

static NUMPY: Pattern = Pattern::new(r"(?:_ArrayMemoryError|MemoryError): Unable to allocate SIZE for an array with shape");
static PYTHON: Pattern = Pattern::new(r"^(?:\w+\.)*MemoryError(?:$|: ?$|: (?:Unable to allocate|cannot allocate|could not allocate)[^\n]{0,80})");
static ERRNO: Pattern = Pattern::new(r"(?:OSError|RuntimeError|BlockingIOError|mmap|fork)[^\n]{0,120}(?:\[Errno 12\] )?Cannot allocate memory");
static CPP: Pattern = Pattern::new(r"(?:what\(\): +std::bad_alloc\s*(?:$|\n)|terminate called after throwing an instance of 'std::bad_alloc')");
static JAVA: Pattern = Pattern::new(r"java\.lang\.OutOfMemoryError: (?:Java heap space|GC overhead|unable to create)");
static RAY: Pattern = Pattern::new(r"(?:Task was killed due to the node running low on memory|Workers? \(tasks / actors\) killed due to memory pressure|node running low on memory)");
static DASK: Pattern = Pattern::new(r"exceeded \d+% memory budget\. Restarting");
static PINNED: Pattern = Pattern::new(r"(?i)(?:(?:cudaHostAlloc|cudaMallocHost|cuMemHostAlloc|cuMemAllocHost)\b[^\n]{0,120}?(?:out of memory|OUT_OF_MEMORY|failed)|failed to (?:allocate|alloc)[^\n]{0,60}pinned[^\n]{0,60}memory|out of (?:pinned|page-locked) memory)");
static SHM: Pattern = Pattern::new(r"(?:No space left on device[^\n]{0,120}/dev/shm|/dev/shm[^\n]{0,120}No space left on device)");
static BYTES: Pattern = Pattern::new(r"INT bytes");

fn read(passage: &Passage) -> Option<Event> {
    if let Some(found) = passage.find(&NUMPY) {
        let mut event = Event::host(DIALECT.id, Framework::Linux);
        event.framework = None;
        event.figures.requested = size(group(&found, 1));
        return Some(event);
    }
    if let Some(found) = passage.find(&PINNED) {
        let mut event = Event::host(DIALECT.id, Framework::Cuda);
        event.figures.requested = BYTES.captures(group(&found, 0)).and_then(|bytes| number(group(&bytes, 1))).map(crate::domain::Bytes);
        return Some(event);
    }
    if passage.find(&SHM).is_some() {
        let mut event = Event::host(DIALECT.id, Framework::Linux);
        event.kind = Kind::HostShm;
        return Some(event);
    }
    let found = [&PYTHON, &ERRNO, &CPP, &JAVA, &RAY, &DASK].into_iter().any(|pattern| passage.find_said(pattern).is_some());
    found.then(|| {
        let mut event = Event::host(DIALECT.id, Framework::Linux);
        event.framework = None;
        event
    })
}

#[cfg(test)]
mod tests {
    use super::super::passage::read_text;
    use super::*;
    use crate::domain::Bytes;

    #[test]
    fn ram_is_read_in_many_languages() {
        for (text, kind, asked) in [
            ("numpy._core._exceptions._ArrayMemoryError: Unable to allocate 29.8 GiB for an array with shape (4000000000,) and data type float64", Kind::HostOom, Some(31_997_506_355)),
            ("MemoryError", Kind::HostOom, None),
            ("OSError: [Errno 12] Cannot allocate memory", Kind::HostOom, None),
            ("  what():  std::bad_alloc", Kind::HostOom, None),
            ("java.lang.OutOfMemoryError: Java heap space", Kind::HostOom, None),
            ("ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.", Kind::HostOom, None),
            ("cudaHostAlloc(&p, 1048576, 0) failed: out of memory", Kind::HostOom, None),
            ("OSError: [Errno 28] No space left on device: '/dev/shm/psm_1'", Kind::HostShm, None),
        ] {
            let event = read_text(&DIALECT, text).expect(text);
            assert_eq!((event.kind, event.figures.requested), (kind, asked.map(Bytes)), "{text}");
        }
        assert_eq!(read_text(&DIALECT, "OSError: [Errno 28] No space left on device: '/data/ckpt.pt'"), None);
    }
}
