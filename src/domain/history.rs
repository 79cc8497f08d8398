//! History: tiers of (min, max, last) buckets, so that a 10 ms spike is still there after a week.
//!
//! A series is piecewise constant: between two samples the last value holds. Each tier keeps buckets of one width on
//! absolute time; a bucket without any value is empty, never zero. Memory grows with what was really seen and is bounded:
//! 0.8 MB for a device (nine days), 50 KB for a process (24 h). Clones share all chunks but the newest.

use std::collections::VecDeque;
use std::sync::Arc;

use super::{Bytes, Period, Timestamp};

/// What a series did in one span of time. Sizes are kept in KiB: the driver hands out pages of 4 KiB and more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bucket {
    min: u32,
    max: u32,
    last: u32,
}

/// Buckets of one width.
#[derive(Clone, Debug)]
struct Tier {
    width: Period,
    /// How many chunks are kept.
    keep: usize,
    /// Number of a chunk (bucket index / CHUNK) and its buckets, oldest first; chunks without any value are left out.
    chunks: VecDeque<(u64, Arc<[Bucket; CHUNK]>)>,
}

/// Buckets in a chunk: the unit that clones share.
const CHUNK: usize = 120;

/// The longest silence over which the last value is held. Sources repeat an unchanged value at least once a second, or
/// at every reading if those are slower, and say so with a gap when they can't read.
const HOLD: Period = Period::secs(90);

/// A value over time.
#[derive(Clone, Debug)]
pub struct Series {
    tiers: Vec<Tier>,
    /// The newest value and its time; none after a gap.
    held: Option<(Timestamp, u32)>,
    first: Option<Timestamp>,
}

impl Bucket {
    /// Without any value.
    pub const EMPTY: Self = Self { min: u32::MAX, max: 0, last: u32::MAX };

    /// Whether nothing is known of this span.
    pub fn is_empty(self) -> bool {
        self.min > self.max
    }

    /// The smallest value.
    pub fn min(self) -> Option<Bytes> {
        (!self.is_empty()).then(|| bytes(self.min))
    }

    /// The largest value.
    pub fn max(self) -> Option<Bytes> {
        (!self.is_empty()).then(|| bytes(self.max))
    }

    /// The value at the end of the span.
    pub fn last(self) -> Option<Bytes> {
        (!self.is_empty()).then(|| bytes(self.last))
    }

    /// The sum with another value over the same span: bounds of it, since the courses within the span are not known. Where
    /// nothing is known of one, it adds nothing.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        if self.is_empty() {
            return other;
        }
        if other.is_empty() {
            return self;
        }
        let add = |a: u32, b: u32| a.saturating_add(b).min(u32::MAX - 1);
        Self { min: add(self.min, other.min), max: add(self.max, other.max), last: add(self.last, other.last) }
    }

    fn of(value: u32) -> Self {
        Self { min: value, max: value, last: value }
    }

    /// Adds a later bucket.
    fn then(&mut self, later: Self) {
        if !later.is_empty() {
            self.min = self.min.min(later.min);
            self.max = self.max.max(later.max);
            self.last = later.last;
        }
    }
}

fn bytes(kib: u32) -> Bytes {
    Bytes(u64::from(kib) << 10)
}

impl Tier {
    fn new(width: Period, span: Period) -> Self {
        let keep = (span.0 / width.0).div_ceil(CHUNK as u64) as usize + 1;
        Self { width, keep, chunks: VecDeque::new() }
    }

    fn index(&self, t: Timestamp) -> u64 {
        t.0 / self.width.0
    }

    /// The chunk of a number that is not before the newest one's; none for an older one.
    fn chunk(&mut self, number: u64) -> Option<&mut [Bucket; CHUNK]> {
        if self.chunks.back().is_none_or(|(newest, _)| *newest < number) {
            self.chunks.push_back((number, Arc::new([Bucket::EMPTY; CHUNK])));
            let oldest = (number + 1).saturating_sub(self.keep as u64);
            while self.chunks.front().is_some_and(|(first, _)| *first < oldest) {
                self.chunks.pop_front();
            }
        }
        self.chunks.back_mut().filter(|(newest, _)| *newest == number).map(|(_, chunk)| Arc::make_mut(chunk))
    }

    /// Says that the value was there in all buckets from the one of `from` to the one of `to`.
    fn hold(&mut self, from: Timestamp, to: Timestamp, value: u32) {
        let (first, last) = (self.index(from), self.index(to));
        for number in first / CHUNK as u64..=last / CHUNK as u64 {
            let start = number * CHUNK as u64;
            let (low, high) = (first.max(start) - start, last.min(start + CHUNK as u64 - 1) - start);
            if let Some(chunk) = self.chunk(number) {
                for bucket in &mut chunk[low as usize..=high as usize] {
                    bucket.then(Bucket::of(value));
                }
            }
        }
    }

    fn get(&self, index: u64) -> Bucket {
        let number = index / CHUNK as u64;
        self.chunks
            .binary_search_by_key(&number, |(number, _)| *number)
            .map_or(Bucket::EMPTY, |at| self.chunks[at].1[index as usize % CHUNK])
    }

    /// The earliest time this tier still covers, given the newest chunk.
    fn covers_from(&self) -> Option<Timestamp> {
        let (newest, _) = self.chunks.back()?;
        Some(Timestamp((newest + 1).saturating_sub(self.keep as u64) * CHUNK as u64 * self.width.0))
    }
}

impl Series {
    /// For a device: 10 ms for 2 minutes, 100 ms for 20, 1 s for 4 h, 10 s for 48 h, 1 min for 9 days.
    pub fn device() -> Self {
        Self::with(&[
            (Period::millis(10), Period::secs(120)),
            (Period::millis(100), Period::secs(1_200)),
            (Period::secs(1), Period::secs(4 * 3_600)),
            (Period::secs(10), Period::secs(48 * 3_600)),
            (Period::secs(60), Period::secs(9 * 86_400)),
        ])
    }

    /// For a process: 1 s for 30 minutes, 10 s for 3 h, 1 min for 24 h. Lists are not read more often than that.
    pub fn process() -> Self {
        Self::with(&[
            (Period::secs(1), Period::secs(1_800)),
            (Period::secs(10), Period::secs(3 * 3_600)),
            (Period::secs(60), Period::secs(86_400)),
        ])
    }

    fn with(tiers: &[(Period, Period)]) -> Self {
        Self { tiers: tiers.iter().map(|(width, span)| Tier::new(*width, *span)).collect(), held: None, first: None }
    }

    /// Adds a value. The previous one is held until `t`; a `t` before the newest is taken as the newest.
    pub fn push(&mut self, t: Timestamp, value: Bytes) {
        let value = u32::try_from(value.0 >> 10).unwrap_or(u32::MAX - 1).min(u32::MAX - 1);
        let t = self.held.map_or(t, |(newest, _)| t.max(newest));
        self.first.get_or_insert(t);
        let held = self.held.filter(|(newest, _)| t.since(*newest) <= HOLD);
        for tier in &mut self.tiers {
            if let Some((newest, old)) = held
                && t > newest
            {
                tier.hold(newest, Timestamp(t.0 - 1), old);
            }
            tier.hold(t, t, value);
        }
        self.held = Some((t, value));
    }

    /// Says that nothing is known from now on: the last value is not held over it.
    pub fn gap(&mut self) {
        self.held = None;
    }

    /// The newest value and its time; none after a gap.
    pub fn newest(&self) -> Option<(Timestamp, Bytes)> {
        self.held.map(|(t, value)| (t, bytes(value)))
    }

    /// Time of the first value ever seen.
    pub fn first(&self) -> Option<Timestamp> {
        self.first
    }

    /// Whether nothing was ever seen.
    pub fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    /// The value at a moment, as exactly as the tiers still know it.
    pub fn at(&self, t: Timestamp) -> Option<Bytes> {
        if let Some((newest, value)) = self.held
            && t >= newest
        {
            return (t.since(newest) <= HOLD).then(|| bytes(value));
        }
        let tier = self.tier_for(t, Period::ZERO)?;
        tier.get(tier.index(t)).last()
    }

    /// `count` buckets of `width` each from `from` on. Take `from` as a multiple of `width`: the picture then scrolls
    /// by whole columns and a spike never changes its height.
    ///
    /// Widths that are multiples of a tier's (10 ms, 100 ms, 1 s, 10 s, 1 min for a device) are exact.
    /// The newest value is held up to `until` (the reader's now), unless a gap follows it.
    pub fn buckets(&self, from: Timestamp, width: Period, count: usize, until: Timestamp) -> Vec<Bucket> {
        let width = Period(width.0.max(1));
        (0..count as u64)
            .map(|n| {
                let start = Timestamp(from.0.saturating_add(n.saturating_mul(width.0)));
                self.span(start, width, until)
            })
            .collect()
    }

    /// The bucket of one span.
    pub fn span(&self, start: Timestamp, width: Period, until: Timestamp) -> Bucket {
        let end = start + width;
        let mut bucket = Bucket::EMPTY;
        if start > until || self.first.is_none_or(|first| end <= first) {
            return bucket;
        }
        if let Some(tier) = self.tier_for(start, width) {
            // Buckets that begin in the span; where the tier is coarser, the one that contains its start.
            let lowest = if tier.width <= width { start.0.div_ceil(tier.width.0) } else { tier.index(start) };
            let highest = if tier.width <= width { (end.0 - 1) / tier.width.0 } else { lowest };
            for index in lowest..=highest {
                bucket.then(tier.get(index));
            }
        }
        if let Some((newest, value)) = self.held
            && start <= until
            && end > newest
            && start.since(newest) <= HOLD
        {
            bucket.then(Bucket::of(value));
        }
        bucket
    }

    /// The coarsest tier that covers `t` and whose buckets fill `width` exactly; else the coarsest not coarser than
    /// `width`, whose columns are off by less than a bucket; else the finest that covers `t`.
    fn tier_for(&self, t: Timestamp, width: Period) -> Option<&Tier> {
        let covering = |tier: &&Tier| tier.covers_from().is_some_and(|from| from <= t);
        let coarse_first = || self.tiers.iter().rev().filter(covering);
        coarse_first()
            .find(|tier| tier.width <= width && width.0.is_multiple_of(tier.width.0))
            .or_else(|| coarse_first().find(|tier| tier.width <= width))
            .or_else(|| self.tiers.iter().find(covering))
    }

    /// Bytes this history takes on the heap, with all that it shares.
    pub fn heap(&self) -> usize {
        self.tiers.iter().map(|tier| tier.chunks.len() * (CHUNK * size_of::<Bucket>() + 32)).sum()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MIB: u64 = 1 << 20;

    fn spiky() -> Series {
        let mut series = Series::device();
        series.push(Timestamp::secs(1), Bytes(100 * MIB));
        series.push(Timestamp::millis(5_000), Bytes(900 * MIB));
        series.push(Timestamp::millis(5_010), Bytes(100 * MIB));
        series
    }

    #[test]
    fn a_spike_of_10_ms_is_still_there_after_a_week() {
        let mut series = spiky();
        let week = 7 * 86_400;
        for s in 6..week {
            series.push(Timestamp::secs(s), Bytes(100 * MIB));
        }
        let now = Timestamp::secs(week - 1);
        let buckets = series.buckets(Timestamp::ZERO, Period::secs(3_600), 168, now);
        let peaks: Vec<usize> =
            buckets.iter().enumerate().filter(|(_, b)| b.max() == Some(Bytes(900 * MIB))).map(|(n, _)| n).collect();
        assert_eq!(peaks, [0], "in the first hour and nowhere else");
        assert!(buckets.iter().all(|b| b.min() == Some(Bytes(100 * MIB))));
        assert!(series.heap() < 1_000_000, "{} bytes", series.heap());
    }

    #[test]
    fn values_hold_until_the_next_one_and_gaps_are_empty() {
        let mut series = Series::device();
        series.push(Timestamp::secs(1), Bytes(MIB));
        series.push(Timestamp::secs(3), Bytes(2 * MIB));
        assert_eq!(series.at(Timestamp::millis(2_500)), Some(Bytes(MIB)));
        assert_eq!(series.at(Timestamp::secs(4)), Some(Bytes(2 * MIB)));
        assert_eq!(series.at(Timestamp::millis(500)), None);
        series.gap();
        assert_eq!(series.at(Timestamp::secs(4)), None);
        series.push(Timestamp::secs(9), Bytes(3 * MIB));
        let now = Timestamp::millis(9_900);
        let known: Vec<bool> = series.buckets(Timestamp::ZERO, Period::secs(1), 11, now).iter().map(|b| !b.is_empty()).collect();
        assert_eq!(known, [false, true, true, true, false, false, false, false, false, true, false]);
    }

    #[test]
    fn sums_are_bounds_and_what_is_not_known_adds_nothing() {
        let bucket = |min, max, last| Bucket { min, max, last };
        assert_eq!(bucket(1, 5, 2).plus(bucket(10, 20, 15)), bucket(11, 25, 17));
        assert_eq!(Bucket::EMPTY.plus(bucket(1, 5, 2)), bucket(1, 5, 2));
        assert_eq!(bucket(1, 5, 2).plus(Bucket::EMPTY), bucket(1, 5, 2));
        assert!(Bucket::EMPTY.plus(Bucket::EMPTY).is_empty());
        assert!(!Bucket::of(u32::MAX - 1).plus(Bucket::of(9)).is_empty(), "a sum beyond the scale is held at its end");
    }

    #[test]
    fn a_change_does_not_leak_over_its_bucket() {
        let series = spiky();
        let now = Timestamp::secs(6);
        let buckets = series.buckets(Timestamp::millis(4_990), Period::millis(10), 4, now);
        let highs: Vec<u64> = buckets.iter().map(|b| b.max().map_or(0, |max| max.0 / MIB)).collect();
        assert_eq!(highs, [100, 900, 100, 100]);
    }

    #[test]
    fn a_silence_is_not_held_for_ever() {
        let mut series = Series::process();
        series.push(Timestamp::secs(10), Bytes(MIB));
        assert_eq!(series.at(Timestamp::secs(100)), Some(Bytes(MIB)));
        assert_eq!(series.at(Timestamp::secs(101)), None);
        series.push(Timestamp::secs(500), Bytes(MIB));
        assert_eq!(series.at(Timestamp::secs(300)), None);
    }

    #[test]
    fn clones_keep_what_they_saw() {
        let mut series = spiky();
        let before = series.clone();
        series.push(Timestamp::secs(20), Bytes(5 * MIB));
        assert_eq!(before.newest(), Some((Timestamp::millis(5_010), Bytes(100 * MIB))));
        assert_eq!(before.at(Timestamp::secs(20)), Some(Bytes(100 * MIB)));
        assert_eq!(series.at(Timestamp::secs(20)), Some(Bytes(5 * MIB)));
    }

    #[test]
    fn time_that_goes_back_is_taken_as_now() {
        let mut series = Series::device();
        series.push(Timestamp::secs(5), Bytes(MIB));
        series.push(Timestamp::secs(2), Bytes(7 * MIB));
        assert_eq!(series.newest(), Some((Timestamp::secs(5), Bytes(7 * MIB))));
        assert_eq!(series.at(Timestamp::secs(2)), None);
    }

    proptest! {
        /// Any columns over any samples: min ≤ last ≤ max, and within the finest tier's reach they are exactly what
        /// a reader of all samples computes.
        #[test]
        fn columns_agree_with_the_samples(
            steps in prop::collection::vec((1u64..4_000, 0u64..64), 1..60),
            width_ms in prop::sample::select(vec![10u64, 50, 100, 250, 1_000, 5_000]),
        ) {
            let mut series = Series::device();
            let mut t = 0;
            let mut samples = Vec::new();
            for (wait, value) in steps {
                t += wait;
                samples.push((t * 1_000, value));
                series.push(Timestamp::millis(t), Bytes(value * MIB));
            }
            let now = Timestamp::millis(t);
            let count = (t / width_ms + 2) as usize;
            let buckets = series.buckets(Timestamp::ZERO, Period::millis(width_ms), count, now);
            for (n, bucket) in buckets.iter().enumerate() {
                if let (Some(min), Some(last), Some(max)) = (bucket.min(), bucket.last(), bucket.max()) {
                    prop_assert!(min <= last && last <= max);
                }
                // The samples' own view of this column, on the 10 ms grid.
                let (start, end) = (n as u64 * width_ms * 1_000, (n as u64 + 1) * width_ms * 1_000);
                let inside = samples.iter().filter(|(at, _)| (start..end).contains(at)).map(|(_, v)| *v);
                let carried = samples.iter().rev().find(|(at, _)| *at < start).map(|(_, v)| *v)
                    .filter(|_| start <= now.0 && samples.iter().all(|(at, _)| *at != start));
                let mut seen: Vec<u64> = inside.chain(carried).collect();
                seen.sort_unstable();
                let got = (bucket.min().map(|b| b.0 / MIB), bucket.max().map(|b| b.0 / MIB));
                if t * 1_000 < 120_000_000 && (seen.is_empty() || start <= now.0) {
                    prop_assert_eq!(got, (seen.first().copied(), seen.last().copied()), "column {} of {:?}", n, samples);
                }
            }
        }
    }
}
