//! What may be known of the situation that a finding stands in. Everything is optional: what is not known gives no advice.

use std::cmp::Reverse;
use std::sync::Arc;

use crate::domain::{
    Anatomy, Bytes, DeviceView, Finding, FindingKind, Gpu, HolderView, MemoryKind, Missing, Period, Pid, ProcessKey, Relation,
    RiskLevel, Snapshot, Wall, Workload,
};

/// No more holders are looked at, the largest first.
const MOST_HOLDERS: usize = 64;

/// What happened so long before a failure may have made it.
const JUST_BEFORE: Period = Period::secs(60);

/// A process that holds memory on the device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Party {
    /// Its pid.
    pub pid: Pid,
    /// Whose it is.
    pub relation: Relation,
    /// Its owner's name.
    pub user: Option<Arc<str>>,
    /// What its command line tells.
    pub workload: Workload,
    /// What it holds there.
    pub used: Option<Bytes>,
    /// How long it has run.
    pub age: Option<Period>,
    /// It is part of the same job as the process that the finding names.
    pub kin: bool,
}

/// The situation of a finding.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facts {
    /// The process that the finding names.
    pub process: Option<Party>,
    /// The other holders of the device, largest first.
    pub others: Vec<Party>,
    /// Total memory of the device.
    pub total: Option<Bytes>,
    /// What a new allocation can have there.
    pub headroom: Option<Bytes>,
    /// Who manages the memory.
    pub memory: MemoryKind,
    /// How many GPUs the node has.
    pub cards: Option<u32>,
    /// The other GPU with the most headroom.
    pub roomiest: Option<(Gpu, Bytes)>,
    /// Where the memory of the process goes.
    pub anatomy: Option<Anatomy>,
    /// How close the device is to running out.
    pub risk: Option<RiskLevel>,
    /// What was seen of the process before it failed, and made it fail: growth, or a rise just before.
    pub cause: Option<Arc<Finding>>,
    /// Whether the GPU computes.
    pub busy: Option<bool>,
    /// The driver is that of Windows (or WSL2 on it): a full card spills into the memory of the host.
    pub wddm: bool,
}

impl Party {
    /// Whether it is mine to change.
    pub fn is_own(&self) -> bool {
        matches!(self.relation, Relation::Job | Relation::Mine)
    }

    fn of(view: &HolderView, job: Option<ProcessKey>, now: Option<Wall>) -> Self {
        let process = view.process.as_deref();
        Self {
            pid: view.pid(),
            relation: view.relation(),
            user: process.and_then(|process| process.user.as_ref().ok()).cloned(),
            workload: process.map(Workload::of_process).unwrap_or_default(),
            used: view.used(),
            age: process.zip(now).and_then(|(process, now)| process.running(now)),
            kin: job.is_some() && leader(view) == job,
        }
    }
}

/// The largest holder whose job this process leads, or whose parent it is.
fn largest_of(holders: &[Arc<HolderView>], pid: Pid) -> Option<Arc<HolderView>> {
    let of = |holder: &&Arc<HolderView>| {
        let parent = holder.process.as_ref().and_then(|process| process.ppid.as_ref().ok().copied());
        parent == Some(pid) || leader(holder).is_some_and(|leader| leader.pid == pid)
    };
    holders.iter().filter(of).max_by_key(|holder| holder.used()).cloned()
}

/// The head of the job that a holder is part of.
fn leader(view: &HolderView) -> Option<ProcessKey> {
    view.process.as_ref()?.job.as_ref().map(|job| job.leader)
}

impl Facts {
    /// What a snapshot tells of the situation on a device, for a finding that names `pid`. None where the device is not there.
    /// Anatomy and risk are the analyst's to add. A process that is gone is found among those that went; where it is the head
    /// or the parent of holders and holds nothing itself, the largest of them stands for it.
    pub fn of(snapshot: &Snapshot, gpu: Gpu, pid: Option<Pid>) -> Option<Self> {
        let view = snapshot.device(gpu)?;
        let holders: &[Arc<HolderView>] = view.holders.as_ref().map(|list| &**list).unwrap_or_default();
        let named = |list: &[Arc<HolderView>]| list.iter().find(|holder| Some(holder.pid()) == pid).cloned();
        let process = named(holders).or_else(|| named(&view.gone)).or_else(|| largest_of(holders, pid?));
        let job = process.as_deref().and_then(leader);
        let now = snapshot.header.as_ref().map(|header| header.created.after(snapshot.at));
        let own = process.as_ref().map(|holder| holder.key);
        let party = |holder: &HolderView| Party::of(holder, job, now);
        let wholes = || snapshot.devices.iter().filter(|other| other.device.parent.is_none());
        let roomiest = wholes()
            .filter(|other| other.gpu() != view.gpu() && view.device.parent.is_none())
            .filter_map(|other| Some((other.gpu(), *other.headroom.as_ref().ok()?)))
            .max_by_key(|(gpu, headroom)| (*headroom, Reverse(*gpu)));
        Some(Self {
            busy: busy(view, process.as_deref()),
            process: process.as_deref().map(party),
            others: holders
                .iter()
                .filter(|holder| Some(holder.key) != own)
                .take(MOST_HOLDERS)
                .map(|holder| party(holder))
                .collect(),
            total: view.total().ok(),
            headroom: view.headroom.as_ref().ok().copied(),
            memory: view.device.memory,
            cards: u32::try_from(wholes().count()).ok(),
            roomiest,
            anatomy: None,
            cause: pid.and_then(|pid| cause(snapshot, gpu, pid)),
            risk: None,
            wddm: hides_sizes(view, holders),
        })
    }
}

/// The newest finding that can make a process fail: growth that goes on, or a rise just before.
fn cause(snapshot: &Snapshot, gpu: Gpu, pid: Pid) -> Option<Arc<Finding>> {
    let recent = |finding: &&Arc<Finding>| match finding.kind {
        FindingKind::LeakStep | FindingKind::LeakEpoch | FindingKind::Staircase => {
            finding.to.is_none_or(|to| snapshot.at.since(to) <= JUST_BEFORE)
        }
        FindingKind::EvalJump | FindingKind::OptimizerStep => snapshot.at.since(finding.from) <= JUST_BEFORE,
        _ => false,
    };
    let of = |finding: &&Arc<Finding>| finding.gpu == gpu && finding.pid == Some(pid);
    snapshot.findings.iter().filter(of).filter(recent).max_by_key(|finding| finding.t).cloned()
}

/// Whether the device or the process computes; none where neither tells.
fn busy(view: &DeviceView, process: Option<&HolderView>) -> Option<bool> {
    let own = process.and_then(|holder| holder.usage.as_ref()).and_then(|usage| usage.gpu.as_ref().ok());
    let known = view.utilization.as_ref().ok().into_iter().chain(own);
    known.map(|percent| *percent >= 1.0).reduce(|either, other| either || other)
}

/// Whether the driver keeps the sizes of all processes of a whole card to itself, as it does under WDDM and in WSL2 alone; on a
/// card in MIG mode that has other causes.
fn hides_sizes(view: &DeviceView, holders: &[Arc<HolderView>]) -> bool {
    let hidden =
        |holder: &Arc<HolderView>| matches!(holder.holder.used, Err(Missing::Unsupported(_))) && holder.holder.instance.is_none();
    let whole = view.device.parent.is_none() && view.device.memory == MemoryKind::Dedicated;
    whole && !holders.is_empty() && holders.iter().all(hidden)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Framework;
    use crate::domain::fixture::{GPU, Stream};

    #[test]
    fn a_snapshot_tells_who_is_there_and_where_there_is_room() {
        let mut stream = Stream::new(MemoryKind::Dedicated);
        stream
            .process(7, 111, 1000)
            .process(8, 112, 2000)
            .holders(1_000, &[(7, Some(9_000)), (8, Some(500))])
            .memory(1_001, 9_600);
        let facts = Facts::of(&stream.snapshot(), GPU, Some(Pid(7))).expect("the card is there");
        let process = facts.process.as_ref().expect("it is listed");
        assert_eq!((process.pid, process.used), (Pid(7), Some(Bytes::mib(9_000))));
        assert_eq!(facts.others.iter().map(|other| other.pid.0).collect::<Vec<u32>>(), [8]);
        assert_eq!((facts.total, facts.cards, facts.roomiest), (Some(Bytes::gib(80)), Some(1), None));
        assert_eq!(facts.headroom, Some(Bytes::gib(80).saturating_sub(Bytes::mib(9_600 + 479))));
        assert_eq!((facts.busy, facts.wddm), (None, false), "nothing was read of load");
        // When it is gone it still is who it was.
        stream.holders(2_000, &[(8, Some(500))]).memory(2_001, 600);
        let facts = Facts::of(&stream.snapshot(), GPU, Some(Pid(7))).expect("the card is there");
        assert_eq!(facts.process.map(|process| process.pid), Some(Pid(7)));
        assert_eq!(Facts::of(&stream.snapshot(), Gpu(5), None), None);
    }

    #[test]
    fn the_head_of_a_job_is_known_by_its_largest_holder() {
        let mut stream = Stream::new(MemoryKind::Dedicated);
        stream.member(21, 20, "torchrun").member(22, 20, "torchrun").process(8, 112, 2000);
        stream.holders(1_000, &[(21, Some(500)), (22, Some(9_000)), (8, Some(20_000))]).memory(1_001, 30_000);
        let facts = Facts::of(&stream.snapshot(), GPU, Some(Pid(20))).expect("the card is there");
        let process = facts.process.expect("two are of its job");
        assert_eq!((process.pid, process.workload.framework), (Pid(22), Some(Framework::PyTorch)));
        let mut kin: Vec<(u32, bool)> = facts.others.iter().map(|other| (other.pid.0, other.kin)).collect();
        kin.sort_unstable();
        assert_eq!(kin, [(8, false), (21, true)]);
    }

    #[test]
    fn where_no_size_is_told_the_driver_is_that_of_windows() {
        for (sizes, wddm) in [(&[(7, None), (8, None)][..], true), (&[(7, None), (8, Some(500))], false), (&[], false)] {
            let mut stream = Stream::new(MemoryKind::Dedicated);
            stream.holders(1_000, sizes).memory(1_001, 9_010);
            assert_eq!(Facts::of(&stream.snapshot(), GPU, None).map(|facts| facts.wddm), Some(wddm), "{sizes:?}");
        }
    }
}
