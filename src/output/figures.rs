//! A device's memory at one moment, so that the terms add up to the byte.

use crate::domain::{Bytes, DeviceView, MemoryKind, Timestamp};

/// `total = free + (reserved or 0) + used` and `used = Σ holders + unattributed − excess`, with none for what is unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// When the memory was read.
    pub at: Option<Timestamp>,
    /// As the driver says.
    pub total: Option<Bytes>,
    /// As the driver says.
    pub free: Option<Bytes>,
    /// Where the driver tells it apart.
    pub reserved: Option<Bytes>,
    /// Whether `used` contains what is reserved; none where `used` is unknown.
    pub used_includes_reserved: Option<bool>,
    /// See [`crate::domain::MemoryFigures::used`]; Σ holders for unified memory without figures.
    pub used: Option<Bytes>,
    /// What a new allocation can have.
    pub headroom: Option<Bytes>,
    /// max(0, used − Σ holders).
    pub unattributed: Option<Bytes>,
    /// max(0, Σ holders − used).
    pub excess: Option<Bytes>,
    /// used − Σ known sizes where some size is missing.
    pub unexplained: Option<Bytes>,
}

impl Figures {
    /// Those of the newest process list and the memory read right after it; without such a pair, of the newest memory.
    pub fn of(view: &DeviceView) -> Self {
        let unified = view.device.memory == MemoryKind::Unified;
        let total = view.device.total.as_ref().ok().copied();
        // An old balance of a card whose memory can't be read would pretend that it could.
        let Some(balance) = view.accounts().filter(|_| view.memory.is_ok() || unified) else {
            return Self { total, ..Self::default() };
        };
        let figures = balance.figures;
        Self {
            at: Some(balance.t),
            total: figures.map(|figures| figures.total).or(total),
            free: figures.map(|figures| figures.free),
            reserved: figures.and_then(|figures| figures.reserved),
            used_includes_reserved: figures.map(|figures| figures.reserved.is_none()),
            used: balance.used,
            headroom: if unified { view.headroom.as_ref().ok().copied() } else { figures.map(|figures| figures.free) },
            unattributed: balance.unattributed,
            excess: balance.excess,
            unexplained: balance.unexplained,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::domain::{
        Device, DeviceId, Gpu, Holder, HolderKind, MemoryFigures, Missing, Monitor, Pid, Reading, Sample, SampleBody, Snapshot,
        Timestamp,
    };

    fn device(memory: MemoryKind) -> SampleBody {
        SampleBody::Device(Arc::new(Device {
            gpu: Gpu(0),
            id: DeviceId("GPU-0".into()),
            index: Some(0),
            pci: Ok("0000:1b:00.0".into()),
            name: Ok("card".into()),
            memory,
            total: Err(Missing::Pending),
            parent: None,
        }))
    }

    fn memory(free: u64, reserved: Option<u64>) -> SampleBody {
        let figures = MemoryFigures { total: Bytes(1000), free: Bytes(free), reserved: reserved.map(Bytes) };
        SampleBody::Memory { gpu: Gpu(0), figures: Ok(figures) }
    }

    fn holders(sizes: &[Option<u64>]) -> SampleBody {
        let holder = |(n, size): (usize, &Option<u64>)| Holder {
            pid: Pid(n as u32 + 1),
            used: size.map(Bytes).ok_or(Missing::Unsupported("WDDM".into())),
            kind: HolderKind::C,
            instance: None,
        };
        SampleBody::Holders { gpu: Gpu(0), list: Ok(sizes.iter().enumerate().map(holder).collect()) }
    }

    fn fold(bodies: Vec<SampleBody>) -> Snapshot {
        let mut monitor = Monitor::new();
        for (n, body) in bodies.into_iter().enumerate() {
            monitor.ingest(&Sample { t: Timestamp::millis(n as u64), body });
        }
        monitor.snapshot()
    }

    fn figures(bodies: Vec<SampleBody>) -> Figures {
        Figures::of(fold(bodies).devices.first().expect("a device"))
    }

    #[test]
    fn the_terms_add_up_also_when_memory_moved_on() {
        for bodies in [
            vec![device(MemoryKind::Dedicated), holders(&[Some(300), Some(50)]), memory(500, Some(100))],
            vec![device(MemoryKind::Dedicated), holders(&[Some(300)]), memory(500, None), memory(10, None)],
            vec![device(MemoryKind::Dedicated), memory(700, Some(0)), holders(&[Some(400)])],
        ] {
            let f = figures(bodies);
            let get = |bytes: Option<Bytes>| bytes.expect("known").0;
            assert_eq!(get(f.total), get(f.free) + f.reserved.map_or(0, |r| r.0) + get(f.used));
            let sum = if get(f.total) == 1000 && get(f.free) == 500 && f.reserved.is_some() {
                350
            } else if get(f.free) == 700 {
                400
            } else {
                300
            };
            assert_eq!(get(f.used), sum + get(f.unattributed) - get(f.excess), "{f:?}");
        }
    }

    #[test]
    fn a_missing_size_leaves_only_what_is_unexplained() {
        let f = figures(vec![device(MemoryKind::Dedicated), holders(&[Some(300), None]), memory(500, None)]);
        assert_eq!((f.used, f.unattributed, f.excess, f.unexplained), (Some(Bytes(500)), None, None, Some(Bytes(200))));
        assert_eq!(f.used_includes_reserved, Some(true));
    }

    #[test]
    fn unified_memory_is_the_sum_of_its_holders() {
        let none: Reading<MemoryFigures> = Err(Missing::Unsupported("shared".into()));
        let missing = SampleBody::Memory { gpu: Gpu(0), figures: none };
        let f = figures(vec![device(MemoryKind::Unified), holders(&[Some(300), Some(4)]), missing.clone()]);
        assert_eq!((f.total, f.free, f.used, f.unattributed), (None, None, Some(Bytes(304)), Some(Bytes(0))));
        let list = SampleBody::Holders { gpu: Gpu(0), list: Err(Missing::Denied("list".into())) };
        let f = figures(vec![device(MemoryKind::Unified), list, missing]);
        assert_eq!((f.used, f.unattributed), (None, None));
    }

    #[test]
    fn nothing_is_known_of_a_card_that_is_lost() {
        let lost = SampleBody::Memory { gpu: Gpu(0), figures: Err(Missing::Lost("nvmlDeviceGetMemoryInfo_v2".into())) };
        let f = figures(vec![device(MemoryKind::Dedicated), holders(&[Some(300)]), memory(500, None), lost]);
        assert_eq!(f, Figures::default());
    }
}
