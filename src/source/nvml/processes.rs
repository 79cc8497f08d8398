//! The process worker of a device: lists, memory read right after them, then load.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::accounting::AccountReader;
use super::card::{Card, Handle, lock};
use super::facts;
use super::fleet::Fleet;
use super::lists::{ListFault, ListReader};
use super::memory::MemoryReader;
use super::mig::{self, Instance};
use super::rows::{self, Merge};
use super::usage::UsageReader;
use crate::domain::{Bytes, Gpu, Holder, HolderKind, Missing, Period, Pid, SampleBody, Timestamp, Usage};
use crate::sampler::{Caller, Look, Probe};
use crate::source::host::people::Listing;

/// Load is read about once a second, also where lists are read more often.
const USAGE: Period = Period::millis(900);
/// The bound on a plausible size where the device gives no total (unified memory): no machine has a pebibyte.
const UNKNOWN_TOTAL: Bytes = Bytes(1 << 50);
/// How long to rest where the device is lost.
const REST: Period = Period::secs(1);

/// Reads the process lists and the load of a device.
pub struct ProcessProbe {
    fleet: Arc<Fleet>,
    card: Arc<Card>,
    caller: Caller,
    lists: ListReader,
    memory: MemoryReader,
    usage: UsageReader,
    accounts: AccountReader,
    merge: Merge,
    /// The pids of the newest list, in order.
    pids: Vec<Pid>,
    /// The same with the lists that they stand in.
    kinds: Vec<(Pid, HolderKind)>,
    handle: Option<Handle>,
    used_at: Option<Timestamp>,
}

impl ProcessProbe {
    /// A probe of a device.
    pub fn new(fleet: Arc<Fleet>, card: Arc<Card>) -> Self {
        let caller = fleet.caller(&card, false);
        Self {
            fleet,
            card,
            caller,
            lists: ListReader::default(),
            memory: MemoryReader::default(),
            usage: UsageReader::default(),
            accounts: AccountReader::default(),
            merge: Merge::default(),
            pids: Vec::new(),
            kinds: Vec::new(),
            handle: None,
            used_at: None,
        }
    }

    /// The handle, with everything that was learnt by another one forgotten.
    fn take_handle(&mut self) -> Option<Handle> {
        let handle = self.card.handle()?;
        if !self.handle.as_ref().is_some_and(|known| Arc::ptr_eq(known, &handle)) {
            self.lists = ListReader::default();
            self.memory = MemoryReader::default();
            self.usage = UsageReader::default();
            self.accounts = AccountReader::default();
            self.handle = Some(Arc::clone(&handle));
        }
        Some(handle)
    }

    fn refresh_instances(&mut self, handle: &Handle, now: Timestamp) {
        if self.fleet.is_open()
            && self.card.may_read_instances(now)
            && let Err(fault) = mig::refresh(&mut self.caller, &self.fleet, &self.card, handle)
        {
            self.card.fail(handle, fault, now);
        }
    }

    /// Reads the lists into `merge`.
    fn read_lists(&mut self, handle: &Handle, instances: &[Instance]) -> Result<(), ListFault> {
        self.merge.clear();
        let total = bound(&self.card);
        // Outside MIG some drivers write zeros where others write "none": rows of one process would not meet.
        let none = (u32::MAX, u32::MAX);
        let mig = self.card.mig.load(Ordering::Acquire);
        let own = self.lists.read(&mut self.caller, handle, total, (!mig).then_some(none), &mut self.merge);
        if !mig || (own.is_ok() && !self.merge.has_missing()) {
            return own;
        }
        // A parent tells its totals to privileged users alone; its instances tell theirs.
        let mut read_any = false;
        for instance in instances {
            let Some(handle) = instance.card.handle() else { continue };
            let total = bound(&instance.card);
            read_any |= self.lists.read(&mut self.caller, &handle, total, Some(instance.number), &mut self.merge).is_ok();
        }
        if read_any { Ok(()) } else { own }
    }

    fn holders(&self, instances: &[Instance]) -> Vec<Holder> {
        let by_number = |number: (u32, u32)| -> Option<Gpu> {
            let found = instances.iter().find(|instance| instance.number == number && number.0 != u32::MAX);
            if found.is_none() && number.0 != u32::MAX && self.card.mig.load(Ordering::Acquire) {
                self.card.doubt_instances();
            }
            found.map(|instance| instance.card.gpu)
        };
        self.merge.rows().iter().map(|(row, kind)| rows::holder(*row, *kind, by_number(row.instance))).collect()
    }

    /// Sends the lists with what belongs to them, in one go: nobody's record may come between.
    fn tell(&mut self, at: Timestamp, handle: &Handle, holders: Vec<Holder>) -> bool {
        let listed = kinds(&holders);
        let pids: Vec<Pid> = listed.iter().map(|(pid, _)| *pid).collect();
        let reading = self.memory.read(&mut self.caller, handle);
        let memory_at = self.caller.returned();
        match reading {
            Ok(_) => self.card.condition.good(memory_at),
            Err(fault) => {
                self.card.fail(handle, fault, memory_at);
            }
        }
        let reading = if self.card.is_unified() { Err(facts::UNIFIED) } else { reading };
        let gpu = self.card.gpu;
        let minor = self.card.minor();
        let new: Vec<_> = listed
            .iter()
            .filter(|listed| self.kinds.binary_search(listed).is_err())
            .flat_map(|(pid, kind)| self.fleet.people.meet(*pid, Listing { gpu, minor, kind: *kind }))
            .collect();
        self.kinds = listed;
        if let Some(hint) = self.fleet.people.take_hint() {
            self.card.studio.send(at, SampleBody::Health(hint));
        }
        let held: Option<Bytes> = holders.iter().map(|holder| holder.used.as_ref().ok().copied()).sum();
        let mut post = self.card.post();
        for process in new {
            post.send(at, SampleBody::Process(process));
        }
        post.send(at, SampleBody::Holders { gpu, list: Ok(holders.into()) });
        let listened = post.pair(memory_at, reading);
        drop(post);
        if let Ok(figures) = &reading {
            self.card.set_listed(figures);
        }
        let unattributed = reading.ok().zip(held).map(|(figures, held)| figures.used().saturating_sub(held));
        if self.fleet.cards.listed(gpu, unattributed) {
            self.fleet.people.poke().poke();
        }
        let gone: Vec<Pid> = self.pids.iter().filter(|pid| pids.binary_search(pid).is_err()).copied().collect();
        for pid in gone {
            if self.fleet.people.part(pid, gpu) {
                self.card.studio.send(self.caller.now(), SampleBody::Exit { pid, status: None });
            }
        }
        self.pids = pids;
        listened
    }

    /// Reads and sends the load. Gives the device's utilization.
    fn tell_usage(&mut self, handle: &Handle, now: Timestamp) {
        self.used_at = Some(now);
        let utilization = self.usage.utilization(&mut self.caller, handle);
        let temperature = self.usage.temperature(&mut self.caller, handle);
        let power = self.usage.power(&mut self.caller, handle);
        self.usage.read_processes(&mut self.caller, handle);
        self.accounts.read(&mut self.caller, handle, &self.pids, bound(&self.card), now);
        let minor = self.card.minor();
        let t = self.caller.returned();
        let mut changed = Vec::new();
        let processes = self
            .pids
            .iter()
            .map(|pid| {
                let (usage, process) = self.fleet.people.usage(*pid, (&self.usage.of(*pid), &self.accounts.of(*pid)), minor);
                changed.extend(process);
                usage
            })
            .collect();
        for process in changed {
            self.card.studio.send(t, SampleBody::Process(process));
        }
        let computes = self
            .merge
            .rows()
            .iter()
            .any(|(row, kind)| row.used != Some(0) && (kind.contains(HolderKind::C) || kind.contains(HolderKind::M)));
        self.card.set_busy(computes || utilization.is_ok_and(|percent| percent > 0.0));
        let missing = super::fault::Fault::missing;
        let usage = Usage {
            gpu: self.card.gpu,
            utilization: utilization.map_err(missing),
            temperature: temperature.map_err(missing),
            power: power.map_err(missing),
            processes,
        };
        self.card.studio.send(t, SampleBody::Usage(Arc::new(usage)));
    }

    /// Says once that the list of a lost device is not known.
    fn tell_lost(&mut self, now: Timestamp) -> bool {
        if self.handle.is_none() || !self.card.condition.is_lost() {
            return true;
        }
        self.handle = None;
        self.merge.clear();
        self.kinds.clear();
        for pid in std::mem::take(&mut self.pids) {
            if self.fleet.people.part(pid, self.card.gpu) {
                self.card.studio.send(now, SampleBody::Exit { pid, status: None });
            }
        }
        let list = Err(Missing::Lost("no longer found by the driver".into()));
        self.card.post().send(now, SampleBody::Holders { gpu: self.card.gpu, list })
    }

    fn look(&mut self, rest: Option<Period>, listened: bool) -> Look {
        Look { spent: Some(self.caller.take_spent()), busy: true, rest, listened }
    }
}

/// The processes of a list, sorted, each with all the lists that it stands in.
fn kinds(holders: &[Holder]) -> Vec<(Pid, HolderKind)> {
    let mut kinds: Vec<(Pid, HolderKind)> = holders.iter().map(|holder| (holder.pid, holder.kind)).collect();
    kinds.sort_unstable();
    kinds.dedup_by(|next, kept| {
        let same = next.0 == kept.0;
        if same {
            kept.1 = kept.1.union(next.1);
        }
        same
    });
    kinds
}

/// No process holds more than this.
fn bound(card: &Card) -> Bytes {
    card.facts().total.as_ref().copied().unwrap_or(UNKNOWN_TOTAL)
}

impl Probe for ProcessProbe {
    fn read(&mut self, now: Timestamp) -> Look {
        let Some(handle) = self.take_handle() else {
            // The memory worker looks for it, and says what is wrong.
            let listened = self.tell_lost(now);
            return Look { spent: None, ..self.look(Some(REST), listened) };
        };
        self.refresh_instances(&handle, now);
        let instances: Vec<Instance> = lock(&self.card.instances).clone();
        let read = self.read_lists(&handle, &instances);
        let at = self.caller.returned();
        let listened = match read {
            Ok(()) => {
                let holders = self.holders(&instances);
                self.tell(at, &handle, holders)
            }
            Err(fault) => {
                if let ListFault::Call(fault) = fault
                    && self.card.fail(&handle, fault, at)
                {
                    self.card.memory.poke();
                }
                // Who is there can't be told, so it can't be told that nobody is.
                self.card.set_busy(true);
                self.merge.clear();
                let list = Err(fault.missing(&self.fleet.driver()));
                self.card.post().send(at, SampleBody::Holders { gpu: self.card.gpu, list })
            }
        };
        if self.card.handle().is_some() && self.used_at.is_none_or(|then| now.since(then) >= USAGE) {
            self.tell_usage(&handle, now);
            if read.is_err() {
                self.card.set_busy(true);
            }
        }
        self.look(None, listened)
    }
}
