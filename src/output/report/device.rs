//! One device over a whole recording.

use std::sync::Arc;

use crate::domain::{Bytes, Device, Period, Shape, Timestamp};

/// A device over the whole recording.
#[derive(Clone, Debug)]
pub struct DeviceRow {
    /// Who it is.
    pub device: Arc<Device>,
    /// The newest total that is known.
    pub total: Option<Bytes>,
    /// The one word for its series.
    pub shape: Shape,
    /// Records of its memory.
    pub samples: u64,
    /// The most that was used, and when first.
    pub peak: Option<(Timestamp, Bytes)>,
    /// The least that was free.
    pub min_free: Option<Bytes>,
    /// From its first to its last reading.
    span: Option<(Timestamp, Timestamp)>,
    /// Lists, where it has no memory records.
    listed: Option<(Timestamp, Timestamp)>,
    /// What holds since when.
    open: Option<(Timestamp, Bytes)>,
    /// Σ used × microseconds, and the microseconds.
    weighted: u128,
    weight: u64,
}

impl DeviceRow {
    /// A device of which nothing was read yet.
    pub fn new(device: Arc<Device>) -> Self {
        Self {
            total: device.total.as_ref().ok().copied(),
            device,
            shape: Shape::Unknown,
            samples: 0,
            peak: None,
            min_free: None,
            span: None,
            listed: None,
            open: None,
            weighted: 0,
            weight: 0,
        }
    }

    /// From the first to the last record of its memory; without any, of its lists.
    pub fn duration(&self) -> Option<Period> {
        self.span.or(self.listed).map(|(first, last)| last.since(first))
    }

    /// What was used on average over the time of which it is known.
    pub fn mean_used(&self) -> Option<Bytes> {
        if self.weight == 0 {
            // All readings of one moment: the last one.
            return self.open.map(|(_, used)| used);
        }
        let mean = (self.weighted + u128::from(self.weight) / 2) / u128::from(self.weight);
        u64::try_from(mean).ok().map(Bytes)
    }

    /// A memory record came.
    pub fn sample(&mut self, t: Timestamp) {
        self.samples += 1;
        stretch(&mut self.span, t);
    }

    /// A list came.
    pub fn list(&mut self, t: Timestamp) {
        stretch(&mut self.listed, t);
    }

    /// From now on so much is used.
    pub fn used(&mut self, t: Timestamp, used: Bytes) {
        self.unknown_from(t);
        self.open = Some((t, used));
        if self.peak.is_none_or(|(_, peak)| used > peak) {
            self.peak = Some((t, used));
        }
    }

    /// So much was free.
    pub fn free(&mut self, free: Bytes) {
        self.min_free = Some(self.min_free.map_or(free, |least| least.min(free)));
    }

    /// From then on it is not known how much is used.
    pub fn unknown_from(&mut self, t: Timestamp) {
        if let Some((since, used)) = self.open.take() {
            let span = t.since(since).0;
            self.weighted += u128::from(used.0) * u128::from(span);
            self.weight += span;
        }
    }
}

fn stretch(span: &mut Option<(Timestamp, Timestamp)>, t: Timestamp) {
    *span = Some(span.map_or((t, t), |(first, last)| (first.min(t), last.max(t))));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{DeviceId, Gpu, MemoryKind, Missing};

    fn row(readings: &[(u64, Option<u64>)]) -> DeviceRow {
        let absent = || Missing::Unsupported("not told".into());
        let mut row = DeviceRow::new(Arc::new(Device {
            gpu: Gpu(0),
            id: DeviceId("GPU-0".into()),
            index: Some(0),
            pci: Err(absent()),
            name: Err(absent()),
            memory: MemoryKind::Dedicated,
            total: Err(absent()),
            parent: None,
        }));
        for (second, used) in readings {
            let t = Timestamp::secs(*second);
            row.sample(t);
            match used {
                Some(used) => row.used(t, Bytes(*used)),
                None => row.unknown_from(t),
            }
        }
        row
    }

    #[test]
    fn the_mean_is_weighted_by_time_and_leaves_out_what_is_not_known() {
        for (readings, mean) in [
            (&[(0, Some(100))][..], Some(100)),
            (&[(0, Some(100)), (10, Some(200)), (20, Some(0))], Some(150)),
            (&[(0, Some(100)), (9, Some(200)), (10, Some(0))], Some(110)),
            (&[(0, Some(100)), (10, None), (90, Some(300)), (100, Some(0))], Some(200)),
            (&[(0, None), (10, None)], None),
            (&[], None),
        ] {
            assert_eq!(row(readings).mean_used(), mean.map(Bytes), "{readings:?}");
        }
    }

    #[test]
    fn peak_and_duration_are_those_of_the_readings() {
        let row = row(&[(5, Some(1)), (7, Some(9)), (8, Some(9)), (30, None)]);
        assert_eq!(row.peak, Some((Timestamp::secs(7), Bytes(9))));
        assert_eq!((row.duration(), row.samples), (Some(Period::secs(25)), 4));
    }
}
