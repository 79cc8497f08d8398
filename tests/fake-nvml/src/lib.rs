//! A stand-in for `libnvidia-ml.so.1`: the C interface over a scenario, with its faults.
//!
//! Which scenario: `FAKE_NVML_SCENARIO` (a built-in's name or a path), else the file beside the library with the same
//! name and the extension `toml` (that is what [`stage()`] writes), else the built-in `default`. Its time runs from
//! `nvmlInit` on, `FAKE_NVML_SPEED` times as fast as real; [`fake_nvml_set_time_us`](control::fake_nvml_set_time_us)
//! holds it instead. `FAKE_NVML_PIDS=4242=1234,4243=self` puts live processes in the place of the scenario's.
//! `FAKE_NVML_COUNTERS=FILE` names a file that gets a line `function<TAB>calls<TAB>nanoseconds` for each function.
//!
//! Every pointer that a caller hands over must be null or valid for what the driver's header says about it.
#![expect(clippy::missing_safety_doc, reason = "the contract of all functions is NVML's header, said once above")]

pub mod accounting;
mod call;
pub mod control;
mod counters;
pub mod device;
pub mod init;
mod library;
pub mod load;
pub mod memory;
pub mod mig;
pub mod processes;
mod stage;
pub mod system;

pub use stage::{StageError, stage};
