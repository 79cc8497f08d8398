//! All integration tests, in one binary.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod cli;
mod docs;
mod fake;
mod frames;
mod keys;
mod layering;
mod nvml;
mod people;
mod scenario;
mod support;
mod terminal;
