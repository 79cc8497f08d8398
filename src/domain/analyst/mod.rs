//! The analyst: a pure fold over the sample stream that says what it sees, and how close each device is to running out.
//!
//! Every device and each of its 16 largest holders is a [`signal`]: marks, turning points, jumps and steps. From them come
//! the [`trend`] of the peak per cycle, the [`risk`], the findings of [`super::detect`], the [`shape`] and the anatomy.
//! Nothing depends on the wall clock, on how samples are batched or on anything later.
//!
//! A reading costs a few compares; the real work is done when about a second is complete. A device takes at most 12 KiB and
//! a holder 10 KiB; of all else there is a bounded number.

pub(crate) mod card;
mod envelope;
pub(crate) mod held;
pub(crate) mod loading;
mod loose;
mod phases;
mod risk;
mod shape;
pub(crate) mod signal;
pub(crate) mod trend;
pub(crate) mod turns;

use std::collections::BTreeMap;
use std::sync::Arc;

use super::detect::{self, DETECTORS, Detector, Say, Scene};
use super::{
    Anatomy, Bytes, Finding, Gpu, HostMemory, Period, Pid, Process, Relation, Risk, RiskLevel, Sample, SampleBody, Shape,
    Timestamp,
};
use card::Card;

/// Devices and MIG instances that are followed.
const CARDS: usize = 256;
/// Processes whose facts are remembered.
const PEOPLE: usize = 4_096;
/// Jobs whose risk is kept.
const JOBS: usize = 64;
/// Processes that ended and are remembered.
const EXITS: usize = 64;

/// Something to be said from a sample.
#[derive(Clone, Debug, PartialEq)]
pub enum Said {
    /// A finding, new or renewed; its advice is empty.
    Finding(Arc<Finding>),
    /// The risk of a device or a job from now on.
    Risk(Arc<Risk>),
}

/// A value at a time: MiB and seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Point {
    pub(crate) t: f64,
    pub(crate) v: f64,
}

/// A rise of the ceiling.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Jump {
    pub(crate) t: f64,
    pub(crate) size: f64,
    /// The ceiling before.
    pub(crate) from: f64,
}

/// Folds samples into findings, risk, shapes and anatomy. What is said at a time depends on the samples up to it alone.
#[derive(Debug, Default)]
pub struct Analyst {
    pub(crate) cards: BTreeMap<Gpu, Card>,
    people: BTreeMap<Pid, Arc<Process>>,
    host: Option<HostMemory>,
    detectors: BTreeMap<Gpu, Vec<Box<dyn Detector>>>,
    /// The number of the newest finding.
    said: u32,
    /// Processes that ended of late, and when.
    exits: Vec<(Pid, f64)>,
    jobs: BTreeMap<Pid, Arc<Risk>>,
}

/// A size in MiB.
pub(crate) fn mib(bytes: Bytes) -> f64 {
    bytes.0 as f64 / 1_048_576.0
}

/// A size from MiB; none is negative.
pub(crate) fn size(mib: f64) -> Bytes {
    Bytes((mib.max(0.0) * 1_048_576.0) as u64)
}

/// A moment from seconds.
pub(crate) fn moment(seconds: f64) -> Timestamp {
    Timestamp((seconds.max(0.0) * 1e6) as u64)
}

/// A span from seconds.
pub(crate) fn span(seconds: f64) -> Period {
    Period((seconds.max(0.0) * 1e6) as u64)
}

impl Analyst {
    /// Nothing known yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes one sample, and pushes what is to be said from it.
    pub fn observe(&mut self, sample: &Sample, said: &mut Vec<Said>) {
        let t = sample.t;
        match &sample.body {
            SampleBody::Device(device) => {
                let room = self.cards.len() < CARDS;
                match self.cards.get_mut(&device.gpu) {
                    Some(card) if card.device.id == device.id => card.rebind(device),
                    Some(card) => {
                        *card = Card::new(device, self.host);
                        self.detectors.remove(&device.gpu);
                    }
                    None if room => {
                        self.cards.insert(device.gpu, Card::new(device, self.host));
                    }
                    None => {}
                }
            }
            SampleBody::Process(process) => self.bind(process),
            SampleBody::Memory { gpu, figures } => {
                if let Some(card) = self.cards.get_mut(gpu)
                    && card.memory(t, figures)
                {
                    self.beat(t, *gpu, said);
                } else {
                    self.level(t, *gpu, said);
                }
            }
            SampleBody::Holders { gpu, list } => {
                if let Some(card) = self.cards.get_mut(gpu)
                    && card.list(t, list.as_ref().ok().map(|list| &**list), &self.people)
                {
                    self.beat(t, *gpu, said);
                }
            }
            SampleBody::Usage(usage) => {
                if let Some(card) = self.cards.get_mut(&usage.gpu) {
                    card.usage(t, usage);
                }
            }
            SampleBody::Host(host) => {
                self.host = Some(*host);
                let pressed: Vec<Gpu> = self.cards.values_mut().filter_map(|card| card.host(t, host)).collect();
                for gpu in pressed {
                    self.beat(t, gpu, said);
                }
            }
            SampleBody::State { gpu: Some(gpu), state, call, since } => {
                if let Some(card) = self.cards.get_mut(gpu) {
                    card.state(t.as_secs_f64(), *state, *call, since.as_secs_f64());
                    self.look(t, *gpu, said);
                    self.level(t, *gpu, said);
                }
            }
            SampleBody::Gap { gpu, .. } => {
                if let Some(card) = self.cards.get_mut(gpu) {
                    card.gap();
                }
            }
            SampleBody::Exit { pid, .. } => {
                self.people.remove(pid);
                if self.exits.len() >= EXITS {
                    self.exits.remove(0);
                }
                self.exits.push((*pid, t.as_secs_f64()));
            }
            SampleBody::Header(_)
            | SampleBody::Handles { .. }
            | SampleBody::State { gpu: None, .. }
            | SampleBody::Health(_)
            | SampleBody::Mark(_) => {}
        }
    }

    fn bind(&mut self, process: &Arc<Process>) {
        if self.people.len() >= PEOPLE && !self.people.contains_key(&process.key.pid) {
            let held = |pid: &Pid| self.cards.values().any(|card| card.holds(*pid));
            let gone: Vec<Pid> = self.people.keys().filter(|pid| !held(pid)).copied().collect();
            for pid in gone {
                self.people.remove(&pid);
            }
            if self.people.len() >= PEOPLE {
                return;
            }
        }
        self.people.insert(process.key.pid, Arc::clone(process));
    }

    /// About a second of a device is complete.
    fn beat(&mut self, t: Timestamp, gpu: Gpu, said: &mut Vec<Said>) {
        if let Some(card) = self.cards.get_mut(&gpu) {
            card.beat();
        }
        self.level(t, gpu, said);
        self.look(t, gpu, said);
    }

    /// Lets the detectors of a device look.
    fn look(&mut self, t: Timestamp, gpu: Gpu, said: &mut Vec<Said>) {
        let Some(card) = self.cards.get(&gpu) else { return };
        let detectors = self.detectors.entry(gpu).or_insert_with(|| DETECTORS.iter().map(detect::Entry::make).collect());
        let scene = Scene { now: t.as_secs_f64(), gpu, card, cards: &self.cards, people: &self.people, exits: &self.exits };
        let mut say = Say { t, gpu, next: &mut self.said, said };
        for detector in detectors {
            detector.look(&scene, &mut say);
        }
    }

    /// Judges the risk at a reading.
    fn level(&mut self, t: Timestamp, gpu: Gpu, said: &mut Vec<Said>) {
        let Some(card) = self.cards.get_mut(&gpu) else { return };
        if let Some(risk) = card.judge(t, &self.people) {
            said.push(Said::Risk(risk));
            self.say_jobs(gpu, t, said);
        }
    }

    /// A job's risk is that of its tightest device.
    fn say_jobs(&mut self, gpu: Gpu, t: Timestamp, said: &mut Vec<Said>) {
        let Some(card) = self.cards.get(&gpu) else { return };
        let mut leaders: Vec<Pid> = card.held.iter().filter_map(|held| leader(&self.people, held.pid)).collect();
        leaders.extend(self.jobs.iter().filter(|(_, risk)| risk.gpu == gpu).map(|(job, _)| *job));
        leaders.sort_unstable();
        leaders.dedup();
        for job in leaders {
            let of = |card: &&Card| card.held.iter().any(|held| leader(&self.people, held.pid) == Some(job));
            let risks = self.cards.values().filter(of).filter_map(Card::risk);
            let soon = |risk: &Risk| risk.full_in.map_or(u64::MAX, |full_in| full_in.mid.0);
            let order = |a: &&Arc<Risk>, b: &&Arc<Risk>| {
                b.level.cmp(&a.level).then(soon(a).cmp(&soon(b))).then(a.headroom.cmp(&b.headroom)).then(a.gpu.cmp(&b.gpu))
            };
            let Some(tightest) = risks.min_by(order) else {
                self.jobs.remove(&job);
                continue;
            };
            let risk = Arc::new(Risk { job: Some(job), ..(**tightest).clone() });
            let old = self.jobs.get(&job);
            let due = old.is_none_or(|old| {
                old.level != risk.level
                    || old.gpu != risk.gpu
                    || (t.since(old.t) >= Period::secs(1) && old.full_in != risk.full_in)
            });
            let first = old.is_none() && risk.level == RiskLevel::Ok && risk.full_in.is_none();
            if old.is_none() && self.jobs.len() >= JOBS {
                continue;
            }
            if due {
                if !first {
                    said.push(Said::Risk(Arc::clone(&risk)));
                }
                self.jobs.insert(job, risk);
            }
        }
    }

    /// The risk of a device or MIG instance now, at most a second old; none while nothing is known of it.
    pub fn risk(&self, gpu: Gpu) -> Option<&Arc<Risk>> {
        self.cards.get(&gpu)?.risk()
    }

    /// The risk of each job on its tightest device.
    pub fn job_risks(&self) -> impl Iterator<Item = &Arc<Risk>> {
        self.jobs.values()
    }

    /// The one word for a device's series so far.
    pub fn shape(&self, gpu: Gpu) -> Shape {
        self.cards.get(&gpu).map_or(Shape::Unknown, Card::shape)
    }

    /// The one word for a holder's series on a device so far.
    pub fn holder_shape(&self, gpu: Gpu, pid: Pid) -> Shape {
        self.cards.get(&gpu).map_or(Shape::Unknown, |card| card.holder_shape(pid))
    }

    /// Where the memory of a process on a device goes, as far as its phases were seen.
    pub fn anatomy(&self, gpu: Gpu, pid: Pid) -> Option<Anatomy> {
        self.cards.get(&gpu)?.anatomy(pid)
    }
}

/// The leader of the watched job that a process is of: the head of its tree, or the topmost of its parents that is of the job.
fn leader(people: &BTreeMap<Pid, Arc<Process>>, pid: Pid) -> Option<Pid> {
    let of_job = |pid: &Pid| people.get(pid).filter(|process| process.relation == Relation::Job);
    let process = of_job(&pid)?;
    if let Some(job) = &process.job {
        return Some(job.leader.pid);
    }
    let mut top = process;
    for _ in 0..16 {
        match top.ppid.as_ref().ok().and_then(of_job) {
            Some(parent) if parent.key != top.key => top = parent,
            _ => break,
        }
    }
    Some(top.key.pid)
}
