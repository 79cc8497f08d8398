//! What goes wrong between the driver and its readers, for the fake driver library; the demo shows what can be seen.

use serde::Deserialize;

use super::values::Time;
use crate::domain::{Period, Timestamp};

/// A driver function that misbehaves.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// The function's symbol, or `*` for all that ask about a device.
    pub call: String,
    /// The card by its number in the file; all of them where absent.
    pub device: Option<u32>,
    /// Since when; from the start where absent.
    #[serde(default)]
    pub from: Time,
    /// Until when; for ever where absent.
    pub to: Option<Time>,
    /// It fails with this.
    pub error: Option<ErrorCode>,
    /// It does not return before `to`, or ever.
    #[serde(default)]
    pub hang: bool,
    /// It takes this long.
    pub latency: Option<Time>,
    /// It panics inside, as a broken library would; the caller sees an unknown error.
    #[serde(default)]
    pub panic: bool,
}

/// A card that falls off the bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lost {
    /// The card by its number in the file.
    pub device: u32,
    /// When.
    pub from: Time,
    /// When it is back; never where absent.
    pub to: Option<Time>,
    /// The index under which it comes back; its old one where absent.
    pub index: Option<u32>,
}

/// How the driver library as a whole behaves.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Driver {
    /// Symbols it lacks.
    #[serde(default)]
    pub missing_symbols: Vec<String>,
    /// How long every call takes.
    pub latency: Option<Time>,
    /// Fields in a row of the process lists, version 3.
    #[serde(default)]
    pub row_format: RowFormat,
    /// Rows that a list grows by between asking for its length and reading it.
    #[serde(default)]
    pub list_growth: u32,
    /// Opening the library fails with this.
    pub init_error: Option<ErrorCode>,
    /// Opening the library does not return.
    #[serde(default)]
    pub init_hang: bool,
    /// Accounting is on: peaks of processes are kept.
    #[serde(default)]
    pub accounting: bool,
}

/// The layout of a row in the process lists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RowFormat {
    /// pid, memory, GPU instance, compute instance: 24 bytes.
    #[default]
    Four,
    /// With protected memory, as drivers around R535 have it: 32 bytes.
    Five,
}

/// The driver's error codes by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorCode {
    /// 1
    Uninitialized,
    /// 2
    InvalidArgument,
    /// 3
    NotSupported,
    /// 4
    NoPermission,
    /// 6
    NotFound,
    /// 7
    InsufficientSize,
    /// 9
    DriverNotLoaded,
    /// 10
    Timeout,
    /// 11
    IrqIssue,
    /// 12
    LibraryNotFound,
    /// 13
    FunctionNotFound,
    /// 15
    GpuIsLost,
    /// 16
    ResetRequired,
    /// 17
    OperatingSystem,
    /// 18
    LibRmVersionMismatch,
    /// 19
    InUse,
    /// 20
    Memory,
    /// 21
    NoData,
    /// 25
    ArgumentVersionMismatch,
    /// 999
    Unknown,
}

impl ErrorCode {
    /// The number that the driver returns.
    pub const fn number(self) -> u32 {
        match self {
            Self::Uninitialized => 1,
            Self::InvalidArgument => 2,
            Self::NotSupported => 3,
            Self::NoPermission => 4,
            Self::NotFound => 6,
            Self::InsufficientSize => 7,
            Self::DriverNotLoaded => 9,
            Self::Timeout => 10,
            Self::IrqIssue => 11,
            Self::LibraryNotFound => 12,
            Self::FunctionNotFound => 13,
            Self::GpuIsLost => 15,
            Self::ResetRequired => 16,
            Self::OperatingSystem => 17,
            Self::LibRmVersionMismatch => 18,
            Self::InUse => 19,
            Self::Memory => 20,
            Self::NoData => 21,
            Self::ArgumentVersionMismatch => 25,
            Self::Unknown => 999,
        }
    }
}

/// Whether `t` lies in a span that begins at `from` and ends before `to`.
pub(super) fn within(t: Timestamp, from: Time, to: Option<Time>) -> bool {
    let at = Period(t.0);
    at >= from.0 && to.is_none_or(|to| at < to.0)
}

impl Fault {
    /// Whether it strikes a call about a card at a time. A call about no card has none.
    pub fn strikes(&self, call: &str, card: Option<u32>, t: Timestamp) -> bool {
        let named = self.call == call || (self.call == "*" && card.is_some());
        named && (self.device.is_none() || self.device == card) && within(t, self.from, self.to)
    }
}

impl Lost {
    /// Whether the card is away at a time.
    pub fn away(&self, t: Timestamp) -> bool {
        within(t, self.from, self.to)
    }
}
