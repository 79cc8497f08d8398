//! `explain [FILE…|-]`: find the out-of-memory failure in a log, break its numbers down, advise.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, IsTerminal, Read};

use clap::ValueHint;

use super::{Context, Exit, print};
use crate::config::terminal::is_utf8;
use crate::domain::oom::decode::compression;
use crate::domain::oom::{Found, Kind, Scanner};
use crate::domain::text::clean;
use crate::output::explain::{self, Input, Look};

/// Arguments of `explain`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Logs of one run, one per rank for example; - or none is standard input
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    files: Vec<OsString>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A log can't be read.
#[derive(Debug, thiserror::Error)]
#[error("{name}: {why}")]
pub struct Unreadable {
    name: String,
    why: String,
}

/// Reads the logs and prints what they say; [`Exit::Success`] where they hold a GPU out of memory.
///
/// # Errors
/// [`Unreadable`]; standard output can't be written.
pub fn run(args: &Args, context: &Context) -> anyhow::Result<Exit> {
    let input = [OsString::from("-")];
    let files = if args.files.is_empty() { &input[..] } else { &args.files };
    let mut parts = Vec::new();
    let mut inputs = Vec::new();
    for file in files {
        let name = clean(&file.to_string_lossy(), 200);
        let found = read(file).map_err(|why| Unreadable { name: name.clone(), why })?;
        let own = found.explain();
        inputs.push(Input { name: name.clone(), kind: own.kind, occurrences: own.occurrences, line: own.line });
        parts.push((name, found));
    }
    let found = match parts.len() {
        1 => parts.remove(0).1,
        _ => Found::merge(parts),
    };
    let found = found.explain();
    let text = if args.json { explain::document(&found, &inputs) } else { explain::page(&found, &inputs, look(context)) };
    print::text(&text)?;
    Ok(if found.kind == Kind::DeviceOom { Exit::Success } else { Exit::Failure })
}

/// Reads one log to its end.
fn read(file: &OsString) -> Result<Found, String> {
    if file == "-" {
        let input = io::stdin();
        if input.is_terminal() {
            return Err("nothing is piped in: name a log, or `command 2>&1 | vramscope explain`".to_owned());
        }
        return scan(input.lock());
    }
    let input = File::open(file).map_err(|error| error.to_string())?;
    if input.metadata().is_ok_and(|facts| facts.is_dir()) {
        return Err("it is a directory: name the log within it".to_owned());
    }
    scan(input)
}

/// Reads to the end.
fn scan(mut input: impl Read) -> Result<Found, String> {
    let mut scanner = Scanner::new();
    let mut first = true;
    loop {
        let mut block = scanner.block();
        while !block.space().is_empty() {
            match input.read(block.space()) {
                Ok(0) => break,
                Ok(read) => block.fill(read),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.to_string()),
            }
        }
        if block.bytes().is_empty() {
            return Ok(scanner.finish());
        }
        if std::mem::take(&mut first)
            && let Some((kind, command)) = compression(block.bytes())
        {
            return Err(format!("it is compressed with {kind}: `{command} FILE | vramscope explain`"));
        }
        scanner.push(block);
    }
}

fn look(context: &Context) -> Look {
    let width = print::columns();
    // A pipe has no locale of its own: what reads it takes UTF-8.
    let ascii = context.settings.ascii.unwrap_or(width.is_some() && !is_utf8(&context.env));
    Look { width, ascii }
}
