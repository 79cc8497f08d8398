//! Ollama's own words; what its runner says is llama.cpp's.

use super::passage::group;
use super::{Dialect, Passage};
use crate::domain::Framework;
use crate::domain::oom::event::{Cause, Event, Kind};
use crate::domain::oom::size::{Pattern, size};

/// The dialect.
pub const DIALECT: Dialect = Dialect {
    id: "ollama",
    marks: &["more system memory", "out of memory", "unable to allocate ", "nsufficient memory - required", "nsufficient VRAM"],
    read,
};

static SYSTEM: Pattern = Pattern::new(r"model requires more system memory \(SIZE\) than is (?:currently )?available(?: \(SIZE\))?");
static LARGE: Pattern = Pattern::new(r"model request too large for system");
static RUNNER: Pattern = Pattern::new(r"llama runner (?:process has terminated|exited)[^\n]{0,120}?(?:cudaMalloc failed: out of memory|CUDA error: out of memory|out of memory|unable to allocate (?:CUDA|ROCm|Vulkan)\d* ?(?:backend )?buffer)");
static LAYOUT: Pattern = Pattern::new(r"(?:insufficient memory - required allocations|memory layout cannot be allocated)");
static CPU: Pattern = Pattern::new(r"insufficient VRAM to load any model layers");

fn read(passage: &Passage) -> Option<Event> {
    if let Some(found) = passage.find(&SYSTEM) {
        let mut event = Event::host(DIALECT.id, Framework::Ollama);
        event.figures.requested = size(group(&found, 1));
        event.figures.free = found.get(2).and_then(|group| size(group.as_str()));
        return Some(event);
    }
    if passage.find(&LARGE).is_some() {
        return Some(Event::host(DIALECT.id, Framework::Ollama));
    }
    if passage.find(&CPU).is_some() {
        return Some(Event::new(Kind::Recovered, DIALECT.id, Framework::Ollama));
    }
    if passage.find(&RUNNER).is_some() {
        return Some(Event { echo: true, cause: Some(Cause::KvCache), ..Event::device(DIALECT.id, Framework::Ollama) });
    }
    passage.find(&LAYOUT).map(|_| Event { cause: Some(Cause::KvCache), ..Event::device(DIALECT.id, Framework::Ollama) })
}

#[cfg(test)]
mod tests {
    use super::super::passage::read_text;
    use super::*;
    use crate::domain::Bytes;
    use crate::domain::bytes::GIB;

    #[test]
    fn ram_and_cards_are_told_apart() {
        let event = read_text(&DIALECT, "Error: 500: model requires more system memory (12.0 GiB) than is available (8.0 GiB)").expect("read");
        assert_eq!((event.kind, event.figures.requested, event.figures.free), (Kind::HostOom, Some(Bytes(12 * GIB)), Some(Bytes(8 * GIB))));
        for (text, kind) in [
            ("Error: llama runner process has terminated: cudaMalloc failed: out of memory", Kind::DeviceOom),
            ("level=INFO source=memory.go msg=\"insufficient VRAM to load any model layers\"", Kind::Recovered),
        ] {
            assert_eq!(read_text(&DIALECT, text).map(|event| event.kind), Some(kind), "{text}");
        }
    }
}
