//! The rows of the process table at the moment looked at: processes, jobs that fold, and memory of no process.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use super::cards::{Card, Peak, Slice, holders_at, peak_until};
use super::columns::{COLUMNS, SortKey};
use super::filter::Facts;
use super::grown::Grown;
use super::look::{Grouping, Look, RowKey};
use super::world::World;
use crate::domain::{
    Bytes, Gpu, HolderKind, HolderView, JobView, Missing, Pid, ProcessKey, Reading, Relation, Snapshot, Timestamp,
};

/// What a row is about.
#[derive(Clone, Debug)]
pub enum RowKind<'a> {
    /// A process.
    Holder(&'a Arc<HolderView>),
    /// A launcher with its workers, or a program with its children.
    Job(JobRow<'a>),
    /// Memory of no process.
    Unattributed,
    /// Memory in use where the driver does not tell what single processes hold.
    InUse,
    /// Processes that have no history of their own, in the past.
    Others,
}

/// A job's row.
#[derive(Clone, Debug)]
pub struct JobRow<'a> {
    /// All of it, on all cards.
    pub whole: Arc<JobView>,
    /// Its processes on the cards that the table is about.
    pub here: Vec<&'a Arc<HolderView>>,
    /// The cards of these.
    pub gpus: Vec<Gpu>,
    /// Whether its processes stand below it.
    pub open: bool,
}

/// One row.
#[derive(Clone, Debug)]
pub struct Row<'a> {
    /// The device; for a job the first of its devices.
    pub gpu: Gpu,
    /// Whose row.
    pub kind: RowKind<'a>,
    /// Memory at the moment.
    pub used: Reading<Bytes>,
    /// The most memory up to the moment.
    pub peak: Option<Peak>,
    /// The most memory since the last mark; none without one, and in the past.
    pub marked: Option<Bytes>,
    /// By how much it grew over the time in sight; none where that is not known.
    pub change: Option<i64>,
    /// Total memory of the device, for the share.
    pub total: Option<Bytes>,
    /// How deep it stands below others.
    pub depth: u8,
    /// The last of those below the same row.
    pub last: bool,
}

/// What the table shows, and what it leaves out.
#[derive(Clone, Debug, Default)]
pub struct Table<'a> {
    /// The rows in their order.
    pub rows: Vec<Row<'a>>,
    /// All processes of the card or cards.
    pub processes: usize,
    /// Those that the filter leaves.
    pub shown: usize,
    /// Those that are hidden as they use the card for graphics alone.
    pub hidden: usize,
}

impl Table<'_> {
    /// The folded job that a process is hidden in: what is selected must be what is seen, since keys act on it.
    pub fn folded_in(&self, key: &RowKey) -> Option<RowKey> {
        let RowKey::Holder(gpu, process) = key else { return None };
        let is_it = |row: &&Row<'_>| match &row.kind {
            RowKind::Job(job) if !job.open => job.gpus.contains(gpu) && job.here.iter().any(|holder| holder.key == *process),
            _ => false,
        };
        self.rows.iter().find(is_it).map(Row::key)
    }
}

impl Row<'_> {
    /// What stays the same when the row moves.
    pub fn key(&self) -> RowKey {
        match &self.kind {
            RowKind::Holder(holder) => RowKey::Holder(self.gpu, holder.key),
            RowKind::Job(job) => RowKey::Job(job.whole.job.leader),
            RowKind::Unattributed | RowKind::InUse => RowKey::Unattributed(self.gpu),
            RowKind::Others => RowKey::Others(self.gpu),
        }
    }

    /// The process, where it is one.
    pub fn holder(&self) -> Option<&HolderView> {
        match self.kind {
            RowKind::Holder(holder) => Some(holder),
            _ => None,
        }
    }

    /// The processes that it stands for.
    pub fn holders(&self) -> impl Iterator<Item = &HolderView> {
        let (one, many): (Option<&HolderView>, &[&Arc<HolderView>]) = match &self.kind {
            RowKind::Holder(holder) => (Some(holder), &[]),
            RowKind::Job(job) => (None, &job.here),
            _ => (None, &[]),
        };
        one.into_iter().chain(many.iter().map(AsRef::as_ref))
    }

    /// The pid to show: a job's is its leader's.
    pub fn pid(&self) -> Option<Pid> {
        match &self.kind {
            RowKind::Holder(holder) => Some(holder.pid()),
            RowKind::Job(job) => Some(job.whole.job.leader.pid),
            _ => None,
        }
    }

    /// Whose it is: its colour and glyph.
    pub fn slice(&self) -> Slice {
        match &self.kind {
            RowKind::Holder(holder) => Slice::of(holder.relation()),
            RowKind::Job(job) => Slice::of(job.whole.relation),
            RowKind::Unattributed => Slice::Unattributed,
            RowKind::InUse => Slice::InUse,
            RowKind::Others => Slice::of(Relation::Unknown),
        }
    }

    /// What a filter compares.
    fn facts(&self) -> Facts<'_> {
        let process = self.holder().and_then(|holder| holder.process.as_deref());
        let job = process.and_then(|process| process.job.as_deref());
        Facts {
            gpu: self.gpu,
            pid: self.pid(),
            user: process.and_then(|process| process.user.as_deref().ok()).unwrap_or_default(),
            command: process.and_then(|process| process.command.as_deref().ok()).unwrap_or_default(),
            container: process.and_then(|process| process.container.as_deref()).unwrap_or_default(),
            relation: self.slice().name(),
            kind: self.holder().map_or(HolderKind::default(), HolderView::kind),
            used: self.used.as_ref().ok().copied(),
            job: job.map(|job| (&*job.launcher, job.command.as_deref().unwrap_or_default(), job.leader.pid)),
        }
    }
}

/// The jobs of the moment looked at, by their leader; in the past as the histories know them.
pub fn jobs(snapshot: &Snapshot, past: Option<Timestamp>) -> BTreeMap<ProcessKey, Arc<JobView>> {
    let jobs = past.map_or_else(|| snapshot.jobs(), |t| jobs_at(snapshot, t));
    jobs.into_iter().map(|job| (job.job.leader, Arc::new(job))).collect()
}

/// The jobs of a moment of the past. What was free then on their cards is not asked.
fn jobs_at(snapshot: &Snapshot, t: Timestamp) -> Vec<JobView> {
    let mut jobs: BTreeMap<ProcessKey, JobView> = BTreeMap::new();
    for view in snapshot.devices.iter().filter(|view| view.device.parent.is_none()) {
        for (holder, used) in holders_at(view, t) {
            let Some((process, job)) = holder.process.as_ref().and_then(|process| Some((process, process.job.as_ref()?))) else {
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
            *sum = sum.map(|sum| sum.saturating_add(used));
        }
    }
    jobs.into_values().collect()
}

/// The table of the selected card, or of all: of whole GPUs, since these list the processes of their instances too.
pub fn table<'a>(world: &World<'a>, look: &Look) -> Table<'a> {
    let mut leaves = Vec::new();
    let alone = world.selected(look);
    match alone {
        Some(card) => card_rows(card, world, true, &mut leaves),
        None => world.cards.iter().filter(|card| !card.is_instance).for_each(|card| card_rows(card, world, false, &mut leaves)),
    }
    let mut table = Table::default();
    let keep: Vec<bool> = leaves
        .iter()
        .map(|row| {
            let Some(holder) = row.holder() else { return look.filter.is_empty() || look.filter.fits(&row.facts()) };
            table.processes += 1;
            if !look.graphics && holder.kind() == HolderKind::G {
                table.hidden += 1;
                return false;
            }
            let fits = look.filter.is_empty() || look.filter.fits(&row.facts());
            table.shown += usize::from(fits);
            fits
        })
        .collect();
    table.rows = if look.grouping == Grouping::None {
        flat(leaves, &keep, world, look)
    } else {
        grouped(leaves, &keep, world, look, alone)
    };
    table
}

fn flat<'a>(leaves: Vec<Row<'a>>, keep: &[bool], world: &World<'a>, look: &Look) -> Vec<Row<'a>> {
    let mut kept: Vec<Row<'a>> = leaves.into_iter().zip(keep).filter(|(_, keep)| **keep).map(|(row, _)| row).collect();
    kept.sort_by_cached_key(|row| order(row, world, look));
    kept
}

/// Rows with those of a job below the job's, and in the tree processes below their parents.
fn grouped<'a>(leaves: Vec<Row<'a>>, keep: &[bool], world: &World<'a>, look: &Look, alone: Option<&Card<'a>>) -> Vec<Row<'a>> {
    let mut members: BTreeMap<ProcessKey, Vec<usize>> = BTreeMap::new();
    for (at, row) in leaves.iter().enumerate() {
        if let RowKind::Holder(holder) = row.kind
            && let Some(job) = holder.process.as_ref().and_then(|process| process.job.as_ref())
        {
            members.entry(job.leader).or_default().push(at);
        }
    }
    let mut parents: Vec<Option<usize>> = vec![None; leaves.len()];
    if look.grouping == Grouping::Tree {
        link(&leaves, keep, &mut parents);
    }
    let mut rows = leaves;
    let jobs = if members.is_empty() { None } else { Some(world.jobs()) };
    let mut keep = keep.to_vec();
    for (leader, at) in members {
        let Some(whole) = jobs.and_then(|jobs| jobs.get(&leader)) else { continue };
        // One process on one card is no group.
        if whole.members.len() < 2 && at.len() < 2 || !at.iter().any(|at| keep[*at]) {
            continue;
        }
        for member in &at {
            // A parent that is not of the job does not tear it apart.
            parents[*member] = parents[*member].filter(|parent| at.binary_search(parent).is_ok()).or(Some(rows.len()));
        }
        let row = job_row(&rows, &at, whole, look, alone.is_some());
        rows.push(row);
        parents.push(None);
        keep.push(true);
    }
    let keys: Vec<Ordered> = rows.iter().map(|row| order(row, world, look)).collect();
    let mut below: HashMap<usize, Vec<usize>> = HashMap::new();
    let mut tops: Vec<usize> = Vec::new();
    for at in (0..rows.len()).filter(|at| keep[*at]) {
        match parents[at] {
            Some(parent) => below.entry(parent).or_default().push(at),
            None => tops.push(at),
        }
    }
    let by_key = |a: &usize, b: &usize| keys[*a].cmp(&keys[*b]);
    tops.sort_by(by_key);
    for list in below.values_mut() {
        list.sort_by(by_key);
    }
    let mut sorted = Vec::with_capacity(rows.len());
    // The next to take comes last.
    let mut open: Vec<(usize, u8, bool)> = tops.into_iter().rev().map(|at| (at, 0, false)).collect();
    let mut rows: Vec<Option<Row<'a>>> = rows.into_iter().map(Some).collect();
    while let Some((at, depth, last)) = open.pop() {
        let Some(row) = rows[at].take() else { continue };
        let folded = matches!(&row.kind, RowKind::Job(job) if !job.open);
        sorted.push(Row { depth, last, ..row });
        if let Some(children) = below.get(&at).filter(|_| !folded) {
            let end = children.len() - 1;
            open.extend(children.iter().enumerate().rev().map(|(n, at)| (*at, depth.saturating_add(1), n == end)));
        }
    }
    sorted
}

/// The steps that are walked up a chain of parents.
const CHAIN: usize = 16;

/// Finds for each process the nearest of its parents that holds memory on the same card.
fn link(rows: &[Row<'_>], keep: &[bool], parents: &mut [Option<usize>]) {
    let mut places: HashMap<(Gpu, Pid), usize> = HashMap::with_capacity(rows.len());
    for (at, row) in rows.iter().enumerate().filter(|(at, _)| keep[*at]) {
        if let Some(holder) = row.holder() {
            places.insert((row.gpu, holder.pid()), at);
        }
    }
    for (at, row) in rows.iter().enumerate() {
        let Some(process) = row.holder().and_then(|holder| holder.process.as_ref()) else { continue };
        let ancestors = process.details.iter().flat_map(|details| details.parents.iter().map(|parent| parent.key.pid));
        let above = process.ppid.as_ref().ok().copied().into_iter().chain(ancestors);
        parents[at] = above.filter_map(|pid| places.get(&(row.gpu, pid)).copied()).find(|parent| *parent != at);
    }
    // Pids are reused: a chain that leads back to itself would hang nowhere.
    for at in 0..rows.len() {
        let mut above = parents[at];
        for _ in 0..CHAIN {
            above = above.and_then(|above| parents[above]);
        }
        if above.is_some() {
            parents[at] = None;
        }
    }
}

fn job_row<'a>(rows: &[Row<'a>], at: &[usize], whole: &Arc<JobView>, look: &Look, alone: bool) -> Row<'a> {
    let here: Vec<&'a Arc<HolderView>> = at
        .iter()
        .filter_map(|at| match rows[*at].kind {
            RowKind::Holder(holder) => Some(holder),
            _ => None,
        })
        .collect();
    let of = |at: &[usize]| at.iter().map(|at| &rows[*at]).collect::<Vec<_>>();
    let rows = of(at);
    let used: Option<Bytes> = rows.iter().map(|row| row.used.as_ref().ok().copied()).sum();
    let used = used.ok_or_else(|| Missing::Unsupported("the size of one of its processes is missing".into()));
    let change: Option<i64> = rows.iter().map(|row| row.change).sum();
    let (peak, marked) = match rows.as_slice() {
        [one] => (one.peak, one.marked),
        // The sum of peaks at different times is no peak.
        _ => (None, None),
    };
    let gpus: Vec<Gpu> = rows.iter().map(|row| row.gpu).collect::<BTreeSet<_>>().into_iter().collect();
    let open = look.grouping == Grouping::Tree || look.unfolded.contains(&whole.job.leader);
    Row {
        gpu: gpus.first().copied().unwrap_or(Gpu(0)),
        total: rows.first().and_then(|row| row.total).filter(|_| alone),
        kind: RowKind::Job(JobRow { whole: Arc::clone(whole), here, gpus, open }),
        used,
        peak,
        marked,
        change,
        depth: 0,
        last: false,
    }
}

fn card_rows<'a>(card: &Card<'a>, world: &World<'a>, alone: bool, rows: &mut Vec<Row<'a>>) {
    let (view, gpu, total) = (card.view, card.gpu(), card.figures.total);
    if card.is_blank(world.past) {
        return;
    }
    let grown: Option<&Grown> = world.grown(gpu);
    let mut row = |kind, used, peak, marked, change| {
        rows.push(Row { gpu, kind, used, peak, marked, change, total, depth: 0, last: false });
    };
    let change = |holder| grown.and_then(|grown| grown.holder(holder));
    if let Some(t) = world.past {
        for (holder, used) in holders_at(view, t) {
            let peak = holder.series.as_ref().and_then(|series| peak_until(holder.peak, series, t));
            row(RowKind::Holder(holder), Ok(used), peak, None, change(holder));
        }
        if let Some(others) = view.others.at(t).filter(|others| others.0 > 0) {
            row(RowKind::Others, Ok(others), None, None, grown.and_then(Grown::others));
        }
    } else {
        let since_mark = !world.snapshot.marks.is_empty();
        for holder in view.holders.iter().flat_map(|list| list.iter()) {
            let peak = holder.peak.map(|(at, peak)| (Some(at), peak));
            let marked = holder.peak_since_mark.filter(|_| since_mark).map(|(_, peak)| peak);
            row(RowKind::Holder(holder), holder.holder.used.clone(), peak, marked, change(holder));
        }
    }
    // Every card has a little of it: beside those of other cards only what is worth a row gets one.
    let least = if alone { 1 } else { 64 * crate::domain::bytes::MIB };
    match card.figures.unattributed {
        Some(unattributed) if unattributed.0 >= least => {
            row(RowKind::Unattributed, Ok(unattributed), None, None, grown.and_then(Grown::unattributed));
        }
        None if view.holders.as_ref().is_ok_and(|list| !list.is_empty()) => {
            let rest = view.accounts().and_then(|balance| balance.unexplained).filter(|_| world.past.is_none());
            if let Some(in_use) = rest.or(card.figures.used) {
                row(RowKind::InUse, Ok(in_use), None, None, None);
            }
        }
        _ => {}
    }
}

/// Rows of missing values come last; rows of equal value keep the order of card and pid, so that nothing jumps.
fn order(row: &Row<'_>, world: &World<'_>, look: &Look) -> Ordered {
    let column = &COLUMNS[look.sort.min(COLUMNS.len() - 1)];
    let tie = (row.gpu.0, row.pid().map_or(u32::MAX, |pid| pid.0));
    Ordered { key: (column.key)(row, world), tie, descending: look.descending }
}

/// What a row is ordered by.
struct Ordered {
    key: SortKey,
    tie: (u32, u32),
    descending: bool,
}

impl Ord for Ordered {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_key = match (&self.key, &other.key) {
            (SortKey::Missing, SortKey::Missing) => Ordering::Equal,
            (SortKey::Missing, _) => Ordering::Greater,
            (_, SortKey::Missing) => Ordering::Less,
            (own, other) => {
                let order = own.partial_cmp(other).unwrap_or(Ordering::Equal);
                if self.descending { order.reverse() } else { order }
            }
        };
        by_key.then(self.tie.cmp(&other.tie))
    }
}

impl PartialOrd for Ordered {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Ordered {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Ordered {}
