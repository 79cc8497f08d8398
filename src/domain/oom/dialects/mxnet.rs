//! `MXNet`.

use super::{Dialect, Passage};
use crate::domain::Framework;
use crate::domain::oom::event::Event;
use crate::domain::oom::size::Pattern;

/// The dialect.
pub const DIALECT: Dialect = Dialect { id: "mxnet", marks: &["out of memory"], read };

static STORAGE: Pattern = Pattern::new(r"(?:cudaMalloc(?: retry)? failed: out of memory|Memory allocation failed:? out of memory|Check failed: e(?:rr)? == cudaSuccess[^\n]{0,80}(?:out of memory|CUDA: out of memory))");
static OWN: Pattern = Pattern::new(r"(?i)mxnet|pooled_storage_manager|gpu_device_storage|mshadow|cudaMalloc retry failed");

fn read(passage: &Passage) -> Option<Event> {
    passage.find(&STORAGE)?;
    (OWN.is_match(passage.line()) || OWN.is_match(passage.before)).then(|| Event::device(DIALECT.id, Framework::Mxnet))
}

#[cfg(test)]
mod tests {
    use super::super::passage::read_text;
    use super::*;

    #[test]
    fn its_storage_is_told_from_other_mallocs() {
        for (text, read) in [
            ("mxnet.base.MXNetError: [23:54:01] src/storage/./pooled_storage_manager.h:161: cudaMalloc retry failed: out of memory", true),
            ("[10:00:00] src/storage/./pooled_storage_manager.h:157: cudaMalloc failed: out of memory", true),
            ("mxnet.base.MXNetError: [12:00:00] src/engine/x.cc:1: Check failed: e == cudaSuccess || e == cudaErrorCudartUnloading: CUDA: out of memory", true),
            ("allocating 956.00 MiB on device 0: cudaMalloc failed: out of memory", false),
        ] {
            assert_eq!(read_text(&DIALECT, text).is_some(), read, "{text}");
        }
    }
}
