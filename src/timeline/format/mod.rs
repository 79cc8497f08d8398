//! Every record type of DESIGN.md section 5, both ways: from a line to a [`Record`] and back.
//!
//! Each type is one struct whose fields are those of the line; the conversions stand beside it, and [`read`] and [`write()`] hold
//! the table. A value that is absent or null is missing, never zero. Beyond the contract's fields a line may carry `why`, an
//! object that gives for fields that are null the reason as a screen shows it, so that replay shows the same.

mod events;
mod facts;
mod readings;
mod said;
mod time;
mod why;

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Record;
use crate::domain::text::clean;
use crate::domain::{DeviceId, Finding, Gpu, Health, Risk, Sample, SampleBody, Timestamp};

pub use time::MAX_TIME;

/// The value of `format` in the header.
pub const FORMAT: &str = "vramscope-timeline";
/// The version that is written, and the highest that is read. It rises only when an old reader would be wrong.
pub const VERSION: u32 = 1;
/// More devices than a node has, MIG instances included; a file that names more is wrong.
pub const MAX_DEVICES: usize = 256;
/// More holders than a device has; a list with more is wrong.
pub const MAX_HOLDERS: usize = 4_096;
/// More holders than all devices of a node have together.
pub const MAX_ALL_HOLDERS: usize = 16_384;

/// Why a line is no record.
#[derive(Debug, thiserror::Error)]
pub enum LineError {
    /// It is no JSON, or a field has the wrong type.
    #[error("not a record: {}", without_line(.0))]
    Json(#[from] serde_json::Error),
    /// A field holds what it can't.
    #[error("`{field}` can't be `{}`", clean(.value, 40))]
    Value {
        /// Which.
        field: &'static str,
        /// What it holds.
        value: String,
    },
    /// There is more of something than any machine has.
    #[error("more than {most} {what}")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// The most that is read.
        most: usize,
    },
    /// The header is of another format.
    #[error("its `format` is `{}`, not `{FORMAT}`", clean(.0, 40))]
    Format(String),
    /// A newer program wrote it.
    #[error("it is of format version {0}, and this program reads up to {VERSION}: a newer vramscope can read it")]
    Newer(u32),
}

impl LineError {
    fn value(field: &'static str, value: impl Into<String>) -> Self {
        Self::Value { field, value: value.into() }
    }
}

/// The message of serde without its line, which is always the first: a record is read by itself.
fn without_line(error: &serde_json::Error) -> String {
    error.to_string().replace(" at line 1 column ", " at column ")
}

/// What a file's keys stand for so far: needed to write a MIG instance by its UUID and to read it back.
#[derive(Clone, Debug, Default)]
pub struct Keys {
    devices: BTreeMap<Gpu, DeviceId>,
    /// How many holders the newest list of each names.
    listed: BTreeMap<Gpu, usize>,
}

impl Keys {
    /// The keys that are bound.
    pub fn gpus(&self) -> impl Iterator<Item = Gpu> {
        self.devices.keys().copied()
    }

    fn bind(&mut self, gpu: Gpu, id: &DeviceId) -> Result<(), LineError> {
        if self.devices.len() >= MAX_DEVICES && !self.devices.contains_key(&gpu) {
            return Err(LineError::TooMany { what: "devices", most: MAX_DEVICES });
        }
        self.devices.insert(gpu, id.clone());
        Ok(())
    }

    /// Takes note of a list's length.
    fn list(&mut self, gpu: Gpu, holders: usize) -> Result<(), LineError> {
        if holders > MAX_HOLDERS {
            return Err(LineError::TooMany { what: "holders", most: MAX_HOLDERS });
        }
        if !self.devices.contains_key(&gpu) {
            return Ok(());
        }
        let others: usize = self.listed.iter().filter(|(other, _)| **other != gpu).map(|(_, n)| n).sum();
        if others + holders > MAX_ALL_HOLDERS {
            return Err(LineError::TooMany { what: "holders on all devices", most: MAX_ALL_HOLDERS });
        }
        self.listed.insert(gpu, holders);
        Ok(())
    }

    fn id(&self, gpu: Gpu) -> Option<&DeviceId> {
        self.devices.get(&gpu)
    }

    /// A MIG instance has no index, and its UUID is bound to a higher key than its parent's: the newest binding counts.
    fn gpu(&self, id: &str) -> Option<Gpu> {
        self.devices.iter().rev().find(|(_, own)| &*own.0 == id).map(|(gpu, _)| *gpu)
    }
}

/// Reads one line. None for a type that this version does not know.
///
/// # Errors
/// The line is no record.
pub fn read(line: &[u8], keys: &mut Keys) -> Result<Option<Record>, LineError> {
    fn parsed<'a, T: Deserialize<'a>>(line: &'a [u8]) -> Result<T, LineError> {
        Ok(serde_json::from_slice(line)?)
    }
    let sample = match &*tag(line)? {
        "memory" => return parsed::<readings::MemoryLine>(line).map(|line| Some(line.record())),
        "holders" => parsed::<readings::HoldersLine>(line)?.sample(keys)?,
        "usage" => parsed::<readings::UsageLine>(line)?.sample()?,
        "host" => parsed::<readings::HostLine>(line)?.sample(),
        "handles" => parsed::<readings::HandlesLine>(line)?.sample()?,
        "header" => parsed::<facts::HeaderLine>(line)?.sample()?,
        "device" => parsed::<facts::DeviceLine>(line)?.sample(keys)?,
        "process" => parsed::<facts::ProcessLine>(line)?.sample()?,
        "state" => parsed::<events::StateLine>(line)?.sample()?,
        "gap" => parsed::<events::GapLine>(line)?.sample(),
        "mark" => parsed::<events::MarkLine>(line)?.sample(),
        "exit" => parsed::<events::ExitLine>(line)?.sample(),
        "pace" => parsed::<events::PaceLine>(line)?.sample()?,
        "dropped" => parsed::<events::DroppedLine>(line)?.sample(),
        "panic" => parsed::<events::PanicLine>(line)?.sample(),
        "problem" => parsed::<events::ProblemLine>(line)?.sample(),
        "finding" => return parsed::<said::FindingLine>(line)?.record(),
        "risk" => return parsed::<said::RiskLine>(line)?.record().map(Some),
        "action" => return parsed::<events::ActionLine>(line).map(|line| Some(line.record())),
        "oom" => return parsed::<events::OomLine>(line).map(|line| Some(line.record())),
        "clock" => return parsed::<events::ClockLine>(line)?.record().map(Some),
        "end" => return parsed::<events::EndLine>(line).map(|line| Some(line.record())),
        _ => return Ok(None),
    };
    Ok(Some(Record::Sample(sample)))
}

/// Appends the line of a record, without its line feed.
///
/// # Errors
/// A time that RFC 3339 can't write, or more devices than a file holds.
pub fn write(record: &Record, keys: &mut Keys, out: &mut Vec<u8>) -> Result<(), LineError> {
    match record {
        Record::Sample(sample) => write_sample(sample, keys, out),
        Record::Partial(partial) => put(out, &readings::MemoryLine::partial(partial)),
        Record::Finding(finding) => write_finding(finding, out),
        Record::Risk(risk) => write_risk(risk, out),
        Record::Action { t, what, pid, dry_run } => put(out, &events::ActionLine::of(*t, what, *pid, *dry_run)),
        Record::Oom { t, explanation } => put(out, &events::OomLine::of(*t, explanation)),
        Record::Clock { t, wall } => put(out, &events::ClockLine::of(*t, *wall)?),
        Record::End { t, reason } => put(out, &events::EndLine::of(*t, reason)),
    }
}

/// As [`write()`], of a sample.
///
/// # Errors
/// As [`write()`].
pub fn write_sample(sample: &Sample, keys: &mut Keys, out: &mut Vec<u8>) -> Result<(), LineError> {
    let t = sample.t;
    match &sample.body {
        SampleBody::Header(header) => put(out, &facts::HeaderLine::of(t, header)?),
        SampleBody::Device(device) => {
            keys.bind(device.gpu, &device.id)?;
            put(out, &facts::DeviceLine::of(t, device))
        }
        SampleBody::Process(process) => put(out, &facts::ProcessLine::of(t, process)),
        SampleBody::Memory { gpu, figures } => put(out, &readings::MemoryLine::of(t, *gpu, figures)),
        SampleBody::Holders { gpu, list } => put(out, &readings::HoldersLine::of(t, *gpu, list, keys)),
        SampleBody::Usage(usage) => put(out, &readings::UsageLine::of(t, usage)),
        SampleBody::Host(host) => put(out, &readings::HostLine::of(t, host)),
        SampleBody::Handles { list, denied } => put(out, &readings::HandlesLine::of(t, list, *denied)),
        SampleBody::State { gpu, state, call, since } => put(out, &events::StateLine::of(t, *gpu, *state, *call, *since)),
        SampleBody::Gap { gpu, from, reason } => put(out, &events::GapLine::of(t, *gpu, *from, reason)),
        SampleBody::Mark(text) => put(out, &events::MarkLine::of(t, text)),
        SampleBody::Exit { pid, status } => put(out, &events::ExitLine::of(t, *pid, *status)),
        SampleBody::Health(health) => write_health(t, health, out),
    }
}

/// As [`write()`], of a finding.
///
/// # Errors
/// None but those of serde, which a finding does not have.
pub fn write_finding(finding: &Finding, out: &mut Vec<u8>) -> Result<(), LineError> {
    put(out, &said::FindingLine::of(finding))
}

/// As [`write()`], of a risk.
///
/// # Errors
/// As [`write_finding`].
pub fn write_risk(risk: &Risk, out: &mut Vec<u8>) -> Result<(), LineError> {
    put(out, &said::RiskLine::of(risk))
}

fn write_health(t: Timestamp, health: &Health, out: &mut Vec<u8>) -> Result<(), LineError> {
    match health {
        Health::Pace { .. } => events::PaceLine::of(t, health).map_or(Ok(()), |line| put(out, &line)),
        Health::Dropped { count } => put(out, &events::DroppedLine::of(t, *count)),
        Health::Panicked { thread, message } => put(out, &events::PanicLine::of(t, thread, message)),
        Health::Problem { gpu, what, why, fix } => put(out, &events::ProblemLine::of(t, *gpu, what, why, fix)),
    }
}

fn put<T: Serialize>(out: &mut Vec<u8>, line: &T) -> Result<(), LineError> {
    Ok(serde_json::to_writer(out, line)?)
}

/// A finding as a file has it, for documents that hold the same.
pub fn finding(finding: &Finding) -> impl Serialize + '_ {
    said::FindingLine::of(finding)
}

/// A risk as a file has it, for documents that hold the same.
pub fn risk(risk: &Risk) -> impl Serialize + '_ {
    said::RiskLine::of(risk)
}

/// The type of a line. It stands first in what this program writes, and then the rest is not looked at.
fn tag(line: &[u8]) -> Result<Cow<'_, str>, LineError> {
    #[derive(Deserialize)]
    struct Tagged<'a> {
        #[serde(borrow, rename = "type")]
        tag: Cow<'a, str>,
    }
    // As Python's json.dumps writes it, too.
    let first = line.strip_prefix(br#"{"type":""#).or_else(|| line.strip_prefix(br#"{"type": ""#));
    if let Some(rest) = first
        && let Some(end) = rest.iter().position(|&byte| byte == b'"')
        && let Some(word) = rest.get(..end)
        && word.iter().all(u8::is_ascii_lowercase)
        && let Ok(word) = std::str::from_utf8(word)
    {
        return Ok(Cow::Borrowed(word));
    }
    Ok(serde_json::from_slice::<Tagged>(line)?.tag)
}

/// A text from a file, made harmless.
fn text(value: &str, max: usize) -> std::sync::Arc<str> {
    clean(value, max).into()
}

/// What names and words are cut to; longer than any the program reads itself.
const WORD: usize = 256;
/// What command lines, paths and sentences are cut to: as `/proc` is read.
const LINE: usize = 4_096;
