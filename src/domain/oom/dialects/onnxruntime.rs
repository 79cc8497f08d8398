//! ONNX Runtime: its arena, and its CUDA calls.

use super::passage::group;
use super::{Dialect, Passage};
use crate::domain::oom::event::{Allocator, Cause, Event};
use crate::domain::oom::size::Pattern;
use crate::domain::{Bytes, Framework};

/// The dialect.
pub const DIALECT: Dialect = Dialect {
    id: "onnxruntime",
    marks: &["requested buffer of size", "failure 2: out of memory", "resource allocation failed", "ALLOC_FAILED", "Available memory of", "available memory of"],
    read,
};

static BUFFER: Pattern = Pattern::new(r"Failed to allocate memory for requested buffer of size INT");
static ARENA: Pattern = Pattern::new(r"Available memory of INT is smaller than requested bytes of INT");
static CALL: Pattern = Pattern::new(r"(?:CUDA failure 2: out of memory|CUBLAS failure 3:|CUDNN failure (?:2|4000):|CUDNN failure \d+: CUDNN_STATUS_ALLOC_FAILED|HIP failure 2: out of memory)");
static DEVICE: Pattern = Pattern::new(r"\bGPU=(\d+)");
static OWN: Pattern = Pattern::new(r"(?i)onnx|bfc_?arena");
static CPU: Pattern = Pattern::new(r"(?i)CPUExecutionProvider|CPU arena");
static CUDA: Pattern = Pattern::new(r"(?i)cuda|gpu|tensorrt|rocm|dml");

fn read(passage: &Passage) -> Option<Event> {
    if let Some(found) = passage.find(&BUFFER) {
        let asked = passage.text.get(found.get(0)?.start()..).map(|_| group(&found, 1))?;
        // On a machine that runs it on the processor alone the arena is one of RAM.
        let context = [passage.before, passage.line()];
        if context.iter().any(|text| CPU.is_match(text)) && !context.iter().any(|text| CUDA.is_match(text)) {
            let mut event = Event::host(DIALECT.id, Framework::OnnxRuntime);
            event.figures.requested = BUFFER.number(passage.text).map(Bytes);
            return Some(event);
        }
        let mut event = Event::device(DIALECT.id, Framework::OnnxRuntime);
        event.figures.requested = BUFFER.number(passage.text).map(Bytes);
        // No 64-bit number: what a negative dimension becomes.
        if asked.len() > 19 {
            event.cause = Some(Cause::CorruptSize);
        }
        return Some(event);
    }
    if let Some(found) = passage.find(&ARENA) {
        let mut event = Event::device(DIALECT.id, Framework::OnnxRuntime);
        event.figures.requested = crate::domain::oom::size::number(group(&found, 2)).map(Bytes);
        // Said only where the arena has a limit (`gpu_mem_limit`).
        event.cause = Some(Cause::MemoryCap);
        return Some(event);
    }
    let found = passage.find(&CALL)?;
    let text = passage.from(&found);
    if !OWN.is_match(passage.line()) && DEVICE.number(text).is_none() {
        return None;
    }
    let mut event = Event::device(DIALECT.id, Framework::OnnxRuntime);
    event.allocator = Allocator::Other;
    event.device = DEVICE.number(text).and_then(|device| device.try_into().ok());
    Some(event)
}

#[cfg(test)]
mod tests {
    use super::super::passage::read_text;
    use super::*;
    use crate::domain::oom::event::Kind;

    #[test]
    fn arena_and_calls_are_read() {
        for (text, kind, asked, device, cause) in [
            ("2026-03-03 17:20:05 [E:onnxruntime:, sequential_executor.cc:572 ExecuteKernel] bfc_arena.cc:376 BFCArena::AllocateRawInternal Failed to allocate memory for requested buffer of size 1610612736", Kind::DeviceOom, Some(1_610_612_736), None, None),
            ("onnxruntime BFCArena::AllocateRawInternal Available memory of 536870912 is smaller than requested bytes of 1073741824", Kind::DeviceOom, Some(1_073_741_824), None, Some(Cause::MemoryCap)),
            ("[E:onnxruntime:Default, cuda_call.cc:116 CudaCall] CUDA failure 2: out of memory ; GPU=1 ; hostname=h ; file=x.cc ; line=10 ; expr=cudaMalloc((void**)&p, size); ", Kind::DeviceOom, None, Some(1), None),
            ("onnxruntime Failed to allocate memory for requested buffer of size 18446744071562067968", Kind::DeviceOom, Some(18_446_744_071_562_067_968), None, Some(Cause::CorruptSize)),
            ("providers: ['CPUExecutionProvider'] onnxruntime bfc_arena.cc Failed to allocate memory for requested buffer of size 1610612736", Kind::HostOom, Some(1_610_612_736), None, Some(Cause::HostMemory)),
        ] {
            let event = read_text(&DIALECT, text).expect(text);
            assert_eq!((event.kind, event.figures.requested, event.device, event.cause), (kind, asked.map(Bytes), device, cause), "{text}");
        }
    }
}
