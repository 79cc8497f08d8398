//! The process trees that the user watches (`--pid`): who is in them, also once its parent is gone.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use super::kin::Kin;
use super::procfs;
use super::root::Root;
use crate::domain::{Pid, ProcessKey};

/// Watched trees.
#[derive(Debug, Default)]
pub struct Watch {
    heads: Vec<Kin>,
    tree: Mutex<Tree>,
}

#[derive(Debug, Default)]
struct Tree {
    /// Start and head of each member, by pid. Once in, a process stays in, whoever its parent is then.
    members: HashMap<u32, (u64, usize)>,
    /// All processes there were at the last pass.
    seen: HashSet<u32>,
}

impl Watch {
    /// Watches trees by the pids of their heads, whose starts are pinned: a pid that is used again is another process.
    ///
    /// # Errors
    /// The pid that no process has.
    pub fn new(root: &Root, pids: &[u32]) -> Result<Self, u32> {
        let mut heads = Vec::with_capacity(pids.len());
        let mut tree = Tree::default();
        for &pid in pids {
            let stat = procfs::stat(root, pid).ok_or(pid)?;
            tree.members.insert(pid, (stat.start, heads.len()));
            heads.push(Kin {
                key: ProcessKey { pid: Pid(pid), start: Some(stat.start) },
                uid: procfs::uid(root, pid),
                name: stat.name.as_str().into(),
                command: procfs::command(root, pid).map(Into::into),
                zombie: false,
            });
        }
        let watch = Self { heads, tree: Mutex::new(tree) };
        watch.pass(root);
        Ok(watch)
    }

    /// Whether nothing is watched.
    pub fn is_empty(&self) -> bool {
        self.heads.is_empty()
    }

    /// The head of the tree that a process is in, by itself or one of its parents; they are members from then on.
    pub fn head(&self, key: ProcessKey, chain: &[Arc<Kin>]) -> Option<&Kin> {
        if self.heads.is_empty() {
            return None;
        }
        let mut tree = self.lock();
        let line: Vec<(u32, u64)> =
            std::iter::once(key).chain(chain.iter().map(|kin| kin.key)).map_while(|key| Some((key.pid.0, key.start?))).collect();
        let known =
            |tree: &Tree, (pid, start): (u32, u64)| tree.members.get(&pid).filter(|(of, _)| *of == start).map(|(_, head)| *head);
        let (at, head) = line.iter().enumerate().find_map(|(at, link)| Some((at, known(&tree, *link)?)))?;
        for (pid, start) in line.into_iter().take(at) {
            tree.members.insert(pid, (start, head));
        }
        self.heads.get(head)
    }

    /// Looks for new processes in the trees, so that those are known whose parent ends before they hold memory.
    pub fn pass(&self, root: &Root) {
        if self.heads.is_empty() {
            return;
        }
        let Some(pids) = procfs::pids(root) else { return };
        let new: Vec<u32> = {
            let tree = self.lock();
            pids.iter().filter(|pid| !tree.seen.contains(pid)).copied().collect()
        };
        let mut new: Vec<(u32, procfs::Stat)> = new.into_iter().filter_map(|pid| Some((pid, procfs::stat(root, pid)?))).collect();
        let mut tree = self.lock();
        // Children may have smaller numbers than their parents: until nobody is added any more.
        loop {
            let before = new.len();
            new.retain(|(pid, stat)| {
                let head = tree.members.get(&stat.ppid).filter(|(start, _)| *start <= stat.start).map(|(_, head)| *head);
                if let Some(head) = head {
                    tree.members.insert(*pid, (stat.start, head));
                }
                head.is_none()
            });
            if new.len() == before {
                break;
            }
        }
        tree.seen = pids.into_iter().collect();
        let Tree { members, seen } = &mut *tree;
        members.retain(|pid, _| seen.contains(pid));
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Tree> {
        self.tree.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A `/proc` of processes given as pid, parent, start.
    fn tree(root: &Root, processes: &[(u32, u32, u64)]) {
        let _ = std::fs::remove_dir_all(root.path("/proc"));
        for (pid, ppid, start) in processes {
            std::fs::create_dir_all(root.proc(*pid, "")).expect("a folder");
            let stat = format!("{pid} (x) S {ppid} 0 0 0 0 0 0 0 0 0 1 1 0 0 20 0 1 0 {start} 0 5 0\n");
            std::fs::write(root.proc(*pid, "stat"), stat).expect("a stand-in");
        }
    }

    #[test]
    fn a_member_stays_one_and_a_pid_used_again_is_none() {
        let dir = tempfile::tempdir().expect("a folder");
        let root = Root::at(dir.path());
        tree(&root, &[(1, 0, 1), (50, 1, 100), (60, 50, 110), (40, 60, 120), (70, 1, 130)]);
        let watch = Watch::new(&root, &[50]).expect("it lives");
        let head = |pid, start| watch.head(ProcessKey { pid: Pid(pid), start: Some(start) }, &[]).map(|head| head.key.pid.0);
        assert_eq!((head(50, 100), head(60, 110), head(40, 120), head(70, 130)), (Some(50), Some(50), Some(50), None));
        // The head and a parent end; the grandchild has another parent now, and a child of its own.
        tree(&root, &[(1, 0, 1), (40, 1, 120), (41, 40, 140), (70, 1, 130)]);
        watch.pass(&root);
        assert_eq!((head(40, 120), head(41, 140), head(70, 130)), (Some(50), Some(50), None));
        // The head's number is used again.
        tree(&root, &[(1, 0, 1), (50, 1, 900), (51, 50, 901), (41, 1, 140)]);
        watch.pass(&root);
        assert_eq!((head(50, 900), head(51, 901), head(41, 140)), (None, None, Some(50)));
        assert_eq!(head(41, 141), None, "another start is another process");
    }

    #[test]
    fn a_parent_in_the_tree_brings_its_children_in() {
        let dir = tempfile::tempdir().expect("a folder");
        let root = Root::at(dir.path());
        tree(&root, &[(1, 0, 1), (50, 1, 100)]);
        let watch = Watch::new(&root, &[50]).expect("it lives");
        let kin = |pid, start| {
            let key = ProcessKey { pid: Pid(pid), start: Some(start) };
            Arc::new(Kin { key, uid: None, name: "x".into(), command: None, zombie: false })
        };
        let child = ProcessKey { pid: Pid(99), start: Some(300) };
        let found = watch.head(child, &[kin(98, 200), kin(50, 100), kin(1, 1)]);
        assert_eq!(found.map(|head| head.key.pid.0), Some(50));
        assert!(watch.head(ProcessKey { pid: Pid(98), start: Some(200) }, &[]).is_some(), "those between are members too");
        assert_eq!(Watch::new(&root, &[50, 7777]).err(), Some(7777));
        assert!(Watch::default().is_empty());
    }
}
