//! One line of a timeline file: a sample, what was said of the samples, or a note of the file's own.

use std::sync::Arc;

use serde_json::value::RawValue;

use crate::domain::{Bytes, Finding, Gpu, MemoryFigures, Period, Pid, Risk, Sample, SampleBody, Timestamp, Wall};

/// A record of the file.
#[derive(Clone, Debug)]
pub enum Record {
    /// A sample of the stream.
    Sample(Sample),
    /// Memory of which less is known than a sample needs.
    Partial(Partial),
    /// A finding as it was stored.
    Finding(Arc<Finding>),
    /// A risk as it was stored.
    Risk(Arc<Risk>),
    /// Something that was done to a process.
    Action {
        /// When.
        t: Timestamp,
        /// What: `signal:USR1`.
        what: Arc<str>,
        /// To which.
        pid: Option<Pid>,
        /// It was only said what would be done.
        dry_run: bool,
    },
    /// An out-of-memory message was seen.
    Oom {
        /// When.
        t: Timestamp,
        /// The document of `explain --json`, as it was written.
        explanation: Box<RawValue>,
    },
    /// What the wall clock said, for those who line the file up with others.
    Clock {
        /// When, by the stream's clock.
        t: Timestamp,
        /// The same by the wall clock.
        wall: Wall,
    },
    /// The recording was ended, not cut off.
    End {
        /// When.
        t: Timestamp,
        /// Why: `interrupted`.
        reason: Arc<str>,
    },
}

/// One reading of a device's memory in a log that does not tell all figures, or percent alone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Partial {
    /// When.
    pub t: Timestamp,
    /// Where.
    pub gpu: Gpu,
    /// In use.
    pub used: Option<Bytes>,
    /// Free.
    pub free: Option<Bytes>,
    /// Kept by the driver.
    pub reserved: Option<Bytes>,
    /// In use, percent of the total, 0 to 100: from sources that give nothing else.
    pub used_pct: Option<f64>,
}

impl Partial {
    /// The figures, if `total` and what is known here settle them.
    pub fn figures(&self, total: Bytes) -> Option<MemoryFigures> {
        let free = match (self.free, self.used) {
            (Some(free), _) => free,
            (None, Some(used)) => Bytes(total.0.checked_sub(used.0)?.checked_sub(self.reserved.unwrap_or_default().0)?),
            (None, None) => return None,
        };
        (free <= total).then_some(MemoryFigures { total, free, reserved: self.reserved })
    }
}

impl Record {
    /// When.
    pub fn t(&self) -> Timestamp {
        match self {
            Self::Sample(sample) => sample.t,
            Self::Partial(partial) => partial.t,
            Self::Finding(finding) => finding.t,
            Self::Risk(risk) => risk.t,
            Self::Action { t, .. } | Self::Oom { t, .. } | Self::Clock { t, .. } | Self::End { t, .. } => *t,
        }
    }

    /// Moves it, and every time that it names, to later.
    pub(super) fn shift(&mut self, by: Period) {
        match self {
            Self::Sample(Sample { t, body }) => {
                *t = *t + by;
                match body {
                    SampleBody::State { since, .. } => *since = *since + by,
                    SampleBody::Gap { from, .. } => *from = *from + by,
                    _ => {}
                }
            }
            Self::Partial(partial) => partial.t = partial.t + by,
            Self::Finding(finding) => {
                let finding = Arc::make_mut(finding);
                finding.t = finding.t + by;
                finding.from = finding.from + by;
                finding.to = finding.to.map(|to| to + by);
            }
            Self::Risk(risk) => {
                let risk = Arc::make_mut(risk);
                risk.t = risk.t + by;
            }
            Self::Action { t, .. } | Self::Oom { t, .. } | Self::Clock { t, .. } | Self::End { t, .. } => *t = *t + by,
        }
    }
}
