//! JAX and XLA.

use super::passage::group;
use super::tensorflow::{bfc, is_xla};
use super::{Dialect, Passage};
use crate::domain::oom::event::{Cause, Event, Kind};
use crate::domain::oom::size::{Pattern, size};
use crate::domain::{Bytes, Framework};

/// The dialect.
pub const DIALECT: Dialect = Dialect {
    id: "jax",
    marks: &["ut of memory", "OUT_OF_MEMORY", "ailed to allocate ", "ALLOC_FAILED"],
    read,
};

static ASKED: Pattern = Pattern::new(r"(?:RESOURCE_EXHAUSTED:[^\n]{0,80}?|)Out of memory (?:while trying to allocate|allocating) (?:SIZE|INT)");
static SPACE: Pattern = Pattern::new(r"Ran out of memory in memory space (\w+)\. Used SIZE of SIZE \w+");
static REQUEST: Pattern = Pattern::new(r"Failed to allocate request for [\d.]+\w+ \((\d+)B\) on device ordinal (\d+)");
static DRIVER: Pattern = Pattern::new(r"(?i)failed to allocate [\d.]+\w+ \((\d+) bytes\) from device: (?:CUDA_ERROR_OUT_OF_MEMORY|RESOURCE_EXHAUSTED)");
static DEVICE: Pattern = Pattern::new(r"(?:device ordinal|GPU_|device:GPU:|StreamExecutorGpuDevice\(id=)(\d+)");
static OWN: Pattern = Pattern::new(r"(?i)XlaRuntimeError|JaxRuntimeError|jaxlib|external/xla|\bxla\b|\bjax\b|hlo_rematerialization");
static NOT_FAILURE: Pattern = Pattern::new(r"(?i)not a failure|autotun|will (?:fall back|retry)|falling back");
static HANDLE: Pattern = Pattern::new(r"(?:XlaRuntimeError|JaxRuntimeError|INTERNAL)[^\n]{0,120}(?:RESOURCE_EXHAUSTED|CUDA_ERROR_OUT_OF_MEMORY|CUBLAS_STATUS_ALLOC_FAILED|CUDNN_STATUS_ALLOC_FAILED)");
static BUFFERS: Pattern = Pattern::new(r"BufferAssignment OOM|preallocated temp allocation|Peak buffers:");

fn read(passage: &Passage) -> Option<Event> {
    let own = OWN.is_match(passage.line()) || OWN.is_match(passage.before);
    if is_xla(passage.line()) || own && !passage.line().contains("tensorflow/") {
        if let Some(event) = bfc(passage, DIALECT.id, Framework::Jax) {
            return Some(event);
        }
        if let Some(found) = passage.find(&DRIVER) {
            let mut event = Event::device(DIALECT.id, Framework::Jax);
            event.figures.requested = group(&found, 1).parse().ok().map(Bytes);
            // All that it takes at its start: who finds less is not alone on the card.
            event.cause = Some(Cause::ForeignProcess);
            event.soft = true;
            return Some(event);
        }
    }
    if let Some(found) = passage.find(&SPACE) {
        let mut event = Event::device(DIALECT.id, Framework::Jax);
        if group(&found, 1) == "hbm" {
            event.cause = Some(Cause::BatchTooLarge);
            event.figures.capacity = size(group(&found, 3));
        } else {
            event.kind = Kind::SharedMemoryLimit;
            event.cause = Some(Cause::KernelLimit);
            event.figures.allowed = size(group(&found, 3));
        }
        event.figures.requested = size(group(&found, 2));
        return Some(event);
    }
    if let Some(found) = passage.find(&REQUEST) {
        let mut event = Event::device(DIALECT.id, Framework::Jax);
        event.figures.requested = group(&found, 1).parse().ok().map(Bytes);
        event.device = group(&found, 2).parse().ok();
        return Some(event);
    }
    if let Some(found) = passage.find(&ASKED) {
        let line = passage.line();
        if !own && !line.contains("RESOURCE_EXHAUSTED") || line.contains("tensorflow/") {
            return None;
        }
        let text = passage.from(&found);
        let mut event = Event::device(DIALECT.id, Framework::Jax);
        if NOT_FAILURE.is_match(line) {
            event.kind = Kind::Recovered;
            return Some(event);
        }
        event.figures.requested =
            found.get(1).and_then(|group| size(group.as_str())).or_else(|| found.get(2).and_then(|group| group.as_str().parse().ok()).map(Bytes));
        event.device = DEVICE.number(line).and_then(|device| device.try_into().ok());
        // One program's buffers do not fit together: no state of the pool, but what the program needs.
        event.cause = BUFFERS.is_match(text).then_some(Cause::BatchTooLarge);
        return Some(event);
    }
    passage.find(&HANDLE).filter(|_| own).map(|_| Event::device(DIALECT.id, Framework::Jax))
}

#[cfg(test)]
mod tests {
    use super::super::passage::read_text;
    use super::*;

    #[test]
    fn every_form_gives_the_size() {
        for (text, asked, device, cause) in [
            ("jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 27917287424 bytes.\nBufferAssignment OOM Debugging.", 27_917_287_424, None, Some(Cause::BatchTooLarge)),
            ("jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 26.00GiB.", 27_917_287_424, None, None),
            ("RuntimeError: RESOURCE_EXHAUSTED: Out of memory allocating 12884901888 bytes.", 12_884_901_888, None, None),
            ("2026-01-01 10:00:00 W external/xla/xla/tsl/framework/bfc_allocator.cc:497] Allocator (GPU_1_bfc) ran out of memory trying to allocate 2.00GiB (rounded to 2147483648)requested by op", 2_147_483_648, Some(1), None),
            ("E external/xla/xla/stream_executor/cuda/cuda_driver.cc:1] Failed to allocate request for 2.0GiB (2147483648B) on device ordinal 3", 2_147_483_648, Some(3), None),
        ] {
            let event = read_text(&DIALECT, text).expect(text);
            assert_eq!((event.figures.requested, event.device, event.cause), (Some(Bytes(asked)), device, cause), "{text}");
        }
    }
}
