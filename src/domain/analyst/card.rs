//! One device or MIG instance, as the analyst follows it.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use super::held::Held;
use super::loading::Loading;
use super::loose::{Loose, Pile};
use super::mib;
use super::phases::Phases;
use super::risk::Judge;
use super::shape::{About, Growths, shape};
use super::signal::{Scale, Signal};
use super::trend::Trend;
use crate::domain::{
    Anatomy, Device, DeviceState, Holder, HostMemory, MemoryFigures, MemoryKind, Pid, Process, Reading, Risk, Shape, Timestamp,
    Usage,
};

/// Holders of a device that are followed.
pub(crate) const FOLLOWED: usize = 16;
/// Holders that are gone but not yet forgotten.
const GONE: usize = 8;

/// A device.
#[derive(Debug)]
pub(crate) struct Card {
    pub(crate) device: Arc<Device>,
    pub(crate) scale: Scale,
    /// Used memory; on unified memory what the holders have.
    pub(crate) signal: Signal,
    /// On unified memory: what the host has in use.
    pub(crate) pressure: Signal,
    /// The level at which nothing is free.
    pub(crate) limit: Option<f64>,
    /// Whether the last reading of memory was good.
    pub(crate) readable: bool,
    pub(crate) state: DeviceState,
    /// Since when, and the call that does not return.
    pub(crate) state_since: (f64, Option<&'static str>),
    /// What no holder has.
    pub(crate) loose: Loose,
    /// Sum of the newest list, until memory is read after it.
    awaiting: Option<f64>,
    /// Many equal small holders.
    pub(crate) pile: Option<Pile>,
    /// Least and most load of the last 20 s.
    pub(crate) load_range: Option<(f32, f32)>,
    loads: VecDeque<(f64, f32)>,
    pub(crate) phases: Phases,
    /// By pid; at most [`FOLLOWED`].
    pub(crate) held: Vec<Held>,
    /// Newest last.
    pub(crate) gone: Vec<Held>,
    /// Lists come; when the newest one was good.
    pub(crate) listed: Option<f64>,
    /// All holders of the newest list.
    pub(crate) count: usize,
    /// Percent, and when it was told.
    pub(crate) load: Option<(f64, f32)>,
    pub(crate) trend: Option<Trend>,
    growths: Growths,
    pub(crate) loading: Loading,
    pub(crate) judge: Judge,
}

impl Card {
    pub(crate) fn new(device: &Arc<Device>, host: Option<HostMemory>) -> Self {
        let total = device.total.as_ref().map_or(16_384.0, |total| mib(*total));
        let mut card = Self {
            device: Arc::clone(device),
            scale: Scale::of(total),
            signal: Signal::default(),
            pressure: Signal::default(),
            limit: None,
            readable: false,
            state: DeviceState::Ok,
            state_since: (0.0, None),
            loose: Loose::default(),
            awaiting: None,
            pile: None,
            load_range: None,
            loads: VecDeque::new(),
            phases: Phases::default(),
            held: Vec::new(),
            gone: Vec::new(),
            listed: None,
            count: 0,
            load: None,
            trend: None,
            growths: Growths::default(),
            loading: Loading::default(),
            judge: Judge::new(device.gpu),
        };
        if let Some(host) = host {
            card.size_by(&host);
        }
        card
    }

    pub(crate) fn rebind(&mut self, device: &Arc<Device>) {
        self.device = Arc::clone(device);
    }

    fn unified(&self) -> bool {
        self.device.memory == MemoryKind::Unified
    }

    /// The series that fills up: the host's on unified memory.
    pub(crate) fn filling(&self) -> &Signal {
        if self.unified() && self.device.total.is_err() { &self.pressure } else { &self.signal }
    }

    /// Takes a reading; whether about a second is complete.
    pub(crate) fn memory(&mut self, t: Timestamp, figures: &Reading<MemoryFigures>) -> bool {
        let Ok(figures) = figures else {
            if !self.unified() {
                self.readable = false;
                self.signal.gap();
            }
            return false;
        };
        let (used, free) = (mib(figures.used()), mib(figures.free));
        let total = mib(figures.total);
        if (total - self.scale.total).abs() > 1.0 {
            self.scale = Scale::of(total);
        }
        self.readable = true;
        if let Some(sum) = self.awaiting.take() {
            self.loose.push(t.as_secs_f64(), (used - sum).max(0.0));
        }
        if !self.unified() {
            self.limit = Some(used + free.min(total));
        }
        self.signal.push(t.as_secs_f64(), used, &self.scale)
    }

    fn size_by(&mut self, host: &HostMemory) {
        if self.unified() && self.device.total.is_err() {
            self.scale = Scale::of(mib(host.total));
            self.limit = Some(mib(host.total));
        }
    }

    /// Takes the host's figures; this device where it lives off them and about a second is complete.
    pub(crate) fn host(&mut self, t: Timestamp, host: &HostMemory) -> Option<crate::domain::Gpu> {
        if !self.unified() || self.device.total.is_ok() {
            return None;
        }
        self.size_by(host);
        self.readable = true;
        let done = self.pressure.push(t.as_secs_f64(), mib(host.total.saturating_sub(host.available)), &self.scale);
        done.then_some(self.device.gpu)
    }

    /// Takes a list; whether it completed a second of a series that has no readings of its own.
    pub(crate) fn list(&mut self, t: Timestamp, list: Option<&[Holder]>, people: &BTreeMap<Pid, Arc<Process>>) -> bool {
        let at = t.as_secs_f64();
        let Some(list) = list else {
            self.held.iter_mut().for_each(|held| held.signal.gap());
            return false;
        };
        let known = self.listed.is_some();
        self.listed = Some(at);
        self.count = list.len();
        // The largest are followed; of one that stands in it twice (on a parent: once per instance) the sum.
        let mut sizes: BTreeMap<Pid, (Option<f64>, &Holder)> = BTreeMap::new();
        for holder in list {
            let used = holder.used.as_ref().ok().map(|used| mib(*used));
            let entry = sizes.entry(holder.pid).or_insert((None, holder));
            entry.0 = match (entry.0, used) {
                (Some(a), Some(b)) => Some(a + b),
                (a, b) => a.or(b),
            };
        }
        let mut order: Vec<(Pid, f64)> = sizes
            .iter()
            .map(|(pid, (used, _))| {
                let bonus = if self.held.iter().any(|held| held.pid == *pid) { 1.25 } else { 1.0 };
                (*pid, used.unwrap_or(0.0) * bonus)
            })
            .collect();
        order.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        order.truncate(FOLLOWED);
        let keep: Vec<Pid> = order.iter().map(|(pid, _)| *pid).collect();
        let mut left = Vec::new();
        self.held.retain_mut(|held| {
            let start = people.get(&held.pid).and_then(|process| process.key.start);
            let reused = held.start.is_some() && start.is_some() && held.start != start;
            let there = sizes.contains_key(&held.pid) && !reused;
            if !there {
                held.gone = Some(at);
                left.push(held.clone());
            }
            there && keep.contains(&held.pid)
        });
        for held in left {
            if self.gone.len() >= GONE {
                self.gone.remove(0);
            }
            self.gone.push(held);
        }
        for pid in keep {
            let Some((used, holder)) = sizes.get(&pid) else { continue };
            let process = people.get(&pid);
            let place = self.held.binary_search_by_key(&pid, |held| held.pid);
            let place = place.unwrap_or_else(|place| {
                self.held.insert(place, Held::new(holder, process, at, known));
                place
            });
            if let Some(held) = self.held.get_mut(place) {
                if let Some(process) = process {
                    held.process = Some(Arc::clone(process));
                    held.start = process.key.start;
                }
                held.kind = holder.kind;
                held.push(at, *used, &self.scale);
            }
        }
        let sum: Option<f64> = sizes.values().map(|(used, _)| *used).sum();
        self.awaiting = sum;
        self.pile = Pile::of(at, &sizes, people, self.pile);
        if self.unified() && self.device.total.is_err() {
            return sum.is_some_and(|sum| self.signal.push(at, sum, &self.scale)) && self.pressure.last().is_none();
        }
        false
    }

    pub(crate) fn usage(&mut self, t: Timestamp, usage: &Usage) {
        if let Ok(load) = usage.utilization {
            let now = t.as_secs_f64();
            self.load = Some((now, load));
            self.loads.push_back((now, load));
            while self.loads.front().is_some_and(|(at, _)| now - at > 20.0) || self.loads.len() > 64 {
                self.loads.pop_front();
            }
            let loads = self.loads.iter().map(|(_, load)| (*load, *load));
            self.load_range = loads.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
        }
        for held in &mut self.held {
            held.busy = usage.processes.iter().find(|of| of.pid == held.pid).and_then(|of| of.gpu.as_ref().ok().copied());
        }
    }

    /// Whether the device is known to compute.
    pub(crate) fn is_busy(&self, now: f64) -> bool {
        self.load.is_some_and(|(t, load)| now - t < 5.0 && load >= 30.0)
    }

    pub(crate) fn state(&mut self, t: f64, state: DeviceState, call: Option<&'static str>, since: f64) {
        self.state = state;
        self.state_since = (since.min(t), call);
        if state != DeviceState::Ok {
            self.gap();
        }
        if state == DeviceState::Lost {
            self.readable = false;
        }
    }

    pub(crate) fn gap(&mut self) {
        self.signal.gap();
    }

    pub(crate) fn holds(&self, pid: Pid) -> bool {
        self.held.binary_search_by_key(&pid, |held| held.pid).is_ok()
    }

    pub(crate) fn held_mut(&mut self, pid: Pid) -> Option<&mut Held> {
        self.held.binary_search_by_key(&pid, |held| held.pid).ok().and_then(|at| self.held.get_mut(at))
    }

    pub(crate) fn held_by(&self, pid: Pid) -> Option<&Held> {
        self.held.binary_search_by_key(&pid, |held| held.pid).ok().and_then(|at| self.held.get(at))
    }

    /// Who grew since a moment: the holder with the largest rise.
    pub(crate) fn grower(&self, since: f64) -> Option<(Pid, f64)> {
        let rises = self.held.iter().filter_map(|held| {
            let before = if held.first > since { 0.0 } else { held.signal.high().at(since)? };
            Some((held.pid, held.signal.ceiling() - before))
        });
        rises.filter(|(_, rise)| *rise > 0.0).max_by(|a, b| a.1.total_cmp(&b.1))
    }

    /// Where the memory of a process goes, as far as it was seen; none for one that was never listed.
    pub(crate) fn anatomy(&self, pid: Pid) -> Option<Anatomy> {
        self.held_by(pid).or_else(|| self.gone.iter().rev().find(|held| held.pid == pid)).map(|held| held.anatomy)
    }

    /// About a second is complete.
    pub(crate) fn beat(&mut self) {
        let mut loading = std::mem::take(&mut self.loading);
        loading.beat(self);
        self.loading = loading;
        self.trend = Trend::of(self.filling(), self.loading.settled(), &self.scale);
        let growing = self.trend.filter(|_| !self.loading.is_on());
        self.growths.take(self.filling().last().map_or(0.0, |last| last.t), growing.as_ref());
        let mut phases = std::mem::take(&mut self.phases);
        phases.beat(self);
        self.phases = phases;
    }

    /// Judges the risk at a reading; the new one where it is to be said.
    pub(crate) fn judge(&mut self, t: Timestamp, people: &BTreeMap<Pid, Arc<Process>>) -> Option<Arc<Risk>> {
        let mut judge = std::mem::take(&mut self.judge);
        let said = judge.judge(t, self, people);
        self.judge = judge;
        said
    }

    pub(crate) fn risk(&self) -> Option<&Arc<Risk>> {
        self.judge.risk()
    }

    pub(crate) fn shape(&self) -> Shape {
        let largest = self.held.iter().max_by(|a, b| a.used.unwrap_or(0.0).total_cmp(&b.used.unwrap_or(0.0)));
        let about = About {
            growths: &self.growths,
            loading: self.loading.is_on(),
            settled: self.loading.settled(),
            pool: largest.is_some_and(Held::is_pool),
        };
        shape(&self.signal, about, &self.scale)
    }

    pub(crate) fn holder_shape(&self, pid: Pid) -> Shape {
        let gone = || self.gone.iter().rev().find(|held| held.pid == pid);
        self.held_by(pid).or_else(gone).map_or(Shape::Unknown, |held| {
            // What grew before the card's load was over was that load.
            let settled = if held.born_here { self.loading.settled().min(held.first + 240.0) } else { 0.0 };
            let about = About { growths: &held.growths, loading: false, settled, pool: held.is_pool() };
            shape(&held.signal, about, &self.scale)
        })
    }
}
