//! What no holder has, over the last minutes, and piles of equal small holders.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use super::Point;
use crate::domain::{Holder, Pid, Process};

/// How many differences are kept: 2.5 KiB.
const KEPT: usize = 160;

/// Used memory less all holders, at each list.
#[derive(Clone, Debug, Default)]
pub(crate) struct Loose {
    points: VecDeque<Point>,
}

/// Equal small holders of one parent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Pile {
    pub(crate) parent: Option<Pid>,
    pub(crate) count: usize,
    /// The usual size.
    pub(crate) each: f64,
    pub(crate) since: f64,
}

impl Loose {
    pub(crate) fn push(&mut self, t: f64, v: f64) {
        if self.points.len() >= KEPT {
            self.points.pop_front();
        }
        self.points.push_back(Point { t, v });
    }

    fn now(&self) -> f64 {
        self.points.back().map_or(0.0, |newest| newest.t)
    }

    /// The newest points of so many seconds; none if they do not go back that far.
    fn window(&self, seconds: f64) -> Option<impl Iterator<Item = &Point>> {
        let from = self.now() - seconds;
        let whole = self.points.front().is_some_and(|oldest| oldest.t <= from + 0.5);
        whole.then(|| self.points.iter().rev().take_while(move |point| point.t >= from))
    }

    /// How many lists there were within so many seconds.
    pub(crate) fn lists(&self, seconds: f64) -> usize {
        self.window(seconds).map_or(0, Iterator::count)
    }

    /// The least over the last so many seconds.
    pub(crate) fn least(&self, seconds: f64) -> Option<f64> {
        self.window(seconds)?.map(|point| point.v).reduce(f64::min)
    }

    /// The most over the last so many seconds.
    pub(crate) fn most(&self, seconds: f64) -> Option<f64> {
        self.window(seconds)?.map(|point| point.v).reduce(f64::max)
    }

    /// The least since a moment.
    pub(crate) fn least_since(&self, t: f64) -> Option<f64> {
        self.points.iter().rev().take_while(|point| point.t >= t).map(|point| point.v).reduce(f64::min)
    }

    /// What it was before a moment.
    pub(crate) fn before(&self, t: f64) -> Option<f64> {
        self.points.iter().rev().find(|point| point.t < t).map(|point| point.v)
    }
}

impl Pile {
    /// The largest group of holders of one parent that are alike; parents that are not known are one group.
    pub(crate) fn of(
        t: f64,
        sizes: &BTreeMap<Pid, (Option<f64>, &Holder)>,
        people: &BTreeMap<Pid, Arc<Process>>,
        old: Option<Self>,
    ) -> Option<Self> {
        if sizes.len() < 4 {
            return None;
        }
        let mut groups: BTreeMap<Option<Pid>, Vec<f64>> = BTreeMap::new();
        for (pid, (used, _)) in sizes {
            let Some(used) = used.filter(|used| (150.0..=800.0).contains(used)) else { continue };
            let parent = people.get(pid).and_then(|process| process.ppid.as_ref().ok().copied());
            groups.entry(parent.filter(|parent| parent.0 > 1)).or_default().push(used);
        }
        let mut best: Option<Self> = None;
        for (parent, mut group) in groups {
            group.sort_unstable_by(f64::total_cmp);
            let Some(each) = group.get(group.len() / 2).copied() else { continue };
            let count = group.iter().filter(|used| (*used - each).abs() <= 0.08 * each + 4.0).count();
            if count >= 4 && best.is_none_or(|best| count > best.count) {
                let since = old.filter(|old| old.parent == parent).map_or(t, |old| old.since);
                best = Some(Self { parent, count, each, since });
            }
        }
        best
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_that_go_back_too_far_say_nothing() {
        let mut loose = Loose::default();
        for n in 0..300 {
            loose.push(f64::from(n), if n < 290 { 5.0 } else { 900.0 });
        }
        assert_eq!(loose.points.len(), KEPT);
        assert_eq!(loose.least(9.0), Some(900.0));
        assert_eq!((loose.least(20.0), loose.most(20.0)), (Some(5.0), Some(900.0)));
        assert_eq!(loose.least(1000.0), None);
        assert_eq!(loose.lists(9.0), 10);
        assert_eq!((loose.before(290.0), loose.least_since(291.0)), (Some(5.0), Some(900.0)));
    }
}
