//! What several tests need.

pub mod frames;
pub mod scenario;
