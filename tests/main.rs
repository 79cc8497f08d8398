//! All integration tests, in one binary.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod advice;
mod causality;
mod cli;
mod docs;
mod fake;
mod frames;
mod holders;
mod keys;
mod labelled;
mod layering;
mod nvml;
mod oom;
mod people;
mod pick;
mod recordings;
mod report;
mod scenario;
mod signals;
mod support;
mod terminal;
mod timeline;
