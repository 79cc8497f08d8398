//! The fold: records in, a report out.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::{Basis, DeviceRow, HolderRow, Report, Unusable};
use crate::domain::{
    Bytes, Device, DeviceId, DeviceState, Gpu, Holder, MemoryKind, Monitor, Pid, Process, ProcessKey, Quantity, Reading, Said,
    Sample, SampleBody, Timestamp,
};
use crate::timeline::{Partial, Problems, Reader, Record};

/// Rows of holders that are kept.
const MOST_HOLDERS: usize = 10_000;
/// What findings and risks may take together, in bytes: some 100,000 of them.
const MOST_SAID: usize = 64 << 20;
/// Processes whose facts are kept: a bound for files that name them without end.
const MOST_PROCESSES: usize = 16_384;

#[derive(Default)]
struct Fold {
    report: Report,
    monitor: Monitor,
    /// The row that a key is bound to.
    bound: BTreeMap<Gpu, usize>,
    rows: HashMap<DeviceId, usize>,
    processes: HashMap<Pid, Arc<Process>>,
    /// Who stands in the newest list of a device, with its row.
    present: BTreeMap<Gpu, HashMap<Pid, usize>>,
    holders: HashMap<(DeviceId, ProcessKey), usize>,
    seen: Seen,
    /// What the findings and risks take so far, about.
    said: usize,
    /// More than is kept.
    surplus: bool,
}

/// What kind of figures there are.
#[derive(Default)]
struct Seen {
    memory: u64,
    memory_known: bool,
    lists: u64,
    lists_known: bool,
    sizes_known: bool,
}

/// Reads a recording to its end.
pub fn fold(reader: &mut Reader, basis: Basis) -> Result<Report, Unusable> {
    let mut fold = Fold::default();
    for record in reader.by_ref() {
        match record {
            Record::Sample(sample) => fold.sample(&sample, basis),
            Record::Partial(partial) => fold.partial(&partial, basis),
            Record::Finding(finding) if basis == Basis::Recorded => fold.said(Said::Finding(finding)),
            Record::Risk(risk) if basis == Basis::Recorded => fold.said(Said::Risk(risk)),
            _ => {}
        }
    }
    fold.finish(reader)
}

impl Fold {
    fn sample(&mut self, sample: &Sample, basis: Basis) {
        let t = sample.t;
        match &sample.body {
            SampleBody::Header(header) => self.report.simulated |= header.simulated,
            SampleBody::Device(device) => self.bind(device),
            SampleBody::Process(process) => self.process(process),
            SampleBody::Memory { gpu, figures } => {
                let known = figures.as_ref().ok();
                let partial = Partial {
                    t,
                    gpu: *gpu,
                    used: known.map(crate::domain::MemoryFigures::used),
                    free: known.map(|figures| figures.free),
                    reserved: None,
                    used_pct: None,
                };
                self.memory(&partial);
                if let (Some(row), Some(figures)) = (self.row(*gpu), known) {
                    row.total = Some(figures.total);
                }
            }
            SampleBody::Holders { gpu, list } => self.list(t, *gpu, list),
            SampleBody::State { gpu, state, since, .. } if *state != DeviceState::Ok => self.unknown_from(*gpu, *since),
            SampleBody::Gap { gpu, from, .. } => self.unknown_from(Some(*gpu), *from),
            SampleBody::Exit { pid, .. } => {
                self.processes.remove(pid);
            }
            _ => {}
        }
        self.ingest(sample, basis);
    }

    /// Lets the dashboard's own fold see it, and keeps what that says.
    fn ingest(&mut self, sample: &Sample, basis: Basis) {
        self.monitor.ingest(sample);
        for said in self.monitor.take_said() {
            if basis == Basis::Samples {
                self.said(said);
            }
        }
    }

    /// Figures that are less than a sample are completed by the total where that is known.
    fn partial(&mut self, partial: &Partial, basis: Basis) {
        self.memory(partial);
        let total = self.row(partial.gpu).and_then(|row| row.total);
        if let Some(figures) = total.and_then(|total| partial.figures(total)) {
            let body = SampleBody::Memory { gpu: partial.gpu, figures: Ok(figures) };
            self.ingest(&Sample { t: partial.t, body }, basis);
        }
    }

    fn memory(&mut self, partial: &Partial) {
        self.seen.memory += 1;
        self.seen.memory_known |= partial.used.is_some() || partial.free.is_some() || partial.used_pct.is_some();
        let Some(row) = self.row(partial.gpu) else { return };
        row.sample(partial.t);
        if let Some(free) = partial.free {
            row.free(free);
        }
        match partial.used {
            Some(used) => row.used(partial.t, used),
            // Unified memory has no such figures; there the lists tell.
            None if row.device.memory == MemoryKind::Unified => {}
            None => row.unknown_from(partial.t),
        }
    }

    fn row(&mut self, gpu: Gpu) -> Option<&mut DeviceRow> {
        self.report.devices.get_mut(*self.bound.get(&gpu)?)
    }

    fn unknown_from(&mut self, gpu: Option<Gpu>, t: Timestamp) {
        match gpu {
            Some(gpu) => {
                if let Some(row) = self.row(gpu) {
                    row.unknown_from(t);
                }
            }
            None => self.report.devices.iter_mut().for_each(|row| row.unknown_from(t)),
        }
    }

    fn bind(&mut self, device: &Arc<Device>) {
        let rows = self.report.devices.len();
        let index = *self.rows.entry(device.id.clone()).or_insert(rows);
        match self.report.devices.get_mut(index) {
            Some(row) => {
                row.device = Arc::clone(device);
                row.total = device.total.as_ref().ok().copied().or(row.total);
            }
            // The reader lets through a bounded number of keys, which a file may bind anew without end.
            None if rows < MOST_HOLDERS => self.report.devices.push(DeviceRow::new(Arc::clone(device))),
            None => {
                self.rows.remove(&device.id);
                self.bound.remove(&device.gpu);
                self.surplus = true;
                return;
            }
        }
        let before = self.bound.get(&device.gpu).copied();
        if before.is_some_and(|before| before != index) {
            self.leave_all(device.gpu);
        }
        self.bound.insert(device.gpu, index);
    }

    fn process(&mut self, process: &Arc<Process>) {
        let pid = process.key.pid;
        if self.processes.len() >= MOST_PROCESSES && !self.processes.contains_key(&pid) {
            let held = |pid: &Pid| self.present.values().any(|present| present.contains_key(pid));
            let known = std::mem::take(&mut self.processes);
            self.processes = known.into_iter().filter(|(pid, _)| held(pid)).collect();
        }
        self.processes.insert(pid, Arc::clone(process));
        let gpus: Vec<Gpu> = self.present.iter().filter(|(_, present)| present.contains_key(&pid)).map(|(gpu, _)| *gpu).collect();
        for gpu in gpus {
            let Some(index) = self.present.get(&gpu).and_then(|present| present.get(&pid)).copied() else { continue };
            let Some(row) = self.report.holders.get_mut(index) else { continue };
            let same = row.key.start == process.key.start;
            // A holder that was listed before its facts were known gets them now.
            if same || row.process.is_none() && row.key.start.is_none() {
                self.holders.remove(&(row.device.clone(), row.key));
                row.key = process.key;
                row.process = Some(Arc::clone(process));
                self.holders.insert((row.device.clone(), row.key), index);
            } else {
                self.leave(gpu, pid);
            }
        }
    }

    fn list(&mut self, t: Timestamp, gpu: Gpu, list: &Reading<Arc<[Holder]>>) {
        self.seen.lists += 1;
        let Ok(list) = list else { return };
        self.seen.lists_known = true;
        let gone: Vec<Pid> = self.present.get(&gpu).map_or_else(Vec::new, |present| {
            present.keys().filter(|pid| !list.iter().any(|holder| holder.pid == **pid)).copied().collect()
        });
        for pid in gone {
            self.leave(gpu, pid);
        }
        for holder in list.iter() {
            self.seen.sizes_known |= holder.used.is_ok();
            if let Some(index) = self.row_of(t, gpu, holder.pid)
                && let Some(row) = self.report.holders.get_mut(index)
            {
                row.listed(t, holder.used.as_ref().ok().copied());
            }
        }
        let sum: Option<Bytes> = list.iter().map(|holder| holder.used.as_ref().ok().copied()).sum::<Option<Bytes>>();
        if let Some(row) = self.row(gpu) {
            row.list(t);
            if row.device.memory == MemoryKind::Unified
                && row.min_free.is_none()
                && let Some(sum) = sum
            {
                row.used(t, sum);
            }
        }
    }

    /// The row of a holder that a list names.
    fn row_of(&mut self, t: Timestamp, gpu: Gpu, pid: Pid) -> Option<usize> {
        if let Some(index) = self.present.get(&gpu).and_then(|present| present.get(&pid)) {
            return Some(*index);
        }
        let device = Arc::clone(&self.row(gpu)?.device);
        let process = self.processes.get(&pid);
        let key = process.map_or(ProcessKey { pid, start: None }, |process| process.key);
        let known = self.holders.get(&(device.id.clone(), key));
        let index = match known {
            Some(index) => *index,
            None if self.report.holders.len() < MOST_HOLDERS => {
                let index = self.report.holders.len();
                let mut row = HolderRow::new(&device, key, t);
                row.process = process.cloned();
                self.report.holders.push(row);
                self.holders.insert((device.id.clone(), key), index);
                index
            }
            None => {
                self.surplus = true;
                return None;
            }
        };
        self.present.entry(gpu).or_default().insert(pid, index);
        Some(index)
    }

    /// A holder is gone: what is known of it as a whole is kept before it is forgotten.
    fn leave(&mut self, gpu: Gpu, pid: Pid) {
        let index = self.present.get_mut(&gpu).and_then(|present| present.remove(&pid));
        if let Some(row) = index.and_then(|index| self.report.holders.get_mut(index)) {
            row.shape = self.monitor.analyst().holder_shape(gpu, pid);
            row.anatomy = self.monitor.analyst().anatomy(gpu, pid).unwrap_or_default();
        }
    }

    /// A key stands for another device from now on, or for none.
    fn leave_all(&mut self, gpu: Gpu) {
        let pids: Vec<Pid> = self.present.get(&gpu).map_or_else(Vec::new, |present| present.keys().copied().collect());
        for pid in pids {
            self.leave(gpu, pid);
        }
        let shape = self.monitor.analyst().shape(gpu);
        if let Some(row) = self.row(gpu) {
            row.shape = shape;
        }
    }

    fn said(&mut self, said: Said) {
        self.said += weight(&said);
        match said {
            _ if self.said > MOST_SAID => self.surplus = true,
            Said::Finding(finding) => self.report.findings.push(finding),
            Said::Risk(risk) => self.report.risks.push(risk),
        }
    }

    fn finish(mut self, reader: &Reader) -> Result<Report, Unusable> {
        if let Some(why) = self.seen.lacks() {
            return Err(Unusable { name: reader.name().to_owned(), why });
        }
        for gpu in self.bound.keys().copied().collect::<Vec<_>>() {
            self.leave_all(gpu);
        }
        let mut report = self.report;
        report.holders.sort_by_key(|row| (row.gpu, std::cmp::Reverse(row.peak), row.pid(), row.key.start));
        let mut problems: Problems = reader.problems().clone();
        if self.surplus {
            problems.note("more holders, findings or risks than a report holds: it shows the first of them");
        }
        report.problems = problems.list();
        Ok(report)
    }
}

/// About how many bytes it takes.
fn weight(said: &Said) -> usize {
    const BASE: usize = 200;
    match said {
        Said::Finding(finding) => {
            let figure = |quantity: &Quantity| if let Quantity::Text(text) = quantity { text.len() } else { 0 };
            let evidence = finding.evidence.iter().map(|(name, quantity)| 64 + name.len() + figure(quantity)).sum::<usize>();
            let advice = finding.advice.iter().map(|advice| 64 + advice.tip.len() + advice.why.len()).sum::<usize>();
            BASE + evidence + advice
        }
        Said::Risk(risk) => BASE + risk.reason.len(),
    }
}

impl Seen {
    /// Why there is nothing to report of; none where there is.
    fn lacks(&self) -> Option<String> {
        let usable = self.memory_known || self.sizes_known || (self.memory == 0 && self.lists_known);
        (!usable).then(|| match (self.memory, self.lists) {
            (0, 0) => "it has neither `memory` nor `holders` records".to_owned(),
            (0, lists) => format!("it has no `memory` records, and `used` is null in all {lists} `holders` records"),
            (memory, 0) => format!("`used` is null in all {memory} `memory` records, and there are no `holders` records"),
            (memory, lists) => {
                format!("`used` is null in all {memory} `memory` records and of all holders in {lists} `holders` records")
            }
        })
    }
}
