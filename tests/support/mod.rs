//! What several tests need.

pub mod nvml;
pub mod scenario;
