//! The sample stream that a monitor on the simulated node would record: same scenario and options, same samples.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use super::fault::ErrorCode;
use super::hash::unit;
use super::layout::Place;
use super::world::{Row, World};
use crate::domain::owner::{self, FOREIGN_PID};
use crate::domain::process::ACCOUNTING_OFF;
use crate::domain::{
    Bytes, DeviceState, DeviceView, Gpu, Header, Health, Holder, MemoryFigures, Missing, Period, Pid, ProbeKind, ProcessKey,
    ProcessUsage, Reading, Sample, SampleBody, Timestamp, Usage, Wall,
};

/// The call whose faults the stream shows as those of memory.
const MEMORY_CALL: &str = "nvmlDeviceGetMemoryInfo_v2";
/// The call whose faults the stream shows as those of the process list.
const LIST_CALL: &str = "nvmlDeviceGetComputeRunningProcesses_v3";
/// How long a call may run before it is said not to answer.
const PATIENCE: Period = Period::secs(1);
/// A list is read early at most this often.
const SOONEST_LIST: Period = Period::millis(250);
const SECOND: Period = Period::secs(1);
/// The search for open nodes is made this often while memory is in nobody's name.
const BETWEEN_SEARCHES: Period = Period::secs(10);

/// How the simulated monitor samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamOptions {
    /// The wall clock at the stream's origin.
    pub created: Wall,
    /// Between two readings of a device's memory; at least 1 ms.
    pub memory_interval: Period,
    /// Between two readings of a device's process list; at least 1 ms.
    pub process_interval: Period,
}

impl Default for StreamOptions {
    /// The cadences of the program, on a day in 2026.
    fn default() -> Self {
        Self { created: Wall(1_796_047_200_000_000), memory_interval: Period::millis(50), process_interval: Period::secs(1) }
    }
}

/// The samples of a scenario, in order of time and without end.
#[derive(Debug)]
pub struct Stream {
    world: Arc<World>,
    options: StreamOptions,
    ready: VecDeque<Sample>,
    next_memory: Timestamp,
    next_list: Timestamp,
    begun: bool,
    told_init: bool,
    watched: Vec<Watched>,
    /// Processes whose facts are in the stream.
    known: HashMap<Pid, Known>,
    /// The heads of the trees that the viewer watches.
    trees: Vec<Pid>,
    /// The changes among bystanders that the facts in the stream know of.
    turns: usize,
    /// When the next search for open nodes may be, and whether something was to be explained at the last one.
    next_search: Timestamp,
    explained: bool,
    hinted: bool,
    /// Until when a process's peak on a device is known, and the peak.
    peaks: HashMap<(Pid, Gpu), (Timestamp, Bytes)>,
    rows: Vec<Row>,
}

/// What the simulated monitor knows of one device.
#[derive(Debug, Default)]
struct Watched {
    bound: bool,
    state: DeviceState,
    last: Option<(Timestamp, Reading<MemoryFigures>)>,
    last_good: Timestamp,
    /// When the call began that does not return.
    hanging: Option<Timestamp>,
    listed: Option<(Timestamp, Bytes)>,
}

/// What the stream said of a process.
#[derive(Clone, Copy, Debug)]
struct Known {
    start: Option<u64>,
    /// When a list named it last, and whose.
    seen: Timestamp,
    on: Gpu,
}

impl Stream {
    /// The stream from its origin.
    pub fn new(world: Arc<World>, options: StreamOptions) -> Self {
        let least = Period::millis(1);
        let options = StreamOptions {
            memory_interval: options.memory_interval.max(least),
            process_interval: options.process_interval.max(least),
            ..options
        };
        let watched = world.places().iter().map(|_| Watched::default()).collect();
        Self {
            world,
            options,
            ready: VecDeque::new(),
            next_memory: Timestamp::ZERO,
            next_list: Timestamp::ZERO,
            begun: false,
            told_init: false,
            watched,
            known: HashMap::new(),
            trees: Vec::new(),
            turns: 0,
            next_search: Timestamp::ZERO,
            explained: false,
            hinted: false,
            peaks: HashMap::new(),
            rows: Vec::new(),
        }
    }

    /// The same for a viewer who watches the trees of these processes.
    #[must_use]
    pub fn watching(mut self, trees: &[Pid]) -> Self {
        self.trees = trees.to_vec();
        self
    }

    /// Ends a process at a time that the stream has not passed: those of its later samples know of it.
    pub fn kill(&mut self, key: ProcessKey, t: Timestamp) -> bool {
        Arc::make_mut(&mut self.world).kill(key, t)
    }

    fn push(&mut self, t: Timestamp, body: SampleBody) {
        self.ready.push_back(Sample { t, body });
    }

    fn begin(&mut self) {
        let (driver, cuda) = self.world.versions();
        let header = Header {
            created: self.options.created,
            source: format!("demo:{}", self.world.name()).into(),
            simulated: true,
            host: Some(self.world.host_name().into()),
            driver: Ok(driver.into()),
            cuda: Ok(cuda.into()),
            me: Some(self.world.me().0.into()),
            foreign_pids: self.world.has_foreign_pids(),
        };
        self.push(Timestamp::ZERO, SampleBody::Header(Arc::new(header)));
        self.begun = true;
    }

    /// Everything that happens at the next tick.
    fn tick(&mut self) {
        let t = self.next_memory.min(self.next_list);
        let listing = t >= self.next_list;
        if listing {
            self.next_list = t + self.options.process_interval;
        }
        if t >= self.next_memory {
            self.next_memory = t + self.options.memory_interval;
        }
        let world = Arc::clone(&self.world);
        if world.driver().init_hang {
            if !self.told_init && t >= Timestamp::ZERO + PATIENCE {
                self.told_init = true;
                let (gpu, state, call) = (None, DeviceState::Stalled, Some("nvmlInit_v2"));
                self.push(t, SampleBody::State { gpu, state, call, since: Timestamp::ZERO });
            }
        } else {
            for (n, place) in world.places().iter().enumerate() {
                let mut watched = self.watched.get_mut(n).map(std::mem::take).unwrap_or_default();
                self.look(&mut watched, place, t, listing);
                if let Some(slot) = self.watched.get_mut(n) {
                    *slot = watched;
                }
            }
        }
        if listing {
            self.push(t, SampleBody::Host(world.host(t)));
            self.say_changes(t);
            self.search(t);
            self.say_exits(t);
        }
    }

    fn look(&mut self, watched: &mut Watched, place: &Place, t: Timestamp, listing: bool) {
        let world = Arc::clone(&self.world);
        let (gpu, card) = (place.device.gpu, Some(place.card));
        if !world.exists(place, t) {
            if std::mem::take(&mut watched.bound) {
                watched.state = DeviceState::Lost;
                self.push(t, SampleBody::State { gpu: Some(gpu), state: DeviceState::Lost, call: None, since: t });
            }
            return;
        }
        if !std::mem::replace(&mut watched.bound, true) {
            self.push(t, SampleBody::Device(Arc::clone(&place.device)));
        }
        let hanging = world.faults(MEMORY_CALL, card, t).any(|fault| fault.hang);
        if hanging {
            let since = *watched.hanging.get_or_insert(t);
            if watched.state != DeviceState::Stalled && t >= since + PATIENCE {
                watched.state = DeviceState::Stalled;
                let state = DeviceState::Stalled;
                self.push(t, SampleBody::State { gpu: Some(gpu), state, call: Some(MEMORY_CALL), since });
            }
            return;
        }
        watched.hanging = None;
        let figures = self.read(place, t);
        let state = match &figures {
            Err(Missing::Lost(_)) => DeviceState::Lost,
            Err(Missing::Failed(_) | Missing::Denied(_)) => DeviceState::Failed,
            _ => DeviceState::Ok,
        };
        if state != watched.state {
            if state == DeviceState::Ok {
                let reason = if watched.state == DeviceState::Stalled { "driver did not answer" } else { "device was lost" };
                self.push(t, SampleBody::Gap { gpu, from: watched.last_good, reason: reason.into() });
                watched.listed = None;
            }
            watched.state = state;
            let call = (state != DeviceState::Ok).then_some(MEMORY_CALL);
            self.push(t, SampleBody::State { gpu: Some(gpu), state, call, since: t });
        }
        let moved = watched.listed.is_none_or(|(_, used)| {
            let jump = figures.as_ref().map_or(0, |now| now.used().0.abs_diff(used.0));
            jump >= (64 << 20_u64).max(place.size.0 / 200)
        });
        let rested = watched.listed.is_none_or(|(at, _)| t.since(at) >= SOONEST_LIST);
        let listed = listing || (moved && rested && figures.is_ok());
        if listed && state != DeviceState::Lost {
            self.list(place, t, listing);
            watched.listed = Some((t, figures.as_ref().map(MemoryFigures::used).unwrap_or_default()));
        }
        let due =
            watched.last.as_ref().is_none_or(|(at, last)| *last != figures || t + self.options.memory_interval > *at + SECOND);
        if figures.is_ok() {
            watched.last_good = t;
        }
        // A list is always followed by memory: the sums are taken from the two together.
        if due || listed {
            watched.last = Some((t, figures.clone()));
            self.push(t, SampleBody::Memory { gpu, figures });
        }
        if listing {
            self.say_pace(gpu, t);
        }
    }

    fn read(&self, place: &Place, t: Timestamp) -> Reading<MemoryFigures> {
        if self.world.is_lost(place.card, t) {
            return Err(Missing::Lost("GPU is lost".into()));
        }
        if let Some(code) = self.world.faults(MEMORY_CALL, Some(place.card), t).find_map(|fault| fault.error) {
            return Err(missing(code));
        }
        let shared = || Missing::Unsupported("memory is shared with the host".into());
        self.world.figures(place.device.gpu, t).ok_or_else(shared)
    }

    /// The process list of a device, the facts of those not met before, and at the regular times their load.
    fn list(&mut self, place: &Place, t: Timestamp, regular: bool) {
        let world = Arc::clone(&self.world);
        let gpu = place.device.gpu;
        if let Some(code) = world.faults(LIST_CALL, Some(place.card), t).find_map(|fault| fault.error) {
            self.push(t, SampleBody::Holders { gpu, list: Err(missing(code)) });
            return;
        }
        let mut rows = std::mem::take(&mut self.rows);
        rows.clear();
        world.rows(gpu, t, &mut rows);
        for row in &rows {
            let start = world.key(row.pid, t).and_then(|key| key.start);
            if self.known.get(&row.pid).is_none_or(|known| known.start != start)
                && let Some(process) = world.process_watched(row.pid, t, self.options.created, &self.trees)
            {
                if world.has_foreign_pids() && !std::mem::replace(&mut self.hinted, true) {
                    self.push(t, SampleBody::Health(owner::foreign_pids()));
                }
                self.push(t, SampleBody::Process(Arc::new(process)));
            }
            self.known.insert(row.pid, Known { start, seen: t, on: gpu });
        }
        let unavailable = world.sizes_unavailable();
        let size = |row: &Row| if unavailable { Err(Missing::Unsupported("WDDM keeps it".into())) } else { Ok(row.used) };
        let list = rows
            .iter()
            .map(|row| Holder { pid: row.pid, used: size(row), kind: row.kind, instance: row.instance })
            .collect::<Arc<[Holder]>>();
        self.push(t, SampleBody::Holders { gpu, list: Ok(list) });
        if regular {
            let utilization = world.utilization(gpu, t);
            let split = || Missing::Unsupported("not told for MIG".into());
            let heat = world.heat(gpu, t);
            let processes = rows
                .iter()
                .map(|row| {
                    let (cpu, rss) = world.on_host(row.pid, t);
                    ProcessUsage {
                        pid: row.pid,
                        gpu: if utilization.is_some() { Ok(row.utilization) } else { Err(split()) },
                        cpu: Ok(cpu),
                        rss: Ok(rss),
                        state: Ok(if cpu > 50.0 { 'R' } else { 'S' }),
                        accounted: self.account(row, gpu, t),
                    }
                })
                .collect();
            let usage = Usage {
                gpu,
                utilization: utilization.ok_or_else(split),
                temperature: heat.map(|(temperature, _)| temperature).ok_or(Missing::Pending),
                power: heat.map(|(_, power)| power).ok_or(Missing::Pending),
                processes,
            };
            self.push(t, SampleBody::Usage(Arc::new(usage)));
        }
        self.rows = rows;
    }

    /// The driver's account of a process: its peak to the byte, whatever the interval.
    fn account(&mut self, row: &Row, gpu: Gpu, t: Timestamp) -> Reading<Bytes> {
        if !self.world.driver().accounting {
            return Err(ACCOUNTING_OFF);
        }
        let (until, peak) = self.peaks.get(&(row.pid, gpu)).copied().unwrap_or_default();
        let newer = self.world.peak(row.pid, gpu, until, t).unwrap_or_default();
        let peak = peak.max(newer).max(row.used);
        self.peaks.insert((row.pid, gpu), (t, peak));
        Ok(peak)
    }

    /// Records of processes whose parents ended or became zombies.
    fn say_changes(&mut self, t: Timestamp) {
        let turns = self.world.turns(t);
        if std::mem::replace(&mut self.turns, turns) == turns {
            return;
        }
        let mut known: Vec<Pid> = self.known.keys().copied().collect();
        known.sort_unstable();
        for pid in known {
            if let Some(process) = self.world.process_watched(pid, t, self.options.created, &self.trees) {
                self.push(t, SampleBody::Process(Arc::new(process)));
            }
        }
    }

    /// The search for open nodes: at the beginning, and now and then while memory is in nobody's name.
    fn search(&mut self, t: Timestamp) {
        if t < self.next_search {
            return;
        }
        let world = Arc::clone(&self.world);
        let notable = world.places().iter().any(|place| {
            self.rows.clear();
            world.rows(place.device.gpu, t, &mut self.rows);
            let held: Bytes = self.rows.iter().map(|row| row.used).sum();
            let used = if world.sizes_unavailable() { held } else { world.used(place.device.gpu, t) };
            world.exists(place, t) && used.saturating_sub(held) > DeviceView::NOTABLE
        });
        if t > Timestamp::ZERO && !notable && !self.explained {
            return;
        }
        self.explained = notable;
        self.next_search = t + BETWEEN_SEARCHES;
        if world.has_foreign_pids() {
            return self.push(t, SampleBody::Handles { list: Err(FOREIGN_PID), denied: 0 });
        }
        let found = world.handles(t);
        for handle in &found {
            let (pid, start) = (handle.key.pid, handle.key.start);
            if self.known.get(&pid).is_none_or(|known| known.start != start)
                && let Some(process) = world.process_watched(pid, t, self.options.created, &self.trees)
            {
                self.push(t, SampleBody::Process(Arc::new(process)));
                self.known.insert(pid, Known { start, seen: t, on: handle.gpus.first().copied().unwrap_or(Gpu(0)) });
            }
        }
        self.push(t, SampleBody::Handles { list: Ok(found.into()), denied: 0 });
    }

    /// Processes that no list of this moment names are gone, unless their device does not answer.
    fn say_exits(&mut self, t: Timestamp) {
        let answers = |gpu: Gpu| {
            let watched = self.watched.get(gpu.0 as usize);
            watched.is_none_or(|watched| !watched.bound || watched.listed.is_some_and(|(at, _)| at == t))
        };
        let open: Vec<Pid> = self.world.handles(t).iter().map(|handle| handle.key.pid).collect();
        let gone = self.known.iter().filter(|(pid, known)| known.seen < t && answers(known.on) && !open.contains(pid));
        let mut gone: Vec<Pid> = gone.map(|(&pid, _)| pid).collect();
        gone.sort_unstable();
        for pid in gone {
            self.known.remove(&pid);
            let status = self.world.status(pid, t);
            self.push(t, SampleBody::Exit { pid, status });
        }
    }

    /// What a driver call would have cost, once a second.
    fn say_pace(&mut self, gpu: Gpu, t: Timestamp) {
        let draw = |n: u64| (unit(u64::from(gpu.0) ^ n, t.0) * 9.0) as u64;
        for (kind, asked, call) in [
            (ProbeKind::Memory, self.options.memory_interval, 14 + draw(1)),
            (ProbeKind::Processes, self.options.process_interval, 130 + 4 * draw(2)),
        ] {
            let (achieved, worst) = (Some(asked), Period::micros(call * 2 + draw(3)));
            let call = Period::micros(call);
            self.push(
                t,
                SampleBody::Health(Health::Pace { gpu, kind, asked, achieved, call, worst, missed: 0, backed_off: false }),
            );
        }
    }
}

impl Iterator for Stream {
    type Item = Sample;

    fn next(&mut self) -> Option<Sample> {
        if !self.begun {
            self.begin();
        }
        while self.ready.is_empty() {
            self.tick();
        }
        self.ready.pop_front()
    }
}

/// What a reader makes of an error.
fn missing(code: ErrorCode) -> Missing {
    match code {
        ErrorCode::NotSupported => Missing::Unsupported("by this device".into()),
        ErrorCode::NoPermission => Missing::Denied("insufficient permissions".into()),
        ErrorCode::GpuIsLost => Missing::Lost("GPU is lost".into()),
        ErrorCode::ResetRequired => Missing::Lost("GPU requires reset".into()),
        code => Missing::Failed(format!("NVML error {}", code.number()).into()),
    }
}
