//! NVENC through FFmpeg, OBS and others: code 10 is called "out of memory" and mostly is the driver's limit of sessions.

use super::{Dialect, Passage};
use crate::domain::Framework;
use crate::domain::oom::event::{Cause, Event, Kind};
use crate::domain::oom::size::Pattern;

/// The dialect.
pub const DIALECT: Dialect =
    Dialect { id: "nvenc", marks: &["OpenEncodeSession", "OUT_OF_MEMORY", "out of memory"], read };

static SESSION: Pattern = Pattern::new(r"(?i)OpenEncodeSession(?:Ex)?[^\n]{0,80}failed: ?(?:out of memory|incompatible client key|10\b|21\b|[^\n]{0,20}NV_ENC_ERR_OUT_OF_MEMORY)");
static OTHER: Pattern = Pattern::new(r"(?i)nvenc[^\n]{0,200}?(?:Create(?:Input|Bitstream)Buffer|InitializeEncoder|RegisterResource|MapInputResource)[^\n]{0,60}failed[^\n]{0,40}(?:out of memory|NV_ENC_ERR_OUT_OF_MEMORY)");
static CODE: Pattern = Pattern::new(r"NV_ENC_ERR_OUT_OF_MEMORY");
static DEVICE: Pattern = Pattern::new(r"cu->cu\w+\([^\n]{0,200}?failed -> CUDA_ERROR_OUT_OF_MEMORY");

fn read(passage: &Passage) -> Option<Event> {
    if passage.find(&SESSION).is_some() {
        let mut event = Event::new(Kind::ResourceLimit, DIALECT.id, Framework::Ffmpeg);
        event.cause = Some(Cause::SessionLimit);
        return Some(event);
    }
    if passage.find(&OTHER).or_else(|| passage.find(&DEVICE)).is_some() {
        return Some(Event::device(DIALECT.id, Framework::Ffmpeg));
    }
    passage.find_said(&CODE)?;
    let mut event = Event::new(Kind::ResourceLimit, DIALECT.id, Framework::Ffmpeg);
    event.cause = Some(Cause::SessionLimit);
    Some(event)
}

#[cfg(test)]
mod tests {
    use super::super::passage::read_text;
    use super::*;

    #[test]
    fn sessions_are_told_from_memory() {
        for (text, kind) in [
            ("[h264_nvenc @ 0x55d1] OpenEncodeSessionEx failed: out of memory (10): (no details)", Some(Kind::ResourceLimit)),
            ("[hevc_nvenc @ 0x55d1] OpenEncodeSessionEx failed: incompatible client key (21): (no details)", Some(Kind::ResourceLimit)),
            ("[obs-nvenc: 'streaming'] init_session: nv.nvEncOpenEncodeSessionEx(&params, &enc->session) failed: 10 (NV_ENC_ERR_OUT_OF_MEMORY)", Some(Kind::ResourceLimit)),
            ("[hevc_nvenc @ 0x55d1] CreateInputBuffer failed: out of memory (10): (no details)", Some(Kind::DeviceOom)),
            ("[AVHWDeviceContext @ 0x55] cu->cuCtxCreate(&hwctx->cuda_ctx, desired_flags, hwctx->internal->cuda_device) failed -> CUDA_ERROR_OUT_OF_MEMORY: out of memory", Some(Kind::DeviceOom)),
            ("[h264_nvenc @ 0x55d1] Cannot load nvcuda.dll", None),
        ] {
            assert_eq!(read_text(&DIALECT, text).map(|event| event.kind), kind, "{text}");
        }
    }
}
