//! Records as lines.

use std::io::{self, Write};

use super::{Record, format};
use crate::domain::{Finding, Risk, Sample};

/// Writes records as lines, each in one call.
#[derive(Debug)]
pub struct Writer<W> {
    out: W,
    keys: format::Keys,
    line: Vec<u8>,
}

impl<W: Write> Writer<W> {
    /// A writer at the beginning of a file: the first record must be a header.
    pub fn new(out: W) -> Self {
        Self { out, keys: format::Keys::default(), line: Vec::with_capacity(512) }
    }

    /// Writes a record.
    ///
    /// # Errors
    /// It can't be written, or is none: of the kind `InvalidData`, and nothing of it is written.
    pub fn record(&mut self, record: &Record) -> io::Result<()> {
        self.line.clear();
        let done = format::write(record, &mut self.keys, &mut self.line);
        self.put(done)
    }

    /// Writes a sample.
    ///
    /// # Errors
    /// As [`Writer::record`].
    pub fn sample(&mut self, sample: &Sample) -> io::Result<()> {
        self.line.clear();
        let done = format::write_sample(sample, &mut self.keys, &mut self.line);
        self.put(done)
    }

    /// Writes a finding.
    ///
    /// # Errors
    /// As [`Writer::record`].
    pub fn finding(&mut self, finding: &Finding) -> io::Result<()> {
        self.line.clear();
        let done = format::write_finding(finding, &mut self.line);
        self.put(done)
    }

    /// Writes a risk.
    ///
    /// # Errors
    /// As [`Writer::record`].
    pub fn risk(&mut self, risk: &Risk) -> io::Result<()> {
        self.line.clear();
        let done = format::write_risk(risk, &mut self.line);
        self.put(done)
    }

    /// What the lines go to.
    pub fn get_mut(&mut self) -> &mut W {
        &mut self.out
    }

    /// Gives back what the lines went to.
    pub fn into_inner(self) -> W {
        self.out
    }

    fn put(&mut self, done: Result<(), format::LineError>) -> io::Result<()> {
        done.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        self.line.push(b'\n');
        self.out.write_all(&self.line)
    }
}
