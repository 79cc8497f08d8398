//! Streams made from curves, for tests: one card of 80 GiB and what is told of it.

use std::sync::Arc;

use super::{Analyst, Said};
use crate::domain::{
    Bytes, Device, DeviceId, DeviceState, Finding, FindingKind, Gpu, Holder, HolderKind, MemoryFigures, MemoryKind, Missing, Pid,
    Process, ProcessKey, ProcessUsage, Relation, Risk, RiskLevel, Sample, SampleBody, Timestamp, Usage, Wall,
};

/// MiB of the card.
pub(crate) const TOTAL: f64 = 81_920.0;

type Curve = Box<dyn Fn(f64) -> f64>;

/// A process: pid, parent, relation, command, and what it holds over time (nothing: it is not there).
pub(crate) struct Actor {
    pub(crate) pid: u32,
    pub(crate) parent: u32,
    pub(crate) relation: Relation,
    pub(crate) command: &'static str,
    pub(crate) holds: Curve,
    /// Its cards and the share that it holds of the curve on each.
    pub(crate) cards: Vec<(u32, f64)>,
}

/// A recording to be made.
pub(crate) struct Play {
    pub(crate) hz: f64,
    pub(crate) seconds: f64,
    pub(crate) cards: u32,
    /// Of card 0, beside the actors.
    pub(crate) base: Curve,
    pub(crate) load: Option<Curve>,
    pub(crate) actors: Vec<Actor>,
    pub(crate) lists: bool,
}

/// A process of mine on card 0.
pub(crate) fn actor(pid: u32, holds: impl Fn(f64) -> f64 + 'static) -> Actor {
    let (relation, command) = (Relation::Mine, "python train.py");
    Actor { pid, parent: 1_000, relation, command, holds: Box::new(holds), cards: vec![(0, 1.0)] }
}

/// A recording of the card alone.
pub(crate) fn alone(hz: f64, seconds: f64, level: impl Fn(f64) -> f64 + 'static) -> Play {
    Play { hz, seconds, cards: 1, base: Box::new(level), load: None, actors: Vec::new(), lists: false }
}

/// A recording with lists.
pub(crate) fn listed(hz: f64, seconds: f64, actors: Vec<Actor>) -> Play {
    Play { hz, seconds, cards: 1, base: Box::new(|_| 4.0), load: None, actors, lists: true }
}

/// A training step: up to 1 and back within a period.
pub(crate) fn tooth(t: f64, period: f64) -> f64 {
    let into = (t / period).fract();
    if into < 0.4 { into / 0.4 } else { (0.9 - into).max(0.0) * 2.0 }
}

/// The device record of a card.
pub(crate) fn device(gpu: u32) -> SampleBody {
    SampleBody::Device(Arc::new(Device {
        gpu: Gpu(gpu),
        id: DeviceId(format!("GPU-{gpu}").into()),
        index: Some(gpu),
        pci: Err(Missing::Pending),
        name: Ok("H100".into()),
        memory: MemoryKind::Dedicated,
        total: Ok(Bytes::mib(TOTAL as u64)),
        parent: None,
    }))
}

/// A reading of a card.
pub(crate) fn memory(gpu: u32, used: f64) -> SampleBody {
    let (total, used) = (Bytes::mib(TOTAL as u64), Bytes::mib(used.clamp(0.0, TOTAL) as u64));
    let figures = MemoryFigures { total, free: total.saturating_sub(used), reserved: Some(Bytes::ZERO) };
    SampleBody::Memory { gpu: Gpu(gpu), figures: Ok(figures) }
}

/// A list of a card.
pub(crate) fn list(gpu: u32, holders: &[(u32, f64)]) -> SampleBody {
    let holder = |&(pid, used): &(u32, f64)| Holder {
        pid: Pid(pid),
        used: Ok(Bytes::mib(used as u64)),
        kind: HolderKind::C,
        instance: None,
    };
    SampleBody::Holders { gpu: Gpu(gpu), list: Ok(holders.iter().map(holder).collect()) }
}

/// The facts of a process.
pub(crate) fn process(actor: &Actor) -> SampleBody {
    SampleBody::Process(Arc::new(Process {
        key: ProcessKey { pid: Pid(actor.pid), start: Some(u64::from(actor.pid)) },
        started: Ok(Wall(0)),
        ppid: Ok(Pid(actor.parent)),
        user: Ok("user1".into()),
        uid: Ok(1_000),
        relation: actor.relation,
        command: Ok(actor.command.into()),
        container: None,
        job: None,
        details: None,
    }))
}

impl Play {
    /// The samples.
    pub(crate) fn samples(&self) -> Vec<Sample> {
        let mut out = Vec::new();
        let mut push = |t: f64, body: SampleBody| out.push(Sample { t: Timestamp((t * 1e6).round() as u64), body });
        for gpu in 0..self.cards {
            push(0.0, device(gpu));
        }
        let mut told: Vec<u32> = Vec::new();
        let mut next_list = 0.0;
        for n in 0..(self.seconds * self.hz) as u64 {
            let t = n as f64 / self.hz;
            let regular = t >= next_list;
            if regular {
                next_list += 1.0;
            }
            for gpu in 0..self.cards {
                let holds: Vec<(u32, f64)> = self
                    .actors
                    .iter()
                    .filter_map(|actor| {
                        let share = actor.cards.iter().find(|(card, _)| *card == gpu)?.1;
                        Some((actor.pid, (actor.holds)(t) * share)).filter(|(_, holds)| *holds > 0.0)
                    })
                    .collect();
                if regular && self.lists {
                    for actor in &self.actors {
                        let there = holds.iter().any(|(pid, _)| *pid == actor.pid);
                        if there && !told.contains(&actor.pid) {
                            told.push(actor.pid);
                            push(t, process(actor));
                        } else if told.contains(&actor.pid) && (actor.holds)(t) <= 0.0 {
                            told.retain(|pid| *pid != actor.pid);
                            push(t, SampleBody::Exit { pid: Pid(actor.pid), status: None });
                        }
                    }
                    push(t, list(gpu, &holds));
                }
                if let Some(load) = self.load.as_ref().filter(|_| regular) {
                    let load = load(t) as f32;
                    let usage = |(pid, _): &(u32, f64)| ProcessUsage {
                        pid: Pid(*pid),
                        gpu: Ok(load),
                        cpu: Ok(100.0),
                        rss: Ok(Bytes::gib(4)),
                        state: Ok('R'),
                        accounted: Err(Missing::Pending),
                    };
                    let processes = holds.iter().filter(|_| self.lists).map(usage).collect();
                    let (temperature, power) = (Err(Missing::Pending), Err(Missing::Pending));
                    push(
                        t,
                        SampleBody::Usage(Arc::new(Usage {
                            gpu: Gpu(gpu),
                            utilization: Ok(load),
                            temperature,
                            power,
                            processes,
                        })),
                    );
                }
                let base = if gpu == 0 { (self.base)(t) } else { 4.0 };
                push(t, memory(gpu, base + holds.iter().map(|(_, holds)| holds).sum::<f64>()));
            }
        }
        out
    }

    /// All that is said of it.
    pub(crate) fn said(&self) -> Vec<Said> {
        let (mut analyst, mut said) = (Analyst::new(), Vec::new());
        self.samples().iter().for_each(|sample| analyst.observe(sample, &mut said));
        said
    }
}

/// The findings among it, each at its first saying.
pub(crate) fn findings(said: &[Said]) -> Vec<&Arc<Finding>> {
    let mut numbers = Vec::new();
    said.iter()
        .filter_map(|said| match said {
            Said::Finding(finding) if !numbers.contains(&finding.n) => {
                numbers.push(finding.n);
                Some(finding)
            }
            _ => None,
        })
        .collect()
}

/// The first finding of a kind.
pub(crate) fn finding(said: &[Said], kind: FindingKind) -> Option<Arc<Finding>> {
    findings(said).into_iter().find(|finding| finding.kind == kind).cloned()
}

/// The risks among it.
pub(crate) fn risks(said: &[Said]) -> Vec<&Arc<Risk>> {
    said.iter()
        .filter_map(|said| match said {
            Said::Risk(risk) => Some(risk),
            Said::Finding(_) => None,
        })
        .collect()
}

/// When an alarm was raised first, in seconds.
pub(crate) fn alarm(said: &[Said]) -> Option<f64> {
    risks(said).into_iter().find(|risk| risk.level >= RiskLevel::High).map(|risk| risk.t.as_secs_f64())
}

/// A device that changes its state.
pub(crate) fn state(state: DeviceState, call: Option<&'static str>, since: f64) -> SampleBody {
    SampleBody::State { gpu: Some(Gpu(0)), state, call, since: Timestamp((since * 1e6) as u64) }
}
