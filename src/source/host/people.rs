//! The processes that the driver's lists name: who they are, what they use beside memory, and when they end.
//!
//! Shared by all cards: a process that holds memory on eight of them is read once. No file is read under the lock, since
//! `/proc/PID/cmdline` waits for a process that is stuck in the driver.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::procfs::{self, Stat};
use super::users::Users;
use crate::domain::{Bytes, Gpu, Missing, Period, Pid, Process, ProcessKey, ProcessUsage, Reading, Relation, Timestamp, Wall};
use crate::sampler::{Clock, Studio};

/// A figure younger than this is not read again for another card.
const FRESH: Period = Period::millis(500);

/// Why nothing is known of a pid.
const INVISIBLE: Missing = Missing::Unsupported(std::borrow::Cow::Borrowed("no such process in /proc here"));

/// All processes met.
#[derive(Debug)]
pub struct People {
    clock: Clock,
    me: u32,
    users: Arc<Users>,
    ticks_per_second: u64,
    page: u64,
    known: Mutex<HashMap<Pid, Entry>>,
}

#[derive(Debug)]
struct Entry {
    process: Arc<Process>,
    /// The devices whose lists name it.
    listed: Vec<Gpu>,
    read: Timestamp,
    ticks: u64,
    cpu: Reading<f32>,
    rss: Reading<Bytes>,
    state: Reading<char>,
}

impl People {
    /// Nobody met yet.
    pub fn new(clock: Clock) -> Self {
        Self {
            clock,
            me: rustix::process::getuid().as_raw(),
            users: Arc::new(Users::local()),
            ticks_per_second: rustix::param::clock_ticks_per_second().max(1),
            page: rustix::param::page_size() as u64,
            known: Mutex::default(),
        }
    }

    /// My user's name, or the number where it has none.
    pub fn me(&self) -> Arc<str> {
        self.user(self.me)
    }

    /// A list of `gpu` names `pid`. Gives its record where it was not known.
    pub fn meet(&self, pid: Pid, gpu: Gpu) -> Option<Arc<Process>> {
        if let Some(entry) = self.lock().get_mut(&pid) {
            if !entry.listed.contains(&gpu) {
                entry.listed.push(gpu);
            }
            return None;
        }
        let stat = procfs::stat(pid.0);
        let process = Arc::new(self.describe(pid, stat.as_ref()));
        let mut known = self.lock();
        let entry = known.entry(pid).or_insert_with(|| self.entry(Arc::clone(&process), stat.as_ref()));
        entry.listed.push(gpu);
        Some(process)
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
        let ended = has_ended(pid, start);
        if ended {
            self.lock().remove(&pid);
        }
        ended
    }

    /// What a process uses; its record too where the pid has come to mean another process, or one that can be seen now.
    pub fn usage(&self, pid: Pid, gpu: Reading<f32>) -> (ProcessUsage, Option<Arc<Process>>) {
        let now = self.clock.now();
        let told = |entry: &Entry, gpu| ProcessUsage {
            pid,
            gpu,
            cpu: entry.cpu.clone(),
            rss: entry.rss.clone(),
            state: entry.state.clone(),
            accounted: Err(Missing::Unsupported("accounting is off".into())),
        };
        if let Some(entry) = self.lock().get(&pid).filter(|entry| now.since(entry.read) < FRESH) {
            return (told(entry, gpu), None);
        }
        let stat = procfs::stat(pid.0);
        let now = self.clock.now();
        let start = stat.as_ref().map(|stat| stat.start);
        if let Some(entry) = self.lock().get_mut(&pid).filter(|entry| start.is_none() || start == entry.process.key.start) {
            self.update(entry, stat.as_ref(), now);
            return (told(entry, gpu), None);
        }
        let process = Arc::new(self.describe(pid, stat.as_ref()));
        let mut entry = self.entry(Arc::clone(&process), stat.as_ref());
        let usage = told(&entry, gpu);
        let mut known = self.lock();
        entry.listed = known.remove(&pid).map(|old| old.listed).unwrap_or_default();
        known.insert(pid, entry);
        (usage, Some(process))
    }

    /// Those who left the lists some time ago and have ended since.
    pub fn ended(&self) -> Vec<Pid> {
        let parted: Vec<(Pid, u64)> = self
            .lock()
            .iter()
            .filter(|(_, entry)| entry.listed.is_empty())
            .filter_map(|(pid, entry)| Some((*pid, entry.process.key.start?)))
            .collect();
        let ended: Vec<Pid> = parted.into_iter().filter(|(pid, start)| has_ended(*pid, *start)).map(|(pid, _)| pid).collect();
        let mut known = self.lock();
        known.retain(|pid, entry| !(entry.listed.is_empty() && ended.contains(pid)));
        ended
    }

    /// Records of those whose user's name came in since.
    pub fn renamed(&self, studio: &Studio) -> Vec<Arc<Process>> {
        self.users.ask_directories(studio.clock.now());
        if !self.users.take_changed() {
            return Vec::new();
        }
        let mut changed = Vec::new();
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

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<Pid, Entry>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn user(&self, uid: u32) -> Arc<str> {
        self.users.name(uid).unwrap_or_else(|| uid.to_string().into())
    }

    /// Reads who a process is: three files, once for each process.
    fn describe(&self, pid: Pid, stat: Option<&Stat>) -> Process {
        let Some(stat) = stat else {
            return Process {
                key: ProcessKey { pid, start: None },
                started: Err(INVISIBLE),
                ppid: Err(INVISIBLE),
                user: Err(INVISIBLE),
                uid: Err(INVISIBLE),
                relation: Relation::Unknown,
                command: Err(INVISIBLE),
                container: None,
                job: None,
                details: None,
            };
        };
        let uid = procfs::uid(pid.0);
        let since_boot = i128::from(stat.start) * 1_000_000 / i128::from(self.ticks_per_second);
        let started = Wall(self.clock.booted().0.saturating_add(i64::try_from(since_boot).unwrap_or(i64::MAX)));
        Process {
            key: ProcessKey { pid, start: Some(stat.start) },
            started: Ok(started),
            ppid: Ok(Pid(stat.ppid)),
            user: uid.map(|uid| self.user(uid)).ok_or(INVISIBLE),
            uid: uid.ok_or(INVISIBLE),
            relation: Relation::by_owner(self.me, uid),
            command: Ok(procfs::command(pid.0).unwrap_or_else(|| format!("[{}]", stat.name)).into()),
            container: None,
            job: None,
            details: None,
        }
    }

    fn entry(&self, process: Arc<Process>, stat: Option<&Stat>) -> Entry {
        let now = self.clock.now();
        let missing = || if stat.is_some() { Missing::Pending } else { INVISIBLE };
        let mut entry = Entry {
            process,
            listed: Vec::new(),
            read: now,
            ticks: stat.map_or(0, |stat| stat.ticks),
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
            (entry.cpu, entry.rss, entry.state) = (Err(INVISIBLE), Err(INVISIBLE), Err(INVISIBLE));
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
}

/// A zombie has ended: its parent has not looked yet.
fn has_ended(pid: Pid, start: u64) -> bool {
    procfs::stat(pid.0).is_none_or(|stat| stat.start != start || matches!(stat.state, 'Z' | 'X'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_mine_and_a_strange_pid_is_unknown() {
        let people = People::new(Clock::start());
        let mine = people.meet(Pid(std::process::id()), Gpu(0)).expect("a record");
        assert_eq!((mine.relation, mine.user.as_deref()), (Relation::Mine, Ok(&*people.me())));
        assert!(mine.key.start.is_some() && mine.command.is_ok() && mine.ppid.is_ok());
        let running = mine.running(Clock::wall()).expect("a start");
        assert!(running < Period::secs(3600 * 24 * 30), "{running}");
        assert_eq!(people.meet(Pid(std::process::id()), Gpu(1)), None, "known already");
        let strange = people.meet(Pid(4_194_305), Gpu(0)).expect("a record");
        assert_eq!((strange.relation, strange.key.start), (Relation::Unknown, None));
        let (usage, _) = people.usage(Pid(4_194_305), Ok(3.0));
        assert_eq!((usage.gpu, usage.cpu.is_err(), usage.rss.is_err()), (Ok(3.0), true, true));
    }

    #[test]
    fn a_process_ends_when_no_card_lists_it_and_it_is_gone() {
        let people = People::new(Clock::start());
        let mut child = std::process::Command::new("sleep").arg("60").spawn().expect("a child");
        let pid = Pid(child.id());
        people.meet(pid, Gpu(0));
        people.meet(pid, Gpu(1));
        assert!(!people.part(pid, Gpu(0)));
        assert!(!people.part(pid, Gpu(1)), "it freed its memory, but lives");
        assert!(people.ended().is_empty());
        child.kill().expect("mine");
        child.wait().expect("ended");
        assert_eq!(people.ended(), [pid]);
        assert!(people.ended().is_empty(), "told once");
    }
}
