//! vramscope: an oscilloscope for GPU memory.
//!
//! The sample stream is the only truth. A live driver, a recorded file and a simulator all produce the same
//! [`domain::Sample`]s; [`domain::Monitor`] is a pure fold over them, and every screen and document is a function of the
//! [`domain::Snapshot`] it yields. Modules use only modules with a smaller number:
//!
//! | layer | module | subject |
//! |---|---|---|
//! | 0 | [`domain`] | what is true: no I/O, no clock, no threads |
//! | 1 | [`config`] | what the user asked for |
//! | 1 | [`scenario`] | simulated nodes, shared by the demo, the fake driver and the tests |
//! | 1 | [`timeline`] | the stream at rest: files, their reader and writer |
//! | 2 | [`sampler`] | when to read, and what if a read hangs |
//! | 3 | [`source`] | where samples come from |
//! | 4 | [`pipeline`] | samples in, sinks and fold, latest snapshot out |
//! | 5 | [`output`] | tables and JSON |
//! | 5 | [`alerts`] | the user's command at an alert |
//! | 5 | [`pick`] | which GPUs a new job takes, and leases on them |
//! | 5 | [`tui`] | the dashboard |
//! | 6 | [`cli`] | one file per subcommand; puts the parts together |

pub mod alerts;
pub mod cli;
pub mod config;
pub mod domain;
pub mod output;
pub mod pick;
pub mod pipeline;
pub mod sampler;
pub mod scenario;
pub mod source;
pub mod timeline;
pub mod tui;
