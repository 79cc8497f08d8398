//! Puts a copy of the library and its scenario where a program can load it, without the symbols the scenario lacks.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::ops::Range;
use std::path::{Path, PathBuf};

use vramscope::scenario::{Scenario, ScenarioError, World};

/// Why no library was staged.
#[derive(Debug)]
pub enum StageError {
    /// The scenario is wrong.
    Scenario(ScenarioError),
    /// The library was not built, or can't be copied.
    Io(PathBuf, io::Error),
    /// The scenario lacks a symbol that the library never had.
    Symbol(String),
}

impl std::fmt::Display for StageError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Scenario(error) => error.fmt(f),
            Self::Io(path, error) => write!(f, "{}: {error}", path.display()),
            Self::Symbol(name) => write!(f, "missing_symbols: the library has no `{name}`"),
        }
    }
}

impl std::error::Error for StageError {}

impl From<ScenarioError> for StageError {
    fn from(error: ScenarioError) -> Self {
        Self::Scenario(error)
    }
}

/// Copies the library into `dir` under a name of its own, so that several can be loaded at once, with its scenario
/// beside it. `scenario` is a built-in's name, a path, or the text of a scenario (anything with a line break).
/// Returns the library's path.
pub fn stage(dir: &Path, scenario: &str) -> Result<PathBuf, StageError> {
    let (scenario, text) = if scenario.contains('\n') {
        (Scenario::parse("staged", scenario)?, scenario.to_owned())
    } else {
        let read = Scenario::load(scenario)?;
        let text = read.text().to_owned();
        (read, text)
    };
    World::new(&scenario)?;
    let from = built()?;
    let mut library = fs::read(&from).map_err(|error| StageError::Io(from.clone(), error))?;
    let names = names(&library).ok_or_else(|| StageError::Io(from, io::ErrorKind::InvalidData.into()))?;
    for symbol in &scenario.driver().missing_symbols {
        if !library.get_mut(names.clone()).is_some_and(|names| strip(names, symbol)) {
            return Err(StageError::Symbol(symbol.clone()));
        }
    }
    for n in 0.. {
        let path = dir.join(format!("lib{}-{n}.so", scenario.name));
        let created = OpenOptions::new().write(true).create_new(true).open(&path);
        let mut file = match created {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
            created => created.map_err(|error| StageError::Io(path.clone(), error))?,
        };
        file.write_all(&library).map_err(|error| StageError::Io(path.clone(), error))?;
        let beside = path.with_extension("toml");
        fs::write(&beside, &text).map_err(|error| StageError::Io(beside, error))?;
        return Ok(path);
    }
    Err(StageError::Io(dir.to_owned(), io::ErrorKind::AlreadyExists.into()))
}

/// The library that was built with this executable: a test lies beside it, a program or example one folder up.
fn built() -> Result<PathBuf, StageError> {
    let own = std::env::current_exe().map_err(|error| StageError::Io("the running executable".into(), error))?;
    let above: Vec<&Path> = own.ancestors().skip(1).take(2).collect();
    let places = above.iter().flat_map(|dir| [dir.join("libfake_nvml.so"), dir.join("deps/libfake_nvml.so")]);
    places.into_iter().find(|path| path.is_file()).ok_or_else(|| {
        StageError::Io(own.with_file_name("libfake_nvml.so"), io::Error::new(io::ErrorKind::NotFound, "not built"))
    })
}

/// Where the names of an ELF file's dynamic symbols lie.
fn names(library: &[u8]) -> Option<Range<usize>> {
    let number = |at: usize, length: usize| -> Option<usize> {
        let bytes = library.get(at..at.checked_add(length)?)?;
        Some(bytes.iter().rev().fold(0, |number, &byte| (number << 8) | usize::from(byte)))
    };
    let (table, size, count) = (number(0x28, 8)?, number(0x3a, 2)?, number(0x3c, 2)?);
    // A string table (3) that is loaded (2): the other ones are for debuggers.
    let found = (0..count).map(|n| table + n * size).find(|&at| number(at + 4, 4) == Some(3) && number(at + 8, 8) == Some(2))?;
    let start = number(found + 0x18, 8)?;
    let range = start..start.checked_add(number(found + 0x20, 8)?)?;
    library.get(range.clone()).map(|_| range)
}

/// Renames a symbol to one that nobody asks for: the loader finds a symbol by the hash of the name that is asked for, and
/// then compares the names.
fn strip(names: &mut [u8], symbol: &str) -> bool {
    let entry: Vec<u8> = [&[0], symbol.as_bytes(), &[0]].concat();
    let found = names.windows(entry.len()).position(|bytes| bytes == entry).filter(|_| !symbol.is_empty());
    let first = found.and_then(|at| names.get_mut(at + 1));
    first.map(|first| *first = b'x').is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_names_are_renamed() {
        let mut bytes = *b"\0nvmlInit\0nvmlInit_v2\0xnvmlInit\0";
        assert!(strip(&mut bytes, "nvmlInit"));
        assert_eq!(&bytes, b"\0xvmlInit\0nvmlInit_v2\0xnvmlInit\0");
        assert!(!strip(&mut bytes, "nvmlInit"));
        assert!(!strip(&mut bytes, ""));
    }
}
