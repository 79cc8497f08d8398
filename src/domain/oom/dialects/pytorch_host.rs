//! PyTorch where memory of the host runs out: the CPU allocator, killed workers, shared memory.

use super::{Dialect, Passage};
use crate::domain::Framework;
use crate::domain::oom::event::{Event, Kind};
use crate::domain::oom::size::Pattern;

/// The dialect.
pub const DIALECT: Dialect = Dialect {
    id: "pytorch_host",
    marks: &["</torch_", "allocate memory", "not enough memory", "tried to allocate ", "Killed", "shared memory", "Cannot allocate memory", "SIGKILL"],
    read,
};

static ALLOCATOR: Pattern =
    Pattern::new(r"(?:DefaultCPUAllocator|CPUAllocator): (?:can't allocate memory|not enough memory)(?:: you tried to allocate (?:SIZE|INT))?");
static ENFORCED: Pattern = Pattern::new(r"enforce fail at alloc_cpu\.cpp");
static ASKED: Pattern = Pattern::new(r"you tried to allocate SIZE");
static BUS: Pattern = Pattern::new(r"(?i)(?:killed by signal: bus error|Unexpected bus error encountered in worker|dataloader's workers are out of shared memory|insufficient shared memory \(shm\))");
static SHM: Pattern = Pattern::new(r"(?i)(?:unable to (?:open|allocate|write to|resize|mmap)[^\n]{0,40}(?:shared memory|file </torch_|</torch_)[^\n]{0,160})");
static MMAP: Pattern = Pattern::new(r"unable to mmap \d+ bytes from file [^\n]{0,200}?Cannot allocate memory");
static KILLED: Pattern = Pattern::new(r"DataLoader worker \(pid\(?s?\)? ?[\d, ]{1,80}\) (?:is killed by signal: (?:Killed|Aborted|Terminated)|exited unexpectedly)");
static BY_KILL: Pattern = Pattern::new(r"is killed by signal: Killed");
static TOO_MANY: Pattern = Pattern::new(r"Too many open files");

fn read(passage: &Passage) -> Option<Event> {
    if passage.find(&ALLOCATOR).or_else(|| passage.find(&ENFORCED)).is_some() {
        let mut event = Event::host(DIALECT.id, Framework::PyTorch);
        event.figures.requested = ASKED.size(passage.text);
        return Some(event);
    }
    if let Some(found) = passage.find(&BUS).or_else(|| passage.find(&SHM)) {
        let text = passage.from(&found);
        if TOO_MANY.is_match(text.get(..200).unwrap_or(text)) {
            return None;
        }
        let mut event = Event::host(DIALECT.id, Framework::PyTorch);
        event.kind = if MMAP.is_match(text) { Kind::HostOom } else { Kind::HostShm };
        return Some(event);
    }
    if passage.find(&MMAP).is_some() {
        return Some(Event::host(DIALECT.id, Framework::PyTorch));
    }
    let found = passage.find(&KILLED)?;
    // Exits for other reasons are no matter of memory.
    BY_KILL.is_match(passage.from(&found)).then(|| Event::host(DIALECT.id, Framework::PyTorch))
}

#[cfg(test)]
mod tests {
    use super::super::passage::read_text;
    use super::*;
    use crate::domain::Bytes;

    #[test]
    fn the_hosts_memory_and_its_shared_memory_are_told_apart() {
        for (text, kind) in [
            ("RuntimeError: [enforce fail at alloc_cpu.cpp:118] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to allocate 52428800000 bytes. Error code 12 (Cannot allocate memory)", Some(Kind::HostOom)),
            ("RuntimeError: [enforce fail at ..\\c10\\core\\impl\\alloc_cpu.cpp:72] data. DefaultCPUAllocator: not enough memory: you tried to allocate 94371840 bytes.", Some(Kind::HostOom)),
            ("RuntimeError: DataLoader worker (pid 28841) is killed by signal: Killed. ", Some(Kind::HostOom)),
            ("RuntimeError: DataLoader worker (pid 214) is killed by signal: Bus error. It is possible that dataloader's workers are out of shared memory.", Some(Kind::HostShm)),
            ("ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient shared memory (shm).", Some(Kind::HostShm)),
            ("RuntimeError: unable to write to file </torch_4242_917_3>: No space left on device (28)", Some(Kind::HostShm)),
            ("RuntimeError: unable to allocate shared memory(shm) for file </torch_29919_77>: Success (0)", Some(Kind::HostShm)),
            ("RuntimeError: unable to mmap 3221225472 bytes from file </w/model.safetensors>: Cannot allocate memory (12)", Some(Kind::HostOom)),
            ("RuntimeError: DataLoader worker (pid 7) is killed by signal: Segmentation fault. ", None),
            ("RuntimeError: unable to open shared memory object </torch_1_2> in read-write mode: Too many open files (24)", None),
            ("RuntimeError: DataLoader worker (pid(s) 77, 78) exited unexpectedly", None),
        ] {
            assert_eq!(read_text(&DIALECT, text).map(|event| event.kind), kind, "{text}");
        }
        let asked = read_text(&DIALECT, "DefaultCPUAllocator: not enough memory: you tried to allocate 94371840 bytes.");
        assert_eq!(asked.and_then(|event| event.figures.requested), Some(Bytes(94_371_840)));
    }
}
