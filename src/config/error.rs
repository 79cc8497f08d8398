//! What can be wrong with a configuration: exit code 2. The texts are for the user.

use super::Origin;

/// Why the settings can't be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// A value that its setting does not take.
    #[error("{origin}: {why}")]
    Value {
        /// The option, variable, or file and line.
        origin: Origin,
        /// What is wrong with it and what would be right.
        why: String,
    },
    /// A key in the file that is no setting.
    #[error("{path}:{line}: `{key}` is not a setting{hint}")]
    UnknownKey {
        /// The file.
        path: String,
        /// The line, from 1.
        line: usize,
        /// The key as written.
        key: String,
        /// `; did you mean …?` or where the settings are listed.
        hint: String,
    },
    /// The file is no TOML.
    #[error("{path}:{line}: {why}")]
    Syntax {
        /// The file.
        path: String,
        /// The line, from 1.
        line: usize,
        /// The parser's words.
        why: String,
    },
    /// The file can't be read.
    #[error("{origin}: cannot read {path}: {why}\nName a file that exists, or leave the option away to use the default one.")]
    Unreadable {
        /// Who named the file.
        origin: Origin,
        /// The file.
        path: String,
        /// The system's words.
        why: String,
    },
}
