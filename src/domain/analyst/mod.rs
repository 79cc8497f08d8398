//! The analyst: a pure fold over the sample stream that says what it sees, and how close each device is to running out.
//!
//! Every device and each of its 16 largest holders is a [`signal`]: marks, turning points, jumps and steps. From them come
//! the [`trend`] of the peak per cycle, the [`risk`], the findings of [`super::detect`], the [`shape`] and the anatomy.
//! Nothing depends on the wall clock, on how samples are batched or on anything later.
//!
//! A reading costs a few compares; the real work is done when about a second is complete. A series takes at most 10 KiB (128
//! seconds 3 KiB, marks 3 KiB, the rest turning points, jumps, steps and rises), a device 6 KiB more for its detectors and for
//! what no holder has, on unified memory one more series. Of all else there is a bounded number.

pub(crate) mod card;
mod envelope;
#[cfg(test)]
pub(crate) mod fixture;
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

#[cfg(test)]
mod tests {
    use super::fixture::{actor, alarm, alone, device, finding, findings, list, listed, memory, risks, tooth};
    use super::*;
    use crate::domain::{FindingKind, MemoryFigures, Missing, RiskLevel};

    /// 40 GiB, then a leak in 20 MiB segments at a rate in MiB per second, to the end of the card.
    fn leak(from: f64, rate: f64) -> impl Fn(f64) -> f64 {
        move |t| (40_000.0 + ((t - from).max(0.0) * rate / 20.0).floor() * 20.0).min(81_900.0)
    }

    #[test]
    fn a_leak_is_warned_of_in_time_and_foretold_well() {
        for hz in [1.0, 10.0, 50.0] {
            let said = alone(hz, 330.0, leak(30.0, 150.0)).said();
            let full = 30.0 + 41_900.0 / 150.0;
            let alarm = alarm(&said).expect("an alarm");
            assert!(alarm < full - 30.0 && alarm > 40.0, "{hz} Hz: at {alarm}");
            for risk in risks(&said).iter().filter(|risk| risk.t.as_secs_f64() > 200.0 && risk.t.as_secs_f64() < 290.0) {
                let left = full - risk.t.as_secs_f64();
                let mid = risk.full_in.expect("a time").mid.as_secs_f64();
                assert!((mid / left - 1.0).abs() < 0.1, "{hz} Hz at {}: {mid} for {left}", risk.t.as_secs_f64());
            }
        }
    }

    /// Used memory in MiB by seconds.
    type Curve = fn(f64) -> f64;

    #[test]
    fn what_is_full_or_swings_to_the_brim_raises_no_alarm() {
        let steady: [(&str, Curve); 6] = [
            ("flat at 98 %", |_| 80_000.0),
            ("swing to 94 %", |t| 30_000.0 + 47_000.0 * tooth(t, 0.7)),
            ("slow teeth to 94 %", |t| 30_000.0 + 47_000.0 * tooth(t, 23.0)),
            ("pool to 95 %", |t| if t < 20.0 { 400.0 } else { 77_800.0 }),
            ("saturating", |t| {
                (30_000.0 + ((1.0 - (-(t - 30.0).max(0.0) / 60.0).exp()) * 43_000.0 / 20.0).floor() * 20.0).floor()
            }),
            ("loading ramp", |t| (400.0 + (t - 10.0).clamp(0.0, 60.0) * 1_250.0).floor()),
        ];
        for (name, curve) in steady {
            for hz in [1.0, 20.0] {
                let said = alone(hz, 400.0, curve).said();
                assert_eq!(alarm(&said), None, "{name} at {hz} Hz: {:?}", risks(&said));
            }
        }
    }

    #[test]
    fn the_reason_names_who_grows_how_fast_and_when() {
        let play = listed(10.0, 200.0, vec![actor(4242, leak(20.0, 150.0)), actor(7, |_| 2_000.0)]);
        let said = play.said();
        let risk = risks(&said).into_iter().rfind(|risk| risk.level == RiskLevel::High).cloned().expect("an alarm");
        assert!(risk.reason.starts_with("train.py (4242, mine) grows 15"), "{}", risk.reason);
        assert!(risk.reason.contains(" left, full in ") && risk.reason.contains(" to "), "{}", risk.reason);
    }

    #[test]
    fn a_pool_is_safe_for_its_owner_and_says_what_a_newcomer_gets() {
        let mut analyst = Analyst::new();
        let mut said = Vec::new();
        for sample in alone(10.0, 60.0, |_| 78_336.0).samples() {
            analyst.observe(&sample, &mut said);
        }
        assert_eq!(risks(&said).len(), 0, "nothing is said of it");
        let risk = analyst.risk(Gpu(0)).expect("a risk");
        assert_eq!(risk.level, RiskLevel::Ok);
        assert_eq!(&*risk.reason, "full pool, safe for its owner; a new process has 3.00 GiB");
        assert_eq!(analyst.shape(Gpu(0)), Shape::Steady);
    }

    #[test]
    fn what_is_said_of_a_cut_stream_is_what_was_said_until_then() {
        let play =
            listed(20.0, 200.0, vec![actor(4242, |t| leak(40.0, 180.0)(t) * 0.7 + 9_000.0 * tooth(t, 0.6)), actor(9, |_| 900.0)]);
        let samples = play.samples();
        let whole = play.said();
        for cut in [samples.len() / 3, samples.len() / 2, samples.len() - 7] {
            let (mut analyst, mut said) = (Analyst::new(), Vec::new());
            samples.iter().take(cut).for_each(|sample| analyst.observe(sample, &mut said));
            assert_eq!(said.as_slice(), whole.get(..said.len()).expect("a prefix"), "cut at {cut}");
            let next = whole.get(said.len()).map(|said| match said {
                Said::Finding(finding) => finding.t,
                Said::Risk(risk) => risk.t,
            });
            let last = samples.get(cut - 1).expect("a sample").t;
            assert!(next.is_none_or(|next| next >= last), "what came later was known before");
        }
    }

    #[test]
    fn a_healthy_training_says_a_handful_of_things() {
        let level = |t: f64| match t {
            t if t < 5.0 => 0.0,
            t if t < 6.0 => 500.0,
            t if t < 14.0 => 500.0 + (t - 6.0) * 1_500.0,
            t if t < 16.0 => 12_500.0,
            t if t < 17.0 => 14_000.0,
            t if t < 18.0 => 26_000.0,
            t => 26_000.0 + 20_000.0 * tooth(t, 0.64),
        };
        let mut play = listed(20.0, 600.0, vec![actor(4242, level)]);
        play.load = Some(Box::new(|t| if t < 16.0 { 2.0 } else { 95.0 }));
        let said = play.said();
        let kinds: Vec<FindingKind> = findings(&said).iter().map(|finding| finding.kind).collect();
        assert!(kinds.len() <= 7, "{kinds:?}");
        for kind in [FindingKind::ContextStart, FindingKind::Loading, FindingKind::OptimizerStep, FindingKind::Sawtooth] {
            assert!(kinds.contains(&kind), "{kind} in {kinds:?}");
        }
        assert!(said.len() <= 40, "{} entries in ten minutes", said.len());
        let mut analyst = Analyst::new();
        play.samples().iter().for_each(|sample| analyst.observe(sample, &mut Vec::new()));
        let anatomy = analyst.anatomy(Gpu(0), Pid(4242)).expect("it is known");
        let about = |part: Option<Bytes>, truth: f64| part.is_some_and(|part| (mib(part) / truth - 1.0).abs() < 0.25);
        assert!(about(anatomy.context, 500.0) && about(anatomy.weights, 12_000.0), "{anatomy:?}");
        assert!(about(anatomy.optimizer, 12_000.0) && about(anatomy.swing, 20_000.0), "{anatomy:?}");
    }

    #[test]
    fn parts_that_were_not_seen_are_not_told() {
        let mut analyst = Analyst::new();
        let play = listed(10.0, 60.0, vec![actor(4242, |_| 40_000.0)]);
        play.samples().iter().for_each(|sample| analyst.observe(sample, &mut Vec::new()));
        assert_eq!(analyst.anatomy(Gpu(0), Pid(4242)), Some(Anatomy::default()));
        assert_eq!(analyst.anatomy(Gpu(0), Pid(1)), None);
        assert_eq!(analyst.holder_shape(Gpu(0), Pid(4242)), Shape::Steady);
    }

    #[test]
    fn a_job_has_the_risk_of_its_tightest_card() {
        let mut member = actor(50, leak(20.0, 150.0));
        member.relation = Relation::Job;
        member.parent = 49;
        let mut analyst = Analyst::new();
        let mut said = Vec::new();
        for sample in listed(10.0, 250.0, vec![member, actor(7, |_| 2_000.0)]).samples() {
            analyst.observe(&sample, &mut said);
        }
        let jobs: Vec<_> = analyst.job_risks().collect();
        assert_eq!(jobs.len(), 1);
        assert_eq!((jobs[0].job, jobs[0].gpu, jobs[0].level.is_alarm()), (Some(Pid(50)), Gpu(0), true));
        assert!(risks(&said).iter().any(|risk| risk.job == Some(Pid(50)) && risk.level.is_alarm()));
    }

    #[test]
    fn unified_memory_runs_out_with_the_host() {
        let mut analyst = Analyst::new();
        let mut said = Vec::new();
        let SampleBody::Device(of) = device(0) else { return };
        let of = crate::domain::Device {
            memory: crate::domain::MemoryKind::Unified,
            total: Err(Missing::Unsupported("shared".into())),
            ..(*of).clone()
        };
        analyst.observe(&Sample { t: Timestamp::ZERO, body: SampleBody::Device(Arc::new(of)) }, &mut said);
        for second in 0..300_u64 {
            let held = 40_000.0 + second as f64 * 200.0;
            let (total, available) = (Bytes::mib(122_880), Bytes::mib(122_880 - 8_000 - held as u64));
            let host = HostMemory { total, available, swap_used: Bytes::ZERO, swap_total: Bytes::ZERO };
            let t = Timestamp::secs(second);
            analyst.observe(&Sample { t, body: list(0, &[(5, held)]) }, &mut said);
            analyst.observe(&Sample { t, body: SampleBody::Host(host) }, &mut said);
        }
        let risk = analyst.risk(Gpu(0)).expect("a risk");
        assert!(risk.level.is_alarm(), "{risk:?}");
        assert_eq!(analyst.shape(Gpu(0)), Shape::Leak);
    }

    #[test]
    fn nothing_hostile_brings_it_down() {
        let mut analyst = Analyst::new();
        let mut said = Vec::new();
        let mut at = |t: u64, body: SampleBody| analyst.observe(&Sample { t: Timestamp(t), body }, &mut said);
        at(0, memory(9, 5.0));
        at(0, device(0));
        let crowd: Vec<(u32, f64)> = (0..4_000).map(|pid| (pid, f64::from(pid % 700))).collect();
        let absurd = MemoryFigures { total: Bytes(0), free: Bytes(u64::MAX), reserved: Some(Bytes(u64::MAX)) };
        for n in 0..400_u64 {
            let t = match n % 5 {
                0 => 0,
                1 => u64::MAX,
                _ => n * 250_000,
            };
            at(t, list(0, &crowd));
            at(t, memory(0, (n * 3_571 % 81_000) as f64));
            at(t, SampleBody::Memory { gpu: Gpu(0), figures: Ok(absurd) });
            at(t, SampleBody::Memory { gpu: Gpu(0), figures: Err(Missing::Pending) });
            at(t, SampleBody::Holders { gpu: Gpu(0), list: Err(Missing::Pending) });
            at(t, SampleBody::Exit { pid: Pid(n as u32), status: None });
            at(t, SampleBody::Gap { gpu: Gpu(0), from: Timestamp(u64::MAX), reason: "x".into() });
            at(t, device((n % 300) as u32));
        }
        assert!(analyst.cards.len() <= CARDS);
        assert!(analyst.cards.values().all(|card| card.held.len() <= card::FOLLOWED));
        assert!(finding(&said, FindingKind::ContextPileup).is_some(), "a crowd is seen");
    }
}
