//! A scenario as a pure function of time: what every device, process and the host look like at any moment.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::check::ROUND;
use super::error::ScenarioError;
use super::fault::{Driver, Fault, Lost};
use super::file::{Actor, Scenario};
use super::hash::{mix, unit};
use super::layout::{Holding, Place, find, lay_out};
use super::scan::{Held, settle};
use super::track::{End, Setting, Track};
use crate::domain::text::clean;
use crate::domain::{Bytes, Gpu, HolderKind, HostMemory, MemoryFigures, MemoryKind, Period, Pid, ProcessKey, Timestamp};

/// How long the machine has been up when the story begins, in `/proc` clock ticks of 10 ms.
pub(super) const BOOTED: u64 = 30 * 86_400 * 100;
/// Rounds of a repeating story whose pids differ.
const ROUNDS: u64 = 40;

/// A compiled scenario. Any thread may ask about any moment; nothing is changed by asking.
#[derive(Clone, Debug)]
pub struct World {
    name: Arc<str>,
    pub(super) scenario: Scenario,
    pub(super) places: Vec<Place>,
    pub(super) actors: Vec<Performer>,
    /// Processes by the pid that the file gives them.
    pub(super) by_pid: HashMap<u32, usize>,
    cards: u32,
    /// Pids of processes that head a job.
    pub(super) heads: HashSet<u32>,
    /// What becomes of the story after its end.
    after: After,
    /// Processes that the viewer ended.
    killed: Vec<Killed>,
    /// Bystanders that the viewer ended, and when.
    pub(super) dismissed: Vec<(u32, u64)>,
}

/// An end that the story does not know of: it holds from `at` on, and for a process that each round has anew, in its round.
#[derive(Clone, Copy, Debug)]
struct Killed {
    actor: usize,
    at: u64,
    round: Option<u64>,
}

/// A moment, and what of the story is told then.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    pub t: u64,
    /// The moment of the story.
    pub local: u64,
    /// How often it was told before.
    pub round: u64,
}

#[derive(Clone, Copy, Debug)]
enum After {
    /// The last phases go on.
    Continue,
    /// Nothing moves any more, since the last phases together would not fit at every moment.
    Stop(u64),
    /// It goes on at `from`; `span` is the length of what repeats.
    Repeat { from: u64, span: u64 },
}

#[derive(Clone, Debug)]
pub(super) struct Performer {
    pub pid: u32,
    pub begin: u64,
    pub end: Option<End>,
    entry: usize,
    seed: u64,
}

/// One row of a device's process list.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    /// The process.
    pub pid: Pid,
    /// What it holds, to the byte.
    pub used: Bytes,
    /// The lists it stands in.
    pub kind: HolderKind,
    /// The MIG instance it runs in.
    pub instance: Option<Gpu>,
    /// Percent of the device's time.
    pub utilization: f32,
}

/// How and when a process of the story ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ending {
    /// The process.
    pub pid: Pid,
    /// When its row goes.
    pub t: Timestamp,
    /// Its status; none where it was killed.
    pub status: Option<i32>,
    /// Whether a request for memory had failed.
    pub out_of_memory: bool,
}

impl World {
    /// Compiles a scenario: derives what the file leaves open and finds out which requests do not fit.
    pub fn new(scenario: &Scenario) -> Result<Self, ScenarioError> {
        let file = &scenario.file;
        let seed = u64::from(file.seed);
        let (mut places, cards) = lay_out(file.device.get_ref(), seed);
        let horizon = file.duration.get_ref().us();
        let (mut actors, mut held, mut ends) = (Vec::new(), Vec::new(), Vec::new());
        for (entry, spanned) in file.process.iter().enumerate() {
            let actor = spanned.get_ref();
            for copy in 0..actor.copies {
                let number = actors.len();
                let begin = actor.at.us() + actor.stagger.us() * u64::from(copy);
                let pid = actor.pid + copy;
                let own_seed = mix(seed, u64::from(pid));
                let mut end: Option<End> = None;
                let first = held.len();
                for place in &actor.on {
                    let (span, on) = (place.span(), place.get_ref());
                    let spread = [on.devices.get(copy as usize % on.devices.len()).copied().unwrap_or(0)];
                    for &card in if actor.spread { &spread[..] } else { &on.devices[..] } {
                        let place = find(&places, card, on.instance.as_deref(), file.device.get_ref())
                            .map_err(|what| scenario.error(span.clone(), &what))?;
                        let here = &places[place];
                        if begin < here.life.0 {
                            let what = "the process starts before its MIG instance exists; expected a later `at`";
                            return Err(scenario.error(span, what));
                        }
                        let setting = Setting {
                            begin,
                            total: here.size.0,
                            seed: mix(own_seed, held.len() as u64),
                            scale: 1.0 - actor.vary.0 * unit(own_seed, 1),
                            scatter: actor.copies > 1,
                        };
                        let (track, own_end) = Track::compile(&on.phases, &setting);
                        let torn_down =
                            (here.life.1 != u64::MAX).then_some(End { at: here.life.1, status: None, oom: false, orphan: false });
                        for candidate in own_end.into_iter().chain(torn_down) {
                            end = Some(end.filter(|end| end.at <= candidate.at).unwrap_or(candidate));
                        }
                        held.push(Held { actor: number, place, track });
                    }
                }
                if let Some(end) = end.filter(|end| !end.orphan) {
                    held.iter_mut().skip(first).for_each(|one: &mut Held| one.track.cut(end.at));
                }
                ends.push(end);
                actors.push(Performer { pid, begin, end: None, entry, seed: own_seed });
            }
        }
        let room: Vec<u64> = places.iter().map(|place| place.size.0 - place.reserved.0 - place.overhead).collect();
        settle(&mut held, &mut ends, &room, horizon)
            .map_err(|_| scenario.error(file.duration.span(), "the story changes too often; expected a shorter duration"))?;
        let mut tails = vec![0_u128; places.len()];
        for one in held {
            tails[one.place] += u128::from(one.track.max_from(horizon - 1));
            places[one.place].held.push(Holding { actor: one.actor, track: one.track });
        }
        for (actor, end) in actors.iter_mut().zip(ends) {
            actor.end = end;
        }
        let fits = tails.iter().zip(&room).all(|(&tail, &room)| tail <= u128::from(room));
        let after = match &file.repeat_from {
            Some(from) => After::Repeat { from: from.get_ref().us(), span: horizon - from.get_ref().us() },
            None if fits => After::Continue,
            None => After::Stop(horizon - 1),
        };
        if let (After::Repeat { from, .. }, Some(span)) = (after, file.repeat_from.as_ref().map(toml::Spanned::span)) {
            let ends = |actor: &Performer| actor.end.is_some_and(|end| end.at < horizon);
            for actor in &actors {
                let pid = actor.pid;
                let what = if actor.begin < from && ends(actor) && actor.end.is_some_and(|end| end.at >= from) {
                    format!("process {pid} runs at `repeat_from` and ends later; expected one that lasts")
                } else if actor.begin > from && !ends(actor) {
                    format!("process {pid} comes after `repeat_from` and outlasts `duration`; expected one that ends")
                } else {
                    continue;
                };
                return Err(scenario.error(span, &what));
            }
        }
        let by_pid = actors.iter().enumerate().map(|(n, actor)| (actor.pid, n)).collect();
        let name = Arc::from(scenario.name.as_str());
        let mut world = Self {
            name,
            scenario: scenario.clone(),
            places,
            actors,
            by_pid,
            cards,
            heads: HashSet::new(),
            after,
            killed: Vec::new(),
            dismissed: Vec::new(),
        };
        world.heads = world.find_heads();
        Ok(world)
    }

    /// The scenario's name.
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// The scenario it was made of.
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// The machine's name.
    pub fn host_name(&self) -> String {
        clean(&self.scenario.file.node.host, 64)
    }

    /// The user who looks on: name and number.
    pub fn me(&self) -> (String, u32) {
        (clean(&self.scenario.file.node.me, 64), self.scenario.file.node.uid)
    }

    /// Versions of the driver and of CUDA.
    pub fn versions(&self) -> (String, String) {
        (clean(&self.scenario.file.node.driver, 40), clean(&self.scenario.file.node.cuda, 40))
    }

    /// Whether the driver keeps the sizes of single processes to itself (WDDM, WSL2).
    pub fn sizes_unavailable(&self) -> bool {
        self.scenario.file.node.sizes_unavailable
    }

    /// How the driver library as a whole behaves.
    pub fn driver(&self) -> &Driver {
        self.scenario.driver()
    }

    /// How many cards there are, lost ones counted.
    pub fn cards(&self) -> u32 {
        self.cards
    }

    /// Cards by number, then MIG instances; those that exist only at other times too.
    pub fn places(&self) -> &[Place] {
        &self.places
    }

    /// A card or instance.
    pub fn place(&self, gpu: Gpu) -> Option<&Place> {
        self.places.get(gpu.0 as usize)
    }

    /// Whether a MIG instance exists at a time; a card always does.
    pub fn exists(&self, place: &Place, t: Timestamp) -> bool {
        (place.life.0..place.life.1).contains(&self.moment(t).local)
    }

    /// The instances that a card has at a time.
    pub fn instances(&self, card: u32, t: Timestamp) -> impl Iterator<Item = &Place> {
        let all = self.places.get(card as usize).map_or(&[][..], |card| &card.instances);
        all.iter().filter_map(|&n| self.places.get(n)).filter(move |place| self.exists(place, t))
    }

    /// Whether a card was ever split, and so has its MIG mode on.
    pub fn mig_enabled(&self, card: u32) -> bool {
        self.places.get(card as usize).is_some_and(|card| !card.instances.is_empty())
    }

    /// What of the story is told at a time.
    pub(super) fn moment(&self, Timestamp(t): Timestamp) -> Moment {
        let (local, round) = match self.after {
            After::Stop(last) => (t.min(last), 0),
            After::Repeat { from, span } if t >= from + span => (from + (t - from) % span, (t - from) / span),
            After::Repeat { .. } | After::Continue => (t, 0),
        };
        Moment { t, local, round }
    }

    /// Ends a process at a time, and says whether it lived then: what it holds is free from that moment on, and nothing else
    /// changes. Of the story told anew, the process that takes its part lives again.
    pub fn kill(&mut self, key: ProcessKey, t: Timestamp) -> bool {
        if self.stands_by(key, t) {
            self.dismissed.push((key.pid.0, t.0));
            return true;
        }
        let Some(actor) = self.living(key, t) else { return false };
        let round = self.actors.get(actor).and_then(|one| self.renewed(one)).map(|_| self.moment(t).round);
        // One that lives through every round, or the newest of one that is new in each: older ends no longer matter.
        self.killed.retain(|killed| killed.actor != actor);
        self.killed.push(Killed { actor, at: t.0, round });
        true
    }

    /// Whether a process of the story lives at a time.
    pub fn lives(&self, key: ProcessKey, t: Timestamp) -> bool {
        self.stands_by(key, t) || self.living(key, t).is_some()
    }

    fn living(&self, key: ProcessKey, t: Timestamp) -> Option<usize> {
        let moment = self.moment(t);
        let number = self.number(key.pid)?;
        let actor = self.actors.get(number)?;
        let same = self.pid(actor, moment.round) == key.pid && Some(self.start(actor, moment.round)) == key.start;
        (same && self.is_alive(number, moment)).then_some(number)
    }

    /// When a process of a round began, in `/proc` clock ticks since boot.
    pub(super) fn start(&self, actor: &Performer, round: u64) -> u64 {
        let began = actor.begin + self.renewed(actor).unwrap_or(0) * round;
        (BOOTED * 10_000 + began).saturating_sub(self.entry(actor).age.us()) / 10_000
    }

    fn is_killed(&self, actor: usize, moment: Moment) -> bool {
        self.killed.iter().any(|killed| {
            killed.actor == actor && moment.t >= killed.at && killed.round.is_none_or(|round| round == moment.round)
        })
    }

    /// What is used on a device, to the byte: holders, orphans, hidden ones and the driver's own.
    pub fn used(&self, gpu: Gpu, t: Timestamp) -> Bytes {
        let moment = self.moment(t);
        self.place(gpu).map_or(Bytes::ZERO, |place| Bytes(self.used_at(place, moment)))
    }

    fn used_at(&self, place: &Place, moment: Moment) -> u64 {
        if !(place.life.0..place.life.1).contains(&moment.local) {
            return 0;
        }
        let held = place.held.iter().filter(|held| !self.is_killed(held.actor, moment) && !self.is_let_go(held.actor, moment));
        let own: u64 = held.map(|held| held.track.value(moment.local)).sum();
        let inner: u64 = place.instances.iter().map(|&n| self.used_at(&self.places[n], moment)).sum();
        place.overhead + own + inner
    }

    /// The driver's figures for a device; none for unified memory, where it gives none.
    pub fn figures(&self, gpu: Gpu, t: Timestamp) -> Option<MemoryFigures> {
        let place = self.place(gpu)?;
        let total = *place.device.total.as_ref().ok()?;
        let taken = self.used(gpu, t).saturating_add(place.reserved);
        Some(MemoryFigures { total, free: total.saturating_sub(taken), reserved: Some(place.reserved) })
    }

    /// The processes that the driver lists on a device, appended to `rows`. A card lists those of its instances too.
    pub fn rows(&self, gpu: Gpu, t: Timestamp, rows: &mut Vec<Row>) {
        if let Some(place) = self.place(gpu) {
            let moment = self.moment(t);
            self.rows_at(place, None, moment, rows);
            for &n in &place.instances {
                let instance = &self.places[n];
                self.rows_at(instance, Some(instance.device.gpu), moment, rows);
            }
        }
    }

    fn rows_at(&self, place: &Place, instance: Option<Gpu>, moment: Moment, rows: &mut Vec<Row>) {
        let Moment { local, round, .. } = moment;
        for held in &place.held {
            let actor = &self.actors[held.actor];
            let entry = self.entry(actor);
            if !self.is_alive(held.actor, moment) || entry.hidden {
                continue;
            }
            let used = held.track.value(local);
            if used == 0 {
                continue;
            }
            let utilization = flicker(held.track.utilization(local), actor.seed, local);
            rows.push(Row { pid: self.pid(actor, round), used: Bytes(used), kind: entry.kind.0, instance, utilization });
        }
    }

    pub(super) fn entry(&self, actor: &Performer) -> &Actor {
        self.scenario.file.process[actor.entry].get_ref()
    }

    /// Whether a process is a new one in each round: all that live in the part that repeats, but for those that live
    /// through it.
    pub(super) fn renewed(&self, actor: &Performer) -> Option<u64> {
        match self.after {
            After::Repeat { from, span } if actor.begin > from || (actor.begin == from && actor.end.is_some()) => Some(span),
            _ => None,
        }
    }

    pub(super) fn pid(&self, actor: &Performer, round: u64) -> Pid {
        Pid(self.renewed(actor).map_or(actor.pid, |_| actor.pid + ROUND * (round % ROUNDS) as u32))
    }

    pub(super) fn number(&self, pid: Pid) -> Option<usize> {
        let base = if matches!(self.after, After::Repeat { .. }) { pid.0 % ROUND } else { pid.0 };
        self.by_pid.get(&base).copied()
    }

    pub(super) fn performer(&self, pid: Pid) -> Option<&Performer> {
        self.actors.get(self.number(pid)?)
    }

    /// The largest memory that a process had on a device after `from` up to `to`, by the story to the byte.
    pub fn peak(&self, pid: Pid, gpu: Gpu, from: Timestamp, to: Timestamp) -> Option<Bytes> {
        let wanted = self.performer(pid)?.pid;
        // The start of a round is where its story begins; what came before belongs to another process.
        let (from, to) = (self.moment(from).local, self.moment(to).local);
        let from = if from > to { 0 } else { from };
        let place = self.place(gpu)?;
        let places = std::iter::once(place).chain(place.instances.iter().filter_map(|&n| self.places.get(n)));
        let held = places.flat_map(|place| &place.held).filter(|held| self.actors[held.actor].pid == wanted);
        held.map(|held| Bytes(held.track.max_between(from, to))).max()
    }

    /// CPU in percent of one core, and resident memory on the host.
    pub fn on_host(&self, pid: Pid, t: Timestamp) -> (f32, Bytes) {
        let local = self.moment(t).local;
        let Some(actor) = self.performer(pid) else { return (0.0, Bytes::ZERO) };
        let entry = self.entry(actor);
        (flicker(entry.cpu.0, actor.seed ^ 0xc9, local), resident(entry, actor, local))
    }

    pub(super) fn is_alive(&self, actor: usize, moment: Moment) -> bool {
        let in_story = |actor: &Performer| moment.local >= actor.begin && actor.end.is_none_or(|end| end.at > moment.local);
        self.actors.get(actor).is_some_and(in_story) && !self.is_killed(actor, moment)
    }

    /// The host's memory. Unified memory counts in it.
    pub fn host(&self, t: Timestamp) -> HostMemory {
        let moment = self.moment(t);
        let node = &self.scenario.file.node;
        let living = self.actors.iter().enumerate().filter(|(number, _)| self.is_alive(*number, moment));
        let resident: Bytes = living.map(|(_, actor)| resident(self.entry(actor), actor, moment.local)).sum();
        let unified: Bytes = self
            .places
            .iter()
            .filter(|place| place.device.memory == MemoryKind::Unified)
            .map(|place| Bytes(self.used_at(place, moment)))
            .sum();
        let used = node.memory_used.0.saturating_add(resident).saturating_add(unified);
        let swap_used = Bytes(node.swap.0.0 / 50 / 4096 * 4096);
        HostMemory { total: node.memory.0, available: node.memory.0.saturating_sub(used), swap_used, swap_total: node.swap.0 }
    }

    /// Percent of time in which a device is busy. Not told for cards with MIG instances.
    pub fn utilization(&self, gpu: Gpu, t: Timestamp) -> Option<f32> {
        let place = self.place(gpu)?;
        let split = place.instance.is_some() || !place.instances.is_empty();
        (!split).then(|| self.busy(place, self.moment(t)))
    }

    fn busy(&self, place: &Place, moment: Moment) -> f32 {
        let local = moment.local;
        // Summed from +0: the sum of nothing is −0 otherwise, which a reader sees.
        let own = place
            .held
            .iter()
            .filter(|held| self.is_alive(held.actor, moment))
            .map(|held| flicker(held.track.utilization(local), self.actors[held.actor].seed, local));
        let inner = place.instances.iter().map(|&n| self.busy(&self.places[n], moment));
        own.chain(inner).fold(0.0, |sum: f32, busy| sum + busy).min(100.0).round()
    }

    /// °C and W. A card warms and cools within some 20 s.
    pub fn heat(&self, gpu: Gpu, t: Timestamp) -> Option<(f32, f32)> {
        let place = self.places.get(self.place(gpu)?.card as usize)?;
        let moment = self.moment(t);
        // A killed process still warms the card by what it did before.
        let before = |back: u64| Moment { t: moment.t.saturating_sub(back), local: moment.local.saturating_sub(back), ..moment };
        let (mut sum, mut weight) = (0.0, 0.0);
        for back in 0..6_u64 {
            let share = 0.7_f32.powi(i32::try_from(back).unwrap_or(0));
            sum += share * self.busy(place, before(back * 4_000_000));
            weight += share;
        }
        let ([cool, hot], [idle, full]) = (place.temperature, place.power);
        let draw = flicker(self.busy(place, moment), u64::from(place.card), moment.local) / 100.0;
        Some(((cool + (hot - cool) * sum / weight / 100.0).round(), ((idle + (full - idle) * draw) * 10.0).round() / 10.0))
    }

    /// When the processes of the story end the first time, in order.
    pub fn endings(&self) -> Vec<Ending> {
        let mut endings: Vec<Ending> = self
            .actors
            .iter()
            .filter_map(|actor| {
                let End { at, status, oom, .. } = actor.end?;
                Some(Ending { pid: Pid(actor.pid), t: Timestamp(at), status, out_of_memory: oom })
            })
            .collect();
        endings.sort_by_key(|ending| (ending.t, ending.pid));
        endings
    }

    /// The status with which a process ended by a time, if its end is part of the story; none where it was killed.
    pub fn status(&self, pid: Pid, t: Timestamp) -> Option<i32> {
        let number = self.number(pid)?;
        if self.is_killed(number, self.moment(t)) { None } else { self.actors.get(number)?.end?.status }
    }

    /// The faults that strike a call at a time, in the file's order.
    pub fn faults<'a>(&'a self, call: &'a str, card: Option<u32>, t: Timestamp) -> impl Iterator<Item = &'a Fault> {
        self.scenario.file.fault.iter().map(toml::Spanned::get_ref).filter(move |fault| fault.strikes(call, card, t))
    }

    /// When and how a card falls off the bus.
    pub fn losses(&self, card: u32) -> impl Iterator<Item = &Lost> {
        self.scenario.file.lost.iter().map(toml::Spanned::get_ref).filter(move |lost| lost.device == card)
    }

    /// Whether a card is off the bus at a time.
    pub fn is_lost(&self, card: u32, t: Timestamp) -> bool {
        self.losses(card).any(|lost| lost.away(t))
    }

    /// The cards in the order of the driver's index at a time.
    pub fn order(&self, t: Timestamp) -> Vec<u32> {
        let mut order: Vec<u32> = (0..self.cards).collect();
        for lost in self.scenario.file.lost.iter().map(toml::Spanned::get_ref) {
            let back = lost.to.is_some_and(|to| t.0 >= to.us());
            if let Some(index) = lost.index.filter(|_| back) {
                order.retain(|&card| card != lost.device);
                order.insert((index as usize).min(order.len()), lost.device);
            }
        }
        order
    }

    /// Where the story is told from again, if it is.
    pub fn repeats(&self) -> Option<Period> {
        if let After::Repeat { span, .. } = self.after { Some(Period(span)) } else { None }
    }
}

/// What a process has on the host: it grows to its size while the process starts.
fn resident(entry: &Actor, actor: &Performer, local: u64) -> Bytes {
    let age = local.saturating_sub(actor.begin).saturating_add(entry.age.us());
    let grown = (age as f64 / 8e6).clamp(0.08, 1.0);
    Bytes((entry.rss.0.0 as f64 * grown) as u64 / 4096 * 4096)
}

/// A load as it is measured: a little different every second.
fn flicker(load: f32, seed: u64, local: u64) -> f32 {
    if load <= 0.0 {
        return 0.0;
    }
    let wobble = (unit(seed, local / 1_000_000) as f32 - 0.5) * 0.06 * load;
    if load <= 100.0 { (load + wobble).clamp(0.0, 100.0).round() } else { (load + wobble).round() }
}
