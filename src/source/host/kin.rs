//! The parents of processes, read once for all their children.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::procfs;
use super::root::Root;
use crate::domain::launcher::{Link, MAX_CHAIN};
use crate::domain::{Period, Pid, ProcessKey, Timestamp};

/// Parents that are remembered.
const MOST: usize = 1024;
/// A parent is looked at anew after this long: it may have become another program.
const FRESH: Period = Period::secs(10);

/// A parent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kin {
    /// pid and start.
    pub key: ProcessKey,
    /// Its owner.
    pub uid: Option<u32>,
    /// Its name.
    pub name: Arc<str>,
    /// Its command line; none for a zombie or a thread of the kernel.
    pub command: Option<Arc<str>>,
    /// It has ended, and its own parent has not looked yet.
    pub zombie: bool,
}

/// All parents met.
#[derive(Debug, Default)]
pub struct Kinship {
    known: Mutex<HashMap<u32, (Timestamp, Arc<Kin>)>>,
}

impl Kin {
    /// As a link of a chain.
    pub fn link(&self) -> Link<'_> {
        Link { uid: self.uid, name: &self.name, command: self.command.as_deref().unwrap_or_default() }
    }
}

impl Kinship {
    /// The chain of parents from `parent` up, the nearest first, pid 1 included. `start` is that of the child: a parent that
    /// started after it has only its number.
    pub fn chain(&self, root: &Root, parent: u32, start: u64, now: Timestamp) -> Vec<Arc<Kin>> {
        let mut chain: Vec<Arc<Kin>> = Vec::new();
        let (mut pid, mut child) = (parent, start);
        while pid != 0 && chain.len() < MAX_CHAIN && chain.iter().all(|kin| kin.key.pid.0 != pid) {
            let Some(stat) = procfs::stat(root, pid).filter(|stat| stat.start <= child) else { break };
            let kin = self.meet(root, pid, &stat, now);
            (pid, child) = (stat.ppid, stat.start);
            chain.push(kin);
        }
        chain
    }

    fn meet(&self, root: &Root, pid: u32, stat: &procfs::Stat, now: Timestamp) -> Arc<Kin> {
        let zombie = matches!(stat.state, 'Z' | 'X');
        let same = |kin: &Kin| kin.key.start == Some(stat.start) && kin.zombie == zombie && *kin.name == *stat.name;
        if let Some((read, kin)) = self.lock().get(&pid)
            && same(kin)
            && now.since(*read) < FRESH
        {
            return Arc::clone(kin);
        }
        let kin = Arc::new(Kin {
            key: ProcessKey { pid: Pid(pid), start: Some(stat.start) },
            uid: procfs::uid(root, pid),
            name: stat.name.as_str().into(),
            command: procfs::command(root, pid).map(Into::into),
            zombie,
        });
        let mut known = self.lock();
        if known.len() >= MOST {
            known.clear();
        }
        known.insert(pid, (now, Arc::clone(&kin)));
        kin
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<u32, (Timestamp, Arc<Kin>)>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chain_of_this_process_ends_at_the_first() {
        let (root, kinship) = (Root::default(), Kinship::default());
        let own = procfs::stat(&root, std::process::id()).expect("this process");
        let chain = kinship.chain(&root, own.ppid, own.start, Timestamp::ZERO);
        assert_eq!(chain.first().map(|kin| kin.key.pid.0), Some(own.ppid).filter(|pid| *pid != 0));
        assert!(chain.last().is_none_or(|kin| kin.key.pid.0 == 1 || chain.len() == MAX_CHAIN), "{chain:?}");
        let again = kinship.chain(&root, own.ppid, own.start, Timestamp::ZERO);
        assert!(chain.iter().zip(&again).all(|(a, b)| Arc::ptr_eq(a, b)), "read once");
        assert!(kinship.chain(&root, own.ppid, 0, Timestamp::ZERO).is_empty(), "a parent can't be younger than its child");
    }

    #[test]
    fn a_circle_of_parents_ends() {
        let dir = tempfile::tempdir().expect("a folder");
        let root = Root::at(dir.path());
        for (pid, ppid) in [(5, 6), (6, 5)] {
            std::fs::create_dir_all(root.proc(pid, "")).expect("a folder");
            let stat = format!("{pid} (x) S {ppid} 0 0 0 0 0 0 0 0 0 1 1 0 0 20 0 1 0 100 0 5 0\n");
            std::fs::write(root.proc(pid, "stat"), stat).expect("a stand-in");
        }
        assert_eq!(Kinship::default().chain(&root, 5, 100, Timestamp::ZERO).len(), 2);
    }
}
