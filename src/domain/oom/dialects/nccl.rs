//! NVIDIA's collectives, alone and through PyTorch.

use super::{Dialect, Passage};
use crate::domain::oom::event::{Event, Kind};
use crate::domain::oom::size::Pattern;
use crate::domain::{Bytes, Framework};

/// The dialect.
pub const DIALECT: Dialect = Dialect { id: "nccl", marks: &["'out of memory'", "Failed to CUDA", "/dev/shm"], read };

static FAILURE: Pattern = Pattern::new(r"Cuda failure (?:2 )?'out of memory'");
static CALLOC: Pattern = Pattern::new(r"Failed to CUDA (?:calloc|malloc)(?: async)? INT bytes");
static HOST: Pattern = Pattern::new(r"Failed to CUDA host alloc INT bytes");
static SHM: Pattern = Pattern::new(r"(?:Error while (?:creating|attaching to) shared memory segment /dev/shm/nccl|/dev/shm/nccl[^\n]{0,80}No space left|posix_fallocate[^\n]{0,40}failed)");
static OWN: Pattern = Pattern::new(r"(?i)nccl");
static DEVICE: Pattern = Pattern::new(r"^[^\s]+:\d+:\d+ \[(\d+)\]");

fn read(passage: &Passage) -> Option<Event> {
    let line = passage.line();
    if !OWN.is_match(line) && !OWN.is_match(passage.before) {
        return None;
    }
    if passage.find(&SHM).is_some() {
        let mut event = Event::host(DIALECT.id, Framework::Nccl);
        event.kind = Kind::HostShm;
        return Some(event);
    }
    if let Some(found) = passage.find(&HOST) {
        let mut event = Event::host(DIALECT.id, Framework::Nccl);
        event.figures.requested = HOST.number(passage.from(&found)).map(Bytes);
        return Some(event);
    }
    let mut event = Event::device(DIALECT.id, Framework::Nccl);
    if let Some(found) = passage.find(&CALLOC) {
        event.figures.requested = CALLOC.number(passage.from(&found)).map(Bytes);
    } else {
        passage.find(&FAILURE)?;
    }
    event.device = DEVICE.number(line).and_then(|device| device.try_into().ok());
    Some(event)
}

#[cfg(test)]
mod tests {
    use super::super::passage::read_text;
    use super::*;

    #[test]
    fn buffers_on_the_card_and_on_the_host_are_told_apart() {
        for (text, kind, device, asked) in [
            ("gn07:18231:18402 [3] include/alloc.h:228 NCCL WARN Cuda failure 2 'out of memory'", Kind::DeviceOom, Some(3), None),
            ("gn07:18231:18402 [3] include/alloc.h:48 NCCL WARN Cuda failure 'out of memory'", Kind::DeviceOom, Some(3), None),
            ("gn07:18231:18402 [3] include/alloc.h:235 NCCL WARN Failed to CUDA calloc 10485760 bytes", Kind::DeviceOom, Some(3), Some(10_485_760)),
            ("gn07:1:2 [0] include/alloc.h:57 NCCL WARN Failed to CUDA host alloc 4194304 bytes", Kind::HostOom, None, Some(4_194_304)),
            ("gn07:1:2 [0] misc/shmutils.cc:72 NCCL WARN Error while creating shared memory segment /dev/shm/nccl-abc (size 9637888)", Kind::HostShm, None, None),
        ] {
            let event = read_text(&DIALECT, text).expect(text);
            assert_eq!((event.kind, event.device, event.figures.requested), (kind, device, asked.map(Bytes)), "{text}");
        }
    }
}
