//! Holders taken together: jobs over all their processes and cards, and users.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::{Bytes, DeviceView, Gpu, HolderView, Job, ProcessKey, Relation, Snapshot};

/// A job at one moment: its processes that hold memory, on all cards.
#[derive(Clone, Debug)]
pub struct JobView {
    /// What makes them one.
    pub job: Arc<Job>,
    /// Whose its processes are; the first of [`Relation`]'s order where they differ.
    pub relation: Relation,
    /// Their user, where all have the same.
    pub user: Option<Arc<str>>,
    /// A process on a card, by card and then by size.
    pub members: Vec<(Gpu, Arc<HolderView>)>,
    /// What it holds on each card; none where some size there is missing.
    pub on: BTreeMap<Gpu, Option<Bytes>>,
    /// The device of those it runs on that has the least headroom, and how much: the MIG instance, where it runs in one.
    pub tightest: Option<(Gpu, Bytes)>,
}

/// What one user holds on all cards.
#[derive(Clone, Debug)]
pub struct UserTotal {
    /// The name; none for processes whose owner is not known.
    pub user: Option<Arc<str>>,
    /// Whose these are; the first of [`Relation`]'s order where they differ.
    pub relation: Relation,
    /// Σ of the sizes that are known.
    pub used: Bytes,
    /// Whether some size is missing.
    pub partial: bool,
    /// How many processes.
    pub processes: usize,
}

impl JobView {
    /// What it holds on all cards; none where some size is missing.
    pub fn used(&self) -> Option<Bytes> {
        self.on.values().copied().sum()
    }

    /// How many processes of it hold memory.
    pub fn processes(&self) -> usize {
        self.members.iter().map(|(_, holder)| holder.key).collect::<BTreeSet<_>>().len()
    }
}

/// The whole GPUs: they list the processes of their instances too, so that nothing is counted twice.
fn whole(snapshot: &Snapshot) -> impl Iterator<Item = &Arc<DeviceView>> {
    snapshot.devices.iter().filter(|view| view.device.parent.is_none())
}

impl Snapshot {
    /// The jobs that hold memory, the largest first.
    pub fn jobs(&self) -> Vec<JobView> {
        let mut jobs: BTreeMap<ProcessKey, JobView> = BTreeMap::new();
        for view in whole(self) {
            for holder in view.holders.iter().flat_map(|list| list.iter()) {
                let Some((process, job)) = holder.process.as_ref().and_then(|process| Some((process, process.job.as_ref()?)))
                else {
                    continue;
                };
                let user = process.user.as_ref().ok();
                let entry = jobs.entry(job.leader).or_insert_with(|| JobView {
                    job: Arc::clone(job),
                    relation: process.relation,
                    user: user.cloned(),
                    members: Vec::new(),
                    on: BTreeMap::new(),
                    tightest: None,
                });
                entry.relation = entry.relation.min(process.relation);
                if entry.user.as_ref() != user {
                    entry.user = None;
                }
                entry.members.push((view.gpu(), Arc::clone(holder)));
                let sum = entry.on.entry(view.gpu()).or_insert(Some(Bytes::ZERO));
                *sum = sum.zip(holder.used()).map(|(sum, used)| sum.saturating_add(used));
                let device = holder.holder.instance.and_then(|instance| self.device(instance)).unwrap_or(view);
                if let Ok(headroom) = device.headroom
                    && entry.tightest.is_none_or(|(_, least)| headroom < least)
                {
                    entry.tightest = Some((device.gpu(), headroom));
                }
            }
        }
        let mut jobs: Vec<JobView> = jobs.into_values().collect();
        jobs.sort_by_key(|job| (std::cmp::Reverse(job.on.values().flatten().copied().sum::<Bytes>()), job.job.leader));
        jobs
    }

    /// What each user holds on all cards, the largest first.
    pub fn users(&self) -> Vec<UserTotal> {
        let mut totals: BTreeMap<Option<Arc<str>>, (UserTotal, BTreeSet<ProcessKey>)> = BTreeMap::new();
        for holder in whole(self).flat_map(|view| view.holders.iter().flat_map(|list| list.iter())) {
            let user = holder.process.as_ref().and_then(|process| process.user.as_ref().ok()).cloned();
            let (total, processes) = totals.entry(user.clone()).or_insert_with(|| {
                let relation = holder.relation();
                (UserTotal { user, relation, used: Bytes::ZERO, partial: false, processes: 0 }, BTreeSet::new())
            });
            total.relation = total.relation.min(holder.relation());
            total.used = total.used.saturating_add(holder.used().unwrap_or_default());
            total.partial |= holder.used().is_none();
            processes.insert(holder.key);
        }
        let mut totals: Vec<UserTotal> =
            totals.into_values().map(|(total, processes)| UserTotal { processes: processes.len(), ..total }).collect();
        totals.sort_by(|a, b| b.used.cmp(&a.used).then_with(|| a.user.cmp(&b.user)));
        totals
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::fixture::Stream;
    use crate::domain::{MemoryKind, Pid};

    #[test]
    fn a_job_is_one_over_its_cards_and_names_the_tightest() {
        let mut stream = Stream::new(MemoryKind::Dedicated);
        stream.card(1, "GPU-b");
        for pid in [11, 12, 13, 14] {
            stream.member(pid, 10, "torchrun");
        }
        stream.process(20, 1, 1001);
        stream.holders(1_000, &[(11, Some(1_000)), (12, Some(2_000)), (20, Some(9_000))]).memory(1_001, 12_000);
        stream.holders_of(1, 1_000, &[(13, Some(3_000)), (14, Some(4_000))]).memory_of(1, 1_001, 70_000);
        let snapshot = stream.snapshot();
        let jobs = snapshot.jobs();
        assert_eq!(jobs.len(), 1);
        let job = &jobs[0];
        assert_eq!((job.job.leader.pid, job.processes(), job.used()), (Pid(10), 4, Some(Bytes::mib(10_000))));
        assert_eq!(job.on.get(&Gpu(1)), Some(&Some(Bytes::mib(7_000))));
        assert_eq!(job.tightest.map(|(gpu, _)| gpu), Some(Gpu(1)));
        let users: Vec<(Option<&str>, Bytes, usize)> = snapshot
            .users()
            .iter()
            .map(|total| (total.user.as_deref(), total.used, total.processes))
            .map(|(u, b, n)| (u.map(|_| "user1"), b, n))
            .collect();
        assert_eq!(users, [(Some("user1"), Bytes::mib(19_000), 5)]);
    }

    #[test]
    fn a_size_that_is_missing_leaves_the_sum_unknown() {
        let mut stream = Stream::new(MemoryKind::Dedicated);
        stream.member(11, 10, "fork").member(12, 10, "fork");
        stream.holders(1_000, &[(11, Some(1_000)), (12, None)]).memory(1_001, 2_000);
        let snapshot = stream.snapshot();
        assert_eq!(snapshot.jobs()[0].used(), None);
        let total = &snapshot.users()[0];
        assert_eq!((total.used, total.partial), (Bytes::mib(1_000), true));
    }
}
