//! llama.cpp and everything on ggml.

use super::passage::group;
use super::{Dialect, Passage};
use crate::domain::oom::event::{Cause, Event, Kind, Stage};
use crate::domain::oom::size::{Pattern, number, size};
use crate::domain::{Bytes, Framework};

/// The dialect.
pub const DIALECT: Dialect = Dialect {
    id: "llama_cpp",
    marks: &["out of memory", "buffer of size", "unable to allocate ", "failed to allocate ", "llocation of size", "OutOfDeviceMemory", "OutOfMemory", "nsufficient memory"],
    read,
};

static MALLOC: Pattern = Pattern::new(r"allocating SIZE on device (\d+): (?:cuda|hip|musa)Malloc(?:Managed)? failed: out of memory");
static BUFFER: Pattern = Pattern::new(r"failed to allocate (\w+?)(\d+)?(?:_Split)? buffer of size INT");
static UNABLE: Pattern = Pattern::new(r"unable to allocate (\w+?)(\d+)?(?:_Split)? (?:backend )?buffer");
static KV: Pattern = Pattern::new(r"(?:failed to allocate (?:buffer|memory) for (?:the )?kv cache|llama_kv_cache\w*[^\n]{0,60}failed to allocate|failed to initialize the context: failed to (?:allocate|initialize)[^\n]{0,20}(?:kv|memory))");
static COMPUTE: Pattern = Pattern::new(r"failed to allocate compute (?:pp |tg )?buffers?");
static ERROR: Pattern = Pattern::new(r"CUDA error(?: 2 at [^\n]{0,120}ggml[^\n]{0,40})?: out of memory");
static OWN: Pattern = Pattern::new(r"(?i)ggml|llama_|llama\.cpp|in function ggml|current device: \d+, in function");
static DEVICE: Pattern = Pattern::new(r"current device: (\d+)");
static METAL: Pattern = Pattern::new(r"(?:ggml_metal\w*: (?:error: )?(?:failed to allocate buffer|command buffer \d+ failed with status 5)|kIOGPUCommandBufferCallbackErrorOutOfMemory)");
static VULKAN: Pattern = Pattern::new(r"ggml_vulkan: (?:Device memory allocation of size INT failed|[^\n]{0,60}ErrorOutOfDeviceMemory)");
static PINNED: Pattern = Pattern::new(r"failed to allocate SIZE of pinned memory");
static HOST: Pattern = Pattern::new(r"(?:insufficient memory \(attempted to allocate SIZE\)|ggml_backend_cpu_buffer_type_alloc_buffer: failed to allocate buffer of size INT)");
static WEIGHTS: Pattern = Pattern::new(r"(?:load_tensors|model_load|loading model tensors|error loading model|alloc_tensor_range|unable to allocate|model buffer)");

fn read(passage: &Passage) -> Option<Event> {
    if passage.find(&PINNED).is_some() {
        // It takes pageable memory instead.
        return Some(Event::new(Kind::Recovered, DIALECT.id, Framework::LlamaCpp));
    }
    if let Some(found) = passage.find(&HOST) {
        let mut event = Event::host(DIALECT.id, Framework::LlamaCpp);
        event.figures.requested = size(group(&found, 1)).or_else(|| number(group(&found, 2)).map(Bytes));
        return Some(event);
    }
    let mut event = Event::device(DIALECT.id, Framework::LlamaCpp);
    if let Some(found) = passage.find(&MALLOC) {
        event.figures.requested = size(group(&found, 1));
        event.device = group(&found, 2).parse().ok();
        // The next line has it to the byte.
        let exact = BUFFER.captures(passage.from(&found)).and_then(|buffer| number(group(&buffer, 3))).map(Bytes);
        let same = |exact: &Bytes| event.figures.requested.is_some_and(|asked| asked.0.abs_diff(exact.0) < 1 << 14);
        event.figures.requested = exact.filter(same).or(event.figures.requested);
    } else if let Some(found) = passage.find(&BUFFER) {
        if group(&found, 1).starts_with("CPU") && !group(&found, 1).contains("CUDA") {
            let mut event = Event::host(DIALECT.id, Framework::LlamaCpp);
            event.figures.requested = number(group(&found, 3)).map(Bytes);
            return Some(event);
        }
        event.device = group(&found, 2).parse().ok();
        event.figures.requested = number(group(&found, 3)).map(Bytes);
    } else if let Some(found) = passage.find(&UNABLE) {
        if group(&found, 1).starts_with("CPU") {
            return Some(Event::host(DIALECT.id, Framework::LlamaCpp));
        }
        event.device = group(&found, 2).parse().ok();
        event.stage = Some(Stage::Loading);
    } else if let Some(found) = passage.find(&VULKAN) {
        event.figures.requested = number(group(&found, 1)).map(Bytes);
    } else if passage.find(&METAL).is_some() {
    } else if let Some(found) = passage.find(&ERROR) {
        let text = passage.from(&found);
        let near: String = text.chars().take(200).collect();
        if !OWN.is_match(&near) && !OWN.is_match(passage.before) {
            return None;
        }
        event.device = DEVICE.number(&near).and_then(|device| device.try_into().ok());
        event.stage = Some(Stage::Running);
        event.cause = Some(Cause::KvCache);
        return Some(event);
    } else if passage.find(&KV).is_some() {
        event.stage = Some(Stage::KvCache);
        event.echo = true;
    } else if passage.find(&COMPUTE).is_some() {
        event.stage = Some(Stage::Compute);
        event.echo = true;
    } else {
        return None;
    }
    // What it was for stands in the lines that follow, else in those before.
    let after: String = passage.text.chars().take(1_200).collect();
    let stage = |text: &str| {
        if KV.is_match(text) {
            Some(Stage::KvCache)
        } else if COMPUTE.is_match(text) {
            Some(Stage::Compute)
        } else if WEIGHTS.is_match(text) {
            Some(Stage::Loading)
        } else {
            None
        }
    };
    event.stage = event.stage.or_else(|| stage(&after)).or_else(|| stage(passage.before));
    event.cause = match event.stage {
        Some(Stage::Loading) => Some(Cause::ModelTooLarge),
        _ => Some(Cause::KvCache),
    };
    Some(event)
}

#[cfg(test)]
mod tests {
    use super::super::passage::read_text;
    use super::*;

    #[test]
    fn what_the_buffer_was_for_decides() {
        for (text, kind, device, asked, cause) in [
            ("ggml_backend_cuda_buffer_type_alloc_buffer: allocating 1216.00 MiB on device 1: cudaMalloc failed: out of memory\nggml_gallocr_reserve_n: failed to allocate CUDA1 buffer of size 1275068416\ngraph_reserve: failed to allocate compute buffers", Kind::DeviceOom, Some(1), Some(1_275_068_416), Cause::KvCache),
            ("ggml_backend_cuda_buffer_type_alloc_buffer: allocating 4433.24 MiB on device 0: cudaMalloc failed: out of memory\nalloc_tensor_range: failed to allocate CUDA0 buffer of size 4648595456\nllama_model_load: error loading model: unable to allocate CUDA0 buffer", Kind::DeviceOom, Some(0), Some(4_648_595_456), Cause::ModelTooLarge),
            ("llama_model_load: error loading model: unable to allocate ROCm0 buffer", Kind::DeviceOom, Some(0), None, Cause::ModelTooLarge),
            ("ggml_vulkan: Device memory allocation of size 3221225472 failed.", Kind::DeviceOom, None, Some(3_221_225_472), Cause::KvCache),
            ("CUDA error: out of memory\n  current device: 1, in function ggml_cuda_pool_malloc at ggml-cuda.cu:310", Kind::DeviceOom, Some(1), None, Cause::KvCache),
            ("ggml_backend_cpu_buffer_type_alloc_buffer: failed to allocate buffer of size 9663676416", Kind::HostOom, None, Some(9_663_676_416), Cause::HostMemory),
        ] {
            let event = read_text(&DIALECT, text).expect(text);
            assert_eq!((event.kind, event.device, event.figures.requested, event.cause), (kind, device, asked.map(Bytes), Some(cause)), "{text}");
        }
        let pinned = read_text(&DIALECT, "ggml_cuda_host_malloc: failed to allocate 1024.00 MiB of pinned memory: out of memory");
        assert_eq!(pinned.map(|event| event.kind), Some(Kind::Recovered));
    }
}
