//! Records of what was read: memory, holders, usage, host memory, open device nodes.

use std::borrow::Cow;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::facts::KeyPart;
use super::time::Seconds;
use super::why::Why;
use super::{Keys, LineError, MAX_HOLDERS, Record};
use crate::domain::{
    Bytes, Gpu, Holder, HolderKind, HostMemory, MemoryFigures, OpenHandle, Pid, ProcessUsage, Reading, Sample, SampleBody,
    Timestamp, Usage,
};
use crate::timeline::Partial;

#[derive(Serialize, Deserialize)]
#[serde(tag = "type", rename = "memory")]
pub struct MemoryLine {
    t: Seconds,
    gpu: u32,
    used: Option<u64>,
    free: Option<u64>,
    reserved: Option<u64>,
    /// Where it is not the sum of the three: a driver that contradicts itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    total: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    used_pct: Option<f64>,
    #[serde(default, skip_serializing_if = "Why::is_empty")]
    why: Why,
}

impl MemoryLine {
    pub fn of(t: Timestamp, gpu: Gpu, figures: &Reading<MemoryFigures>) -> Self {
        let mut why = Why::default();
        let known = why.put("used", figures);
        let used = known.map(|figures| figures.used().0);
        let sum = |figures: &MemoryFigures| sum(figures.used().0, figures.free.0, figures.reserved.map(|reserved| reserved.0));
        Self {
            t: t.into(),
            gpu: gpu.0,
            used,
            free: known.map(|figures| figures.free.0),
            reserved: known.and_then(|figures| figures.reserved).map(|reserved| reserved.0),
            total: known.filter(|figures| sum(figures) != Some(figures.total.0)).map(|figures| figures.total.0),
            used_pct: None,
            why,
        }
    }

    pub fn partial(partial: &Partial) -> Self {
        Self {
            t: partial.t.into(),
            gpu: partial.gpu.0,
            used: partial.used.map(|used| used.0),
            free: partial.free.map(|free| free.0),
            reserved: partial.reserved.map(|reserved| reserved.0),
            total: None,
            used_pct: partial.used_pct,
            why: Why::default(),
        }
    }

    pub fn record(self) -> Record {
        let (t, gpu) = (self.t.point(), Gpu(self.gpu));
        let reserved = self.reserved.map(Bytes);
        let figures = match (self.used, self.free) {
            (Some(used), Some(free)) => self.total.or_else(|| sum(used, free, self.reserved)).map(|total| MemoryFigures {
                total: Bytes(total),
                free: Bytes(free),
                reserved,
            }),
            (None, None) if reserved.is_none() && self.used_pct.is_none() => {
                let figures = self.why.take("used", None);
                return Record::Sample(Sample { t, body: SampleBody::Memory { gpu, figures } });
            }
            _ => None,
        };
        match figures {
            Some(figures) => Record::Sample(Sample { t, body: SampleBody::Memory { gpu, figures: Ok(figures) } }),
            None => Record::Partial(Partial {
                t,
                gpu,
                used: self.used.map(Bytes),
                free: self.free.map(Bytes),
                reserved,
                used_pct: self.used_pct.filter(|percent| percent.is_finite()),
            }),
        }
    }
}

fn sum(used: u64, free: u64, reserved: Option<u64>) -> Option<u64> {
    used.checked_add(free)?.checked_add(reserved.unwrap_or(0))
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "type", rename = "holders")]
pub struct HoldersLine<'a> {
    t: Seconds,
    gpu: u32,
    #[serde(borrow)]
    holders: Option<Vec<HolderPart<'a>>>,
    #[serde(default, skip_serializing_if = "Why::is_empty")]
    why: Why,
}

#[derive(Serialize, Deserialize)]
struct HolderPart<'a> {
    pid: u32,
    used: Option<u64>,
    #[serde(borrow, default)]
    kind: Cow<'a, str>,
    /// On a MIG parent: the instance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    instance: Option<Instance<'a>>,
    #[serde(default, skip_serializing_if = "Why::is_empty")]
    why: Why,
}

/// A MIG instance: its UUID, or its key while no device record has bound that.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Instance<'a> {
    Key(u32),
    Uuid(Cow<'a, str>),
}

/// The words of the usual sets, so that writing makes no text of each.
fn kind_word(kind: HolderKind) -> Cow<'static, str> {
    match kind {
        HolderKind::C => Cow::Borrowed("C"),
        HolderKind::G => Cow::Borrowed("G"),
        kind => Cow::Owned(kind.to_string()),
    }
}

/// Letters that this version does not know are left out.
fn kind(word: &str) -> HolderKind {
    word.split('+').filter_map(HolderKind::parse).fold(HolderKind::default(), HolderKind::union)
}

impl<'a> HoldersLine<'a> {
    pub fn of(t: Timestamp, gpu: Gpu, list: &'a Reading<Arc<[Holder]>>, keys: &'a Keys) -> Self {
        let part = |holder: &Holder| {
            let mut why = Why::default();
            HolderPart {
                pid: holder.pid.0,
                used: why.put("used", &holder.used).map(|used| used.0),
                kind: kind_word(holder.kind),
                instance: holder
                    .instance
                    .map(|gpu| keys.id(gpu).map_or(Instance::Key(gpu.0), |id| Instance::Uuid((&*id.0).into()))),
                why,
            }
        };
        let mut why = Why::default();
        let holders = why.put("holders", list).map(|list| list.iter().map(part).collect());
        Self { t: t.into(), gpu: gpu.0, holders, why }
    }

    pub fn sample(self, keys: &mut Keys) -> Result<Sample, LineError> {
        keys.list(Gpu(self.gpu), self.holders.as_ref().map_or(0, Vec::len))?;
        let keys = &*keys;
        let holder = |part: HolderPart| Holder {
            pid: Pid(part.pid),
            used: part.why.take("used", part.used.map(Bytes)),
            kind: kind(&part.kind),
            instance: part.instance.and_then(|instance| match instance {
                Instance::Key(gpu) => Some(Gpu(gpu)),
                Instance::Uuid(id) => keys.gpu(&id),
            }),
        };
        let list = self.why.take("holders", self.holders.map(|list| list.into_iter().map(holder).collect()));
        Ok(Sample { t: self.t.point(), body: SampleBody::Holders { gpu: Gpu(self.gpu), list } })
    }
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "type", rename = "usage")]
pub struct UsageLine {
    t: Seconds,
    gpu: u32,
    utilization: Option<f32>,
    temperature: Option<f32>,
    power: Option<f32>,
    #[serde(default)]
    processes: Vec<ProcessUsagePart>,
    #[serde(default, skip_serializing_if = "Why::is_empty")]
    why: Why,
}

#[derive(Serialize, Deserialize)]
struct ProcessUsagePart {
    pid: u32,
    gpu: Option<f32>,
    cpu: Option<f32>,
    rss: Option<u64>,
    state: Option<char>,
    /// The driver's own peak of the process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    accounted: Option<u64>,
    #[serde(default, skip_serializing_if = "Why::is_empty")]
    why: Why,
}

impl UsageLine {
    pub fn of(t: Timestamp, usage: &Usage) -> Self {
        let mut why = Why::default();
        Self {
            t: t.into(),
            gpu: usage.gpu.0,
            utilization: why.put("utilization", &usage.utilization).copied(),
            temperature: why.put("temperature", &usage.temperature).copied(),
            power: why.put("power", &usage.power).copied(),
            processes: usage.processes.iter().map(ProcessUsagePart::of).collect(),
            why,
        }
    }

    pub fn sample(self) -> Result<Sample, LineError> {
        if self.processes.len() > MAX_HOLDERS {
            return Err(LineError::TooMany { what: "processes", most: MAX_HOLDERS });
        }
        let usage = Usage {
            gpu: Gpu(self.gpu),
            utilization: self.why.take("utilization", finite(self.utilization)),
            temperature: self.why.take("temperature", finite(self.temperature)),
            power: self.why.take("power", finite(self.power)),
            processes: self.processes.into_iter().map(ProcessUsagePart::usage).collect(),
        };
        Ok(Sample { t: self.t.point(), body: SampleBody::Usage(Arc::new(usage)) })
    }
}

impl ProcessUsagePart {
    fn of(usage: &ProcessUsage) -> Self {
        let mut why = Why::default();
        Self {
            pid: usage.pid.0,
            gpu: why.put("gpu", &usage.gpu).copied(),
            cpu: why.put("cpu", &usage.cpu).copied(),
            rss: why.put("rss", &usage.rss).map(|rss| rss.0),
            state: why.put("state", &usage.state).copied(),
            accounted: why.put("accounted", &usage.accounted).map(|peak| peak.0),
            why,
        }
    }

    fn usage(self) -> ProcessUsage {
        let why = self.why;
        ProcessUsage {
            pid: Pid(self.pid),
            gpu: why.take("gpu", finite(self.gpu)),
            cpu: why.take("cpu", finite(self.cpu)),
            rss: why.take("rss", self.rss.map(Bytes)),
            state: why.take("state", letter(self.state)),
            accounted: why.take("accounted", self.accounted.map(Bytes)),
        }
    }
}

/// A number too large for its type reads as infinite.
fn finite(value: Option<f32>) -> Option<f32> {
    value.filter(|value| value.is_finite())
}

/// The letter of a process's state; what is none could act on a terminal.
fn letter(value: Option<char>) -> Option<char> {
    value.filter(char::is_ascii_graphic)
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "type", rename = "host")]
pub struct HostLine {
    t: Seconds,
    total: u64,
    available: u64,
    swap_used: u64,
    swap_total: Option<u64>,
}

impl HostLine {
    pub fn of(t: Timestamp, host: &HostMemory) -> Self {
        Self {
            t: t.into(),
            total: host.total.0,
            available: host.available.0,
            swap_used: host.swap_used.0,
            swap_total: Some(host.swap_total.0),
        }
    }

    pub fn sample(self) -> Sample {
        let host = HostMemory {
            total: Bytes(self.total),
            available: Bytes(self.available),
            swap_used: Bytes(self.swap_used),
            // There is at least as much as is used.
            swap_total: Bytes(self.swap_total.unwrap_or(self.swap_used)),
        };
        Sample { t: self.t.point(), body: SampleBody::Host(host) }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "type", rename = "handles")]
pub struct HandlesLine {
    t: Seconds,
    handles: Option<Vec<HandlePart>>,
    #[serde(default)]
    denied: u32,
    #[serde(default, skip_serializing_if = "Why::is_empty")]
    why: Why,
}

#[derive(Clone, Serialize, Deserialize)]
struct HandlePart {
    #[serde(flatten)]
    key: KeyPart,
    gpus: Vec<u32>,
    state: Option<char>,
    #[serde(default, skip_serializing_if = "Why::is_empty")]
    why: Why,
}

impl HandlesLine {
    pub fn of(t: Timestamp, list: &Reading<Arc<[OpenHandle]>>, denied: u32) -> Self {
        let part = |open: &OpenHandle| {
            let mut why = Why::default();
            let state = why.put("state", &open.state).copied();
            HandlePart { key: open.key.into(), gpus: open.gpus.iter().map(|gpu| gpu.0).collect(), state, why }
        };
        let mut why = Why::default();
        let handles = why.put("handles", list).map(|list| list.iter().map(part).collect());
        Self { t: t.into(), handles, denied, why }
    }

    pub fn sample(self) -> Result<Sample, LineError> {
        if self.handles.as_ref().is_some_and(|list| list.len() > MAX_HOLDERS) {
            return Err(LineError::TooMany { what: "handles", most: MAX_HOLDERS });
        }
        let open = |part: HandlePart| OpenHandle {
            key: part.key.into(),
            gpus: part.gpus.into_iter().map(Gpu).collect(),
            state: part.why.take("state", letter(part.state)),
        };
        let list = self.why.take("handles", self.handles.map(|list| list.into_iter().map(open).collect()));
        Ok(Sample { t: self.t.point(), body: SampleBody::Handles { list, denied: self.denied } })
    }
}
