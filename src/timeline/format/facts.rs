//! Header, device and process records: facts that hold until they are said anew.

use std::borrow::Cow;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::time::Seconds;
use super::why::Why;
use super::{FORMAT, Keys, LINE, LineError, VERSION, WORD, text};
use crate::domain::{
    Ancestor, Bytes, Details, Device, DeviceId, Gpu, Header, Job, MemoryKind, Pid, Process, ProcessKey, Reading, Relation,
    Sample, SampleBody, Wall,
};

#[derive(Serialize, Deserialize)]
#[serde(tag = "type", rename = "header")]
pub struct HeaderLine<'a> {
    format: Cow<'a, str>,
    version: u32,
    created: Option<Cow<'a, str>>,
    source: Option<Cow<'a, str>>,
    #[serde(default)]
    simulated: bool,
    host: Option<Cow<'a, str>>,
    driver: Option<Cow<'a, str>>,
    cuda: Option<Cow<'a, str>>,
    me: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "is_false")]
    foreign_pids: bool,
    /// Of a header that comes again when a fact of it becomes known.
    #[serde(default, skip_serializing_if = "Seconds::is_zero")]
    t: Seconds,
    #[serde(default, skip_serializing_if = "Why::is_empty")]
    why: Why,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_false(value: &bool) -> bool {
    !value
}

/// The words of a reading as a field.
fn words<'a>(why: &mut Why, field: &'static str, reading: &'a Reading<Arc<str>>) -> Option<Cow<'a, str>> {
    why.put(field, reading).map(|words| Cow::Borrowed(&**words))
}

impl<'a> HeaderLine<'a> {
    pub fn of(t: crate::domain::Timestamp, header: &'a Header) -> Result<Self, LineError> {
        let mut why = Why::default();
        let created = header.created.rfc3339().ok_or_else(|| LineError::value("created", header.created.0.to_string()))?;
        Ok(Self {
            format: FORMAT.into(),
            version: VERSION,
            created: Some(created.into()),
            source: Some((&*header.source).into()),
            simulated: header.simulated,
            host: header.host.as_deref().map(Into::into),
            driver: words(&mut why, "driver", &header.driver),
            cuda: words(&mut why, "cuda", &header.cuda),
            me: header.me.as_deref().map(Into::into),
            foreign_pids: header.foreign_pids,
            t: t.into(),
            why,
        })
    }

    pub fn sample(self) -> Result<Sample, LineError> {
        if self.format != FORMAT {
            return Err(LineError::Format(self.format.into_owned()));
        }
        if self.version > VERSION {
            return Err(LineError::Newer(self.version));
        }
        if self.version == 0 {
            return Err(LineError::value("version", "0"));
        }
        let created = self.created.as_deref().unwrap_or_default();
        let created = Wall::from_rfc3339(created).ok_or_else(|| LineError::value("created", created))?;
        let word = |value: Option<Cow<str>>| value.map(|value| text(&value, WORD));
        let header = Header {
            created,
            source: word(self.source).unwrap_or_else(|| "unknown".into()),
            simulated: self.simulated,
            host: word(self.host),
            driver: self.why.take("driver", word(self.driver)),
            cuda: self.why.take("cuda", word(self.cuda)),
            me: word(self.me),
            foreign_pids: self.foreign_pids,
        };
        Ok(Sample { t: self.t.point(), body: SampleBody::Header(Arc::new(header)) })
    }
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "type", rename = "device")]
pub struct DeviceLine<'a> {
    t: Seconds,
    gpu: u32,
    uuid: Option<Cow<'a, str>>,
    index: Option<u32>,
    pci: Option<Cow<'a, str>>,
    name: Option<Cow<'a, str>>,
    memory: Option<Cow<'a, str>>,
    total: Option<u64>,
    parent: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Why::is_empty")]
    why: Why,
}

impl<'a> DeviceLine<'a> {
    pub fn of(t: crate::domain::Timestamp, device: &'a Device) -> Self {
        let mut why = Why::default();
        Self {
            t: t.into(),
            gpu: device.gpu.0,
            uuid: Some((&*device.id.0).into()),
            index: device.index,
            pci: words(&mut why, "pci", &device.pci),
            name: words(&mut why, "name", &device.name),
            memory: Some(device.memory.to_string().into()),
            total: why.put("total", &device.total).map(|total| total.0),
            parent: device.parent.as_ref().map(|parent| (&*parent.0).into()),
            why,
        }
    }

    pub fn sample(self, keys: &mut Keys) -> Result<Sample, LineError> {
        let memory = match self.memory {
            None => MemoryKind::default(),
            Some(word) => word.parse().map_err(|_| LineError::value("memory", word.into_owned()))?,
        };
        let word = |value: Option<Cow<str>>| value.map(|value| text(&value, WORD));
        let gpu = Gpu(self.gpu);
        let device = Device {
            gpu,
            // A log that names no UUID still tells its cards apart.
            id: DeviceId(word(self.uuid).unwrap_or_else(|| format!("gpu {gpu}").into())),
            index: self.index,
            pci: self.why.take("pci", word(self.pci)),
            name: self.why.take("name", word(self.name)),
            memory,
            total: self.why.take("total", self.total.map(Bytes)),
            parent: word(self.parent).map(DeviceId),
        };
        keys.bind(gpu, &device.id)?;
        Ok(Sample { t: self.t.point(), body: SampleBody::Device(Arc::new(device)) })
    }
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "type", rename = "process")]
pub struct ProcessLine<'a> {
    t: Seconds,
    pid: u32,
    start: Option<u64>,
    started: Option<Cow<'a, str>>,
    ppid: Option<u32>,
    user: Option<Cow<'a, str>>,
    uid: Option<u32>,
    relation: Option<Cow<'a, str>>,
    command: Option<Cow<'a, str>>,
    container: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    job: Option<JobPart<'a>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    details: Option<DetailsPart<'a>>,
    #[serde(default, skip_serializing_if = "Why::is_empty")]
    why: Why,
}

#[derive(Serialize, Deserialize)]
struct JobPart<'a> {
    leader: KeyPart,
    launcher: Cow<'a, str>,
    command: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Why::is_empty")]
    why: Why,
}

#[derive(Serialize, Deserialize)]
struct DetailsPart<'a> {
    cwd: Option<Cow<'a, str>>,
    #[serde(default)]
    parents: Vec<ParentPart<'a>>,
    batch: Option<Cow<'a, str>>,
    environment: Option<Cow<'a, str>>,
    session: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Why::is_empty")]
    why: Why,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
pub struct KeyPart {
    pid: u32,
    start: Option<u64>,
}

#[derive(Serialize, Deserialize)]
struct ParentPart<'a> {
    pid: u32,
    start: Option<u64>,
    name: Cow<'a, str>,
}

impl From<ProcessKey> for KeyPart {
    fn from(key: ProcessKey) -> Self {
        Self { pid: key.pid.0, start: key.start }
    }
}

impl From<KeyPart> for ProcessKey {
    fn from(key: KeyPart) -> Self {
        Self { pid: Pid(key.pid), start: key.start }
    }
}

impl<'a> ProcessLine<'a> {
    pub fn of(t: crate::domain::Timestamp, process: &'a Process) -> Self {
        let mut why = Why::default();
        Self {
            t: t.into(),
            pid: process.key.pid.0,
            start: process.key.start,
            started: why.put("started", &process.started).and_then(|started| started.rfc3339()).map(Into::into),
            ppid: why.put("ppid", &process.ppid).map(|pid| pid.0),
            user: words(&mut why, "user", &process.user),
            uid: why.put("uid", &process.uid).copied(),
            relation: Some(process.relation.to_string().into()),
            command: words(&mut why, "command", &process.command),
            container: process.container.as_deref().map(Into::into),
            job: process.job.as_deref().map(JobPart::of),
            details: process.details.as_deref().map(DetailsPart::of),
            why,
        }
    }

    pub fn sample(self) -> Result<Sample, LineError> {
        let why = self.why;
        let started = match self.started {
            None => None,
            Some(started) => Some(Wall::from_rfc3339(&started).ok_or_else(|| LineError::value("started", started.into_owned()))?),
        };
        let process = Process {
            key: ProcessKey { pid: Pid(self.pid), start: self.start },
            started: why.take("started", started),
            ppid: why.take("ppid", self.ppid.map(Pid)),
            user: why.take("user", self.user.map(|user| text(&user, WORD))),
            uid: why.take("uid", self.uid),
            relation: self.relation.and_then(|word| word.parse().ok()).unwrap_or(Relation::Unknown),
            command: why.take("command", self.command.map(|command| text(&command, LINE))),
            container: self.container.map(|container| text(&container, WORD)),
            job: self.job.map(|job| Arc::new(job.job())),
            details: self.details.map(|details| Arc::new(details.details())),
        };
        Ok(Sample { t: self.t.point(), body: SampleBody::Process(Arc::new(process)) })
    }
}

impl<'a> JobPart<'a> {
    fn of(job: &'a Job) -> Self {
        let mut why = Why::default();
        Self {
            leader: job.leader.into(),
            launcher: (&*job.launcher).into(),
            command: words(&mut why, "command", &job.command),
            why,
        }
    }

    fn job(self) -> Job {
        Job {
            leader: self.leader.into(),
            launcher: text(&self.launcher, WORD),
            command: self.why.take("command", self.command.map(|command| text(&command, LINE))),
        }
    }
}

impl<'a> DetailsPart<'a> {
    fn of(details: &'a Details) -> Self {
        let mut why = Why::default();
        let parent =
            |parent: &'a Ancestor| ParentPart { pid: parent.key.pid.0, start: parent.key.start, name: (&*parent.name).into() };
        Self {
            cwd: words(&mut why, "cwd", &details.cwd),
            parents: details.parents.iter().map(parent).collect(),
            batch: why.put_fact("batch", &details.batch).map(|fact| (&**fact).into()),
            environment: why.put_fact("environment", &details.environment).map(|fact| (&**fact).into()),
            session: why.put_fact("session", &details.session).map(|fact| (&**fact).into()),
            why,
        }
    }

    fn details(self) -> Details {
        let why = self.why;
        let fact = |value: Option<Cow<str>>| value.map(|value| text(&value, WORD));
        let parent = |parent: &ParentPart| Ancestor {
            key: ProcessKey { pid: Pid(parent.pid), start: parent.start },
            name: text(&parent.name, WORD),
        };
        Details {
            cwd: why.take("cwd", self.cwd.map(|cwd| text(&cwd, LINE))),
            parents: self.parents.iter().take(Details::MAX_PARENTS).map(parent).collect(),
            batch: why.take_fact("batch", fact(self.batch)),
            environment: why.take_fact("environment", fact(self.environment)),
            session: why.take_fact("session", fact(self.session)),
        }
    }
}
