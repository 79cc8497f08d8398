//! Layer 2: when to read, and what if a read hangs.

pub mod clock;
pub mod sender;

pub use clock::Clock;
pub use sender::{SampleReceiver, SampleSender, channel};
