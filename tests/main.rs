//! All integration tests, in one binary.
#![expect(missing_docs, reason = "tests are named, not documented")]

mod cli;
mod docs;
mod frames;
mod keys;
mod layering;
mod nvml;
mod scenario;
mod support;
mod terminal;
