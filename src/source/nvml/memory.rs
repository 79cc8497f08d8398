//! Memory of a device: v2, then v1, then "the system's" (unified). The hot path of the program.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use nvml_wrapper_sys::bindings as sys;

use super::calls::Call;
use super::card::{Card, Handle};
use super::facts;
use super::fault::Fault;
use super::fleet::Fleet;
use super::raw;
use crate::domain::{Bytes, MemoryFigures, Period, SampleBody, Timestamp};
use crate::sampler::{Caller, Look, Probe};

/// How long to rest where there is nothing to see.
const REST: Period = Period::secs(1);

/// Memory that changed within this time moves.
const MOVING: Period = Period::secs(2);

/// Which form of the memory call works.
#[derive(Clone, Copy, Debug, Default)]
pub struct MemoryReader {
    only_v1: bool,
    v2_works: bool,
}

impl MemoryReader {
    /// Reads memory.
    pub fn read(&mut self, caller: &mut Caller, handle: &Handle) -> Result<MemoryFigures, Fault> {
        if !self.only_v1 {
            let call = Call::MemoryV2;
            match caller.call(call as u8, || handle.memory_info()).map_err(Fault::of(call)) {
                Ok(info) => {
                    self.v2_works = true;
                    return Ok(MemoryFigures {
                        total: Bytes(info.total),
                        free: Bytes(info.free),
                        reserved: Some(Bytes(info.reserved)),
                    });
                }
                // Drivers before R510 lack the symbol; WSL once had it and said "unknown error" (nvitop#30).
                // Where v2 has worked, one such error is no reason to count what is reserved as used for a moment.
                Err(fault) if !self.v2_works && (fault.is_absent() || fault.code == sys::nvmlReturn_enum_NVML_ERROR_UNKNOWN) => {
                    let figures = Self::read_v1(caller, handle)?;
                    self.only_v1 = true;
                    return Ok(figures);
                }
                Err(fault) => return Err(fault),
            }
        }
        Self::read_v1(caller, handle)
    }

    fn read_v1(caller: &mut Caller, handle: &Handle) -> Result<MemoryFigures, Fault> {
        let call = Call::MemoryV1;
        let (total, free) = caller.call(call as u8, || raw::memory_v1(handle)).map_err(|code| Fault { call, code })?;
        Ok(MemoryFigures { total: Bytes(total), free: Bytes(free), reserved: None })
    }
}

/// Reads memory, and finds the device: at the start, and again when it was lost.
pub struct MemoryProbe {
    fleet: Arc<Fleet>,
    card: Arc<Card>,
    caller: Caller,
    reader: MemoryReader,
    /// A stale handle was looked up again and was stale at once.
    stale_again: bool,
    /// Free memory at the newest reading, and when it last changed.
    free: Bytes,
    moved: Option<Timestamp>,
}

impl MemoryProbe {
    /// A probe of a device.
    pub fn new(fleet: Arc<Fleet>, card: Arc<Card>) -> Self {
        let caller = fleet.caller(&card, true);
        Self { fleet, card, caller, reader: MemoryReader::default(), stale_again: false, free: Bytes::ZERO, moved: None }
    }

    /// Looks the device up. At the first time this attaches to it, which may take seconds without persistence mode.
    fn find(&mut self, now: Timestamp) -> Result<Handle, Option<Fault>> {
        if !self.card.may_look(now) {
            return Err(None);
        }
        let known = self.card.is_attached();
        let found = facts::look_up(&mut self.caller, &self.fleet, &self.card).and_then(|handle| {
            if !known {
                let facts = facts::read(&mut self.caller, &handle, &self.card)?;
                self.card.bind(facts);
            }
            Ok(handle)
        });
        let now = self.caller.now();
        match found {
            Ok(handle) => {
                self.reader = MemoryReader::default();
                self.card.take_handle(Arc::clone(&handle));
                self.fleet.attached(&self.card, Ok(()));
                Ok(handle)
            }
            Err(fault) => {
                self.card.look_later(now);
                self.card.ill.store(true, Ordering::Release);
                if !known {
                    if self.card.introduce() {
                        // No thread reads its lists before it is found: that is the reason why there are none.
                        let list = Err(fault.missing());
                        self.card.post().send(now, SampleBody::Holders { gpu: self.card.gpu, list });
                    }
                    self.fleet.attached(&self.card, Err(fault));
                }
                if known || fault.is_lost() {
                    self.card.condition.lost(fault.call.name(), now);
                } else {
                    self.card.condition.failed(Some(fault.call.name()), now);
                }
                Err(Some(fault))
            }
        }
    }

    /// A device that was ill answers.
    fn recover(&mut self, handle: &Handle, t: Timestamp) {
        self.card.ill.store(false, Ordering::Release);
        self.stale_again = false;
        self.card.condition.failed(None, t);
        if self.card.condition.found(t) {
            // Its index may be another one now. A device that fails in this very moment is found out by its next reading.
            if let Ok(facts) = facts::read(&mut self.caller, handle, &self.card) {
                self.card.bind(facts);
            }
            self.card.processes.poke();
        }
    }

    /// Whether something goes on: processes compute, or memory moves though nobody is seen (containers).
    fn is_busy(&mut self, t: Timestamp, free: Bytes) -> bool {
        if free != self.free {
            (self.free, self.moved) = (free, Some(t));
        }
        self.card.busy.load(Ordering::Relaxed) || self.moved.is_some_and(|moved| t.since(moved) < MOVING)
    }

    fn look(&mut self, busy: bool, rest: Option<Period>, listened: bool) -> Look {
        Look { spent: Some(self.caller.take_spent()), busy, rest, listened }
    }
}

impl Probe for MemoryProbe {
    fn read(&mut self, now: Timestamp) -> Look {
        let handle = match self.card.handle() {
            Some(handle) => handle,
            None => match self.find(now) {
                Ok(handle) => handle,
                Err(fault) => {
                    let mut listened = true;
                    if let Some(fault) = fault {
                        listened = self.card.post().memory(self.caller.now(), Err(fault));
                    }
                    return Look { spent: None, ..self.look(false, Some(REST), listened) };
                }
            },
        };
        let reading = self.reader.read(&mut self.caller, &handle);
        let t = self.caller.returned();
        match reading {
            Ok(figures) => {
                if self.card.ill.load(Ordering::Acquire) {
                    self.recover(&handle, t);
                }
                self.card.condition.good(t);
                let unified = self.card.is_unified();
                let reading = if unified { Err(facts::UNIFIED) } else { Ok(figures) };
                let listened = self.card.post().memory(t, reading);
                if !unified && self.card.has_jumped(&figures) {
                    self.card.processes.poke();
                }
                let busy = self.is_busy(t, figures.free);
                self.look(busy, unified.then_some(REST), listened)
            }
            Err(fault) => {
                if self.card.fail(&handle, fault, t) && fault.is_stale() {
                    if self.stale_again {
                        self.card.condition.failed(Some(fault.call.name()), t);
                        self.card.look_later(t);
                    }
                    self.stale_again = true;
                } else if fault.is_unsupported() {
                    // It answers: unified memory, or a driver that does not tell.
                    if self.card.ill.load(Ordering::Acquire) {
                        self.recover(&handle, t);
                    }
                } else if !fault.is_lost() {
                    self.card.ill.store(true, Ordering::Release);
                    self.card.condition.failed(Some(fault.call.name()), t);
                }
                // A stale handle is looked up at once and tells nothing yet.
                let listened = (fault.is_stale() && !self.stale_again) || self.card.post().memory(t, Err(fault));
                let rest = (fault.is_unsupported() || fault.is_denied() || fault.is_lost()).then_some(REST);
                self.look(self.card.busy.load(Ordering::Relaxed), rest, listened)
            }
        }
    }
}
