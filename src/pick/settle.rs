//! Headroom that has lasted: the least of the last seconds, so that neither a momentary dip nor a momentary rise decides.

use std::collections::{HashMap, HashSet, VecDeque};

use crate::domain::{Bytes, DeviceState, Gpu, MemoryKind, Period, Sample, SampleBody, Timestamp};

/// What each device could give at each of the last moments: a fold over the samples.
#[derive(Clone, Debug, Default)]
pub struct Settle {
    at: Timestamp,
    headroom: HashMap<Gpu, VecDeque<(Timestamp, Bytes)>>,
    unified: HashSet<Gpu>,
}

impl Settle {
    /// How long headroom must have been there.
    pub const LENGTH: Period = Period::secs(2);

    /// Takes a sample.
    pub fn observe(&mut self, sample: &Sample) {
        let t = sample.t;
        self.at = self.at.max(t);
        match &sample.body {
            SampleBody::Device(device) if device.memory == MemoryKind::Unified => {
                self.unified.insert(device.gpu);
            }
            SampleBody::Memory { gpu, figures: Ok(figures) } if !self.unified.contains(gpu) => self.push(*gpu, t, figures.free),
            // Only unified memory has no figures and still headroom.
            SampleBody::Memory { gpu, figures: Err(_) } if !self.unified.contains(gpu) => self.interrupt(*gpu),
            SampleBody::Host(host) => {
                for gpu in self.unified.clone() {
                    self.push(gpu, t, host.available);
                }
            }
            SampleBody::State { gpu: Some(gpu), state, .. } if *state != DeviceState::Ok => self.interrupt(*gpu),
            SampleBody::Gap { gpu, .. } => self.interrupt(*gpu),
            _ => {}
        }
    }

    /// The least headroom of the last [`Settle::LENGTH`]; none where that much is not known yet.
    pub fn lasted(&self, gpu: Gpu) -> Option<Bytes> {
        let since = Timestamp(self.at.0.checked_sub(Self::LENGTH.0)?);
        let seen = self.headroom.get(&gpu)?;
        // The value that held when the time began counts too.
        let first = seen.iter().rposition(|(t, _)| *t <= since)?;
        seen.iter().skip(first).map(|(_, headroom)| *headroom).min()
    }

    fn push(&mut self, gpu: Gpu, t: Timestamp, headroom: Bytes) {
        let since = self.at.back(Self::LENGTH);
        let seen = self.headroom.entry(gpu).or_default();
        while seen.get(1).is_some_and(|(next, _)| *next <= since) {
            seen.pop_front();
        }
        seen.push_back((t, headroom));
    }

    fn interrupt(&mut self, gpu: Gpu) {
        self.headroom.remove(&gpu);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{MemoryFigures, Missing};

    fn memory(ms: u64, free: Option<u64>) -> Sample {
        let figures = free
            .map(|free| MemoryFigures { total: Bytes::gib(80), free: Bytes::gib(free), reserved: None })
            .ok_or(Missing::Failed("x".into()));
        Sample { t: Timestamp::millis(ms), body: SampleBody::Memory { gpu: Gpu(0), figures } }
    }

    #[test]
    fn only_what_lasted_counts() {
        for (readings, lasted) in [
            // Not two seconds yet.
            (&[(0, Some(50)), (1_900, Some(50))][..], None),
            (&[(0, Some(50)), (2_000, Some(50))], Some(50)),
            // A momentary rise, and a momentary dip.
            (&[(0, Some(10)), (1_500, Some(60)), (2_500, Some(60))], Some(10)),
            (&[(0, Some(60)), (1_500, Some(10)), (1_600, Some(60)), (3_000, Some(60))], Some(10)),
            // The dip is over for two seconds.
            (&[(0, Some(10)), (1_000, Some(60)), (3_100, Some(60))], Some(60)),
            // A value holds until the next reading.
            (&[(0, Some(10)), (5_000, Some(60))], Some(10)),
            // What could not be read in between is not known to have been there.
            (&[(0, Some(60)), (1_000, None), (1_100, Some(60)), (3_000, Some(60))], None),
            (&[(0, Some(60)), (1_000, None), (1_100, Some(60)), (3_100, Some(60))], Some(60)),
        ] {
            let mut settle = Settle::default();
            for (ms, free) in readings {
                settle.observe(&memory(*ms, *free));
            }
            assert_eq!(settle.lasted(Gpu(0)), lasted.map(Bytes::gib), "{readings:?}");
        }
    }

    #[test]
    fn no_more_is_kept_than_counts() {
        let mut settle = Settle::default();
        for ms in 0..60_000 {
            settle.observe(&memory(ms, Some(ms % 7)));
        }
        assert!(settle.headroom[&Gpu(0)].len() <= 2_002);
    }
}
