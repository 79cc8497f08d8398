//! Layer 1: the stream at rest. DESIGN.md section 5 lays the file down; a [`Record`] is one line of it.
//!
//! [`mod@format`] holds every record type both ways, [`Writer`] makes lines of records, and a [`Reader`] yields the records of a
//! file, plain or zstd, whatever is wrong with it.

pub mod format;
mod input;
mod lines;
mod order;
mod problems;
mod reader;
mod record;
mod writer;

pub use input::ReadError;
pub use problems::{Problem, Problems};
pub use reader::Reader;
pub use record::{Partial, Record};
pub use writer::Writer;
