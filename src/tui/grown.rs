//! Who grew over the time in sight, as calm as a number on the screen has to be.

use std::sync::Arc;

use crate::domain::{Bytes, DeviceView, Grower, Growth, HolderView, Period, Series, Timestamp};

/// What changed on a card over the time in sight.
#[derive(Clone, Debug)]
pub struct Grown {
    /// The beginning: not before the first list.
    pub from: Timestamp,
    /// The end.
    pub to: Timestamp,
    /// By how much the card's used memory changed; none where that is not known.
    pub total: Option<i64>,
    /// By whom, the largest change first.
    changes: Vec<(Grower, Option<i64>)>,
}

/// The longest time at either end in which the peak stands for a value that swings.
const EDGE: Period = Period::secs(30);

impl Grown {
    /// Smaller changes are what allocators do all day: nothing is said of them.
    pub const NOTABLE: u64 = 64 << 20;

    /// What changed between two moments; none where that is not known.
    pub fn of(view: &DeviceView, from: Timestamp, to: Timestamp) -> Option<Self> {
        let growth = Growth::of(view, from, to)?;
        let (from, to) = (growth.from, growth.to);
        let calm = |series: Option<&Series>, delta: Option<i64>| match (series, delta) {
            (Some(series), Some(delta)) if delta.unsigned_abs() >= Grown::NOTABLE => {
                Some(of_peaks(series, from, to).unwrap_or(delta))
            }
            (_, delta) => delta,
        };
        let total = calm(Some(&view.series), growth.delta());
        let mut changes: Vec<(Grower, Option<i64>)> = growth
            .changes
            .into_iter()
            .map(|change| {
                let delta = change.delta();
                let series = match &change.who {
                    // One that came or went has changed by what it holds or held.
                    Grower::Holder(holder) if holder.first_seen <= from && holder.gone_at.is_none() => holder.series.as_deref(),
                    _ => None,
                };
                let delta = calm(series, delta);
                (change.who, delta)
            })
            .collect();
        changes.sort_by_key(|(_, delta)| std::cmp::Reverse(delta.map_or(0, i64::unsigned_abs)));
        Some(Self { from, to, total, changes })
    }

    /// The change of a holder; none where it is not known.
    pub fn holder(&self, holder: &Arc<HolderView>) -> Option<i64> {
        // Only those with a history are among them.
        holder.series.as_ref()?;
        self.find(|who| matches!(who, Grower::Holder(other) if Arc::ptr_eq(other, holder)))
    }

    /// The change of what nobody holds.
    pub fn unattributed(&self) -> Option<i64> {
        self.find(|who| matches!(who, Grower::Unattributed))
    }

    /// The change of those without a history of their own.
    pub fn others(&self) -> Option<i64> {
        self.find(|who| matches!(who, Grower::Others))
    }

    fn find(&self, is: impl Fn(&Grower) -> bool) -> Option<i64> {
        self.changes.iter().find(|(who, _)| is(who)).and_then(|(_, delta)| *delta)
    }

    /// The changes that are worth a word, the largest first.
    pub fn notable(&self) -> impl Iterator<Item = (&Grower, i64)> {
        self.changes
            .iter()
            .filter_map(|(who, delta)| Some((who, (*delta)?)))
            .filter(|(_, delta)| delta.unsigned_abs() >= Self::NOTABLE)
    }
}

/// The change of the peaks where a value swings at the beginning or the end: from one moment of a training step to another
/// it changes by anything. None where it does not swing.
fn of_peaks(series: &Series, from: Timestamp, to: Timestamp) -> Option<i64> {
    let edge = EDGE.min(Period(to.since(from).0 / 4));
    let start = from.max(series.first()? + edge);
    if start >= to {
        return None;
    }
    let (before, after) = (Peaks::before(series, start, edge)?, Peaks::before(series, to, edge)?);
    let delta = i64::try_from(i128::from(after.level.0) - i128::from(before.level.0)).ok();
    delta.filter(|_| before.swings || after.swings)
}

/// How high a value went within a time before a moment.
struct Peaks {
    /// A height that is reached again and again: a single spike is not growth.
    level: Bytes,
    /// It went both up and down.
    swings: bool,
}

impl Peaks {
    fn before(series: &Series, at: Timestamp, edge: Period) -> Option<Self> {
        let second = Period::secs(1);
        let start = Timestamp(at.back(edge).0 / second.0 * second.0);
        let buckets = series.buckets(start, second, (edge.0 / second.0).max(1) as usize, at);
        let (mut up, mut down) = (false, false);
        let mut last: Option<Bytes> = None;
        let mut highs: Vec<Bytes> = Vec::with_capacity(buckets.len());
        for bucket in buckets {
            let (Some(min), Some(max), Some(now)) = (bucket.min(), bucket.max(), bucket.last()) else { continue };
            let before = last.unwrap_or(now);
            up |= max.0.saturating_sub(min.min(before).0) >= Grown::NOTABLE && max > before;
            down |= max.max(before).0.saturating_sub(now.0) >= Grown::NOTABLE;
            last = Some(now);
            highs.push(max);
        }
        highs.sort_unstable();
        // One second in five may be higher.
        let level = *highs.get(highs.len().saturating_sub(1) * 4 / 5)?;
        Some(Self { level, swings: up && down })
    }
}

/// `+2.90`, `−0.31` or `0` GiB in three digits.
pub fn signed(delta: i64, minus: char) -> String {
    let size = Bytes(delta.unsigned_abs());
    let digits = crate::domain::bytes::three_digits(size.as_gib());
    match delta {
        _ if digits == "0.00" => "0".to_owned(),
        0.. => format!("+{digits}"),
        _ => format!("{minus}{digits}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(value: impl Fn(u64) -> u64) -> Series {
        let mut series = Series::process();
        for second in 0..=120 {
            series.push(Timestamp::secs(second), Bytes::gib(value(second)));
        }
        series
    }

    #[test]
    fn peaks_stand_for_what_swings() {
        let change =
            |value: fn(u64) -> u64| of_peaks(&series(value), Timestamp::ZERO, Timestamp::secs(120)).map(|delta| delta >> 30);
        assert_eq!(change(|_| 20), None, "flat");
        assert_eq!(change(|second| second), None, "a ramp is what it is");
        assert_eq!(change(|second| 20 + 10 * (second % 2)), Some(0), "steps of training");
        assert_eq!(
            change(|second| 20 + 10 * (second % 2) + if second > 60 { 5 } else { 0 }),
            Some(5),
            "and what grows below them"
        );
    }

    #[test]
    fn changes_carry_their_sign() {
        for (delta, text) in [(0, "0"), (1 << 20, "0"), (3 << 30, "+3.00"), (-(5 << 29), "-2.50"), (i64::MIN, "-8589934592")] {
            assert_eq!(signed(delta, '-'), text);
        }
    }
}
