//! How close a device is to running out, and when (DESIGN.md section 2).

use std::sync::Arc;

use super::{Bytes, Gpu, Period, Pid, Timestamp};

/// How close to running out; ordered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, strum::Display, strum::EnumString)]
#[strum(serialize_all = "lowercase")]
pub enum RiskLevel {
    /// None of the others.
    #[default]
    Ok,
    /// Real growth with `full_in.hi` below an hour, or headroom below two requests on a series that is not flat.
    Watch,
    /// `full_in.hi` below five minutes, or headroom below one request on a series that is not flat.
    High,
    /// `full_in.mid` below 30 s, or headroom below one request and a rise within the last 10 s.
    Critical,
}

/// The time until a request of the usual size fails: an 80 % interval and its median.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FullIn {
    /// Sooner in one case of ten.
    pub lo: Period,
    /// The median.
    pub mid: Period,
    /// Later in one case of ten.
    pub hi: Period,
}

/// The risk of one device, or of a job on its tightest device, from `t` on.
#[derive(Clone, Debug, PartialEq)]
pub struct Risk {
    /// Since when it is so.
    pub t: Timestamp,
    /// Where.
    pub gpu: Gpu,
    /// How close.
    pub level: RiskLevel,
    /// When a request will fail; none unless growth is real.
    pub full_in: Option<FullIn>,
    /// The job's leader, where this is a job's risk.
    pub job: Option<Pid>,
    /// What a new allocation can have.
    pub headroom: Option<Bytes>,
    /// What is likely to be asked next.
    pub request: Option<Bytes>,
    /// One line: who, how fast, headroom, when, why. For a level of ok what is worth knowing, or nothing.
    pub reason: Arc<str>,
}

impl RiskLevel {
    /// Whether it is an alarm: high or critical.
    pub fn is_alarm(self) -> bool {
        self >= Self::High
    }
}
