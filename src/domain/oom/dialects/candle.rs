//! Candle, burn and others on cudarc, the driver for Rust.

use super::{Dialect, Passage};
use crate::domain::Framework;
use crate::domain::oom::event::Event;
use crate::domain::oom::size::Pattern;

/// The dialect.
pub const DIALECT: Dialect = Dialect { id: "candle", marks: &["OUT_OF_MEMORY"], read };

static HEAD: Pattern = Pattern::new(r"DriverError\(CUDA_ERROR_OUT_OF_MEMORY");

fn read(passage: &Passage) -> Option<Event> {
    passage.find(&HEAD).map(|_| Event::device(DIALECT.id, Framework::Candle))
}

#[cfg(test)]
mod tests {
    use super::super::passage::read_text;
    use super::*;

    #[test]
    fn it_is_read_however_deep_it_is_wrapped() {
        for text in [
            "Error: DriverError(CUDA_ERROR_OUT_OF_MEMORY, \"out of memory\")",
            "thread 'main' panicked: called `Result::unwrap()` on an `Err` value: Cuda(Cuda(DriverError(CUDA_ERROR_OUT_OF_MEMORY, \"out of memory\")))",
        ] {
            assert!(read_text(&DIALECT, text).is_some(), "{text}");
        }
    }
}
