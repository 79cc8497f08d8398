//! All integration tests, in one binary.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod causality;
mod cli;
mod docs;
mod fake;
mod frames;
mod keys;
mod labelled;
mod layering;
mod nvml;
mod people;
mod pick;
mod recordings;
mod scenario;
mod signals;
mod support;
mod terminal;
