//! Why a scenario can't be used: file, line, column, what is wrong, what was expected.

use std::ops::Range;
use std::path::PathBuf;

use crate::domain::text::clean;

/// Why a scenario can't be used.
#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    /// Something in the file is wrong.
    #[error("{origin}:{line}:{column}: {what}")]
    Content {
        /// The file or the name of the built-in scenario.
        origin: String,
        /// Counted from 1.
        line: usize,
        /// In characters, counted from 1.
        column: usize,
        /// What is wrong and what was expected.
        what: String,
    },
    /// The file can't be read.
    #[error("{}: {source}", path.display())]
    Io {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Larger than any scenario.
    #[error("{}: the file is larger than 1 MiB; expected a scenario in TOML", path.display())]
    TooLarge {
        /// Which file.
        path: PathBuf,
    },
    /// Neither built in nor a file.
    #[error("no scenario `{name}`; expected {known} or the path of a TOML file")]
    Unknown {
        /// What was asked for.
        name: String,
        /// The built-in ones.
        known: String,
    },
}

impl ScenarioError {
    /// An error at a place of `text`; without one, at its start.
    pub(super) fn at(origin: &str, text: &str, span: Option<Range<usize>>, what: &str) -> Self {
        let offset = span.map_or(0, |span| span.start).min(text.len());
        let before = text.as_bytes().get(..offset).unwrap_or_default();
        let line = before.split(|&byte| byte == b'\n').count();
        let start = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        let column = String::from_utf8_lossy(before.get(start..).unwrap_or_default()).chars().count() + 1;
        Self::Content { origin: clean(origin, 200), line, column, what: clean(&what.replace('\n', "; "), 300) }
    }
}
