//! The root of the system's files: the real one, but for tests, which bring a tree of their own. No setting reaches it.

use std::path::Path;
use std::sync::Arc;

/// Where `/proc`, `/dev` and `/var` are looked for.
#[derive(Clone, Debug)]
pub struct Root(Arc<str>);

impl Default for Root {
    /// The real one.
    fn default() -> Self {
        Self("".into())
    }
}

impl Root {
    /// A tree of a test's own.
    pub fn at(path: &Path) -> Self {
        Self(path.to_string_lossy().trim_end_matches('/').into())
    }

    /// Whether it is the real one.
    pub fn is_real(&self) -> bool {
        self.0.is_empty()
    }

    /// An absolute path below it.
    pub fn path(&self, path: &str) -> String {
        format!("{}{path}", self.0)
    }

    /// A file of a process.
    pub fn proc(&self, pid: u32, file: &str) -> String {
        format!("{}/proc/{pid}/{file}", self.0)
    }
}
