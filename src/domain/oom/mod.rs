//! Explaining an out-of-memory message: what failed, by whose words, why, and what to do.
//!
//! [`Scanner`] takes a log of any length in blocks, keeps the last of it, and lets the [`dialects`] read the stretches that may
//! hold a message. What they find becomes an [`Explanation`]: the [`cause`] by the first rule that holds, with its evidence, and
//! the tips that help, with those that would not.

pub mod advice;
pub mod cause;
pub mod clues;
pub mod decode;
pub mod dialects;
pub mod event;
pub mod explanation;
pub mod growth;
pub mod ledger;
pub mod line;
pub mod reader;
pub mod scanner;
pub mod size;

pub use advice::{Proposed, Unhelpful};
pub use event::{Cause, Event, Figures, Kind, OtherProcess};
pub use explanation::{Explanation, Found, Parts};
pub use scanner::Scanner;
