//! Layer 1: simulated nodes as scenario files, shared by the demo, the fake driver, the tests and the README's pictures.
//!
//! A [`Scenario`] is a checked file; a [`World`] answers for any moment of it; a [`Stream`] is the sample stream that a
//! monitor on that node would record.

mod error;
mod fault;
mod file;
mod hash;
mod phase;
mod scan;
mod shape;
mod stream;
mod track;
mod values;
mod world;

pub use error::ScenarioError;
pub use fault::{Driver, ErrorCode, Fault, Lost, RowFormat};
pub use file::Scenario;
pub use stream::{Stream, StreamOptions};
pub use world::{Ending, Place, Row, World};

/// A scenario that comes with the program.
#[derive(Clone, Copy, Debug)]
pub struct Builtin {
    /// Its name for `vramscope demo NAME`.
    pub id: &'static str,
    /// One line that says what it shows; the file says the same.
    pub title: &'static str,
    /// The file.
    pub text: &'static str,
}

/// The scenarios of `vramscope demo --list`; the first is the default.
pub const SCENARIOS: &[Builtin] = &[Builtin {
    id: "default",
    title: "Four H100s: training, a leak that ends in an OOM, a serving pool, a newcomer and an orphan",
    text: include_str!("../../assets/scenarios/default.toml"),
}];
