//! Numba's driver layer.

use super::{Dialect, Passage};
use crate::domain::Framework;
use crate::domain::oom::event::{Event, Stage};
use crate::domain::oom::size::Pattern;

/// The dialect.
pub const DIALECT: Dialect = Dialect { id: "numba", marks: &["OUT_OF_MEMORY"], read };

static CALL: Pattern = Pattern::new(r"(?:CudaAPIError|LinkerError|CudaSupportError)[^\n]{0,60}?Call to (cu\w+) results in (?:CUDA_ERROR_OUT_OF_MEMORY)|Call to (cu\w+) results in CUDA_ERROR_OUT_OF_MEMORY");
static INIT: Pattern = Pattern::new(r"CudaSupportError: Error at driver init:[^\n]{0,80}CUDA_ERROR_OUT_OF_MEMORY");

fn read(passage: &Passage) -> Option<Event> {
    if let Some(found) = passage.find(&CALL) {
        let call = found.get(1).or_else(|| found.get(2)).map_or("", |group| group.as_str());
        if call.contains("Host") {
            return Some(Event::host(DIALECT.id, Framework::Numba));
        }
        let mut event = Event::device(DIALECT.id, Framework::Numba);
        event.stage = (call.contains("Ctx") || call.contains("Init")).then_some(Stage::Context);
        return Some(event);
    }
    passage.find(&INIT).map(|_| Event { stage: Some(Stage::Context), ..Event::device(DIALECT.id, Framework::Numba) })
}

#[cfg(test)]
mod tests {
    use super::super::passage::read_text;
    use super::*;
    use crate::domain::oom::event::Kind;

    #[test]
    fn the_call_tells_what_was_asked_for() {
        for (text, kind, stage) in [
            ("numba.cuda.cudadrv.driver.CudaAPIError: [2] Call to cuMemAlloc results in CUDA_ERROR_OUT_OF_MEMORY", Kind::DeviceOom, None),
            ("numba.cuda.cudadrv.driver.CudaAPIError: [CUresult.CUDA_ERROR_OUT_OF_MEMORY] Call to cuMemAlloc results in CUDA_ERROR_OUT_OF_MEMORY", Kind::DeviceOom, None),
            ("numba.cuda.cudadrv.driver.CudaAPIError: [2] Call to cuDevicePrimaryCtxRetain results in CUDA_ERROR_OUT_OF_MEMORY", Kind::DeviceOom, Some(Stage::Context)),
            ("numba.cuda.cudadrv.driver.CudaAPIError: [2] Call to cuMemHostAlloc results in CUDA_ERROR_OUT_OF_MEMORY", Kind::HostOom, None),
        ] {
            let event = read_text(&DIALECT, text).expect(text);
            assert_eq!((event.kind, event.stage), (kind, stage), "{text}");
        }
    }
}
