//! Standard output and standard error. Nothing else writes there but the dashboard's terminal.

use std::io::{self, IsTerminal, Write};

use crate::domain::text::clean;

/// No line of a message is longer, in characters.
const LONGEST_LINE: usize = 2_000;

/// Columns of a terminal that does not tell.
const WIDTH: u16 = 80;

/// Columns of the terminal that standard output is; none where it is none.
pub fn columns() -> Option<u16> {
    // A terminal may say that it has no columns at all: a serial line.
    let told = || crossterm::terminal::size().ok().map(|(width, _)| width).filter(|width| *width > 0);
    io::stdout().is_terminal().then(|| told().unwrap_or(WIDTH))
}

/// Writes a text to standard output.
///
/// # Errors
/// It can't be written: with the kind `BrokenPipe` where the reader has gone.
pub fn text(text: &str) -> io::Result<()> {
    bytes(text.as_bytes())
}

/// Writes bytes to standard output.
///
/// # Errors
/// As [`text`].
pub fn bytes(bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(bytes)?;
    out.flush()
}

/// Writes out what is still held back; where that fails there is nobody to tell.
pub fn flush() {
    let _ = io::stdout().lock().flush();
    let _ = io::stderr().lock().flush();
}

/// Says something on standard error; where that is closed there is nobody to tell.
pub fn note(message: &str) {
    // A path or a name within it may hold anything.
    let lines: Vec<String> = message.lines().map(|line| clean(line, LONGEST_LINE)).collect();
    let _ = writeln!(io::stderr().lock(), "vramscope: {}", lines.join("\n"));
}

/// Says what went wrong, cause by cause; a cause whose words the message has already is not repeated. Where standard error is
/// closed there is nobody to tell.
pub fn error(error: &anyhow::Error) {
    let mut message = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if message.is_empty() {
            message = cause;
        } else if !message.contains(&cause) {
            message = format!("{message}: {cause}");
        }
    }
    note(&message);
}
