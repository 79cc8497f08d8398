//! What a device is: identity, kind of memory, and the figures the driver gives of it.

use std::fmt;
use std::sync::Arc;

use super::{Bytes, Reading};

/// The key of a device within one stream: an index on screen, `gpu` in files. Bound by a [`Device`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Gpu(pub u32);

impl fmt::Display for Gpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The identity of a device: its UUID (`GPU-…` or `MIG-…`). Indices move between boots, names are shared.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeviceId(pub Arc<str>);

impl fmt::Display for DeviceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// Who manages the memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, strum::Display, strum::EnumString)]
#[strum(serialize_all = "lowercase")]
pub enum MemoryKind {
    /// The card's own.
    #[default]
    Dedicated,
    /// The system's (GB10, Jetson): headroom is what the host has available.
    Unified,
    /// The card's, managed by the operating system (Grace): pages may stay after exit.
    Numa,
}

/// Static facts of one GPU or MIG instance. A new record for a key rebinds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// The key in this stream. On live NVML the index for whole GPUs, the next free integers for MIG instances.
    pub gpu: Gpu,
    /// The UUID.
    pub id: DeviceId,
    /// The driver's index: none for a MIG instance.
    pub index: Option<u32>,
    /// PCI bus id, `0000:1b:00.0`.
    pub pci: Reading<Arc<str>>,
    /// The product's name; for a MIG instance its profile (`1g.10gb`) where the driver tells.
    pub name: Reading<Arc<str>>,
    /// Who manages the memory.
    pub memory: MemoryKind,
    /// Total memory: absent for unified memory unless the driver gives it.
    pub total: Reading<Bytes>,
    /// The GPU that a MIG instance is part of.
    pub parent: Option<DeviceId>,
}

/// One reading of a device's memory. `used` is derived and agrees with `nvidia-smi` on the same driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryFigures {
    /// As the driver says.
    pub total: Bytes,
    /// As the driver says; what a new allocation can have on dedicated memory.
    pub free: Bytes,
    /// Kept by the driver; none where it does not tell it apart (memory v1, drivers before R510).
    pub reserved: Option<Bytes>,
}

impl MemoryFigures {
    /// total − free − (reserved or 0), never the driver's own `used`, whose meaning changed between versions.
    pub fn used(&self) -> Bytes {
        self.total.saturating_sub(self.free).saturating_sub(self.reserved.unwrap_or_default())
    }
}

/// What a device is up to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, strum::Display, strum::EnumString)]
#[strum(serialize_all = "lowercase")]
pub enum DeviceState {
    /// It answers.
    #[default]
    Ok,
    /// A driver call does not return.
    Stalled,
    /// It fell off the bus or needs a reset; looked up again by UUID.
    Lost,
    /// Its memory can't be read; the reason is in the reading.
    Failed,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn used_agrees_with_nvidia_smi() {
        // nvidia-smi of an RTX 2080 SUPER on R610: 1296 used, 6692 free, 205 reserved of 8192 MiB (off by rounding).
        let v2 = MemoryFigures { total: Bytes::mib(8192), free: Bytes::mib(6692), reserved: Some(Bytes::mib(205)) };
        assert_eq!(v2.used(), Bytes::mib(1295));
        let v1 = MemoryFigures { reserved: None, ..v2 };
        assert_eq!(v1.used(), Bytes::mib(1500));
        let absurd = MemoryFigures { total: Bytes(1), free: Bytes(2), reserved: Some(Bytes(3)) };
        assert_eq!(absurd.used(), Bytes::ZERO);
    }
}
