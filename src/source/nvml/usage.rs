//! Load, temperature and power of a device, and each process's part of its load.

use nvml_wrapper::enum_wrappers::device::TemperatureSensor;
use nvml_wrapper_sys::bindings as sys;

use super::calls::Call;
use super::card::Handle;
use super::fault::Fault;
use super::raw::{self, Loads};
use crate::domain::{Missing, Pid, Reading};
use crate::sampler::{Caller, Clock};

/// Percent beyond this is garbage: zombies had 37100 % (nvtop#110).
const FULL: u32 = 100;
/// The driver keeps about a hundred samples.
const SAMPLES: usize = 128;
/// No driver keeps more.
const MOST: usize = 1 << 14;
/// How far back the first reading of process load looks.
const FIRST_MICROS: i64 = 1_000_000;

/// Reads the load of one device; what it does not support is not asked for again.
#[derive(Debug)]
pub struct UsageReader {
    unsupported: [Option<Fault>; 4],
    loads: Loads,
    /// The driver's time of the newest sample seen.
    seen: u64,
    by_pid: Vec<(Pid, u64, u32)>,
    process_fault: Option<Fault>,
}

impl Default for UsageReader {
    fn default() -> Self {
        Self { unsupported: [None; 4], loads: Loads::new(SAMPLES), seen: 0, by_pid: Vec::new(), process_fault: None }
    }
}

impl UsageReader {
    /// Percent of time in which a kernel ran. Not `utilization.memory`, which is bandwidth and says nothing of occupancy.
    pub fn utilization(&mut self, caller: &mut Caller, handle: &Handle) -> Result<f32, Fault> {
        self.ask(0, caller, Call::Utilization, || handle.utilization_rates().map(|rates| rates.gpu as f32))
    }

    /// °C.
    pub fn temperature(&mut self, caller: &mut Caller, handle: &Handle) -> Result<f32, Fault> {
        self.ask(1, caller, Call::Temperature, || handle.temperature(TemperatureSensor::Gpu).map(|celsius| celsius as f32))
    }

    /// Watts.
    pub fn power(&mut self, caller: &mut Caller, handle: &Handle) -> Result<f32, Fault> {
        self.ask(2, caller, Call::Power, || handle.power_usage().map(|milliwatts| milliwatts as f32 / 1000.0))
    }

    /// Reads each process's load since the last time; [`UsageReader::of`] tells it.
    pub fn read_processes(&mut self, caller: &mut Caller, handle: &Handle) {
        self.by_pid.clear();
        self.process_fault = self.unsupported[3];
        if self.process_fault.is_some() {
            return;
        }
        if self.seen == 0 {
            self.seen = Clock::wall().0.saturating_sub(FIRST_MICROS).max(0).unsigned_abs();
        }
        let call = Call::ProcessUtilization;
        let mut read = caller.call(call as u8, || raw::process_load(handle, self.seen, &mut self.loads));
        if let Err((sys::nvmlReturn_enum_NVML_ERROR_INSUFFICIENT_SIZE, wanted)) = read
            && wanted <= MOST
        {
            self.loads = Loads::new(wanted + wanted / 4 + 16);
            read = caller.call(call as u8, || raw::process_load(handle, self.seen, &mut self.loads));
        }
        match read {
            Ok(count) => {
                for load in self.loads.samples(count).filter(|load| load.pid != 0) {
                    self.seen = self.seen.max(load.at);
                    match self.by_pid.iter_mut().find(|(pid, ..)| pid.0 == load.pid) {
                        Some(known) if known.1 <= load.at => (known.1, known.2) = (load.at, load.sm),
                        Some(_) => {}
                        None => self.by_pid.push((Pid(load.pid), load.at, load.sm)),
                    }
                }
            }
            // Nothing ran since then: the documented answer, not an error.
            Err((sys::nvmlReturn_enum_NVML_ERROR_NOT_FOUND, _)) => {}
            Err((code, _)) => {
                let fault = Fault { call, code };
                self.process_fault = Some(fault);
                if fault.is_unsupported() {
                    self.unsupported[3] = Some(fault);
                }
            }
        }
    }

    /// A process's percent of the device. The driver has samples of those alone that ran something: none means zero.
    pub fn of(&self, pid: Pid) -> Reading<f32> {
        if let Some(fault) = self.process_fault {
            return Err(fault.missing());
        }
        match self.by_pid.iter().find(|(known, ..)| *known == pid) {
            None => Ok(0.0),
            Some((_, _, percent)) if *percent <= FULL => Ok(*percent as f32),
            Some(_) => Err(Missing::Failed("the driver gave more than 100 %".into())),
        }
    }

    fn ask(
        &mut self,
        slot: usize,
        caller: &mut Caller,
        call: Call,
        read: impl FnOnce() -> Result<f32, nvml_wrapper::error::NvmlError>,
    ) -> Result<f32, Fault> {
        if let Some(fault) = self.unsupported.get(slot).copied().flatten() {
            return Err(fault);
        }
        let reading = caller.call(call as u8, read).map_err(Fault::of(call));
        if let (Err(fault), Some(known)) = (&reading, self.unsupported.get_mut(slot))
            && fault.is_unsupported()
        {
            *known = Some(*fault);
        }
        reading
    }
}
