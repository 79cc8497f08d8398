//! The CUDA runtime and driver as programs of all kinds show their errors; also Vulkan and `OpenCL`. The last dialect: others say more.

use super::{Dialect, Passage};
use crate::domain::Framework;
use crate::domain::oom::event::{Event, Stage};
use crate::domain::oom::size::{Pattern, size};

/// The dialect.
pub const DIALECT: Dialect = Dialect {
    id: "cuda",
    marks: &["ut of memory", "OUT_OF_MEMORY", "ErrorMemoryAllocation", "ALLOC_FAILED", "OUT_OF_DEVICE_MEMORY", "OutOfDeviceMemory", "OBJECT_ALLOCATION_FAILURE", "CL_OUT_OF_RESOURCES", "enough allocatable device memory"],
    read,
};

static CODE: Pattern = Pattern::new(r"\b(?:code|error|status)=?\x20?\(?2\(?\)?\x20?\(?(?:cudaErrorMemoryAllocation|CUDA_ERROR_OUT_OF_MEMORY|hipErrorOutOfMemory)");
static NAME: Pattern = Pattern::new(r"\b(?:cudaErrorMemoryAllocation|CUDA_ERROR_OUT_OF_MEMORY|hipErrorOutOfMemory|VK_ERROR_OUT_OF_DEVICE_MEMORY|ErrorOutOfDeviceMemory|CL_MEM_OBJECT_ALLOCATION_FAILURE|CL_OUT_OF_RESOURCES|(?:CUBLAS|CUDNN|CUSPARSE|CUSOLVER|HIPBLAS)_STATUS_ALLOC_FAILED)\b");
static WORDS: Pattern = Pattern::new(r"(?i)(?:\b(?:cuda|hip|gpu|nvidia|driver|thrust|cub|rocm|device)\b[^\n]{0,120}?\bout of memory\b|\bGPUassert: out of memory|\b(?:cu|hip)(?:da)?Mem?\w*(?:Malloc|Alloc)\w*[^\n]{0,160}?out of memory|\(2 vs\. 0\) +out of memory|out of memory in function 'allocate'|Cuda failure: '?out of memory)");
static CALL: Pattern = Pattern::new(r"(?i)(?:CUDA|HIP)(?: driver| runtime| API)? ?(?:error|failure|fail|exception)|failed|throw|what\(\)|error|panic|exception|abort|fatal|assert|terminate|warn");
static SUGGESTION: Pattern = Pattern::new(r"(?i)\b(?:try|please|hint|tip|note|usage|option|default|docs?|help|readme|--\w)\b");
static ASKED: Pattern = Pattern::new(r"(?i)(?:failed to allocate|allocating|trying to allocate|allocation of|requested|allocate|size=?|alloc)\x20?:?\x20?\(?SIZE");
static DEVICE: Pattern = Pattern::new(r"(?i)\b(?:device|gpu)\x20?[:#]?=?\x20?(\d{1,3})\b");
static CONTEXT: Pattern = Pattern::new(r"(?i)cuCtxCreate|cuInit|PrimaryCtx|cublasCreate|cudnnCreate|context|handle");

fn read(passage: &Passage) -> Option<Event> {
    let line = passage.line();
    let found = passage.find(&CODE).or_else(|| passage.find_said(&NAME)).or_else(|| {
        // Words alone need something that says that it went wrong.
        let found = passage.find_said(&WORDS)?;
        (CALL.is_match(line) && !SUGGESTION.is_match(passage.head(&found))).then_some(found)
    })?;
    if SUGGESTION.is_match(passage.head(&found)) && !CALL.is_match(line) {
        return None;
    }
    let mut event = Event::device(DIALECT.id, Framework::Cuda);
    event.figures.requested = ASKED.captures(line).and_then(|asked| size(asked.get(1)?.as_str()));
    event.device = DEVICE.number(line).and_then(|device| device.try_into().ok());
    event.stage = CONTEXT.is_match(line).then_some(Stage::Context);
    Some(event)
}

#[cfg(test)]
mod tests {
    use super::super::passage::read_text;
    use super::*;

    #[test]
    fn errors_are_read_however_they_are_shown() {
        for text in [
            "CUDA error at stencil3d.cu:212 code=2(cudaErrorMemoryAllocation) \"cudaMalloc((void **)&d_grid, nbytes)\" ",
            "GPUassert: out of memory kernel.cu 42",
            "CUDA Error: out of memory",
            "  what():  std::bad_alloc: cudaErrorMemoryAllocation: out of memory",
            "pycuda._driver.MemoryError: cuMemAlloc failed: out of memory",
            "Check failed: error == cudaSuccess (2 vs. 0)  out of memory",
            "error: (-217:Gpu API call) out of memory in function 'allocate'",
            "CUDA error in CudaProgram.cu:388 : out of memory (2)",
            "vk::Device::allocateMemory: ErrorOutOfDeviceMemory",
            "clCreateBuffer(): CL_MEM_OBJECT_ALLOCATION_FAILURE",
            "Failed, NCCL error /x/all_reduce.cu:44 cudaErrorMemoryAllocation",
        ] {
            assert!(read_text(&DIALECT, text).is_some(), "{text}");
        }
    }

    #[test]
    fn settings_hints_and_lists_are_no_errors() {
        for text in [
            "  --max-memory GIB   stop before CUDA out of memory would happen (default: no limit)",
            "If you encounter CUDA out of memory, try to set --tile with a smaller number.",
            "config: out_of_memory_retry = true",
            "Tip: reduce the batch size on CUDA out of memory",
            "## What to do when the GPU is out of memory",
        ] {
            assert_eq!(read_text(&DIALECT, text), None, "{text}");
        }
    }
}
