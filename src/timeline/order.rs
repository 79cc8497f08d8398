//! The order of time within a file: small steps back are the readings of independent threads, large ones are damage.

use std::collections::VecDeque;

use super::Record;
use crate::domain::{Period, Timestamp};

/// Threads that read at the same time are heard in any order; no further back than this.
pub const SLACK: Period = Period::secs(1);
/// A record this far ahead of all others is believed when the next one is as late: a suspend is such a leap, a broken digit is
/// one that comes back.
const LEAP: Period = Period::secs(3_600);

/// Lets records through in the order of time.
#[derive(Debug, Default)]
pub struct Order {
    last: Timestamp,
    begun: bool,
    /// A record that leaps, and its line.
    held: Option<(u64, Record)>,
}

/// A record that is out of order, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stray {
    /// Its line.
    pub line: u64,
    /// Its time.
    pub t: Timestamp,
    /// The time of those around it.
    pub around: Timestamp,
}

impl Order {
    /// The latest time that was let through.
    pub fn last(&self) -> Timestamp {
        self.last
    }

    /// Takes a record of a line; those that may go on are appended to `out`. Of stray ones it is told where they stood.
    pub fn take(&mut self, line: u64, record: Record, out: &mut VecDeque<Record>, strays: &mut Vec<Stray>) {
        let t = record.t();
        if let Some((at, held)) = self.held.take() {
            if t + SLACK >= held.t() {
                self.pass(held, out);
            } else {
                strays.push(Stray { line: at, t: held.t(), around: t });
            }
        }
        if t + SLACK < self.last {
            strays.push(Stray { line, t, around: self.last });
        } else if self.begun && t > self.last + LEAP {
            self.held = Some((line, record));
        } else {
            self.pass(record, out);
        }
    }

    /// Goes on from a later time: another recording begins there.
    pub fn resume(&mut self, t: Timestamp) {
        self.last = self.last.max(t);
    }

    /// Lets through what is held: nothing comes that could refute it.
    pub fn flush(&mut self, out: &mut VecDeque<Record>) {
        if let Some((_, held)) = self.held.take() {
            self.pass(held, out);
        }
    }

    fn pass(&mut self, record: Record, out: &mut VecDeque<Record>) {
        self.last = self.last.max(record.t());
        self.begun = true;
        out.push_back(record);
    }
}
