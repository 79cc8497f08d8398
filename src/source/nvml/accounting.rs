//! The driver's own accounts: the largest memory that each process ever had on a device, which no interval can miss.
//!
//! Off unless an administrator switched it on (`nvidia-smi -am 1`). One call a process: a long list is gone through in turns.

use std::collections::HashMap;

use super::calls::Call;
use super::card::Handle;
use super::fault::Fault;
use crate::domain::process::ACCOUNTING_OFF;
use crate::domain::{Bytes, Missing, Period, Pid, Reading, Timestamp};
use crate::sampler::Caller;

use nvml_wrapper_sys::bindings as sys;

/// Whether accounts are kept is asked again after this long.
const AGAIN: Period = Period::secs(60);
/// Accounts read in one turn, about once a second.
const MOST: usize = 32;

/// Reads the accounts of one device.
#[derive(Debug, Default)]
pub struct AccountReader {
    /// Whether accounts are kept, and when that was asked.
    mode: Option<(Timestamp, Result<bool, Fault>)>,
    by_pid: HashMap<Pid, Reading<Bytes>>,
    /// Where the next turn begins in the list.
    next: usize,
}

impl AccountReader {
    /// Reads the accounts of some of the listed processes. No process has more than `total`.
    pub fn read(&mut self, caller: &mut Caller, handle: &Handle, pids: &[Pid], total: Bytes, now: Timestamp) {
        if !self.is_on(caller, handle, now) {
            self.by_pid.clear();
            return;
        }
        self.by_pid.retain(|pid, _| pids.binary_search(pid).is_ok());
        for pid in self.turn(pids) {
            let call = Call::AccountingStats;
            let account = match caller.call(call as u8, || handle.accounting_stats_for(pid.0)).map_err(Fault::of(call)) {
                // The account of one that ended is that of another process which had this number.
                Ok(stats) if stats.is_running => match stats.max_memory_usage.map(Bytes) {
                    Some(peak) if peak <= total => Ok(peak),
                    _ => Err(Missing::Unsupported("the driver's account has no memory".into())),
                },
                Ok(_) => Err(Missing::Unsupported("the driver has no account of it".into())),
                Err(fault) if fault.code == sys::nvmlReturn_enum_NVML_ERROR_NOT_FOUND => {
                    Err(Missing::Unsupported("the driver has no account of it".into()))
                }
                Err(fault) => Err(fault.missing()),
            };
            self.by_pid.insert(pid, account);
        }
    }

    /// The account of a process.
    pub fn of(&self, pid: Pid) -> Reading<Bytes> {
        match &self.mode {
            None => Err(Missing::Pending),
            Some((_, Ok(true))) => self.by_pid.get(&pid).cloned().unwrap_or(Err(Missing::Pending)),
            Some((_, Err(fault))) if !fault.is_unsupported() => Err(fault.missing()),
            Some(_) => Err(ACCOUNTING_OFF),
        }
    }

    fn is_on(&mut self, caller: &mut Caller, handle: &Handle, now: Timestamp) -> bool {
        let due = match &self.mode {
            None => true,
            Some((_, Err(fault))) if fault.is_unsupported() => false,
            Some((at, _)) => now.since(*at) >= AGAIN,
        };
        if due {
            let call = Call::AccountingMode;
            let mode = caller.call(call as u8, || handle.is_accounting_enabled()).map_err(Fault::of(call));
            self.mode = Some((now, mode));
        }
        matches!(self.mode, Some((_, Ok(true))))
    }

    /// The processes whose turn it is: the next ones in the list, around its end.
    fn turn(&mut self, pids: &[Pid]) -> Vec<Pid> {
        let first = if pids.len() <= MOST || self.next >= pids.len() { 0 } else { self.next };
        let turn: Vec<Pid> = pids.iter().cycle().skip(first).take(pids.len().min(MOST)).copied().collect();
        self.next = if pids.is_empty() { 0 } else { (first + turn.len()) % pids.len() };
        turn
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_list_is_gone_through_in_turns() {
        let mut reader = AccountReader::default();
        let pids: Vec<Pid> = (0..70).map(Pid).collect();
        let firsts: Vec<(u32, usize)> = (0..4).map(|_| reader.turn(&pids)).map(|turn| (turn[0].0, turn.len())).collect();
        assert_eq!(firsts, [(0, 32), (32, 32), (64, 32), (26, 32)]);
        assert_eq!(reader.turn(&pids[..3]), pids[..3]);
        assert!(reader.turn(&[]).is_empty());
    }
}
