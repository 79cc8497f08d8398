//! What several tests need.

pub mod nvml;
