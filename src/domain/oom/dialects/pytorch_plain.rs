//! PyTorch where no allocator of its own speaks: the CUDA or HIP runtime refused, in a context, a library's handle or a kernel.

use super::passage::group;
use super::{Dialect, Passage};
use crate::domain::Framework;
use crate::domain::oom::event::{Allocator, Cause, Event, Stage};
use crate::domain::oom::size::Pattern;

/// The dialect.
pub const DIALECT: Dialect = Dialect {
    id: "pytorch_plain",
    marks: &["out of memory", "ALLOC_FAILED", "valid cuDNN algorithm"],
    read,
};

static THC: Pattern = Pattern::new(r"(?:THCudaCheck FAIL file=[^\n]{0,200}?error=2 ?: out of memory|cuda runtime error \(2\) ?: out of memory at )");
static ERROR: Pattern = Pattern::new(
    r"(?:RuntimeError|AcceleratorError|OutOfMemoryError|c10::Error|c10::AcceleratorError|terminate called[^\n]{0,80}what\(\)|what\(\)): ?(?:\[[^\]]{0,60}\] )?(?:CUDA|HIP|CUDA driver) error: out of memory",
);
static BARE: Pattern =
    Pattern::new(r"(?:RuntimeError|OutOfMemoryError|torch\.[\w.]*Error|c10::\w*Error): ?(CUDA|HIP|XPU) out of memory(?:\.|\x20*$|\x20)");
static LIBRARY: Pattern = Pattern::new(
    r"(?:(?:CUDA|HIP) error: |cuDNN error: |cuFFT error: |cuda error: )((?:CUBLAS|CUDNN|CUSPARSE|CUSOLVER|CUFFT|HIPBLAS|HIPBLASLT)\w*ALLOC_FAILED|rocblas_status_memory_error|CUBLAS_STATUS_NOT_INITIALIZED when calling `?cublasCreate)",
);
static ALGORITHM: Pattern = Pattern::new(r"(?:RuntimeError: )Unable to find a valid cuDNN algorithm to run convolution");
static PINNED: Pattern = Pattern::new(r"(?i)(?:pin_memory|pin memory|pinned|cudaHostAlloc|HostAlloc|CachingHostAllocator|cudaHostRegister)");
static DEVICE: Pattern = Pattern::new(r"\b(?:on device|device=|device\x20?:?)\x20?(\d{1,3})\b");

fn read(passage: &Passage) -> Option<Event> {
    if let Some(found) = passage.find(&THC) {
        let mut event = Event::device(DIALECT.id, Framework::PyTorch);
        event.versions = Some("<1.0");
        event.allocator = Allocator::Native;
        event.echo = group(&found, 0).starts_with("THCudaCheck");
        return Some(event);
    }
    if let Some(found) = passage.find(&LIBRARY) {
        let mut event = Event::device(DIALECT.id, Framework::Cuda);
        event.stage = Some(Stage::Context);
        event.device = DEVICE.number(passage.from(&found)).and_then(|device| device.try_into().ok());
        return Some(event);
    }
    if passage.find(&ALGORITHM).is_some() {
        return Some(Event::device(DIALECT.id, Framework::PyTorch));
    }
    let found = passage.find(&ERROR).or_else(|| passage.find_said(&BARE))?;
    let text = passage.from(&found);
    // With figures it is another dialect's.
    if text.contains("Tried to allocate") {
        return None;
    }
    // The runtime says the same of page-locked memory of the host.
    if PINNED.is_match(passage.before) || PINNED.is_match(passage.line()) {
        return Some(Event::host(DIALECT.id, Framework::PyTorch));
    }
    let mut event = Event::device(DIALECT.id, Framework::PyTorch);
    event.stage = found.get(1).is_none().then_some(Stage::Context);
    event.cause = event.stage.map(|_| Cause::Unknown);
    Some(event)
}

#[cfg(test)]
mod tests {
    use super::super::passage::read_text;
    use super::*;
    use crate::domain::oom::event::Kind;

    #[test]
    fn what_the_runtime_and_libraries_say_is_read() {
        for (text, framework) in [
            ("RuntimeError: CUDA error: out of memory", Framework::PyTorch),
            ("torch.AcceleratorError: CUDA error: out of memory", Framework::PyTorch),
            ("RuntimeError: HIP error: out of memory", Framework::PyTorch),
            ("RuntimeError: CUDA driver error: out of memory", Framework::PyTorch),
            ("RuntimeError: cuda runtime error (2) : out of memory at /pytorch/aten/src/THC/generic/THCStorage.cu:58", Framework::PyTorch),
            ("RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`", Framework::Cuda),
            ("RuntimeError: cuDNN error: CUDNN_STATUS_ALLOC_FAILED", Framework::Cuda),
            ("RuntimeError: cuFFT error: CUFFT_ALLOC_FAILED", Framework::Cuda),
            ("RuntimeError: CUDA error: HIPBLAS_STATUS_ALLOC_FAILED when calling `hipblasCreate(handle)`", Framework::Cuda),
            ("torch.cuda.OutOfMemoryError: CUDA out of memory.", Framework::PyTorch),
        ] {
            let found = read_text(&DIALECT, text).unwrap_or_else(|| panic!("not read: {text}"));
            assert_eq!((found.kind, found.framework), (Kind::DeviceOom, Some(framework)), "{text}");
        }
    }

    #[test]
    fn page_locked_memory_is_the_hosts() {
        let text = "RuntimeError: Caught RuntimeError in pin memory thread for device 0: RuntimeError: CUDA error: out of memory";
        assert_eq!(read_text(&DIALECT, text).map(|event| event.kind), Some(Kind::HostOom));
    }

    #[test]
    fn talk_is_no_failure() {
        for text in [
            "If you encounter CUDA out of memory, try to set --tile with a smaller number.",
            "except torch.cuda.OutOfMemoryError:",
            "raise torch.OutOfMemoryError",
            "config: retry on RuntimeError: CUDA out of memory",
            "test_cuda_out_of_memory PASSED",
        ] {
            assert_eq!(read_text(&DIALECT, text), None, "{text}");
        }
    }
}
