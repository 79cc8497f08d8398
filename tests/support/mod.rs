//! What several tests need.

pub mod frames;
pub mod machine;
pub mod nvml;
pub mod recording;
pub mod scenario;
pub mod timelines;
