//! Who grew: the change of each holder, and of what nobody holds, over a window of time.

use std::sync::Arc;

use super::{Bytes, DeviceView, HolderView, Series, Timestamp};

/// Whose change it is.
#[derive(Clone, Debug)]
pub enum Grower {
    /// A process, still there or gone.
    Holder(Arc<HolderView>),
    /// All processes without a history of their own, together.
    Others,
    /// Memory of no visible process.
    Unattributed,
}

/// The change of one of them.
#[derive(Clone, Debug)]
pub struct Change {
    /// Whose.
    pub who: Grower,
    /// At the beginning of the window: zero where the process was not there yet, none where it is not known.
    pub before: Option<Bytes>,
    /// At its end: zero where the process was gone, none where it is not known.
    pub after: Option<Bytes>,
}

/// What changed on a device over a window.
#[derive(Clone, Debug)]
pub struct Growth {
    /// The window's beginning: not before the first list.
    pub from: Timestamp,
    /// Its end.
    pub to: Timestamp,
    /// Used memory of the device, at the beginning and at the end.
    pub total: Option<(Bytes, Bytes)>,
    /// The largest change first, in either direction; those that did not change or can't be told come last.
    pub changes: Vec<Change>,
}

impl Change {
    /// By how many bytes it grew; negative where it fell, none where it can't be told.
    pub fn delta(&self) -> Option<i64> {
        delta(self.before?, self.after?)
    }
}

impl Growth {
    /// What changed between two moments. None where no list of the device has been read before `to`.
    pub fn of(view: &DeviceView, from: Timestamp, to: Timestamp) -> Option<Self> {
        let from = from.max(view.holders_since?);
        if from >= to {
            return None;
        }
        let current = view.holders.iter().flat_map(|list| list.iter());
        let mut changes: Vec<Change> = current
            .chain(view.gone.iter().filter(|holder| holder.gone_at.is_some_and(|gone| gone > from)))
            .filter(|holder| holder.first_seen <= to)
            .filter_map(|holder| {
                // One that has no history is counted among the others.
                let series = holder.series.as_ref()?;
                Some(Change {
                    before: if holder.first_seen > from { Some(Bytes::ZERO) } else { series.at(from) },
                    after: if holder.gone_at.is_some_and(|gone| gone <= to) { Some(Bytes::ZERO) } else { series.at(to) },
                    who: Grower::Holder(Arc::clone(holder)),
                })
            })
            .collect();
        for (who, series) in [(Grower::Others, &view.others), (Grower::Unattributed, &view.unattributed)] {
            if !series.is_empty() {
                changes.push(Change { who, before: first_at(series, from), after: series.at(to) });
            }
        }
        changes.sort_by_key(|change| std::cmp::Reverse(change.delta().map_or(0, i64::unsigned_abs)));
        let total = view.series.at(from).zip(view.series.at(to));
        Some(Self { from, to, total, changes })
    }

    /// By how many bytes the device grew.
    pub fn delta(&self) -> Option<i64> {
        self.total.and_then(|(before, after)| delta(before, after))
    }
}

/// The value at a moment. The first list closes its balance a little after it was read: its value holds from the list on.
fn first_at(series: &Series, t: Timestamp) -> Option<Bytes> {
    series.at(t.max(series.first()?))
}

fn delta(before: Bytes, after: Bytes) -> Option<i64> {
    i64::try_from(i128::from(after.0) - i128::from(before.0)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::fixture::Stream;
    use crate::domain::{Bytes, MemoryKind, Pid};

    fn names(growth: &Growth) -> Vec<(Option<Pid>, Option<i64>)> {
        let mib = |delta: i64| delta >> 20;
        growth
            .changes
            .iter()
            .map(|change| match &change.who {
                Grower::Holder(holder) => (Some(holder.pid()), change.delta().map(mib)),
                Grower::Others | Grower::Unattributed => (None, change.delta().map(mib)),
            })
            .collect()
    }

    #[test]
    fn who_came_who_grew_and_who_went() {
        let mut stream = Stream::new(MemoryKind::Dedicated);
        stream.holders(1_000, &[(1, Some(1_000)), (2, Some(500))]).memory(1_001, 1_510);
        stream.holders(61_000, &[(1, Some(3_900)), (2, Some(500)), (3, Some(700))]).memory(61_001, 5_120);
        stream.holders(121_000, &[(1, Some(3_900)), (3, Some(700))]).memory(121_001, 4_610);
        let view = stream.view();
        let growth = Growth::of(&view, Timestamp::ZERO, Timestamp::secs(61)).expect("lists");
        assert_eq!(growth.from, Timestamp::secs(1), "nothing is known before the first list");
        let (one, two, three) = (Some(Pid(1)), Some(Pid(2)), Some(Pid(3)));
        assert_eq!(names(&growth), [(one, Some(2_900)), (three, Some(700)), (None, Some(10)), (two, Some(0))]);
        let growth = Growth::of(&view, Timestamp::secs(62), Timestamp::secs(122)).expect("lists");
        assert_eq!(growth.delta(), Some(-510 << 20));
        assert_eq!(names(&growth)[0], (two, Some(-500)));
        assert!(Growth::of(&view, Timestamp::secs(5), Timestamp::ZERO).is_none());
    }

    #[test]
    fn what_is_not_known_is_not_zero() {
        let mut stream = Stream::new(MemoryKind::Dedicated);
        stream.holders(1_000, &[(1, None)]).memory(1_001, 900).holders(2_000, &[(1, Some(800))]).memory(2_001, 900);
        let view = stream.view();
        let growth = Growth::of(&view, Timestamp::secs(1), Timestamp::secs(3)).expect("lists");
        let holder = growth.changes.iter().find(|change| matches!(change.who, Grower::Holder(_))).expect("it is listed");
        assert_eq!((holder.before, holder.after, holder.delta()), (None, Some(Bytes::mib(800)), None));
    }
}
