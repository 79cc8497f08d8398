//! Records of what happened: states, gaps, marks, exits, how the sampling did, and the file's own notes.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::time::Seconds;
use super::{LINE, LineError, Record, WORD, text};
use crate::domain::text::clean;
use crate::domain::{DeviceState, Gpu, Health, Period, Pid, Sample, SampleBody, Timestamp, Wall};

fn sample(t: Seconds, body: SampleBody) -> Sample {
    Sample { t: t.point(), body }
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "type", rename = "state")]
pub struct StateLine<'a> {
    t: Seconds,
    gpu: Option<u32>,
    state: Cow<'a, str>,
    call: Option<Cow<'a, str>>,
    /// When the call began, where that is not `t`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    since: Option<Seconds>,
}

impl<'a> StateLine<'a> {
    pub fn of(t: Timestamp, gpu: Option<Gpu>, state: DeviceState, call: Option<&'a str>, since: Timestamp) -> Self {
        Self {
            t: t.into(),
            gpu: gpu.map(|gpu| gpu.0),
            state: state.to_string().into(),
            call: call.map(Into::into),
            since: (since != t).then_some(since.into()),
        }
    }

    pub fn sample(self) -> Result<Sample, LineError> {
        let state = self.state.parse().map_err(|_| LineError::value("state", self.state.into_owned()))?;
        let call = self.call.map(|call| call_name(&call));
        let since = self.since.unwrap_or(self.t).point();
        Ok(sample(self.t, SampleBody::State { gpu: self.gpu.map(Gpu), state, call, since }))
    }
}

/// How many names of calls files may bring; more than a driver that fails has.
const MOST_CALLS: usize = 128;

/// The name of a driver's call for the stream, in which such names live as long as the program. A file brings few, and a
/// hostile one not more than [`MOST_CALLS`].
fn call_name(name: &str) -> &'static str {
    static NAMES: Mutex<Vec<&'static str>> = Mutex::new(Vec::new());
    let name = clean(name, 80);
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = names.iter().find(|known| **known == name) {
        return known;
    }
    if names.len() >= MOST_CALLS {
        return "a call of the driver";
    }
    let name: &'static str = Box::leak(name.into_boxed_str());
    names.push(name);
    name
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "type", rename = "gap")]
pub struct GapLine<'a> {
    t: Seconds,
    gpu: u32,
    from: Seconds,
    #[serde(default)]
    reason: Cow<'a, str>,
}

impl<'a> GapLine<'a> {
    pub fn of(t: Timestamp, gpu: Gpu, from: Timestamp, reason: &'a str) -> Self {
        Self { t: t.into(), gpu: gpu.0, from: from.into(), reason: reason.into() }
    }

    pub fn sample(self) -> Sample {
        let from = self.from.point().min(self.t.point());
        sample(self.t, SampleBody::Gap { gpu: Gpu(self.gpu), from, reason: text(&self.reason, WORD) })
    }
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "type", rename = "mark")]
pub struct MarkLine<'a> {
    t: Seconds,
    #[serde(default)]
    text: Cow<'a, str>,
}

impl<'a> MarkLine<'a> {
    pub fn of(t: Timestamp, text: &'a str) -> Self {
        Self { t: t.into(), text: text.into() }
    }

    pub fn sample(self) -> Sample {
        sample(self.t, SampleBody::Mark(text(&self.text, LINE)))
    }
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "type", rename = "exit")]
pub struct ExitLine {
    t: Seconds,
    pid: u32,
    status: Option<i32>,
}

impl ExitLine {
    pub fn of(t: Timestamp, pid: Pid, status: Option<i32>) -> Self {
        Self { t: t.into(), pid: pid.0, status }
    }

    pub fn sample(self) -> Sample {
        sample(self.t, SampleBody::Exit { pid: Pid(self.pid), status: self.status })
    }
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "type", rename = "pace")]
pub struct PaceLine<'a> {
    t: Seconds,
    gpu: u32,
    kind: Cow<'a, str>,
    asked: Seconds,
    achieved: Option<Seconds>,
    call: Seconds,
    worst: Seconds,
    missed: u32,
    backed_off: bool,
}

impl PaceLine<'_> {
    /// None for a health that is none of a pace.
    pub fn of(t: Timestamp, health: &Health) -> Option<Self> {
        let Health::Pace { gpu, kind, asked, achieved, call, worst, missed, backed_off } = health else { return None };
        Some(Self {
            t: t.into(),
            gpu: gpu.0,
            kind: kind.to_string().into(),
            asked: (*asked).into(),
            achieved: achieved.map(Period::into),
            call: (*call).into(),
            worst: (*worst).into(),
            missed: *missed,
            backed_off: *backed_off,
        })
    }

    pub fn sample(self) -> Result<Sample, LineError> {
        let health = Health::Pace {
            gpu: Gpu(self.gpu),
            kind: self.kind.parse().map_err(|_| LineError::value("kind", self.kind.into_owned()))?,
            asked: self.asked.span(),
            achieved: self.achieved.map(Seconds::span),
            call: self.call.span(),
            worst: self.worst.span(),
            missed: self.missed,
            backed_off: self.backed_off,
        };
        Ok(sample(self.t, SampleBody::Health(health)))
    }
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "type", rename = "dropped")]
pub struct DroppedLine {
    t: Seconds,
    count: u64,
}

impl DroppedLine {
    pub fn of(t: Timestamp, count: u64) -> Self {
        Self { t: t.into(), count }
    }

    pub fn sample(self) -> Sample {
        // More than anything could lose: a sum of such counts must stay a number.
        let count = self.count.min(u64::from(u32::MAX));
        sample(self.t, SampleBody::Health(Health::Dropped { count }))
    }
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "type", rename = "panic")]
pub struct PanicLine<'a> {
    t: Seconds,
    thread: Cow<'a, str>,
    message: Cow<'a, str>,
}

impl<'a> PanicLine<'a> {
    pub fn of(t: Timestamp, thread: &'a str, message: &'a str) -> Self {
        Self { t: t.into(), thread: thread.into(), message: message.into() }
    }

    pub fn sample(self) -> Sample {
        let (thread, message) = (text(&self.thread, WORD), text(&self.message, LINE));
        sample(self.t, SampleBody::Health(Health::Panicked { thread, message }))
    }
}

/// As a problem of `once --json`.
#[derive(Serialize, Deserialize)]
#[serde(tag = "type", rename = "problem")]
pub struct ProblemLine<'a> {
    t: Seconds,
    gpu: Option<u32>,
    what: Cow<'a, str>,
    #[serde(default)]
    why: Cow<'a, str>,
    #[serde(default, rename = "do")]
    fix: Cow<'a, str>,
}

impl<'a> ProblemLine<'a> {
    pub fn of(t: Timestamp, gpu: Option<Gpu>, what: &'a str, why: &'a str, fix: &'a str) -> Self {
        Self { t: t.into(), gpu: gpu.map(|gpu| gpu.0), what: what.into(), why: why.into(), fix: fix.into() }
    }

    pub fn sample(self) -> Sample {
        let (what, why, fix) = (text(&self.what, LINE), text(&self.why, LINE), text(&self.fix, LINE));
        sample(self.t, SampleBody::Health(Health::Problem { gpu: self.gpu.map(Gpu), what, why, fix }))
    }
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "type", rename = "action")]
pub struct ActionLine<'a> {
    t: Seconds,
    what: Cow<'a, str>,
    pid: Option<u32>,
    #[serde(default)]
    dry_run: bool,
}

impl<'a> ActionLine<'a> {
    pub fn of(t: Timestamp, what: &'a str, pid: Option<Pid>, dry_run: bool) -> Self {
        Self { t: t.into(), what: what.into(), pid: pid.map(|pid| pid.0), dry_run }
    }

    pub fn record(self) -> Record {
        let (what, pid) = (text(&self.what, WORD), self.pid.map(Pid));
        Record::Action { t: self.t.point(), what, pid, dry_run: self.dry_run }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "type", rename = "oom")]
pub struct OomLine<'a> {
    t: Seconds,
    #[serde(borrow)]
    explanation: Cow<'a, RawValue>,
}

impl<'a> OomLine<'a> {
    pub fn of(t: Timestamp, explanation: &'a RawValue) -> Self {
        Self { t: t.into(), explanation: Cow::Borrowed(explanation) }
    }

    pub fn record(self) -> Record {
        Record::Oom { t: self.t.point(), explanation: self.explanation.into_owned() }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "type", rename = "clock")]
pub struct ClockLine<'a> {
    t: Seconds,
    wall: Cow<'a, str>,
}

impl ClockLine<'_> {
    pub fn of(t: Timestamp, wall: Wall) -> Result<Self, LineError> {
        let wall = wall.rfc3339().ok_or_else(|| LineError::value("wall", wall.0.to_string()))?;
        Ok(Self { t: t.into(), wall: wall.into() })
    }

    pub fn record(self) -> Result<Record, LineError> {
        let wall = Wall::from_rfc3339(&self.wall).ok_or_else(|| LineError::value("wall", self.wall.into_owned()))?;
        Ok(Record::Clock { t: self.t.point(), wall })
    }
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "type", rename = "end")]
pub struct EndLine<'a> {
    t: Seconds,
    #[serde(default)]
    reason: Cow<'a, str>,
}

impl<'a> EndLine<'a> {
    pub fn of(t: Timestamp, reason: &'a str) -> Self {
        Self { t: t.into(), reason: reason.into() }
    }

    pub fn record(self) -> Record {
        Record::End { t: self.t.point(), reason: Arc::from(clean(&self.reason, WORD)) }
    }
}
