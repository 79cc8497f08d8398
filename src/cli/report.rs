//! `report FILE`: what a recording says as a whole.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use clap::ValueHint;

use super::{Context, Exit, print};
use crate::domain::text::clean;
use crate::output::report::{Basis, Report, json};
use crate::source::selection::Selection;
use crate::timeline::{Problem, Reader};

/// Arguments of `report`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The recording: .jsonl or .jsonl.zst, or - for standard input
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    file: PathBuf,
    /// What to make of it
    #[arg(long, value_name = "FORMAT")]
    format: Format,
    /// Write it to this file instead of standard output (-)
    #[arg(short, long, value_name = "OUT", value_hint = ValueHint::FilePath)]
    output: Option<PathBuf>,
    /// Replace OUT where it exists
    #[arg(long)]
    force: bool,
    /// Show the findings and risks stored in the recording, instead of those that this version finds in its samples
    #[arg(long)]
    recorded: bool,
}

/// The documents that a report can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// One JSON object
    Json,
}

/// Why a report can't be written to a file.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    /// It is there already.
    #[error("{0} exists: --force replaces it")]
    Exists(String),
    /// It is the recording.
    #[error("{0} is the recording itself: the report would replace it")]
    Recording(String),
    /// It is a device, a pipe or a folder.
    #[error("{0} is no regular file: `-o -` writes to standard output")]
    Special(String),
    /// It can't be written.
    #[error("{name}: {error}")]
    Io {
        /// Which.
        name: String,
        /// Why.
        error: io::Error,
    },
}

/// How many problems are said on standard error; the document has more.
const SAID: usize = 5;

/// Writes the report.
///
/// # Errors
/// The recording can't be read or has no figures, or the report can't be written.
pub fn run(args: &Args, context: &Context) -> anyhow::Result<Exit> {
    let output = args.output.as_deref().filter(|path| path.as_os_str() != "-");
    // Before a long recording is read in vain.
    if let Some(path) = output {
        check(path, &args.file, args.force)?;
    }
    let mut reader = Reader::open(&args.file, context.settings.timeout)?;
    let basis = if args.recorded { Basis::Recorded } else { Basis::Samples };
    let mut report = Report::of(&mut reader, basis)?;
    let damaged: Vec<&Problem> = report.problems.iter().filter(|problem| problem.lost).collect();
    if let Some(message) = message(reader.name(), &damaged) {
        print::note(&message);
    }
    let exit = if damaged.is_empty() { Exit::Success } else { Exit::Incomplete };
    let selection = Selection::new(&context.settings.gpus);
    selection.check(report.devices.iter().map(|row| &*row.device))?;
    report.keep(|device| selection.takes(device.index, &device.id, device.parent.as_ref()));
    let text = match args.format {
        Format::Json => json::document(&report),
    };
    match output {
        None => print::text(&text)?,
        Some(path) => write(path, &text, args.force)?,
    }
    Ok(exit)
}

/// What was wrong with the recording, for standard error.
fn message(name: &str, damaged: &[&Problem]) -> Option<String> {
    let mut lines = vec![match damaged.len() {
        0 => return None,
        1 => format!("{name} is damaged; what could be read is used:"),
        n => format!("{name} is damaged in {n} places; what could be read is used:"),
    }];
    lines.extend(damaged.iter().take(SAID).map(|problem| match problem.line {
        Some(line) => format!("line {line}: {}", problem.text),
        None => problem.text.clone(),
    }));
    if damaged.len() > SAID {
        lines.push("The report has the others.".to_owned());
    }
    Some(lines.join("\n"))
}

fn name(path: &Path) -> String {
    clean(&path.to_string_lossy(), 300)
}

/// Whether the report may go there.
fn check(path: &Path, recording: &Path, force: bool) -> Result<(), OutputError> {
    let Ok(found) = fs::symlink_metadata(path) else { return Ok(()) };
    if !found.is_file() && !found.is_symlink() {
        return Err(OutputError::Special(name(path)));
    }
    if let Ok(recording) = fs::metadata(recording)
        && fs::metadata(path).is_ok_and(|found| (found.dev(), found.ino()) == (recording.dev(), recording.ino()))
    {
        return Err(OutputError::Recording(name(path)));
    }
    if force { Ok(()) } else { Err(OutputError::Exists(name(path))) }
}

/// Writes the file. An old one is replaced as a whole or not at all, and a link in its place is not followed.
fn write(path: &Path, text: &str, force: bool) -> Result<(), OutputError> {
    let beside = if force {
        let mut beside = path.as_os_str().to_owned();
        beside.push(format!(".{}.part", std::process::id()));
        PathBuf::from(beside)
    } else {
        path.to_owned()
    };
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::AlreadyExists => OutputError::Exists(name(&beside)),
        _ => OutputError::Io { name: name(path), error },
    };
    let mut file = OpenOptions::new().write(true).create_new(true).open(&beside).map_err(failed)?;
    let done = file.write_all(text.as_bytes()).and_then(|()| if force { fs::rename(&beside, path) } else { Ok(()) });
    done.map_err(|error| {
        // Half a report is none.
        let _ = fs::remove_file(&beside);
        failed(error)
    })
}
