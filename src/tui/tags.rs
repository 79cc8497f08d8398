//! Processes that the user picked out, to act on together. A tag follows the process, not its row.

use std::collections::BTreeSet;

use super::look::{Look, RowKey};
use crate::domain::{ProcessKey, Snapshot};

/// The tagged processes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tags(BTreeSet<ProcessKey>);

impl Tags {
    /// Tags all of `keys`, or takes the tags away where all have them.
    pub fn toggle(&mut self, keys: &[ProcessKey]) {
        if keys.iter().all(|key| self.0.contains(key)) {
            self.0.retain(|key| !keys.contains(key));
        } else {
            self.0.extend(keys);
        }
    }

    /// Whether a process is tagged.
    pub fn contains(&self, key: ProcessKey) -> bool {
        self.0.contains(&key)
    }

    /// How many are tagged.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The tagged processes, by pid.
    pub fn iter(&self) -> impl Iterator<Item = ProcessKey> + '_ {
        self.0.iter().copied()
    }

    /// Takes all tags away.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Drops the tags of processes that hold memory no more. A list that can't be read proves nothing.
    pub fn prune(&mut self, snapshot: &Snapshot) {
        if self.0.is_empty() || snapshot.devices.iter().any(|view| view.holders.is_err()) {
            return;
        }
        let held: BTreeSet<ProcessKey> = holders(snapshot).map(|(key, _)| key).collect();
        self.0.retain(|key| held.contains(key));
    }
}

impl Look {
    /// The processes that an action is about: those that are tagged, else the selected one, or all of the selected job.
    /// Empty where neither is; each stands once.
    pub fn picked(&self, snapshot: &Snapshot) -> Vec<ProcessKey> {
        if self.tags.is_empty() {
            self.row.as_ref().map_or_else(Vec::new, |row| processes_of(row, snapshot))
        } else {
            self.tags.iter().collect()
        }
    }
}

/// The processes that a row stands for.
pub fn processes_of(row: &RowKey, snapshot: &Snapshot) -> Vec<ProcessKey> {
    match row {
        RowKey::Holder(_, key) => vec![*key],
        RowKey::Job(leader) => {
            let members: BTreeSet<ProcessKey> =
                holders(snapshot).filter(|(_, job)| *job == Some(*leader)).map(|(key, _)| key).collect();
            members.into_iter().collect()
        }
        RowKey::Unattributed(_) | RowKey::Others(_) => Vec::new(),
    }
}

/// The leader of the job that the process of a row is part of.
pub fn job_of(row: &RowKey, snapshot: &Snapshot) -> Option<ProcessKey> {
    match row {
        RowKey::Job(leader) => Some(*leader),
        RowKey::Holder(_, own) => holders(snapshot).find(|(key, _)| key == own).and_then(|(_, job)| job),
        RowKey::Unattributed(_) | RowKey::Others(_) => None,
    }
}

/// Every holder of every device with the leader of its job.
fn holders(snapshot: &Snapshot) -> impl Iterator<Item = (ProcessKey, Option<ProcessKey>)> + '_ {
    let lists = snapshot.devices.iter().filter_map(|view| view.holders.as_ref().ok());
    lists.flat_map(|list| list.iter()).map(|holder| {
        let job = holder.process.as_ref().and_then(|process| process.job.as_ref());
        (holder.key, job.map(|job| job.leader))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Pid;

    fn key(pid: u32) -> ProcessKey {
        ProcessKey { pid: Pid(pid), start: Some(1) }
    }

    #[test]
    fn a_second_time_takes_the_tag_away() {
        let mut tags = Tags::default();
        tags.toggle(&[key(1)]);
        tags.toggle(&[key(1), key(2)]);
        assert_eq!(tags.iter().collect::<Vec<_>>(), [key(1), key(2)], "a job of which one is tagged is tagged as a whole");
        tags.toggle(&[key(1), key(2)]);
        assert!(tags.is_empty());
        tags.toggle(&[]);
        assert!(tags.is_empty());
    }

    #[test]
    fn the_tagged_go_before_the_selected() {
        let mut look = Look::new();
        look.row = Some(RowKey::Holder(crate::domain::Gpu(0), key(7)));
        assert_eq!(look.picked(&Snapshot::default()), [key(7)]);
        look.tags.toggle(&[key(8)]);
        assert_eq!(look.picked(&Snapshot::default()), [key(8)]);
        look.tags.prune(&Snapshot::default());
        assert!(look.tags.is_empty(), "nobody holds memory any more");
    }
}
