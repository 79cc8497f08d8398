//! The processes that the driver's lists name: who they are, what they use beside memory, and when they end.
//!
//! Shared by all cards: a process that holds memory on eight of them is read once. No file is read under the lock, since
//! `/proc/PID/cmdline` waits for a process that is stuck in the driver.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::container::Container;
use super::details;
use super::kin::{Kin, Kinship};
use super::namespace::{self, Claim, View};
use super::nodes::Nodes;
use super::procfs::{self, Stat};
use super::root::Root;
use super::users::Users;
use super::watch::Watch;
use crate::domain::launcher::{self, Link};
use crate::domain::owner::{FOREIGN_PID, Place, Subject};
use crate::domain::{
    Bytes, Gpu, Health, HolderKind, Job, Missing, OpenHandle, Period, Pid, Process, ProcessKey, ProcessUsage, Reading, Relation,
    Timestamp, Wall,
};
use crate::sampler::{Clock, Poke, Studio};

/// A figure younger than this is not read again for another card.
const FRESH: Period = Period::millis(500);
/// A process that was not proven to be the driver's is looked at again after this long.
const PROVE: Period = Period::secs(10);
/// The watched trees are looked through this often.
const PASS: Period = Period::secs(2);
/// Processes with an open node that are told of.
const MAX_HANDLES: usize = 256;

/// All processes met.
#[derive(Debug)]
pub struct People {
    clock: Clock,
    me: u32,
    users: Arc<Users>,
    ticks_per_second: u64,
    page: u64,
    root: Root,
    view: View,
    nodes: Nodes,
    /// The container in which I live.
    home: Option<Container>,
    watch: Watch,
    kinship: Kinship,
    known: Mutex<HashMap<Pid, Entry>>,
    /// Those whose details are to be read.
    pending: Mutex<Vec<Pid>>,
    /// Wakes the thread that reads them.
    poke: Arc<Poke>,
    /// A process was met of which nothing can be known.
    unseen: AtomicBool,
    /// A list names a process that was found by its open node before.
    found_later: AtomicBool,
    passed: Mutex<Timestamp>,
}

#[derive(Debug)]
struct Entry {
    process: Arc<Process>,
    place: Place,
    kind: HolderKind,
    /// Its facts are those of a process here.
    visible: bool,
    /// The devices whose lists name it.
    listed: Vec<Gpu>,
    /// A list named it once.
    held: bool,
    /// When it was met, and last looked for without being found.
    first: Timestamp,
    tried: Timestamp,
    read: Timestamp,
    ticks: u64,
    cpu: Reading<f32>,
    rss: Reading<Bytes>,
    state: Reading<char>,
}

/// The list that names a process.
#[derive(Clone, Copy, Debug)]
pub struct Listing {
    /// Whose list.
    pub gpu: Gpu,
    /// The number of that card's node.
    pub minor: Option<u32>,
    /// In which lists of it.
    pub kind: HolderKind,
}

/// What a look at a pid came to.
struct Met {
    process: Process,
    place: Place,
    stat: Option<Stat>,
}

/// What a search for open nodes came to.
#[derive(Debug)]
pub struct Search {
    /// Records of those not met before.
    pub processes: Vec<Arc<Process>>,
    /// Those that no list names.
    pub list: Reading<Arc<[OpenHandle]>>,
    /// How many could not be looked into.
    pub denied: u32,
    /// Those found before that have ended.
    pub ended: Vec<Pid>,
}

impl People {
    /// Nobody met yet. `watch` are the trees that the user watches.
    pub fn new(clock: Clock, root: Root, watch: Watch) -> Self {
        let (home, _) = std::fs::read_link(root.path("/proc/self"))
            .ok()
            .and_then(|own| own.to_str()?.parse().ok())
            .map_or((None, false), |own| details::container(&root, own));
        Self {
            clock,
            me: rustix::process::getuid().as_raw(),
            users: Arc::new(Users::local()),
            ticks_per_second: rustix::param::clock_ticks_per_second().max(1),
            page: rustix::param::page_size() as u64,
            view: View::of(&root),
            nodes: Nodes::new(root.clone()),
            root,
            home,
            watch,
            kinship: Kinship::default(),
            known: Mutex::default(),
            pending: Mutex::default(),
            poke: Arc::default(),
            unseen: AtomicBool::new(false),
            found_later: AtomicBool::new(false),
            passed: Mutex::default(),
        }
    }

    /// My user's name, or the number where it has none.
    pub fn me(&self) -> Arc<str> {
        self.user(self.me)
    }

    /// Whether the driver's pids are not those of `/proc` here.
    pub fn has_foreign_pids(&self) -> bool {
        !self.view.initial
    }

    /// Wakes the reader of details.
    pub fn poke(&self) -> Arc<Poke> {
        Arc::clone(&self.poke)
    }

    /// A list names `pid`. Gives its record where it was not known, and those of others that it changes.
    pub fn meet(&self, pid: Pid, on: Listing) -> Vec<Arc<Process>> {
        if let Some(entry) = self.lock().get_mut(&pid) {
            if !entry.listed.contains(&on.gpu) {
                entry.listed.push(on.gpu);
            }
            if !std::mem::replace(&mut entry.held, true) {
                self.found_later.store(true, Ordering::Release);
            }
            if entry.kind.contains(on.kind) {
                return Vec::new();
            }
            entry.kind = entry.kind.union(on.kind);
            return self.judge(entry).into_iter().collect();
        }
        let now = self.clock.now();
        let claim = Claim { minor: on.minor, kind: on.kind, listed: now };
        let met = self.look(pid, on.kind, Some(&claim));
        let mut entry = self.entry(met, on.kind);
        entry.listed.push(on.gpu);
        entry.held = true;
        self.admit(pid, entry)
    }

    /// No list of `gpu` names `pid` any more. True where the process has ended and no other card lists it.
    pub fn part(&self, pid: Pid, gpu: Gpu) -> bool {
        let start = {
            let mut known = self.lock();
            let Some(entry) = known.get_mut(&pid) else { return false };
            entry.listed.retain(|listed| *listed != gpu);
            if !entry.listed.is_empty() {
                return false;
            }
            entry.process.key.start
        };
        let Some(start) = start else {
            // It never was visible, so whether it ended can't be told.
            self.lock().remove(&pid);
            return false;
        };
        let ended = self.has_ended(pid, start);
        if ended {
            self.lock().remove(&pid);
        }
        ended
    }

    /// What a process uses; records too where the pid has come to mean another process, or one that can be seen now.
    pub fn usage(
        &self,
        pid: Pid,
        (gpu, accounted): (&Reading<f32>, &Reading<Bytes>),
        minor: Option<u32>,
    ) -> (ProcessUsage, Vec<Arc<Process>>) {
        let now = self.clock.now();
        let told = |entry: &Entry| ProcessUsage {
            pid,
            gpu: gpu.clone(),
            cpu: entry.cpu.clone(),
            rss: entry.rss.clone(),
            state: entry.state.clone(),
            accounted: accounted.clone(),
        };
        let (mut kind, mut listed) = (HolderKind::default(), now);
        if let Some(entry) = self.lock().get_mut(&pid) {
            let unproven = !self.view.initial && !entry.visible;
            if now.since(entry.read) < FRESH || (unproven && now.since(entry.tried) < PROVE) {
                return (told(entry), Vec::new());
            }
            (kind, entry.tried) = (entry.kind, now);
            listed = if unproven { entry.first } else { now };
        }
        let mut changed = Vec::new();
        let unproven = self.lock().get(&pid).is_some_and(|entry| !self.view.initial && !entry.visible);
        if !unproven {
            let stat = procfs::stat(&self.root, pid.0);
            let now = self.clock.now();
            let start = stat.as_ref().map(|stat| stat.start);
            let mut known = self.lock();
            if let Some(entry) = known.get_mut(&pid).filter(|entry| start.is_none() || start == entry.process.key.start) {
                self.update(entry, stat.as_ref(), now);
                if let Some(parent) = stat.map(|stat| Pid(stat.ppid)).filter(|parent| entry.process.ppid.as_ref() != Ok(parent)) {
                    Arc::make_mut(&mut entry.process).ppid = Ok(parent);
                    changed.push(Arc::clone(&entry.process));
                    self.want_details(pid);
                }
                return (told(entry), changed);
            }
        }
        let met = self.look(pid, kind, Some(&Claim { minor, kind, listed }));
        if unproven && met.stat.is_none() {
            // Still nothing that it could be.
            let known = self.lock();
            return (known.get(&pid).map_or_else(|| told(&self.entry(met, kind)), told), changed);
        }
        let mut entry = self.entry(met, kind);
        let usage = told(&entry);
        if let Some(old) = self.lock().remove(&pid) {
            (entry.listed, entry.held) = (old.listed, old.held);
        }
        changed.extend(self.admit(pid, entry));
        (usage, changed)
    }

    /// Those who left the lists some time ago and have ended since.
    pub fn ended(&self) -> Vec<Pid> {
        let parted: Vec<(Pid, u64)> = self
            .lock()
            .iter()
            .filter(|(_, entry)| entry.listed.is_empty() && entry.held)
            .filter_map(|(pid, entry)| Some((*pid, entry.process.key.start?)))
            .collect();
        let ended: Vec<Pid> =
            parted.into_iter().filter(|(pid, start)| self.has_ended(*pid, *start)).map(|(pid, _)| pid).collect();
        let mut known = self.lock();
        known.retain(|pid, entry| !(entry.listed.is_empty() && ended.contains(pid)));
        ended
    }

    /// Records of those whose user's name came in since, and of those who were found to be in a watched tree.
    pub fn renamed(&self, studio: &Studio) -> Vec<Arc<Process>> {
        let mut changed = self.rewatch();
        self.users.ask_directories(studio.clock.now());
        if !self.users.take_changed() {
            return changed;
        }
        for entry in self.lock().values_mut() {
            let Ok(uid) = entry.process.uid else { continue };
            let user = self.user(uid);
            if entry.process.user.as_ref() != Ok(&user) {
                Arc::make_mut(&mut entry.process).user = Ok(user);
                changed.push(Arc::clone(&entry.process));
            }
        }
        changed
    }

    /// What to tell the user of processes that can't be known, once.
    pub fn take_hint(&self) -> Option<Health> {
        if self.unseen.swap(false, Ordering::AcqRel) { self.view.hint() } else { None }
    }

    /// Whether a list names somebody who was told as having a node open without that.
    pub fn lists_found_one(&self) -> bool {
        self.found_later.swap(false, Ordering::AcqRel)
    }

    /// Reads the details of those met since. Files of `/proc` may wait: not for the threads that read the driver.
    pub fn describe_pending(&self) -> Vec<Arc<Process>> {
        let pending = std::mem::take(&mut *self.pending.lock().unwrap_or_else(PoisonError::into_inner));
        pending.into_iter().filter_map(|pid| self.describe_one(pid)).collect()
    }

    fn describe_one(&self, pid: Pid) -> Option<Arc<Process>> {
        let process = self.lock().get(&pid).map(|entry| Arc::clone(&entry.process))?;
        let start = process.key.start?;
        let parent = process.ppid.as_ref().ok().map_or(0, |parent| parent.0);
        let chain = self.kinship.chain(&self.root, parent, start, self.clock.now());
        let mine = process.uid == Ok(self.me);
        let origin = details::read(&self.root, &process, mine, &chain);
        // Of another process that has its number by now, nothing may be told in its name.
        procfs::stat(&self.root, pid.0).filter(|stat| stat.start == start)?;
        let mut known = self.lock();
        let entry = known.get_mut(&pid).filter(|entry| entry.process.key.start == Some(start))?;
        if entry.process.details.as_deref() == Some(&origin.details) && entry.process.container == origin.container {
            return None;
        }
        let process = Arc::make_mut(&mut entry.process);
        (process.details, process.container) = (Some(Arc::new(origin.details)), origin.container);
        Some(Arc::clone(&entry.process))
    }

    /// Has the details of those read anew whose parent ended or became a zombie.
    pub fn review_parents(&self) {
        let told: Vec<(Pid, Option<(ProcessKey, bool)>)> = self
            .lock()
            .iter()
            .filter_map(|(pid, entry)| {
                let parents = &entry.process.details.as_ref()?.parents;
                Some((*pid, parents.first().map(|parent| (parent.key, parent.name.ends_with("(zombie)")))))
            })
            .collect();
        let mut seen: HashMap<Pid, Option<(u64, bool)>> = HashMap::new();
        for (pid, parent) in told {
            let Some((key, zombie)) = parent else { continue };
            let now = seen
                .entry(key.pid)
                .or_insert_with(|| procfs::stat(&self.root, key.pid.0).map(|stat| (stat.start, matches!(stat.state, 'Z' | 'X'))));
            if now.is_none_or(|(start, dead)| Some(start) != key.start || dead != zombie) {
                self.want_details(pid);
            }
        }
    }

    /// Looks for processes that have a node open without standing in a list. `cards` are the numbers of nodes.
    pub fn search(&self, cards: &[(u32, Gpu)]) -> Search {
        let nothing = |missing| Search { processes: Vec::new(), list: Err(missing), denied: 0, ended: Vec::new() };
        if !self.view.initial {
            return nothing(FOREIGN_PID);
        }
        let Some(found) = self.nodes.search() else { return nothing(Missing::Unsupported("there is no /proc".into())) };
        let (mut processes, mut list, mut open) = (Vec::new(), Vec::new(), Vec::new());
        for (pid, nodes) in found.open {
            let pid = Pid(pid);
            let key = match self.lock().get(&pid).map(|entry| (entry.listed.is_empty(), entry.process.key)) {
                Some((false, _)) => continue,
                Some((true, key)) => Some(key),
                None => None,
            };
            let stat = procfs::stat(&self.root, pid.0);
            let Some(stat) = stat.filter(|_| list.len() < MAX_HANDLES) else { continue };
            if key.is_none_or(|key| key.start != Some(stat.start)) {
                let met = self.look(pid, HolderKind::default(), None);
                if met.stat.as_ref().is_none_or(|met| met.start != stat.start) {
                    continue;
                }
                self.lock().remove(&pid);
                processes.extend(self.admit(pid, self.entry(met, HolderKind::default())));
            }
            open.push(pid);
            let gpus = cards.iter().filter(|(minor, _)| nodes.minors.contains(minor)).map(|(_, gpu)| *gpu).collect();
            list.push(OpenHandle { key: ProcessKey { pid, start: Some(stat.start) }, gpus, state: Ok(stat.state) });
        }
        let mut ended = Vec::new();
        self.lock().retain(|pid, entry| {
            let kept = entry.held || open.contains(pid);
            if !kept {
                ended.extend(entry.process.key.start.map(|start| (*pid, start)));
            }
            kept
        });
        let ended = ended.into_iter().filter(|(pid, start)| self.has_ended(*pid, *start)).map(|(pid, _)| pid).collect();
        Search { processes, list: Ok(list.into()), denied: found.denied, ended }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<Pid, Entry>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn user(&self, uid: u32) -> Arc<str> {
        self.users.name(uid).unwrap_or_else(|| uid.to_string().into())
    }

    fn want_details(&self, pid: Pid) {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner).push(pid);
        self.poke.poke();
    }

    /// Takes an entry in. Gives its record, and that of the head of its job where it was not known to be one.
    fn admit(&self, pid: Pid, mut entry: Entry) -> Vec<Arc<Process>> {
        let mut known = self.lock();
        let mut changed = Vec::new();
        let key = entry.process.key;
        if entry.visible && entry.process.job.is_none() {
            let led = known.values().filter_map(|other| other.process.job.as_ref()).find(|job| job.leader == key);
            if let Some(job) = led.cloned() {
                Arc::make_mut(&mut entry.process).job = Some(job);
            }
        }
        if let Some(job) = &entry.process.job
            && let Some(head) = known.get_mut(&job.leader.pid).filter(|head| head.process.key == job.leader)
            && head.process.job.is_none()
        {
            Arc::make_mut(&mut head.process).job = Some(Arc::clone(job));
            changed.push(Arc::clone(&head.process));
        }
        changed.push(Arc::clone(&entry.process));
        let visible = entry.visible;
        // Two cards may meet a process at the same moment.
        match known.entry(pid) {
            std::collections::hash_map::Entry::Occupied(mut there) if there.get().process.key == key => {
                let there = there.get_mut();
                there.kind = there.kind.union(entry.kind);
                there.held |= entry.held;
                entry.listed.retain(|gpu| !there.listed.contains(gpu));
                there.listed.append(&mut entry.listed);
            }
            std::collections::hash_map::Entry::Occupied(mut there) => *there.get_mut() = entry,
            std::collections::hash_map::Entry::Vacant(free) => {
                free.insert(entry);
            }
        }
        drop(known);
        if visible {
            self.want_details(pid);
        } else {
            self.unseen.store(true, Ordering::Release);
        }
        changed
    }

    /// Whose a process is by what is known now. Gives the record where that is news.
    fn judge(&self, entry: &mut Entry) -> Option<Arc<Process>> {
        let uid = *entry.process.uid.as_ref().ok()?;
        let command = entry.process.command.as_deref().unwrap_or_default();
        let watched = entry.process.relation == Relation::Job;
        let subject = Subject { uid: Some(uid), watched, place: entry.place, kind: entry.kind, command };
        let relation = Relation::of(&subject, self.me);
        (relation != entry.process.relation).then(|| {
            Arc::make_mut(&mut entry.process).relation = relation;
            Arc::clone(&entry.process)
        })
    }

    /// Who a pid is, with the start read before and after: facts of two processes never mix.
    fn look(&self, pid: Pid, kind: HolderKind, claim: Option<&Claim>) -> Met {
        for _ in 0..2 {
            let Some(stat) = procfs::stat(&self.root, pid.0) else { break };
            let started = Timestamp(u64::try_from(self.started(&stat).0.saturating_sub(self.clock.created().0)).unwrap_or(0));
            if let Some(claim) = claim.filter(|_| !self.view.initial)
                && !namespace::is_proven(&self.nodes, pid.0, &stat, started, claim)
            {
                break;
            }
            let (process, place) = self.describe(pid, kind, &stat);
            if procfs::stat(&self.root, pid.0).is_some_and(|after| after.start == stat.start) {
                return Met { process, place, stat: Some(stat) };
            }
        }
        self.unseen(pid)
    }

    /// All that can be said of a pid whose process can't be seen.
    fn unseen(&self, pid: Pid) -> Met {
        let why = || self.view.why();
        // Where `/proc` shows the folders of others without what is in them, it still tells whose they are.
        let uid = procfs::owner(&self.root, pid.0).filter(|_| self.view.initial);
        let process = Process {
            key: ProcessKey { pid, start: None },
            started: Err(why()),
            ppid: Err(why()),
            user: uid.map(|uid| self.user(uid)).ok_or_else(why),
            uid: uid.ok_or_else(why),
            relation: uid.map_or(Relation::Unknown, |uid| Relation::by_owner(self.me, Some(uid))),
            command: Err(why()),
            container: None,
            job: None,
            details: None,
        };
        Met { process, place: Place::Here, stat: None }
    }

    fn started(&self, stat: &Stat) -> Wall {
        let since_boot = i128::from(stat.start) * 1_000_000 / i128::from(self.ticks_per_second);
        Wall(self.clock.booted().0.saturating_add(i64::try_from(since_boot).unwrap_or(i64::MAX)))
    }

    /// Reads who a process is: three files, once for each process, and those of parents that were not met before.
    fn describe(&self, pid: Pid, kind: HolderKind, stat: &Stat) -> (Process, Place) {
        let key = ProcessKey { pid, start: Some(stat.start) };
        let uid = procfs::uid(&self.root, pid.0);
        let command: Option<Arc<str>> = procfs::command(&self.root, pid.0).map(Into::into);
        let (container, outside) = details::container(&self.root, pid.0);
        let chain = self.kinship.chain(&self.root, stat.ppid, stat.start, self.clock.now());
        let watched = self.watch.head(key, &chain);
        let link = Link { uid, name: &stat.name, command: command.as_deref().unwrap_or_default() };
        let job = job_of(&link, &chain, watched);
        let command = command.unwrap_or_else(|| format!("[{}]", stat.name).into());
        let elsewhere = match &container {
            Some(container) => !container.rootless && self.home.as_ref() != Some(container),
            None => outside,
        };
        let place = if elsewhere { Place::Elsewhere } else { Place::Here };
        // Users of a rootless container have numbers that only its owner knows.
        let owner = container.as_ref().and_then(|container| container.owner).or(uid);
        let subject = Subject { uid: uid.and(owner), watched: watched.is_some(), place, kind, command: &command };
        let relation = Relation::of(&subject, self.me);
        let process = Process {
            key,
            started: Ok(self.started(stat)),
            ppid: Ok(Pid(stat.ppid)),
            user: uid.map(|uid| self.user(uid)).ok_or_else(|| self.view.why()),
            uid: uid.ok_or_else(|| self.view.why()),
            relation,
            command: Ok(command),
            container: container.map(|container| container.label().into()),
            job,
            details: None,
        };
        (process, place)
    }

    /// Those that turned out to be in a watched tree.
    fn rewatch(&self) -> Vec<Arc<Process>> {
        let now = self.clock.now();
        {
            let mut passed = self.passed.lock().unwrap_or_else(PoisonError::into_inner);
            if self.watch.is_empty() || now.since(*passed) < PASS {
                return Vec::new();
            }
            *passed = now;
        }
        self.watch.pass(&self.root);
        let mut changed = Vec::new();
        for entry in self.lock().values_mut().filter(|entry| entry.visible && entry.process.relation != Relation::Job) {
            if let Some(head) = self.watch.head(entry.process.key, &[]) {
                let process = Arc::make_mut(&mut entry.process);
                process.relation = Relation::Job;
                process.job = job_of(&Link { uid: None, name: "", command: "" }, &[], Some(head));
                changed.push(Arc::clone(&entry.process));
            }
        }
        changed
    }

    fn entry(&self, met: Met, kind: HolderKind) -> Entry {
        let now = self.clock.now();
        let Met { process, place, stat } = met;
        let missing = || if stat.is_some() { Missing::Pending } else { self.view.why() };
        let mut entry = Entry {
            process: Arc::new(process),
            place,
            kind,
            visible: stat.is_some(),
            listed: Vec::new(),
            held: false,
            first: now,
            tried: now,
            read: now,
            ticks: stat.as_ref().map_or(0, |stat| stat.ticks),
            cpu: Err(missing()),
            rss: Err(missing()),
            state: Err(missing()),
        };
        if let Some(stat) = stat {
            entry.rss = Ok(Bytes(stat.resident.saturating_mul(self.page)));
            entry.state = Ok(stat.state);
        }
        entry
    }

    fn update(&self, entry: &mut Entry, stat: Option<&Stat>, now: Timestamp) {
        let Some(stat) = stat else {
            let why = || self.view.why();
            (entry.cpu, entry.rss, entry.state) = (Err(why()), Err(why()), Err(why()));
            entry.read = now;
            return;
        };
        let seconds = now.since(entry.read).as_secs_f64();
        let worked = stat.ticks.saturating_sub(entry.ticks) as f64 / self.ticks_per_second as f64;
        if seconds > 0.0 {
            entry.cpu = Ok((worked / seconds * 100.0) as f32);
        }
        entry.rss = Ok(Bytes(stat.resident.saturating_mul(self.page)));
        entry.state = Ok(stat.state);
        (entry.read, entry.ticks) = (now, stat.ticks);
    }

    /// A zombie has ended: its parent has not looked yet.
    fn has_ended(&self, pid: Pid, start: u64) -> bool {
        procfs::stat(&self.root, pid.0).is_none_or(|stat| stat.start != start || matches!(stat.state, 'Z' | 'X'))
    }
}

/// The job that a process is part of: the watched tree, or that of its launcher.
fn job_of(link: &Link<'_>, chain: &[Arc<Kin>], watched: Option<&Kin>) -> Option<Arc<Job>> {
    let (launcher, leader) = if let Some(head) = watched {
        // A watched tree is one job, whatever else starts jobs in it.
        (launcher::name(&head.link()).unwrap_or(launcher::TREE), head)
    } else {
        let links: Vec<Link<'_>> = std::iter::once(*link).chain(chain.iter().map(|kin| kin.link())).collect();
        let head = launcher::head(&links)?;
        (head.launcher, &**chain.get(head.at.checked_sub(1)?)?)
    };
    let none = || Missing::Unsupported("it has no command line".into());
    Some(Arc::new(Job { leader: leader.key, launcher: launcher.into(), command: leader.command.clone().ok_or_else(none) }))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The live processes of this machine as the initial namespace shows them, wherever the test runs.
    fn initial() -> (People, tempfile::TempDir) {
        let dir = tempfile::tempdir().expect("a folder");
        let root = Root::at(dir.path());
        std::fs::create_dir_all(root.path("/proc/self/ns")).expect("a folder");
        std::os::unix::fs::symlink("pid:[4026531836]", root.path("/proc/self/ns/pid")).expect("a link");
        (People::new(Clock::start(), root, Watch::default()), dir)
    }

    fn show(people: &People, pid: u32) {
        std::os::unix::fs::symlink(format!("/proc/{pid}"), people.root.path(&format!("/proc/{pid}"))).expect("a link");
    }

    fn on(gpu: u32) -> Listing {
        Listing { gpu: Gpu(gpu), minor: Some(gpu), kind: HolderKind::C }
    }

    fn one(mut met: Vec<Arc<Process>>) -> Arc<Process> {
        assert_eq!(met.len(), 1, "{met:?}");
        met.remove(0)
    }

    #[test]
    fn this_process_is_mine_and_a_strange_pid_is_unknown() {
        let (people, _dir) = initial();
        show(&people, std::process::id());
        let mine = one(people.meet(Pid(std::process::id()), on(0)));
        assert_eq!((mine.relation, mine.user.as_deref()), (Relation::Mine, Ok(&*people.me())));
        assert!(mine.key.start.is_some() && mine.command.is_ok() && mine.ppid.is_ok());
        let running = mine.running(Clock::wall()).expect("a start");
        assert!(running < Period::secs(3600 * 24 * 30), "{running}");
        assert!(people.meet(Pid(std::process::id()), on(1)).is_empty(), "known already");
        let strange = one(people.meet(Pid(4_194_305), on(0)));
        assert_eq!((strange.relation, strange.key.start), (Relation::Unknown, None));
        let off = Err(Missing::Unsupported("off".into()));
        let (usage, _) = people.usage(Pid(4_194_305), (&Ok(3.0), &off), Some(0));
        assert_eq!((usage.gpu, usage.cpu.is_err(), usage.rss.is_err()), (Ok(3.0), true, true));
    }

    #[test]
    fn a_process_ends_when_no_card_lists_it_and_it_is_gone() {
        let (people, _dir) = initial();
        let mut child = std::process::Command::new("sleep").arg("60").spawn().expect("a child");
        let pid = Pid(child.id());
        show(&people, pid.0);
        people.meet(pid, on(0));
        people.meet(pid, on(1));
        assert!(!people.part(pid, Gpu(0)));
        assert!(!people.part(pid, Gpu(1)), "it freed its memory, but lives");
        assert!(people.ended().is_empty());
        child.kill().expect("mine");
        child.wait().expect("ended");
        assert_eq!(people.ended(), [pid]);
        assert!(people.ended().is_empty(), "told once");
    }
}
