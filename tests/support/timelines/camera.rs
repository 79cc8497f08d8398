//! What a monitor would record of it: the stream of samples, at its pace, with what it can see.

use std::collections::BTreeMap;
use std::sync::Arc;

use vramscope::domain::{
    Bytes, Device, DeviceId, Gpu, Header, Holder, HostMemory, MemoryFigures, MemoryKind, Missing, Pid, Process, ProcessKey,
    ProcessUsage, Relation, Sample, SampleBody, Timestamp, Usage, Wall,
};

use super::dice::Dice;
use super::program::Program;
use super::settle::{Card, Settled};

const MIB: f64 = 1_048_576.0;

/// 2026-11-30T14:00:00Z.
const CREATED: Wall = Wall(1_796_047_200_000_000);

/// How it records.
#[derive(Clone, Debug)]
pub struct Camera {
    pub hz: f64,
    /// Process lists, once a second.
    pub lists: bool,
    /// A list also when memory jumps.
    pub early: bool,
    pub usage: bool,
    /// Every reading, not only changes: as files of other tools hold them.
    pub dense: bool,
    /// Readings come this unevenly: a share of the interval.
    pub jitter: f64,
    /// Readings that never come.
    pub lost: f64,
    /// Stretches without any.
    pub gaps: Vec<(f64, f64)>,
    /// The driver keeps the sizes of processes to itself (WDDM, WSL2).
    pub sizeless: bool,
    /// A driver that does not tell `reserved` apart.
    pub v1: bool,
}

/// A series of levels that is read forwards.
struct Reader<'a> {
    levels: &'a [(f64, f64)],
    at: usize,
    now: f64,
}

impl Reader<'_> {
    fn at(&mut self, t: f64) -> f64 {
        while let Some(&(_, level)) = self.levels.get(self.at).filter(|(when, _)| *when <= t) {
            self.now = level;
            self.at += 1;
        }
        self.now
    }
}

fn bytes(mib: f64) -> Bytes {
    Bytes((mib * MIB).round() as u64)
}

fn device(n: usize, card: &Card, cards: &[Card]) -> Device {
    let id = |n: usize| DeviceId(format!("{}-{n:08x}-0000-4000-8000-000000000000", prefix(&cards[n])).into());
    Device {
        gpu: Gpu(n as u32),
        id: id(n),
        index: card.parent.is_none().then_some(n as u32),
        pci: Ok(format!("0000:{:02x}:00.0", 0x1b + n).into()),
        name: Ok(card.name.into()),
        memory: if card.unified { MemoryKind::Unified } else { MemoryKind::Dedicated },
        total: if card.unified {
            Err(Missing::Unsupported("memory is shared with the host".into()))
        } else {
            Ok(bytes(card.total))
        },
        parent: card.parent.map(id),
    }
}

fn prefix(card: &Card) -> &'static str {
    if card.parent.is_some() { "MIG" } else { "GPU" }
}

fn process(program: &Program) -> Process {
    let (uid, user) = match program.role.relation {
        Relation::Foreign => (1_007, "user7"),
        Relation::System => (0, "root"),
        _ => (1_000, "user1"),
    };
    Process {
        key: ProcessKey { pid: Pid(program.pid), start: Some(((program.born + 400_000.0) * 100.0) as u64) },
        started: Ok(Wall(CREATED.0 + (program.born * 1e6) as i64)),
        ppid: Ok(Pid(program.ppid)),
        user: Ok(user.into()),
        uid: Ok(uid),
        relation: program.role.relation,
        command: Ok(program.role.command.into()),
        container: None,
        job: None,
        details: None,
    }
}

impl Camera {
    /// All samples from 0 to a moment.
    pub fn record(&self, dice: &Dice, cards: &[Card], programs: &[Program], settled: &Settled, end: f64) -> Vec<Sample> {
        let mut out = Vec::new();
        let mut push = |t: f64, body: SampleBody| out.push(Sample { t: Timestamp((t * 1e6) as u64), body });
        push(
            0.0,
            SampleBody::Header(Arc::new(Header {
                created: CREATED,
                source: "demo:generated".into(),
                simulated: true,
                host: Some("node17".into()),
                driver: Ok("570.86.15".into()),
                cuda: Ok("12.8".into()),
                me: Some("user1".into()),
                foreign_pids: false,
            })),
        );
        for (n, card) in cards.iter().enumerate() {
            push(0.0, SampleBody::Device(Arc::new(device(n, card, cards))));
        }
        let mut readers: Vec<Vec<Reader<'_>>> =
            settled.levels.iter().map(|of| of.iter().map(|levels| Reader { levels, at: 0, now: 0.0 }).collect()).collect();
        let mut busy: Vec<Reader<'_>> =
            programs.iter().map(|program| Reader { levels: &program.busy, at: 0, now: 0.0 }).collect();
        let mut seen: BTreeMap<usize, bool> = BTreeMap::new();
        let mut last: Vec<Option<(f64, Option<MemoryFigures>)>> = vec![None; cards.len()];
        let mut listed = vec![0.0_f64; cards.len()];
        let (mut next_list, mut tick) = (dice.range(0.0, 0.9), 0_u64);
        let phase = dice.unit() / self.hz;
        loop {
            let jitter = (dice.unit() - 0.5) * self.jitter;
            let t = ((tick as f64 + jitter) / self.hz + phase).max(0.0);
            tick += 1;
            if t > end {
                return out;
            }
            if let Some((from, to)) = self.gaps.iter().find(|(from, to)| (*from..*to).contains(&t)).copied() {
                tick = ((to - phase) * self.hz).ceil() as u64;
                for (gpu, card) in cards.iter().enumerate() {
                    if !card.unified {
                        let reason = "driver did not answer".into();
                        push(to, SampleBody::Gap { gpu: Gpu(gpu as u32), from: Timestamp((from * 1e6) as u64), reason });
                    }
                }
                continue;
            }
            if self.lost > 0.0 && dice.chance(self.lost) {
                continue;
            }
            let levels: Vec<Vec<f64>> = readers.iter_mut().map(|of| of.iter_mut().map(|reader| reader.at(t)).collect()).collect();
            let load: Vec<f64> = busy.iter_mut().map(|reader| reader.at(t)).collect();
            let regular = t >= next_list;
            if regular {
                next_list = (next_list + 1.0).max(t);
            }
            let held = |gpu: usize| -> f64 {
                let own: f64 = levels.iter().map(|of| of[gpu]).sum();
                let parts = cards.iter().enumerate().filter(|(_, card)| card.parent == Some(gpu));
                own + parts.map(|(part, card)| card.base + levels.iter().map(|of| of[part]).sum::<f64>()).sum::<f64>()
            };
            if regular && (self.lists || cards.iter().any(|card| card.unified)) {
                let unified: f64 = (0..cards.len()).filter(|&gpu| cards[gpu].unified).map(held).sum();
                let (total, other) =
                    cards.iter().find(|card| card.unified).map_or((515_000.0, 90_000.0), |card| (card.total, card.base));
                let available = (total - other - unified - dice.range(0.0, 60.0)).max(0.0);
                push(
                    t,
                    SampleBody::Host(HostMemory {
                        total: bytes(total),
                        available: bytes(available),
                        swap_used: Bytes::ZERO,
                        swap_total: Bytes::ZERO,
                    }),
                );
            }
            for (gpu, card) in cards.iter().enumerate() {
                let used = held(gpu) + card.base;
                let key = Gpu(gpu as u32);
                let jump = (used - listed[gpu]).abs() >= (card.total / 200.0).max(64.0);
                if self.lists && (regular || (self.early && jump)) {
                    listed[gpu] = used;
                    let mut list = Vec::new();
                    for (n, program) in programs.iter().enumerate() {
                        let part = cards.iter().position(|of| of.parent == Some(gpu));
                        let places =
                            (0..cards.len()).filter(|&at| at == gpu || (part.is_some() && cards[at].parent == Some(gpu)));
                        for at in places.filter(|&at| levels[n][at] > 0.0) {
                            if seen.insert(n, true).is_none() {
                                push(t, SampleBody::Process(Arc::new(process(program))));
                            }
                            list.push(Holder {
                                pid: Pid(program.pid),
                                used: if self.sizeless {
                                    Err(Missing::Unsupported("WDDM keeps it".into()))
                                } else {
                                    Ok(bytes(levels[n][at]))
                                },
                                kind: program.role.kind,
                                instance: (at != gpu).then_some(Gpu(at as u32)),
                            });
                        }
                    }
                    push(t, SampleBody::Holders { gpu: key, list: Ok(list.into()) });
                    last[gpu] = None;
                }
                if regular && self.usage {
                    let on: Vec<usize> = (0..programs.len()).filter(|&n| levels[n][gpu] > 0.0).collect();
                    let noise = |dice: &Dice, load: f64| (load + 4.0 * dice.normal()).clamp(0.0, 100.0).round() as f32;
                    let split = || Missing::Unsupported("not told for MIG".into());
                    let mig = card.parent.is_some() || cards.iter().any(|of| of.parent == Some(gpu));
                    let whole = on.iter().map(|&n| load[n]).fold(0.0, f64::max);
                    let whole = if whole > 0.0 { noise(dice, whole) } else { 0.0 };
                    let processes = on.iter().filter(|_| self.lists).map(|&n| ProcessUsage {
                        pid: Pid(programs[n].pid),
                        gpu: if mig { Err(split()) } else { Ok(noise(dice, load[n])) },
                        cpu: Ok(noise(dice, 90.0)),
                        rss: Ok(bytes(5_120.0)),
                        state: Ok(if load[n] > 5.0 { 'R' } else { 'S' }),
                        accounted: Err(Missing::Unsupported("accounting is off".into())),
                    });
                    let processes = processes.collect();
                    let utilization = if mig { Err(split()) } else { Ok(whole) };
                    let usage = Usage { gpu: key, utilization, temperature: Ok(61.0), power: Ok(380.0), processes };
                    push(t, SampleBody::Usage(Arc::new(usage)));
                }
                let figures = (!card.unified).then(|| {
                    let (free, reserved) = (bytes(card.total - card.reserved - used), bytes(card.reserved));
                    MemoryFigures { total: bytes(card.total), free, reserved: (!self.v1).then_some(reserved) }
                });
                let due = last[gpu]
                    .as_ref()
                    .is_none_or(|(at, before)| self.dense || *before != figures || t - at >= 1.0 - 0.5 / self.hz);
                if due {
                    last[gpu] = Some((t, figures));
                    let figures = figures.ok_or_else(|| Missing::Unsupported("memory is shared with the host".into()));
                    push(t, SampleBody::Memory { gpu: key, figures });
                }
            }
            if regular && self.lists {
                for (&n, there) in &mut seen {
                    if *there && t >= settled.gone[n] {
                        *there = false;
                        push(t, SampleBody::Exit { pid: Pid(programs[n].pid), status: None });
                    }
                }
            }
        }
    }
}
