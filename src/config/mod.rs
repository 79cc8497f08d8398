//! Layer 1: what the user asked for.
//!
//! [`settings`] is the table: one entry per setting makes its flag, its variable, its key in the file, the merge, the sample
//! file and the documentation. [`value`] says how each kind of setting is written, [`layer`] where a text came from,
//! [`file`](mod@file) reads the configuration file, [`env`](mod@env) the environment, [`docs`] prints the table.

pub mod docs;
pub mod env;
pub mod error;
pub mod file;
pub mod layer;
pub mod settings;
pub mod terminal;
pub mod value;

pub use env::Environment;
pub use error::ConfigError;
pub use layer::{Layers, Origin};
pub use settings::{SETTINGS, Setting, Settings};
pub use terminal::{Notification, Palette};
pub use value::{ColorChoice, Interval, Notify, SourceName};
