//! What may be known of the situation that a finding stands in. Everything is optional: what is not known gives no advice.

use std::sync::Arc;

use crate::domain::{
    Anatomy, Bytes, DeviceView, Gpu, HolderView, MemoryKind, Missing, Period, Pid, Relation, RiskLevel, Timestamp, Workload,
};

/// No more holders are looked at, the largest first.
const MOST_HOLDERS: usize = 64;

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
    /// How long it has been seen there.
    pub seen: Option<Period>,
}

/// The situation of a finding.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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

    fn of(view: &HolderView, now: Timestamp) -> Self {
        let process = view.process.as_deref();
        let command = process.and_then(|process| process.command.as_ref().ok());
        Self {
            pid: view.pid(),
            relation: view.relation(),
            user: process.and_then(|process| process.user.as_ref().ok()).cloned(),
            workload: command.map(|command| Workload::of(command)).unwrap_or_default(),
            used: view.used(),
            seen: Some(now.since(view.first_seen)),
        }
    }
}

impl Facts {
    /// What the views of a node tell at `now` of the situation on `view`, for a finding that names `pid`. Anatomy and risk are
    /// those of the analyst, where it has any. A process that is gone is found among those that went.
    pub fn of(view: &DeviceView, node: &[Arc<DeviceView>], pid: Option<Pid>, now: Timestamp) -> Self {
        let holders = view.holders.as_ref().map(|list| list.iter().as_slice()).unwrap_or_default();
        let named =
            |list: &[Arc<HolderView>]| list.iter().find(|holder| Some(holder.pid()) == pid).map(|holder| Party::of(holder, now));
        let wholes = || node.iter().filter(|other| other.device.parent.is_none());
        let roomiest = wholes()
            .filter(|other| other.gpu() != view.gpu() && view.device.parent.is_none())
            .filter_map(|other| Some((other.gpu(), *other.headroom.as_ref().ok()?)))
            .max_by_key(|(gpu, headroom)| (*headroom, std::cmp::Reverse(*gpu)));
        Self {
            process: named(holders).or_else(|| named(&view.gone)),
            others: holders
                .iter()
                .filter(|holder| Some(holder.pid()) != pid)
                .take(MOST_HOLDERS)
                .map(|holder| Party::of(holder, now))
                .collect(),
            total: view.total().ok(),
            headroom: view.headroom.as_ref().ok().copied(),
            memory: view.device.memory,
            cards: u32::try_from(wholes().count()).ok(),
            roomiest,
            anatomy: None,
            risk: None,
            busy: view.utilization.as_ref().ok().map(|percent| *percent >= 1.0),
            wddm: hides_sizes(view, holders),
        }
    }
}

/// Whether the driver keeps the sizes of all processes of a whole card to itself, as it does under WDDM and in WSL2 alone; on a
/// card in MIG mode that has other causes.
fn hides_sizes(view: &DeviceView, holders: &[Arc<HolderView>]) -> bool {
    let hidden =
        |holder: &Arc<HolderView>| matches!(holder.holder.used, Err(Missing::Unsupported(_))) && holder.holder.instance.is_none();
    let whole = view.device.parent.is_none() && view.device.memory == MemoryKind::Dedicated;
    whole && !holders.is_empty() && holders.iter().all(hidden)
}
