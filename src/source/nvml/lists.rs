//! The driver's process lists of one device: three of them, in three forms, read into a buffer of our own.

use super::calls::Call;
use super::card::Handle;
use super::fault::Fault;
use super::raw::{self, Form, List, Rows};
use super::rows::{self, Merge, Row, Unreadable};
use crate::domain::{Bytes, HolderKind, Missing};
use crate::sampler::Caller;

use nvml_wrapper_sys::bindings as sys;

/// Room at first; most lists are shorter.
const ROOM: usize = 64;
/// No list is longer than this.
const MOST: usize = 1 << 16;
/// A list may grow between two calls; so many times in one reading it does not.
const TRIES: usize = 6;

/// Why a list could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListFault {
    /// The call failed.
    Call(Fault),
    /// The call worked, but its rows make no sense on this driver.
    Unreadable,
    /// The list grew faster than it could be read.
    Growing,
}

impl ListFault {
    /// What the reading is for it.
    pub fn missing(self, driver: &str) -> Missing {
        match self {
            Self::Call(fault) => fault.missing(),
            Self::Unreadable => Missing::Unsupported(format!("process list unreadable on driver {driver}").into()),
            Self::Growing => Missing::Failed("the process list grows faster than it can be read".into()),
        }
    }
}

/// Reads the lists of one device and remembers which forms work there.
#[derive(Debug)]
pub struct ListReader {
    buffer: Rows,
    parsed: Vec<Row>,
    forms: [Option<Form>; 3],
}

impl Default for ListReader {
    fn default() -> Self {
        Self { buffer: Rows::new(ROOM), parsed: Vec::new(), forms: [Some(Form::V3); 3] }
    }
}

impl ListReader {
    /// Adds all lists of a device to `merge`. `instance` replaces the instance that rows name: one for all where the device
    /// is a MIG instance, none where it has no instances; `None` keeps what the rows say.
    pub fn read(
        &mut self,
        caller: &mut Caller,
        handle: &Handle,
        total: Bytes,
        instance: Option<(u32, u32)>,
        merge: &mut Merge,
    ) -> Result<(), ListFault> {
        for (list, kind) in [(List::Compute, HolderKind::C), (List::Graphics, HolderKind::G), (List::Mps, HolderKind::M)] {
            match self.read_one(caller, handle, list, total) {
                Ok(()) => {}
                // Not every device has graphics, and few run the Multi-Process Service: no list, no such processes.
                Err(ListFault::Call(fault)) if list != List::Compute && fault.is_unsupported() => continue,
                // MPS clients stand in the compute list as well; without this list only their kind is less exact.
                Err(ListFault::Call(fault)) if list == List::Mps && !fault.is_lost() => continue,
                Err(fault) => return Err(fault),
            }
            for row in &self.parsed {
                merge.add(Row { instance: instance.unwrap_or(row.instance), ..*row }, kind);
            }
        }
        Ok(())
    }

    /// Reads one list into `parsed`. In the normal case this is one call.
    fn read_one(&mut self, caller: &mut Caller, handle: &Handle, list: List, total: Bytes) -> Result<(), ListFault> {
        self.parsed.clear();
        let slot = list as usize;
        for _ in 0..TRIES {
            let Some(form) = self.forms.get(slot).copied().flatten() else {
                return Err(ListFault::Call(Fault {
                    call: call(list, Form::V1),
                    code: sys::nvmlReturn_enum_NVML_ERROR_FUNCTION_NOT_FOUND,
                }));
            };
            let call = call(list, form);
            match caller.call(call as u8, || raw::process_list(handle, list, form, &mut self.buffer)) {
                Ok(count) => {
                    return rows::parse(self.buffer.written(), count, form, total.0, &mut self.parsed)
                        .map_err(|Unreadable| ListFault::Unreadable);
                }
                Err((code, _)) if (Fault { call, code }).is_absent() => {
                    if let Some(known) = self.forms.get_mut(slot) {
                        *known = match form {
                            Form::V3 => Some(Form::V2),
                            Form::V2 => Some(Form::V1),
                            Form::V1 => None,
                        };
                    }
                }
                Err((sys::nvmlReturn_enum_NVML_ERROR_INSUFFICIENT_SIZE, wanted)) => {
                    let room = (wanted + wanted / 4 + 16).max(self.buffer.capacity() * 2);
                    if room > MOST {
                        return Err(ListFault::Growing);
                    }
                    self.buffer.grow(room);
                }
                Err((code, _)) => return Err(ListFault::Call(Fault { call, code })),
            }
        }
        Err(ListFault::Growing)
    }
}

/// The function behind a list in a form.
fn call(list: List, form: Form) -> Call {
    match (list, form) {
        (List::Compute, Form::V3) => Call::ComputeV3,
        (List::Compute, Form::V2) => Call::ComputeV2,
        (List::Compute, Form::V1) => Call::ComputeV1,
        (List::Graphics, Form::V3) => Call::GraphicsV3,
        (List::Graphics, Form::V2) => Call::GraphicsV2,
        (List::Graphics, Form::V1) => Call::GraphicsV1,
        (List::Mps, Form::V3) => Call::MpsV3,
        (List::Mps, Form::V2) => Call::MpsV2,
        (List::Mps, Form::V1) => Call::MpsV1,
    }
}
