//! What one card shows at the moment looked at: figures that add up, now or in the past.

use std::sync::Arc;

use strum::EnumCount;

use super::theme::Role;
use crate::domain::{Bytes, DeviceState, DeviceView, Gpu, HolderView, MemoryKind, Period, Relation, Series, Snapshot, Timestamp};

/// A slice of a card's memory; `total` is the sum of all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::EnumCount, strum::EnumIter)]
pub enum Slice {
    /// The watched job's.
    Job,
    /// My other processes'.
    Mine,
    /// Other users'.
    Foreign,
    /// Display servers' and daemons'.
    System,
    /// Of processes that can't be seen from here.
    Unknown,
    /// In use, but no process owns up to it.
    Unattributed,
    /// In use; sizes of single processes are not told.
    InUse,
    /// Kept by the driver.
    Reserved,
    /// Free.
    Free,
}

impl Slice {
    /// The slice of a relation.
    pub fn of(relation: Relation) -> Self {
        match relation {
            Relation::Job => Self::Job,
            Relation::Mine => Self::Mine,
            Relation::Foreign => Self::Foreign,
            Relation::System => Self::System,
            Relation::Unknown => Self::Unknown,
        }
    }

    /// Its colour.
    pub fn role(self) -> Role {
        match self {
            Self::Job => Role::Job,
            Self::Mine => Role::Mine,
            Self::Foreign => Role::Foreign,
            Self::System => Role::System,
            Self::Unknown => Role::Unknown,
            Self::Unattributed => Role::Unattributed,
            Self::InUse => Role::InUse,
            Self::Reserved => Role::Reserved,
            Self::Free => Role::Free,
        }
    }

    /// Its name in the legend.
    pub fn name(self) -> &'static str {
        match self {
            Self::Job => "job",
            Self::Mine => "mine",
            Self::Foreign => "foreign",
            Self::System => "system",
            Self::Unknown => "unknown",
            Self::Unattributed => "unattributed",
            Self::InUse => "in use",
            Self::Reserved => "reserved",
            Self::Free => "free",
        }
    }
}

/// Figures of one moment that add up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// What the card has.
    pub total: Option<Bytes>,
    /// total − free − reserved; Σ holders for unified memory.
    pub used: Option<Bytes>,
    /// What a new allocation can have.
    pub free: Option<Bytes>,
    /// Kept by the driver, where told apart.
    pub reserved: Option<Bytes>,
    /// What the processes add up to beyond `used`: the list and the memory are two readings, and the past keeps a list
    /// a second while memory may be read more often.
    pub beyond: Option<Bytes>,
    /// Used memory of no process; none where some size is missing.
    pub unattributed: Option<Bytes>,
    /// The slices of the bar, in the order of [`Slice`]. Their sum is `total` where that is known.
    pub slices: [u64; Slice::COUNT],
}

/// One row of the device panel.
#[derive(Clone, Debug)]
pub struct Card<'a> {
    /// The device.
    pub view: &'a Arc<DeviceView>,
    /// A MIG instance below its parent.
    pub is_instance: bool,
    /// The last MIG instance of its parent.
    pub is_last: bool,
    /// Figures of the moment.
    pub figures: Figures,
    /// The age of the figures, where they are old.
    pub stale: Option<Period>,
    /// The largest used memory up to the moment.
    pub peak: Option<Peak>,
    /// The smallest and the largest used memory of the last half minute.
    pub recent: Option<Recent>,
    /// A whole GPU whose MIG instances are told apart: they speak for it.
    pub has_instances: bool,
}

/// The smallest and the largest value of the half minute before a moment: calm where the value itself swings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recent {
    /// The smallest.
    pub min: Bytes,
    /// The largest.
    pub max: Bytes,
}

impl Recent {
    /// Of a history, with the value of the moment itself.
    pub fn of(series: &Series, t: Timestamp, value: Option<Bytes>) -> Option<Self> {
        // Now, four buckets of ten seconds; in the past, where such a bucket would bring in the future, 31 of one.
        let is_now = series.newest().is_some_and(|(newest, _)| newest <= t);
        let step = Period::secs(if is_now { 10 } else { 1 });
        let newest = Timestamp(t.0 / step.0 * step.0);
        let start = newest.back(Period::secs(30));
        let bucket = series.span(start, (newest + step).since(start), t);
        let (min, max) = (bucket.min().or(value)?, bucket.max().or(value)?);
        Some(Self { min: min.min(value.unwrap_or(min)), max: max.max(value.unwrap_or(max)) })
    }

    /// Whether it moved by less than a fiftieth.
    pub fn is_steady(self) -> bool {
        self.max.0 - self.min.0 <= self.max.0 / 50
    }
}

/// The largest value up to a moment, and when it was; without a time where only the histories still know it.
pub type Peak = (Option<Timestamp>, Bytes);

/// How old figures may be before they are shown as old, where the pace is not known.
const FRESH: Period = Period::secs(2);

impl<'a> Card<'a> {
    /// All cards of a snapshot in the order of the screen: MIG instances below their parent. `past` is a moment of the
    /// past, `now` the time of the reader.
    pub fn all(snapshot: &'a Snapshot, past: Option<Timestamp>, now: Timestamp) -> Vec<Self> {
        let mut cards = Vec::with_capacity(snapshot.devices.len());
        let known = |view: &DeviceView| {
            view.device.parent.as_ref().is_some_and(|parent| snapshot.devices.iter().any(|other| other.device.id == *parent))
        };
        for view in snapshot.devices.iter().filter(|view| !known(view)) {
            cards.push(Self::new(view, false, past, now));
            let parent = cards.len() - 1;
            for instance in snapshot.devices.iter().filter(|other| other.device.parent.as_ref() == Some(&view.device.id)) {
                cards.push(Self::new(instance, true, past, now));
                cards[parent].has_instances = true;
            }
            if let Some(last) = cards.last_mut() {
                last.is_last = last.is_instance;
            }
        }
        cards
    }

    fn new(view: &'a Arc<DeviceView>, is_instance: bool, past: Option<Timestamp>, now: Timestamp) -> Self {
        let figures = past.map_or_else(|| present(view), |t| figures_at(view, t, now));
        let patience = view.memory_pace.map_or(FRESH, |pace| FRESH.max(Period(pace.asked.0.saturating_mul(3))));
        let stale = match view.age(now) {
            _ if past.is_some() => None,
            Some(age) if age > patience || view.memory.is_err() || view.state != DeviceState::Ok => Some(age),
            _ => None,
        };
        let peak = match past {
            None => view.peak.map(|(at, peak)| (Some(at), peak)),
            Some(t) => peak_until(view.peak, &view.series, t).map(|(at, peak)| (at, peak.max(figures.used.unwrap_or(peak)))),
        };
        let recent = figures.used.and_then(|used| Recent::of(&view.series, past.unwrap_or(now), Some(used)));
        Self { view, is_instance, is_last: false, figures, stale, peak, recent, has_instances: false }
    }

    /// The key of the device.
    pub fn gpu(&self) -> Gpu {
        self.view.gpu()
    }

    /// Whether its figures are those of a card that answers.
    pub fn is_fresh(&self) -> bool {
        self.view.state == DeviceState::Ok && self.stale.is_none()
    }

    /// Whether nothing is known of it at the moment of the past that is looked at.
    pub fn is_blank(&self, past: Option<Timestamp>) -> bool {
        past.is_some_and(|t| is_gap(self.view, t))
    }

    /// How full it is, from 0 to 1.
    pub fn fullness(&self) -> Option<f64> {
        let (used, total) = (self.figures.used?, self.figures.total?);
        let held = used.saturating_add(self.figures.reserved.unwrap_or_default());
        (total.0 > 0).then(|| held.0 as f64 / total.0 as f64)
    }

    /// How full it was at the most in the last half minute, from 0 to 1.
    pub fn recent_fullness(&self) -> f64 {
        let (Some(recent), total) = (self.recent, self.figures.extent()) else { return 0.0 };
        let held = recent.max.saturating_add(self.figures.reserved.unwrap_or_default());
        if total.0 > 0 { held.0 as f64 / total.0 as f64 } else { 0.0 }
    }

    /// The product's name, without what all have in common.
    pub fn name(&self) -> &'a str {
        self.view.device.name.as_ref().map_or("", |name| {
            let name = name.strip_prefix("NVIDIA ").unwrap_or(name);
            name.strip_prefix("GeForce ").unwrap_or(name)
        })
    }
}

/// The newest figures. Those that the newest process list was taken with are used where they are as good as new: only
/// they add up with the sizes of the processes.
fn present(view: &DeviceView) -> Figures {
    let newest = view.last_memory.map(|(t, _)| t);
    let patience = view.process_pace.map_or(Period::secs(5), |pace| Period::secs(5).max(Period(pace.asked.0.saturating_mul(3))));
    let balance = view.accounts().filter(|balance| newest.is_none_or(|newest| newest.since(balance.t) <= patience));
    let memory = balance.and_then(|balance| balance.figures).or(view.last_memory.map(|(_, figures)| figures));
    let mut figures = Figures {
        total: memory.map(|memory| memory.total).or_else(|| view.device.total.as_ref().ok().copied()),
        used: memory.map(|memory| memory.used()),
        free: memory.map(|memory| memory.free),
        reserved: memory.and_then(|memory| memory.reserved),
        ..Figures::default()
    };
    if view.device.memory == MemoryKind::Unified && memory.is_none() {
        figures.used = balance.and_then(|balance| balance.used);
        figures.free = view.headroom.as_ref().ok().copied();
    }
    figures.beyond = balance.and_then(|balance| balance.excess).filter(|beyond| beyond.0 > 0);
    let known = balance.filter(|balance| balance.unattributed.is_some());
    figures.unattributed = known.and_then(|balance| balance.unattributed);
    let holders = view.holders.as_ref().ok().filter(|_| known.is_some());
    let sizes = holders.into_iter().flat_map(|list| list.iter()).filter_map(|view| Some((view.relation(), view.used()?)));
    figures.slice(sizes, known.is_some());
    figures
}

/// The figures of a moment of the past, from the histories.
///
/// Memory is read many times between two process lists, and a history of lists knows only the second (later ten, then
/// sixty) in which one was read. The used memory that belongs to the list is therefore one of those seen in that span;
/// the one nearest to what the processes and nobody held together is taken, so that steps of a training run do not pass for
/// memory that belongs to nobody.
fn figures_at(view: &DeviceView, t: Timestamp, now: Timestamp) -> Figures {
    if is_gap(view, t) {
        return Figures { total: view.total().ok(), ..Figures::default() };
    }
    let memory = view.last_memory.map(|(_, figures)| figures);
    let reserved = memory.and_then(|memory| memory.reserved);
    let sizes: Vec<(Relation, Bytes)> = holders_at(view, t).map(|(holder, used)| (holder.relation(), used)).collect();
    let others = view.others.at(t).unwrap_or_default();
    // What the list and the memory read right after it left over. None before the first list, and where sizes are missing.
    let rest = view.unattributed.at(t);
    let told = !sizes.is_empty() || others > Bytes::ZERO || view.balance.is_some_and(|balance| balance.unattributed.is_some());
    let attributed = sizes.iter().map(|(_, used)| *used).sum::<Bytes>().saturating_add(others);

    let width = list_span(now.since(t));
    let start = Timestamp(t.0 / width.0 * width.0);
    let seen = view.series.span(start, width, start + width);
    let used = match (seen.min(), seen.max()) {
        (Some(min), Some(max)) if told => {
            let sum = rest.map_or(attributed, |rest| attributed.saturating_add(rest));
            Some(sum.clamp(min, max))
        }
        _ => view.series.at(t),
    };
    let total = view.total().ok();
    let free = used
        .zip(total)
        .filter(|_| memory.is_some())
        .map(|(used, total)| total.saturating_sub(used).saturating_sub(reserved.unwrap_or_default()));
    let mut figures = Figures { total, used, free, reserved, ..Figures::default() };
    if told {
        figures.unattributed = used.map(|used| used.saturating_sub(attributed));
        figures.beyond = used.map(|used| attributed.saturating_sub(used)).filter(|beyond| beyond.0 > 0);
    }
    figures.slice(sizes.into_iter().chain([(Relation::Unknown, others)]), told);
    figures
}

/// Whether a moment lies in a gap: the card was watched, but not read then.
fn is_gap(view: &DeviceView, t: Timestamp) -> bool {
    !view.series.is_empty() && view.series.at(t).is_none()
}

/// The largest value up to `t`: the one that is kept with its time, or, where that came later, what the history knows.
pub fn peak_until(kept: Option<(Timestamp, Bytes)>, series: &Series, t: Timestamp) -> Option<Peak> {
    if let Some((at, peak)) = kept.filter(|(at, _)| *at <= t) {
        return Some((Some(at), peak));
    }
    // Whole minutes from the coarse buckets, what is left from finer and finer ones: a bucket that ends after `t` would
    // bring in the future.
    let mut from = Timestamp(series.first()?.0 / 60_000_000 * 60_000_000);
    let mut largest = series.at(t);
    for width in [60_000_000, 10_000_000, 1_000_000, 100_000, 10_000] {
        let to = Timestamp(t.0 / width * width);
        if to > from {
            // A first bucket of the coarser width may be gone; its finer ones hold no more than it did.
            largest = largest.max(series.span(from, Period(to.0 - from.0), t).max());
            from = to;
        }
    }
    largest.map(|peak| (None, peak))
}

/// The span of the buckets in which the histories of processes still know a moment of that age.
fn list_span(age: Period) -> Period {
    match age.0 / 1_000_000 {
        0..1_800 => Period::secs(1),
        1_800..10_800 => Period::secs(10),
        _ => Period::secs(60),
    }
}

/// The holders of a card at a moment of the past with what they held then, those that are gone included.
pub fn holders_at(view: &DeviceView, t: Timestamp) -> impl Iterator<Item = (&Arc<HolderView>, Bytes)> {
    let present = view.holders.iter().flat_map(|list| list.iter());
    present.chain(view.gone.iter()).filter_map(move |holder| Some((holder, holder.used_at(t)?)))
}

impl Figures {
    /// The whole of the bar: the total, or for unified memory what is used and what is left.
    pub fn extent(&self) -> Bytes {
        self.total.unwrap_or_else(|| Bytes(self.slices.iter().sum()))
    }

    /// Cuts the bar. Where the sizes of the processes are `told`, each relation has its slice and the rest of what is
    /// used is unattributed; otherwise it is one slice.
    fn slice(&mut self, sizes: impl Iterator<Item = (Relation, Bytes)>, told: bool) {
        let slices = &mut self.slices;
        let used = self.used.unwrap_or_default().0;
        if told {
            for (relation, size) in sizes {
                slices[Slice::of(relation) as usize] += size.0;
            }
            let attributed: u64 = slices.iter().sum();
            slices[Slice::Unattributed as usize] = used.saturating_sub(attributed);
            // The list and the memory are two readings: where the processes add up to more than is used, the largest
            // slice gives way, so that the bar stays true to the memory.
            let mut excess = attributed.saturating_sub(used);
            while excess > 0 {
                let Some(largest) = slices.iter_mut().max().filter(|largest| **largest > 0) else { break };
                let cut = excess.min(*largest);
                *largest -= cut;
                excess -= cut;
            }
        } else {
            slices[Slice::InUse as usize] = used;
        }
        slices[Slice::Reserved as usize] = self.reserved.unwrap_or_default().0;
        slices[Slice::Free as usize] = self.free.unwrap_or_default().0;
    }
}

impl Card<'_> {
    /// What is wrong with the card, in few words; none while all is well.
    pub fn trouble(&self, now: Timestamp) -> Option<String> {
        let since = now.since(self.view.state_since);
        match (self.view.state, &self.view.memory) {
            (DeviceState::Stalled, _) => Some(format!("driver not answering {since}")),
            (DeviceState::Lost, _) => Some(format!("lost {since} ago")),
            (DeviceState::Failed, Err(missing)) => Some(missing.to_string()),
            (DeviceState::Failed, Ok(_)) => Some("can't be read".to_owned()),
            (DeviceState::Ok, Err(missing)) if self.figures.used.is_none() => Some(missing.to_string()),
            (DeviceState::Ok, _) => None,
        }
    }

    /// The holder that held most in the last half minute, and how much; those that are gone count in the past alone.
    pub fn largest_recently(&self, past: Option<Timestamp>, now: Timestamp) -> Option<(&Arc<HolderView>, Recent)> {
        if self.is_blank(past) {
            return None;
        }
        let recent = |holder: &Arc<HolderView>, used: Bytes| match &holder.series {
            Some(series) => Recent::of(series, past.unwrap_or(now), Some(used)),
            None => Some(Recent { min: used, max: used }),
        };
        let by_size = |(_, recent): &(&Arc<HolderView>, Recent)| recent.max;
        if let Some(t) = past {
            let held = holders_at(self.view, t);
            return held.filter_map(|(holder, used)| Some((holder, recent(holder, used)?))).max_by_key(by_size);
        }
        // Newest lists are sorted: only the first ones can have the highest peak, and only they have a history.
        let list = self.view.holders.as_ref().ok()?;
        list.iter().filter_map(|holder| Some((holder, recent(holder, holder.used()?)?))).max_by_key(by_size)
    }

    /// The largest holder of the moment.
    pub fn largest(&self, past: Option<Timestamp>) -> Option<(&Arc<HolderView>, Bytes)> {
        if self.is_blank(past) {
            return None;
        }
        if let Some(t) = past {
            return holders_at(self.view, t).max_by_key(|(_, used)| *used);
        }
        let list = self.view.holders.as_ref().ok()?;
        list.iter().filter_map(|holder| Some((holder, holder.used()?))).max_by_key(|(_, used)| *used)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Used memory of 10 GiB, 20 for a moment at 100 s, and 30 from 300 s on.
    fn story() -> Series {
        let mut series = Series::device();
        for second in 0..400 {
            series.push(Timestamp::secs(second), Bytes::gib(if second < 300 { 10 } else { 30 }));
            if second == 100 {
                series.push(Timestamp::millis(100_200), Bytes::gib(20));
                series.push(Timestamp::millis(100_210), Bytes::gib(10));
            }
        }
        series
    }

    #[test]
    fn peaks_of_the_past_know_no_future() {
        let series = story();
        let kept = Some((Timestamp::secs(300), Bytes::gib(30)));
        let peak = |ms| peak_until(kept, &series, Timestamp::millis(ms));
        assert_eq!(peak(99_900), Some((None, Bytes::gib(10))));
        assert_eq!(peak(101_000), Some((None, Bytes::gib(20))));
        assert_eq!(peak(299_990), Some((None, Bytes::gib(20))));
        assert_eq!(peak(300_000), Some((Some(Timestamp::secs(300)), Bytes::gib(30))));
        assert_eq!(peak_until(None, &Series::device(), Timestamp::secs(3)), None);
    }

    #[test]
    fn the_last_half_minute_is_neither_older_nor_later() {
        let series = story();
        let recent = |second| {
            let recent = Recent::of(&series, Timestamp::secs(second), None).expect("known");
            (recent.min, recent.max)
        };
        let (ten, twenty, thirty) = (Bytes::gib(10), Bytes::gib(20), Bytes::gib(30));
        assert_eq!(recent(5), (ten, ten));
        assert_eq!(recent(99), (ten, ten));
        assert_eq!(recent(120), (ten, twenty));
        assert_eq!(recent(140), (ten, ten));
        assert_eq!(recent(299), (ten, ten));
        assert_eq!(recent(310), (ten, thirty));
        assert_eq!(recent(399), (thirty, thirty));
    }
}
