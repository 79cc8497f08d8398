//! TensorRT, TensorRT-LLM and Triton Inference Server's plans.

use super::{Dialect, Passage};
use crate::domain::Framework;
use crate::domain::oom::event::{Cause, Event, Kind};
use crate::domain::oom::size::Pattern;

/// The dialect.
pub const DIALECT: Dialect = Dialect {
    id: "tensorrt",
    marks: &["OutOfMemory", "out of memory", "nsufficient memory", "nsufficient to use", "Device memory is insufficient", "llocation to succeed"],
    read,
};

static SKIPPED: Pattern = Pattern::new(r"(?:Skipping tactic[^\n]{0,80}(?:insufficient memory|out of memory|OutOfMemory)|memory is insufficient to use tactic|Requested amount of GPU memory \(INT bytes\) could not be allocated|Tactic Device request: [^\n]{0,40}Available:|Some tactics do not have sufficient workspace memory)");
static FAILED: Pattern = Pattern::new(r"(?:Error Code 2: OutOfMemory|Error Code:? ?2[^\n]{0,40}OutOfMemory|Error\[2\]:[^\n]{0,160}(?:OutOfMemory|out of memory)|Error Code 1: Cuda Runtime \(out of memory\)|Error Code 1: Cuda Driver \(out of memory\)|\(Error 2\)[^\n]{0,40}OutOfMemory|CUDA runtime error in [^\n]{0,200}?: out of memory|OutOfMemory \((?:no further information|Requested size was))");
static ASKED: Pattern = Pattern::new(r"(?:Requested size was|requested size of|Requested:?) INT bytes");
static OWN: Pattern = Pattern::new(r"(?i)TRT|tensorrt|defaultAllocator|virtualMemoryBuffer|Error Code");
static KV: Pattern = Pattern::new(r"(?i)kv ?cache");

fn read(passage: &Passage) -> Option<Event> {
    if passage.find(&SKIPPED).is_some() {
        return Some(Event::new(Kind::Recovered, DIALECT.id, Framework::TensorRt));
    }
    let found = passage.find(&FAILED)?;
    if !OWN.is_match(passage.line()) {
        return None;
    }
    let text = passage.from(&found);
    let mut event = Event::device(DIALECT.id, Framework::TensorRt);
    event.figures.requested = ASKED.number(text).map(crate::domain::Bytes);
    event.cause = KV.is_match(passage.line()).then_some(Cause::KvCache);
    Some(event)
}

#[cfg(test)]
mod tests {
    use super::super::passage::read_text;
    use super::*;

    #[test]
    fn tactics_are_skipped_and_engines_fail() {
        for (text, kind) in [
            ("[TRT] [W] Skipping tactic 3 due to insufficient memory on requested size of 8589934592 detected for tactic 0x4.", Kind::Recovered),
            ("[TRT] [W] Tactic Device request: 4642MB Available: 3890MB. Device memory is insufficient to use tactic.", Kind::Recovered),
            ("[01/02/2025-10:00:00] [E] Error[2]: [virtualMemoryBuffer.cpp::resizePhysical::145] Error Code 2: OutOfMemory (Requested size was 8589934592 bytes.)", Kind::DeviceOom),
            ("[TRT] [E] 1: [defaultAllocator.cpp::allocate::20] Error Code 1: Cuda Runtime (out of memory)", Kind::DeviceOom),
            ("[TensorRT-LLM][ERROR] CUDA runtime error in ::cudaMallocAsync(ptr, n, mMemPool->getPool(), mCudaStream->get()): out of memory (/src/tllmBuffers.h:127)", Kind::DeviceOom),
        ] {
            assert_eq!(read_text(&DIALECT, text).map(|event| event.kind), Some(kind), "{text}");
        }
    }
}
