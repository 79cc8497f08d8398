//! What several tests need.

pub mod scenario;
