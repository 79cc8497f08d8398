//! TensorFlow: its BFC allocator, whose words JAX shares, and its operations.

use super::passage::group;
use super::{Dialect, Passage};
use crate::domain::oom::event::{Cause, Event, Kind, Stage};
use crate::domain::oom::size::{Pattern, number, size};
use crate::domain::{Bytes, Framework};

/// The dialect.
pub const DIALECT: Dialect = Dialect {
    id: "tensorflow",
    marks: &["out of memory", "OOM when allocating", "Dst tensor is not", "Limit:  ", "failed to allocate ", "OUT_OF_MEMORY", "not allocate pinned", "ALLOC_FAILED", "allocation failed"],
    read,
};

static BFC: Pattern = Pattern::new(r"Allocator \((\w+)\) ran out of memory trying to allocate SIZE(?: ?\(rounded to INT\))?");
static NOT_FAILURE: Pattern = Pattern::new(r"The caller indicates that this is not a failure");
static LIMIT: Pattern = Pattern::new(r"\bLimit: +INT");
static IN_USE: Pattern = Pattern::new(r"\bInUse: +INT");
static GPU: Pattern = Pattern::new(r"(?:GPU_|GPU:|gpu:|gpu_async_)(\d+)");
static TENSOR: Pattern = Pattern::new(r"OOM when allocating tensor with shape ?\[([\d,\s]*)\] and type (\w+) on ([^\s]+) by allocator (\w+)");
static DST: Pattern = Pattern::new(r"Dst tensor is not initialized");
static ASYNC: Pattern = Pattern::new(r"(?:gpu_async_(\d+) )?cuMemAllocAsync failed to allocate INT bytes");
static ASYNC_FREE: Pattern = Pattern::new(r"Free memory/Total memory: INT/INT");
static EAGER: Pattern = Pattern::new(r"ResourceExhaustedError[^\n]{0,200}?failed to allocate memory");
static DRIVER: Pattern = Pattern::new(r"(?i)failed to alloc(?:ate)? (?:[\d.]+\w* \()?(\d+)(?: bytes\)?|B\)) from device: CUDA_ERROR_OUT_OF_MEMORY");
static DRIVER_HOST: Pattern = Pattern::new(r"(?i)(?:failed to alloc(?:ate)? (\d+) bytes on host: CUDA_ERROR_OUT_OF_MEMORY|could not allocate pinned host memory of size: (\d+))");
static HANDLE: Pattern = Pattern::new(r"(?i)(?:failed to create cublas handle|could not create cudnn handle|failed to create cusolver[^\n]{0,20}): ?(?:CUBLAS_STATUS_ALLOC_FAILED|CUDNN_STATUS_ALLOC_FAILED|cusolver error: 2|the resource allocation failed)");
static OWN: Pattern = Pattern::new(r"(?i)tensorflow|keras|stream_executor|cuda_driver\.cc|gpu_device\.cc");

/// Whether a line comes from XLA outside TensorFlow.
pub fn is_xla(line: &str) -> bool {
    line.contains("external/xla") || line.contains("external/org_tensorflow") && line.contains("/xla/")
}

/// The allocator's report and its statistics, which may stand hundreds of lines later.
pub fn bfc(passage: &Passage, id: &'static str, framework: Framework) -> Option<Event> {
    let found = passage.find(&BFC)?;
    let text = passage.from(&found);
    let mut event = Event::device(id, framework);
    event.device = GPU.number(group(&found, 1)).and_then(|device| device.try_into().ok());
    if group(&found, 1).contains("cpu") || group(&found, 1).contains("host") {
        event = Event::host(id, framework);
    }
    if NOT_FAILURE.is_match(text.get(..passage.first.saturating_add(400).min(text.len())).unwrap_or(text)) {
        event.kind = Kind::Recovered;
        event.cause = None;
        return Some(event);
    }
    event.figures.requested = number(group(&found, 3)).map(Bytes).or_else(|| size(group(&found, 2)));
    if framework == Framework::TensorFlow {
        event.versions = text.contains("TF_GPU_ALLOCATOR").then_some(">=2.4");
    }
    Some(event)
}

fn read(passage: &Passage) -> Option<Event> {
    let line = passage.line();
    if let Some(event) = bfc(passage, DIALECT.id, Framework::TensorFlow) {
        return Some(event);
    }
    if let Some(found) = passage.find(&TENSOR) {
        let on_gpu = GPU.is_match(group(&found, 3)) || GPU.is_match(group(&found, 4));
        let mut event =
            if on_gpu { Event::device(DIALECT.id, Framework::TensorFlow) } else { Event::host(DIALECT.id, Framework::TensorFlow) };
        event.device = GPU.number(group(&found, 3)).and_then(|device| device.try_into().ok());
        event.figures.requested = tensor_bytes(group(&found, 1), group(&found, 2));
        return Some(event);
    }
    if let Some(found) = passage.find(&LIMIT) {
        // The statistics of a report that was read before.
        let text = passage.from(&found);
        let (limit, used) = (number(group(&found, 1))?, IN_USE.number(text)?);
        let mut event = Event::device(DIALECT.id, Framework::TensorFlow);
        event.figures.allowed = Some(Bytes(limit));
        event.figures.allocated = Some(Bytes(used));
        event.figures.unallocated = Some(Bytes(limit.saturating_sub(used)));
        event.echo = true;
        return Some(event);
    }
    if let Some(found) = passage.find(&ASYNC) {
        let text = passage.from(&found);
        let mut event = Event::device(DIALECT.id, Framework::TensorFlow);
        event.device = group(&found, 1).parse().ok();
        event.figures.requested = number(group(&found, 2)).map(Bytes);
        if let Some(memory) = ASYNC_FREE.captures(text) {
            event.figures.free = number(group(&memory, 1)).map(Bytes);
            event.figures.capacity = number(group(&memory, 2)).map(Bytes);
        }
        return Some(event);
    }
    if passage.find(&DST).is_some() || passage.find(&EAGER).is_some() {
        return Some(Event::device(DIALECT.id, Framework::TensorFlow));
    }
    let own = OWN.is_match(line) || OWN.is_match(passage.before);
    if let Some(found) = passage.find(&DRIVER_HOST) {
        let mut event = Event::host(DIALECT.id, Framework::TensorFlow);
        event.figures.requested = found.get(1).or_else(|| found.get(2)).and_then(|group| number(group.as_str())).map(Bytes);
        event.soft = true;
        return Some(event);
    }
    if let Some(found) = passage.find(&DRIVER).filter(|_| own) {
        let mut event = Event::device(DIALECT.id, Framework::TensorFlow);
        event.figures.requested = number(group(&found, 1)).map(Bytes);
        // All that it takes at its start: who finds less is not alone on the card. It tries again with less.
        event.cause = Some(Cause::ForeignProcess);
        event.soft = true;
        event.stage = Some(Stage::Context);
        return Some(event);
    }
    passage.find(&HANDLE).filter(|_| own).map(|_| Event { stage: Some(Stage::Context), ..Event::device(DIALECT.id, Framework::TensorFlow) })
}

/// The size of a tensor: the product of its dimensions and of the bytes of its type.
fn tensor_bytes(shape: &str, kind: &str) -> Option<Bytes> {
    let each: u64 = match kind {
        "double" | "int64" | "uint64" | "complex64" | "float64" => 8,
        "float" | "int32" | "uint32" | "float32" => 4,
        "half" | "bfloat16" | "int16" | "uint16" | "float16" => 2,
        "int8" | "uint8" | "bool" => 1,
        "complex128" => 16,
        _ => return None,
    };
    let mut bytes = each;
    for dimension in shape.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        bytes = bytes.checked_mul(dimension.parse().ok()?)?;
    }
    Some(Bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::super::passage::read_text;
    use super::*;

    #[test]
    fn reports_shapes_and_statistics_are_read() {
        for (text, kind, device, asked) in [
            ("W tensorflow/core/common_runtime/bfc_allocator.cc:479] Allocator (GPU_0_bfc) ran out of memory trying to allocate 1.53GiB (rounded to 1644167168)requested by op x", Kind::DeviceOom, Some(0), Some(1_644_167_168)),
            ("W tensorflow/core/common_runtime/bfc_allocator.cc:290] Allocator (GPU_1_bfc) ran out of memory trying to allocate 2.03GiB with freed_by_count=0. The caller indicates that this is not a failure, but", Kind::Recovered, Some(1), None),
            ("ResourceExhaustedError: OOM when allocating tensor with shape[64,2048,56,56] and type float on /job:localhost/replica:0/task:0/device:GPU:1 by allocator GPU_1_bfc", Kind::DeviceOom, Some(1), Some(1_644_167_168)),
            ("ResourceExhaustedError: OOM when allocating tensor with shape[30000,30000] and type double on /job:localhost/replica:0/task:0/device:CPU:0 by allocator cpu", Kind::HostOom, None, Some(7_200_000_000)),
            ("E tensorflow/core/common_runtime/gpu/gpu_cudamallocasync_allocator.cc:306] gpu_async_0 cuMemAllocAsync failed to allocate 1073741824 bytes: CUDA error: out of memory", Kind::DeviceOom, Some(0), Some(1_073_741_824)),
            ("I tensorflow/stream_executor/cuda/cuda_driver.cc:831] failed to allocate 8.41G (9030145024 bytes) from device: CUDA_ERROR_OUT_OF_MEMORY: out of memory", Kind::DeviceOom, None, Some(9_030_145_024)),
            ("E tensorflow/stream_executor/cuda/cuda_driver.cc:893] failed to alloc 2147483648 bytes on host: CUDA_ERROR_OUT_OF_MEMORY: out of memory", Kind::HostOom, None, Some(2_147_483_648)),
            ("tensorflow.python.framework.errors_impl.InternalError: Failed copying input tensor from CPU:0 to GPU:0: Dst tensor is not initialized.", Kind::DeviceOom, None, None),
        ] {
            let event = read_text(&DIALECT, text).expect(text);
            assert_eq!((event.kind, event.device, event.figures.requested), (kind, device, asked.map(Bytes)), "{text}");
        }
        let stats = read_text(&DIALECT, "Limit:                     10737418240\nInUse:                      9975316480").expect("read");
        assert_eq!((stats.figures.allowed, stats.figures.unallocated), (Some(Bytes(10_737_418_240)), Some(Bytes(762_101_760))));
    }
}
