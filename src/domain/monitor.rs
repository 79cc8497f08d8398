//! The pure fold over the sample stream: same samples in, same snapshot out.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::advice::{Facts, advise};
use super::snapshot::{Handle, Pace, Problem};
use super::{
    Analyst, Anatomy, Balance, Bytes, Device, DeviceState, DeviceView, Finding, Gpu, Header, Health, Holder, HolderView,
    HostMemory, MemoryFigures, MemoryKind, Missing, Period, Pid, ProbeKind, Process, ProcessKey, Reading, Said, Sample,
    SampleBody, Series, Snapshot, Timestamp, Usage,
};

/// How many holders of a device have a history of their own; the rest is "others".
pub const TRACKED: usize = 16;

/// How many holders that are gone keep their history, and for how long.
const GONE: usize = 16;
const GONE_FOR: Period = Period::secs(86_400);

/// How many processes without memory on any device are remembered.
const IDLE_PROCESSES: usize = 4_096;

/// Folds samples into a [`Snapshot`].
#[derive(Debug)]
pub struct Monitor {
    at: Timestamp,
    header: Option<Arc<Header>>,
    devices: BTreeMap<Gpu, Tracked>,
    processes: HashMap<Pid, Arc<Process>>,
    host: Option<HostMemory>,
    driver_stall: Option<(&'static str, Timestamp)>,
    dropped: u64,
    problems: Arc<[Problem]>,
    marks: Arc<[(Timestamp, Arc<str>)]>,
    handles: Reading<Arc<[Handle]>>,
    handles_denied: u32,
    analyst: Analyst,
    findings: Arc<[Arc<Finding>]>,
    /// What was said since [`Monitor::take_said`].
    said: Vec<Said>,
}

impl Default for Monitor {
    fn default() -> Self {
        Self {
            at: Timestamp::ZERO,
            header: None,
            devices: BTreeMap::new(),
            processes: HashMap::new(),
            host: None,
            driver_stall: None,
            dropped: 0,
            problems: Arc::new([]),
            marks: Arc::new([]),
            handles: Err(Missing::Pending),
            handles_denied: 0,
            analyst: Analyst::new(),
            findings: Arc::new([]),
            said: Vec::new(),
        }
    }
}

#[derive(Debug)]
struct Tracked {
    view: Arc<DeviceView>,
    /// When a list came: the next reading of memory made after it closes the balance. The memory thread may have read
    /// before the list and be heard after it.
    awaiting_memory: Option<Timestamp>,
    /// Some holder was ever counted under "others".
    has_others: bool,
}

impl Monitor {
    /// Nothing known yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Time of the newest sample.
    pub fn now(&self) -> Timestamp {
        self.at
    }

    /// The picture so far; cheap.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot {
            at: self.at,
            header: self.header.clone(),
            devices: self.devices.values().map(|tracked| Arc::clone(&tracked.view)).collect(),
            host: self.host,
            driver_stall: self.driver_stall,
            dropped: self.dropped,
            problems: Arc::clone(&self.problems),
            marks: Arc::clone(&self.marks),
            handles: self.handles.clone(),
            handles_denied: self.handles_denied,
            findings: Arc::clone(&self.findings),
            job_risks: self.analyst.job_risks().cloned().collect(),
        }
    }

    /// What the analysis said since the last call: findings, new or renewed, and risks.
    pub fn take_said(&mut self) -> Vec<Said> {
        std::mem::take(&mut self.said)
    }

    /// Whoever judges the samples, for what is asked of a series as a whole.
    pub fn analyst(&self) -> &Analyst {
        &self.analyst
    }

    /// Takes one sample. They come in order of time, but for what independent threads read at the same moment.
    pub fn ingest(&mut self, sample: &Sample) {
        let t = sample.t;
        self.at = self.at.max(t);
        match &sample.body {
            SampleBody::Header(header) => {
                self.header = Some(Arc::clone(header));
                self.driver_stall = None;
            }
            SampleBody::Device(device) => self.bind_device(t, device),
            SampleBody::Process(process) => self.bind_process(process),
            SampleBody::Memory { gpu, figures } => {
                if let Some(tracked) = self.devices.get_mut(gpu) {
                    tracked.memory(t, figures);
                }
            }
            SampleBody::Holders { gpu, list } => {
                if let Some(tracked) = self.devices.get_mut(gpu) {
                    tracked.holders(t, list, &self.processes);
                }
            }
            SampleBody::Usage(usage) => {
                if let Some(tracked) = self.devices.get_mut(&usage.gpu) {
                    tracked.usage(usage);
                }
            }
            SampleBody::Host(host) => {
                self.host = Some(*host);
                for tracked in self.devices.values_mut() {
                    tracked.host(host);
                }
            }
            SampleBody::State { gpu: Some(gpu), state, call, since } => {
                if let Some(tracked) = self.devices.get_mut(gpu) {
                    tracked.state(*state, *call, *since);
                }
            }
            SampleBody::State { gpu: None, state, call, since } => {
                self.driver_stall = (*state != DeviceState::Ok).then(|| (call.unwrap_or("the driver"), *since));
            }
            SampleBody::Gap { gpu, from, reason: _ } => {
                if let Some(tracked) = self.devices.get_mut(gpu) {
                    tracked.gap(*from);
                }
            }
            SampleBody::Health(health) => self.health(health),
            SampleBody::Mark(text) => {
                let skip = (self.marks.len() + 1).saturating_sub(Snapshot::MAX_MARKS);
                self.marks = self.marks.iter().skip(skip).cloned().chain([(t, Arc::clone(text))]).collect();
                self.devices.values_mut().for_each(|tracked| tracked.mark(t));
            }
            SampleBody::Handles { list, denied } => {
                self.handles_denied = *denied;
                self.handles = list.as_ref().map_err(Clone::clone).map(|list| {
                    let known = |key: ProcessKey| self.processes.get(&key.pid).filter(|process| process.key == key).cloned();
                    list.iter().map(|open| Handle { open: open.clone(), process: known(open.key) }).collect()
                });
            }
            SampleBody::Exit { pid, status: _ } => {
                self.processes.remove(pid);
            }
        }
        self.analyse(sample);
    }

    /// Lets the analyst see the sample, and keeps what it says.
    fn analyse(&mut self, sample: &Sample) {
        let before = self.said.len();
        self.analyst.observe(sample, &mut self.said);
        for at in before..self.said.len() {
            if let Said::Finding(finding) = &self.said[at] {
                let advised = self.advised(finding);
                self.findings = renewed(&self.findings, &advised);
                self.said[at] = Said::Finding(advised);
            }
        }
        // Nobody may ask: what was said long ago is in the snapshot.
        let surplus = self.said.len().saturating_sub(Snapshot::MAX_FINDINGS);
        self.said.drain(..surplus);
        match &sample.body {
            SampleBody::Memory { gpu, .. } => {
                if let Some(tracked) = self.devices.get_mut(gpu) {
                    tracked.assess(&self.analyst);
                }
            }
            SampleBody::Holders { gpu, list: Ok(_) } => {
                if let Some(tracked) = self.devices.get_mut(gpu) {
                    tracked.assess(&self.analyst);
                    tracked.dissect(&self.analyst);
                }
            }
            _ => {}
        }
    }

    /// The finding with what is to be done about it.
    fn advised(&self, finding: &Arc<Finding>) -> Arc<Finding> {
        let Some(mut facts) = Facts::of(&self.snapshot(), finding.gpu, finding.pid) else { return Arc::clone(finding) };
        facts.anatomy = finding.pid.and_then(|pid| self.analyst.anatomy(finding.gpu, pid));
        facts.risk = self.analyst.risk(finding.gpu).map(|risk| risk.level);
        let mut advised = Arc::clone(finding);
        Arc::make_mut(&mut advised).advice = advise(finding, &facts);
        advised
    }

    fn bind_device(&mut self, t: Timestamp, device: &Arc<Device>) {
        match self.devices.get_mut(&device.gpu) {
            // The same card, perhaps under another index: it keeps its history.
            Some(tracked) if tracked.view.device.id == device.id => {
                Arc::make_mut(&mut tracked.view).device = Arc::clone(device);
            }
            _ => {
                let view = Arc::new(DeviceView::new(Arc::clone(device), t));
                let mut tracked = Tracked { view, awaiting_memory: None, has_others: false };
                if let Some(host) = &self.host {
                    tracked.host(host);
                }
                self.devices.insert(device.gpu, tracked);
            }
        }
    }

    fn bind_process(&mut self, process: &Arc<Process>) {
        self.processes.insert(process.key.pid, Arc::clone(process));
        if self.processes.len() > IDLE_PROCESSES {
            let held: std::collections::HashSet<Pid> = self
                .devices
                .values()
                .flat_map(|tracked| tracked.view.holders.iter().flat_map(|list| list.iter()))
                .map(|view| view.pid())
                .chain([process.key.pid])
                .collect();
            self.processes.retain(|pid, _| held.contains(pid));
        }
        // A holder that was listed before its facts were known gets them now.
        for tracked in self.devices.values_mut() {
            tracked.rebind(process);
        }
    }

    fn health(&mut self, health: &Health) {
        match health {
            Health::Pace { gpu, kind, asked, achieved, call, worst, missed, backed_off } => {
                if let Some(tracked) = self.devices.get_mut(gpu) {
                    let pace = Pace {
                        asked: *asked,
                        achieved: *achieved,
                        call: *call,
                        worst: *worst,
                        missed: *missed,
                        backed_off: *backed_off,
                    };
                    let view = Arc::make_mut(&mut tracked.view);
                    match kind {
                        ProbeKind::Memory => view.memory_pace = Some(pace),
                        ProbeKind::Processes => view.process_pace = Some(pace),
                        ProbeKind::Host => {}
                    }
                }
            }
            Health::Dropped { count } => self.dropped += count,
            Health::Panicked { thread, message } => self.add_problem(Problem {
                gpu: None,
                what: Arc::from(format!("thread {thread} panicked")),
                why: Arc::clone(message),
                fix: Arc::from("its readings stop or restart; please report it with the log (--log FILE)"),
            }),
            Health::Problem { gpu, what, why, fix } => {
                self.add_problem(Problem { gpu: *gpu, what: Arc::clone(what), why: Arc::clone(why), fix: Arc::clone(fix) });
            }
        }
    }

    /// A problem that is already there is renewed, not repeated; the oldest make room.
    fn add_problem(&mut self, problem: Problem) {
        let mut problems: Vec<Problem> = self.problems.to_vec();
        if let Some(old) = problems.iter_mut().find(|old| old.gpu == problem.gpu && old.what == problem.what) {
            *old = problem;
        } else {
            if problems.len() >= Snapshot::MAX_PROBLEMS {
                problems.remove(0);
            }
            problems.push(problem);
        }
        self.problems = problems.into();
    }
}

impl Tracked {
    fn memory(&mut self, t: Timestamp, figures: &Reading<MemoryFigures>) {
        let view = Arc::make_mut(&mut self.view);
        view.memory.clone_from(figures);
        match figures {
            Ok(figures) => {
                let used = figures.used();
                view.last_memory = Some((t, *figures));
                Arc::make_mut(&mut view.series).push(t, used);
                raise(&mut view.peak, t, used);
                raise(&mut view.peak_since_mark, t, used);
                if view.device.memory != MemoryKind::Unified {
                    view.headroom = Ok(figures.free);
                }
            }
            // Unified memory has no such figures; its series is made of the holders.
            Err(_) if view.device.memory == MemoryKind::Unified => {}
            Err(missing) => {
                Arc::make_mut(&mut view.series).gap();
                view.headroom = Err(missing.clone());
            }
        }
        if self.awaiting_memory.take_if(|list| *list <= t).is_some() {
            view.balance = Balance::of(t, view);
            note_unattributed(t, view);
        }
    }

    /// Takes over the newest risk.
    fn assess(&mut self, analyst: &Analyst) {
        let risk = analyst.risk(self.view.gpu());
        if self.view.risk.as_ref().map(Arc::as_ptr) != risk.map(Arc::as_ptr) {
            Arc::make_mut(&mut self.view).risk = risk.cloned();
        }
    }

    /// Takes over where the memory of each holder goes.
    fn dissect(&mut self, analyst: &Analyst) {
        let gpu = self.view.gpu();
        let Ok(list) = &self.view.holders else { return };
        let parts: Vec<Option<Anatomy>> = list.iter().map(|holder| analyst.anatomy(gpu, holder.pid())).collect();
        if list.iter().zip(&parts).all(|(holder, anatomy)| holder.anatomy == *anatomy) {
            return;
        }
        let renewed = list.iter().zip(parts).map(|(holder, anatomy)| {
            let mut holder = Arc::clone(holder);
            if holder.anatomy != anatomy {
                Arc::make_mut(&mut holder).anatomy = anatomy;
            }
            holder
        });
        let renewed = renewed.collect();
        Arc::make_mut(&mut self.view).holders = Ok(renewed);
    }

    /// A new epoch of peaks begins with what is held now.
    fn mark(&mut self, t: Timestamp) {
        let view = Arc::make_mut(&mut self.view);
        view.peak_since_mark = view.used().ok().map(|used| (t, used));
        if let Ok(list) = &view.holders {
            let renewed = list.iter().map(|holder| {
                let mut holder = Arc::clone(holder);
                let used = holder.used();
                Arc::make_mut(&mut holder).peak_since_mark = used.map(|used| (t, used));
                holder
            });
            view.holders = Ok(renewed.collect());
        }
    }

    fn holders(&mut self, t: Timestamp, list: &Reading<Arc<[Holder]>>, processes: &HashMap<Pid, Arc<Process>>) {
        let view = Arc::make_mut(&mut self.view);
        self.awaiting_memory = Some(t);
        let list = match list {
            Ok(list) => list,
            Err(missing) => {
                // The old holders keep their series, which end here.
                if let Ok(old) = &view.holders {
                    let mut gone: Vec<Arc<HolderView>> = view.gone.to_vec();
                    old.iter().for_each(|holder| retire(&mut gone, holder, t));
                    view.gone = kept(gone, t);
                }
                view.holders = Err(missing.clone());
                return;
            }
        };
        view.holders_at = Some(t);
        view.holders_since.get_or_insert(t);
        let mut known: HashMap<(ProcessKey, Option<Gpu>), Arc<HolderView>> = HashMap::with_capacity(list.len());
        for old in view.gone.iter().rev().chain(view.holders.iter().flat_map(|list| list.iter())) {
            known.insert((old.key, old.holder.instance), Arc::clone(old));
        }
        let mut next: Vec<Arc<HolderView>> = Vec::with_capacity(list.len());
        for holder in list.iter() {
            let process = processes.get(&holder.pid);
            let key = process.map_or(ProcessKey { pid: holder.pid, start: None }, |process| process.key);
            let mut holder_view = known.remove(&(key, holder.instance)).unwrap_or_else(|| {
                Arc::new(HolderView {
                    key,
                    holder: holder.clone(),
                    process: None,
                    usage: None,
                    peak: None,
                    peak_since_mark: None,
                    anatomy: None,
                    series: None,
                    first_seen: t,
                    gone_at: None,
                })
            });
            let fresh = Arc::make_mut(&mut holder_view);
            fresh.holder = holder.clone();
            fresh.process = process.cloned();
            fresh.gone_at = None;
            if let Ok(used) = holder.used {
                raise(&mut fresh.peak, t, used);
                raise(&mut fresh.peak_since_mark, t, used);
            }
            next.push(holder_view);
        }
        next.sort_by_key(|holder| (std::cmp::Reverse(holder.holder.used.clone().ok()), holder.holder.pid));
        self.has_others |= next.len() > TRACKED;
        let others = track(t, &mut next);
        if self.has_others {
            Arc::make_mut(&mut view.others).push(t, others);
        }
        let mut gone: Vec<Arc<HolderView>> = Vec::new();
        for old in known.values() {
            retire(&mut gone, old, t);
        }
        view.gone = kept(gone, t);
        view.holders = Ok(next.into());
        if view.device.memory == MemoryKind::Unified
            && view.memory.is_err()
            && let Some(used) = view.sum_of_holders()
        {
            Arc::make_mut(&mut view.series).push(t, used);
            raise(&mut view.peak, t, used);
            raise(&mut view.peak_since_mark, t, used);
        }
    }

    fn rebind(&mut self, process: &Arc<Process>) {
        let stale = |holder: &Arc<HolderView>| holder.holder.pid == process.key.pid && holder.key == process.key;
        let Ok(list) = &self.view.holders else { return };
        if !list.iter().any(stale) {
            return;
        }
        let renewed: Vec<Arc<HolderView>> = list
            .iter()
            .map(|holder| {
                let mut holder = Arc::clone(holder);
                if stale(&holder) {
                    Arc::make_mut(&mut holder).process = Some(Arc::clone(process));
                }
                holder
            })
            .collect();
        Arc::make_mut(&mut self.view).holders = Ok(renewed.into());
    }

    fn usage(&mut self, usage: &Usage) {
        let view = Arc::make_mut(&mut self.view);
        view.utilization.clone_from(&usage.utilization);
        view.temperature.clone_from(&usage.temperature);
        view.power.clone_from(&usage.power);
        if usage.processes.is_empty() {
            return;
        }
        let by_pid: HashMap<Pid, &super::ProcessUsage> = usage.processes.iter().map(|usage| (usage.pid, usage)).collect();
        if let Ok(list) = &view.holders {
            let renewed: Vec<Arc<HolderView>> = list
                .iter()
                .map(|holder| {
                    let mut holder = Arc::clone(holder);
                    let found = by_pid.get(&holder.holder.pid).copied();
                    if holder.usage.as_ref() != found {
                        Arc::make_mut(&mut holder).usage = found.cloned();
                    }
                    holder
                })
                .collect();
            view.holders = Ok(renewed.into());
        }
    }

    fn host(&mut self, host: &HostMemory) {
        if self.view.device.memory == MemoryKind::Unified {
            Arc::make_mut(&mut self.view).headroom = Ok(host.available);
        }
    }

    fn state(&mut self, state: DeviceState, call: Option<&'static str>, since: Timestamp) {
        let view = Arc::make_mut(&mut self.view);
        view.state = state;
        view.state_since = since;
        view.call = call;
        let missing = match state {
            DeviceState::Ok => return,
            // A list that does not come leaves the memory readings going; their own stall ends them.
            DeviceState::Stalled if call.is_some_and(|call| !call.contains("MemoryInfo")) => return,
            DeviceState::Stalled => Missing::Failed("driver does not answer".into()),
            DeviceState::Lost => Missing::Lost(call.unwrap_or("see the kernel log").into()),
            DeviceState::Failed => Missing::Failed(call.unwrap_or("see the log").into()),
        };
        Arc::make_mut(&mut view.series).gap();
        // The reading that failed tells more than the name of the call.
        let told = matches!(
            (&view.memory, &missing),
            (Err(Missing::Failed(_)), Missing::Failed(_)) | (Err(Missing::Lost(_)), Missing::Lost(_))
        );
        if !told || state == DeviceState::Stalled {
            view.headroom = Err(missing.clone());
            view.memory = Err(missing);
        }
    }

    /// Nothing is known since `from`: what was read later stays.
    fn gap(&mut self, from: Timestamp) {
        if self.view.series.newest().is_some_and(|(newest, _)| newest <= from) {
            Arc::make_mut(&mut Arc::make_mut(&mut self.view).series).gap();
        }
    }
}

/// The list with a finding in the place of the one that it renews, else at the end; the oldest make room.
fn renewed(list: &[Arc<Finding>], finding: &Arc<Finding>) -> Arc<[Arc<Finding>]> {
    if list.iter().any(|old| old.n == finding.n) {
        return list.iter().map(|old| Arc::clone(if old.n == finding.n { finding } else { old })).collect();
    }
    let skip = (list.len() + 1).saturating_sub(Snapshot::MAX_FINDINGS);
    list.iter().skip(skip).chain([finding]).cloned().collect()
}

/// Keeps the history of what nobody visible holds, and since when it has been notable.
fn note_unattributed(t: Timestamp, view: &mut DeviceView) {
    let unattributed = view.balance.and_then(|balance| balance.unattributed);
    match unattributed {
        Some(unattributed) => Arc::make_mut(&mut view.unattributed).push(t, unattributed),
        None if view.unattributed.is_empty() => {}
        None => Arc::make_mut(&mut view.unattributed).gap(),
    }
    view.unattributed_since = unattributed.filter(|unattributed| *unattributed > DeviceView::NOTABLE).map(|now| {
        let (since, least) = view.unattributed_since.unwrap_or((t, now));
        (since, least.min(now))
    });
}

/// Gives the largest holders a series, takes it from the others, and returns what the others hold together.
fn track(t: Timestamp, holders: &mut [Arc<HolderView>]) -> Bytes {
    // A holder that has a history keeps it against one that is a little larger: two equal ones must not take turns.
    let mut order: Vec<(u64, usize)> = holders
        .iter()
        .enumerate()
        .map(|(at, holder)| {
            let used = holder.holder.used.as_ref().map_or(0, |used| used.0);
            (if holder.series.is_some() { used.saturating_add(used / 4).saturating_add(1) } else { used }, at)
        })
        .collect();
    order.sort_unstable_by_key(|(weight, at)| (std::cmp::Reverse(*weight), *at));
    let mut others = Bytes::ZERO;
    for (rank, (_, at)) in order.into_iter().enumerate() {
        let holder = Arc::make_mut(&mut holders[at]);
        let used = holder.used();
        if rank >= TRACKED {
            holder.series = None;
            others = others.saturating_add(used.unwrap_or_default());
            continue;
        }
        let series = holder.series.get_or_insert_with(|| Arc::new(Series::process()));
        match used {
            Some(used) => Arc::make_mut(series).push(t, used),
            None if series.is_empty() => {}
            None => Arc::make_mut(series).gap(),
        }
    }
    others
}

/// Moves a holder that is listed no more to those that are gone, if it has a history worth keeping.
fn retire(gone: &mut Vec<Arc<HolderView>>, holder: &Arc<HolderView>, t: Timestamp) {
    if holder.series.as_ref().is_none_or(|series| series.is_empty()) {
        return;
    }
    let mut holder = Arc::clone(holder);
    if holder.gone_at.is_none() {
        let ended = Arc::make_mut(&mut holder);
        ended.gone_at = Some(t);
        if let Some(series) = &mut ended.series {
            // Held to the end, so that the past shows it up to the list that lacked it.
            let series = Arc::make_mut(series);
            if let Some((_, last)) = series.newest() {
                series.push(t, last);
            }
            series.gap();
        }
    }
    gone.push(holder);
}

/// Newest first, without the oldest.
fn kept(mut gone: Vec<Arc<HolderView>>, now: Timestamp) -> Arc<[Arc<HolderView>]> {
    gone.retain(|holder| holder.gone_at.is_some_and(|at| now.since(at) <= GONE_FOR));
    gone.sort_by_key(|holder| (std::cmp::Reverse(holder.gone_at), holder.key));
    gone.truncate(GONE);
    gone.into()
}

fn raise(peak: &mut Option<(Timestamp, Bytes)>, t: Timestamp, used: Bytes) {
    if peak.is_none_or(|(_, highest)| used > highest) {
        *peak = Some((t, used));
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{GPU, Stream};
    use super::super::{OpenHandle, Relation};
    use super::*;

    fn missing() -> Missing {
        Missing::Failed("nvmlDeviceGetMemoryInfo_v2: unknown error".into())
    }

    #[test]
    fn the_balance_is_taken_at_the_list_with_memory_read_after_it() {
        let mut stream = Stream::new(MemoryKind::Dedicated);
        stream.memory(10, 100).holders(20, &[(1, Some(1_000)), (2, Some(500))]);
        assert_eq!(stream.view().balance, None, "no memory was read after the list");
        stream.memory(21, 1_600).memory(70, 9_000);
        let balance = stream.view().balance.expect("closed");
        assert_eq!(balance.t, Timestamp::millis(21));
        assert_eq!(balance.used, Some(Bytes::mib(1_600)));
        assert_eq!(balance.unattributed, Some(Bytes::mib(100)));
        assert_eq!((balance.excess, balance.unexplained), (Some(Bytes::ZERO), None));
        assert_eq!(stream.view().used(), Ok(Bytes::mib(9_000)));
        stream.holders(100, &[(1, Some(10_000))]).memory(101, 9_000);
        let balance = stream.view().balance.expect("closed");
        assert_eq!((balance.unattributed, balance.excess), (Some(Bytes::ZERO), Some(Bytes::mib(1_000))));
    }

    #[test]
    fn the_terms_add_up_with_the_list_while_its_memory_has_not_come() {
        let mut stream = Stream::new(MemoryKind::Dedicated);
        stream.holders(20, &[(1, Some(1_000))]).memory(21, 1_100).holders(30, &[(1, Some(5_000))]);
        let accounts = stream.view().accounts().expect("memory is known");
        assert_eq!((accounts.t, accounts.used), (Timestamp::millis(21), Some(Bytes::mib(1_100))));
        assert_eq!((accounts.attributed, accounts.excess), (Bytes::mib(5_000), Some(Bytes::mib(3_900))));
        stream.memory(31, 5_100);
        assert_eq!(stream.view().accounts(), stream.view().balance);
    }

    #[test]
    fn memory_read_before_the_list_does_not_close_the_balance() {
        let mut stream = Stream::new(MemoryKind::Dedicated);
        stream.holders(20, &[(1, Some(1_000))]).memory(19, 400);
        assert_eq!(stream.view().balance, None);
        stream.memory(21, 1_000);
        assert_eq!(stream.view().balance.and_then(|balance| balance.unattributed), Some(Bytes::ZERO));
    }

    #[test]
    fn a_missing_size_makes_the_rest_unexplained_not_zero() {
        let mut stream = Stream::new(MemoryKind::Dedicated);
        stream.holders(20, &[(1, Some(1_000)), (2, None)]).memory(21, 1_600);
        let balance = stream.view().balance.expect("closed");
        assert_eq!((balance.unattributed, balance.excess), (None, None));
        assert_eq!(balance.unexplained, Some(Bytes::mib(600)));
        stream.at(30, SampleBody::Holders { gpu: GPU, list: Err(missing()) }).memory(31, 1_600);
        let view = stream.view();
        assert_eq!(view.holders.as_ref().err(), Some(&missing()));
        let balance = view.balance.expect("memory was read");
        assert_eq!((balance.unattributed, balance.excess, balance.unexplained), (None, None, None), "no list, no split");
    }

    #[test]
    fn unified_memory_is_the_sum_of_its_holders_and_the_hosts_room() {
        let mut stream = Stream::new(MemoryKind::Unified);
        let none = || SampleBody::Memory { gpu: GPU, figures: Err(Missing::Unsupported("unified".into())) };
        let host =
            HostMemory { total: Bytes::gib(128), available: Bytes::gib(90), swap_used: Bytes::ZERO, swap_total: Bytes::ZERO };
        stream.at(5, none()).at(6, SampleBody::Host(host)).holders(20, &[(1, Some(1_000)), (2, Some(24))]).at(21, none());
        let view = stream.view();
        assert_eq!(view.used(), Ok(Bytes::gib(1)));
        assert_eq!(view.headroom, Ok(Bytes::gib(90)));
        assert_eq!(view.peak.map(|(_, peak)| peak), Some(Bytes::gib(1)));
        assert_eq!(view.series.newest().map(|(_, used)| used), Some(Bytes::gib(1)));
        assert_eq!(view.balance.and_then(|b| b.unattributed), Some(Bytes::ZERO));
        stream.holders(30, &[(1, None)]).at(31, none());
        assert_eq!(stream.view().balance.and_then(|b| b.used), None, "unknown if a size is");
    }

    #[test]
    fn a_lost_card_keeps_its_row_and_history_with_a_blank_gap() {
        let mut stream = Stream::new(MemoryKind::Dedicated);
        stream.memory(1_000, 100).memory(5_000, 200);
        let state = |state| SampleBody::State { gpu: Some(GPU), state, call: None, since: Timestamp::millis(5_050) };
        stream.at(5_050, state(DeviceState::Lost)).at(5_060, SampleBody::Memory { gpu: GPU, figures: Err(missing()) });
        let view = stream.view();
        assert_eq!(view.state, DeviceState::Lost);
        assert!(view.used().is_err() && view.headroom.is_err());
        assert_eq!(view.last_memory.map(|(t, _)| t), Some(Timestamp::secs(5)));
        stream.device("GPU-a", MemoryKind::Dedicated).at(20_000, state(DeviceState::Ok)).memory(20_001, 300);
        let view = stream.view();
        assert_eq!(view.state, DeviceState::Ok);
        let now = Timestamp::secs(21);
        let empty: Vec<bool> =
            view.series.buckets(Timestamp::ZERO, Period::secs(1), 22, now).iter().map(|b| b.is_empty()).collect();
        assert!(!empty[1] && !empty[5] && !empty[20]);
        assert!(empty[6..20].iter().all(|empty| *empty), "{empty:?}");
        // Another card in the same place starts anew.
        stream.device("GPU-b", MemoryKind::Dedicated);
        assert!(stream.view().series.is_empty());
    }

    #[test]
    fn a_stalled_list_does_not_stop_the_memory_curve() {
        let mut stream = Stream::new(MemoryKind::Dedicated);
        let stall = |call| SampleBody::State {
            gpu: Some(GPU),
            state: DeviceState::Stalled,
            call: Some(call),
            since: Timestamp::millis(2_000),
        };
        stream.memory(1_000, 100).at(3_000, stall("nvmlDeviceGetComputeRunningProcesses_v3"));
        assert_eq!(stream.view().series.at(Timestamp::secs(3)), Some(Bytes::mib(100)));
        stream.at(4_000, stall("nvmlDeviceGetMemoryInfo_v2"));
        assert_eq!(stream.view().series.at(Timestamp::secs(4)), None);
        assert!(stream.view().memory.is_err());
    }

    #[test]
    fn a_reused_pid_is_another_holder_and_the_old_one_keeps_its_past() {
        let mut stream = Stream::new(MemoryKind::Dedicated);
        stream.process(7, 111, 1000).holders(1_000, &[(7, Some(5_000))]).memory(1_001, 5_000);
        stream.process(7, 222, 1001).holders(4_000, &[(7, Some(300))]).memory(4_001, 300);
        let view = stream.view();
        let now = &view.holders.as_ref().expect("a list")[0];
        assert_eq!((now.key.start, now.relation()), (Some(222), Relation::Foreign));
        assert_eq!(now.peak.map(|(_, peak)| peak), Some(Bytes::mib(300)));
        let old = &view.gone[0];
        assert_eq!((old.key.start, old.relation()), (Some(111), Relation::Mine));
        assert_eq!(old.used_at(Timestamp::secs(2)), Some(Bytes::mib(5_000)));
        assert_eq!(old.used_at(Timestamp::secs(5)), None);
        let list = view.holders.as_ref().expect("a list");
        let foreign: Bytes =
            list.iter().filter(|holder| holder.relation() == Relation::Foreign).filter_map(|holder| holder.used()).sum();
        assert_eq!(foreign, Bytes::mib(300));
    }

    #[test]
    fn the_largest_sixteen_have_a_history_and_the_rest_is_others() {
        let mut stream = Stream::new(MemoryKind::Dedicated);
        let list = |first: u64| -> Vec<(u32, Option<u64>)> { (0..40).map(|n| (n + 1, Some(first + u64::from(n)))).collect() };
        stream.holders(1_000, &list(100)).memory(1_001, 10_000);
        let view = stream.view();
        let with: Vec<u32> = view
            .holders
            .as_ref()
            .expect("a list")
            .iter()
            .filter(|holder| holder.series.is_some())
            .map(|holder| holder.pid().0)
            .collect();
        assert_eq!(with, (25..=40).rev().collect::<Vec<_>>());
        assert_eq!(view.others.newest().map(|(_, others)| others), Some(Bytes::mib((100..124).sum())));
        // One that is a little larger does not take a place, one that is much larger does.
        let mut next = list(100);
        next[0].1 = Some(130);
        next[1].1 = Some(1_000);
        stream.holders(2_000, &next).memory(2_001, 10_000);
        let view = stream.view();
        let tracked =
            |pid| view.holders.as_ref().expect("a list").iter().any(|holder| holder.pid() == Pid(pid) && holder.series.is_some());
        assert!(!tracked(1) && tracked(2) && !tracked(25) && tracked(26));
    }

    #[test]
    fn churn_is_bounded() {
        let mut stream = Stream::new(MemoryKind::Dedicated);
        for n in 0..10_000_u32 {
            let t = u64::from(n) * 100;
            stream.process(n + 1, u64::from(n), 1000).holders(t, &[(n + 1, Some(1_000))]).memory(t + 1, 1_000);
        }
        let view = stream.view();
        assert_eq!(view.gone.len(), GONE);
        assert_eq!(view.gone[0].pid(), Pid(9_999));
        assert!(stream.monitor.processes.len() <= IDLE_PROCESSES + 1);
    }

    #[test]
    fn facts_that_come_after_the_list_are_joined_to_it() {
        let mut stream = Stream::new(MemoryKind::Dedicated);
        stream.process(7, 1, 1000).holders(1_000, &[(7, Some(5))]).memory(1_001, 5);
        stream.at(
            1_002,
            SampleBody::Usage(Arc::new(Usage {
                gpu: GPU,
                utilization: Ok(97.0),
                temperature: Err(missing()),
                power: Ok(500.0),
                processes: vec![super::super::ProcessUsage {
                    pid: Pid(7),
                    gpu: Ok(95.0),
                    cpu: Ok(104.0),
                    rss: Ok(Bytes::gib(5)),
                    state: Ok('R'),
                    accounted: Err(missing()),
                }],
            })),
        );
        let view = stream.view();
        assert_eq!(view.utilization, Ok(97.0));
        assert!(view.temperature.is_err());
        let holder = &view.holders.as_ref().expect("a list")[0];
        assert_eq!(holder.usage.as_ref().map(|usage| usage.state.clone()), Some(Ok('R')));
    }

    #[test]
    fn a_mark_begins_a_new_epoch_of_peaks() {
        let mut stream = Stream::new(MemoryKind::Dedicated);
        stream.holders(10, &[(7, Some(900))]).memory(11, 1_000).holders(20, &[(7, Some(300))]).memory(21, 400);
        stream.at(30, SampleBody::Mark(Arc::from("epoch 2"))).memory(40, 500).holders(50, &[(7, Some(350))]).memory(51, 450);
        let view = stream.view();
        let holder = &view.holders.as_ref().expect("a list")[0];
        assert_eq!((view.peak.map(|p| p.1), view.peak_since_mark.map(|p| p.1)), (Some(Bytes::mib(1_000)), Some(Bytes::mib(500))));
        assert_eq!(
            (holder.peak.map(|p| p.1), holder.peak_since_mark.map(|p| p.1)),
            (Some(Bytes::mib(900)), Some(Bytes::mib(350)))
        );
    }

    #[test]
    fn what_nobody_holds_has_a_history_and_a_beginning() {
        let mut stream = Stream::new(MemoryKind::Dedicated);
        stream.holders(1_000, &[(7, Some(900))]).memory(1_001, 910).holders(2_000, &[]).memory(2_001, 910);
        stream.holders(3_000, &[]).memory(3_001, 800);
        let view = stream.view();
        assert_eq!(view.unattributed_since, Some((Timestamp::millis(2_001), Bytes::mib(800))));
        assert_eq!(view.unattributed.at(Timestamp::millis(1_500)), Some(Bytes::mib(10)));
        stream.holders(4_000, &[(8, None)]).memory(4_001, 800);
        let view = stream.view();
        assert_eq!((view.unattributed_since, view.unattributed.newest()), (None, None), "it can't be told");
    }

    #[test]
    fn open_nodes_are_joined_with_who_has_them() {
        let mut stream = Stream::new(MemoryKind::Dedicated);
        stream.process(7, 111, 1000);
        let open = |pid, start| OpenHandle { key: ProcessKey { pid: Pid(pid), start }, gpus: [GPU].into(), state: Ok('S') };
        stream.at(5, SampleBody::Handles { list: Ok([open(7, Some(111)), open(7, Some(5)), open(9, None)].into()), denied: 3 });
        let snapshot = stream.snapshot();
        let known: Vec<bool> = snapshot.handles.expect("a list").iter().map(|handle| handle.process.is_some()).collect();
        assert_eq!((known, snapshot.handles_denied), (vec![true, false, false], 3));
    }

    #[test]
    fn problems_are_renewed_and_bounded() {
        let mut monitor = Monitor::new();
        for n in 0..200 {
            let text: Arc<str> = Arc::from(format!("list {}", n % 100));
            let health = Health::Problem { gpu: None, what: text, why: Arc::from("x"), fix: Arc::from("y") };
            monitor.ingest(&Sample { t: Timestamp::secs(n), body: SampleBody::Health(health) });
        }
        assert_eq!(monitor.snapshot().problems.len(), Snapshot::MAX_PROBLEMS);
    }
}
