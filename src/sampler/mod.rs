//! Layer 2: when to read, and what if a read hangs.

pub mod caller;
pub mod clock;
pub mod condition;
pub mod inflight;
pub mod meter;
pub mod probe;
pub mod schedule;
pub mod sender;
pub mod watchdog;
pub mod worker;

pub use caller::Caller;
pub use clock::Clock;
pub use condition::Condition;
pub use probe::{Look, Probe};
pub use schedule::Pacing;
pub use sender::{SampleReceiver, SampleSender, channel};
pub use watchdog::Watchdog;
pub use worker::{Beat, Poke, Studio};
