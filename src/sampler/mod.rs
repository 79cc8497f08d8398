//! Layer 2: when to read, and what if a read hangs.

pub mod sender;

pub use sender::{SampleReceiver, SampleSender, channel};
