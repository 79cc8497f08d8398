//! Bytes as numbered lines, in bounded memory.

use super::input::{Break, Bytes};

/// No record is longer: a list of all holders that are read takes a tenth.
pub const LONGEST: usize = 4 << 20;
/// What is read at a time.
const CHUNK: usize = 256 << 10;
/// How many bytes without a record are read in a row before the rest is given up.
const PATIENCE: u64 = 256 << 20;
/// What a line counts at least, so that as many short ones as nobody wants to wait for are the end of patience too.
const LEAST: u64 = 1 << 10;

/// What comes next.
#[derive(Debug)]
pub enum Line<'a> {
    /// A line without its line feed; `whole` says that it had one.
    Text {
        /// The line.
        text: &'a [u8],
        /// It had a line feed.
        whole: bool,
    },
    /// A line that was passed over.
    TooLong,
    /// Bytes are missing here.
    Broken(Break),
    /// So much without a record that what follows is not looked at.
    Hopeless,
    /// The end.
    End,
}

/// The lines of a recording.
pub struct Lines {
    bytes: Bytes,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// Up to here no line feed was found.
    seen: usize,
    number: u64,
    barren: u64,
    skipping: bool,
    ended: bool,
}

impl Lines {
    /// The lines of these bytes.
    pub fn new(bytes: Bytes) -> Self {
        let buffer = vec![0; CHUNK];
        Self { bytes, buffer, start: 0, end: 0, seen: 0, number: 0, barren: 0, skipping: false, ended: false }
    }

    /// The number of the newest line, from 1.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The newest line was a record.
    pub fn good(&mut self) {
        self.barren = 0;
    }

    /// The first `most` bytes of what comes next; fewer where there are no more.
    ///
    /// # Errors
    /// Nothing can be read.
    pub fn peek(&mut self, most: usize) -> Result<&[u8], Break> {
        while self.end - self.start < most && !self.ended {
            self.fill()?;
            if memchr::memchr(b'\n', self.held()).is_some() {
                break;
            }
        }
        Ok(self.held().get(..most).unwrap_or_else(|| self.held()))
    }

    /// Passes over bytes that were peeked at.
    pub fn pass(&mut self, n: usize) {
        self.start = (self.start + n).min(self.end);
        self.seen = self.seen.max(self.start);
    }

    fn held(&self) -> &[u8] {
        self.buffer.get(self.start..self.end).unwrap_or_default()
    }

    /// The next line.
    pub fn next(&mut self) -> Line<'_> {
        loop {
            let fresh = self.buffer.get(self.seen..self.end).unwrap_or_default();
            if let Some(at) = memchr::memchr(b'\n', fresh) {
                let (from, to) = (self.start, self.seen + at);
                self.start = to + 1;
                self.seen = self.start;
                self.number += 1;
                self.barren += ((to - from) as u64).max(LEAST);
                if std::mem::take(&mut self.skipping) {
                    return Line::TooLong;
                }
                if self.barren > PATIENCE {
                    return Line::Hopeless;
                }
                return Line::Text { text: self.buffer.get(from..to).unwrap_or_default(), whole: true };
            }
            self.seen = self.end;
            if self.skipping || self.end - self.start > LONGEST {
                self.skipping = true;
                self.barren += (self.end - self.start) as u64;
                (self.start, self.end, self.seen) = (0, 0, 0);
                if self.barren > PATIENCE {
                    self.number += 1;
                    return Line::Hopeless;
                }
            }
            if self.ended {
                return self.rest();
            }
            if let Err(broken) = self.fill() {
                // The line that was begun does not go on.
                self.ended = !matches!(broken, Break::Frame(_));
                if self.start < self.end || self.skipping {
                    self.number += 1;
                }
                self.skipping = false;
                (self.start, self.end, self.seen) = (0, 0, 0);
                return Line::Broken(broken);
            }
        }
    }

    /// What stands behind the last line feed.
    fn rest(&mut self) -> Line<'_> {
        let (from, to) = (self.start, self.end);
        self.start = self.end;
        if std::mem::take(&mut self.skipping) {
            self.number += 1;
            return Line::TooLong;
        }
        if from == to {
            return Line::End;
        }
        self.number += 1;
        Line::Text { text: self.buffer.get(from..to).unwrap_or_default(), whole: false }
    }

    fn fill(&mut self) -> Result<(), Break> {
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.seen -= self.start;
            self.start = 0;
        }
        if self.buffer.len() - self.end < CHUNK / 2 {
            self.buffer.resize(self.buffer.len() + CHUNK, 0);
        }
        let n = self.bytes.read(self.buffer.get_mut(self.end..).unwrap_or_default())?;
        self.end += n;
        self.ended = n == 0;
        Ok(())
    }
}
