//! What the user looks at: the part of the state on which several panels must agree.

use std::collections::BTreeSet;

use super::aim::Aim;
use super::filter::Filter;
use super::msg::Effect;
use super::prompt::Prompt;
use super::tags::Tags;
use crate::domain::{DeviceId, Gpu, Period, ProcessKey, Timestamp};

/// Which list the arrows move in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Focus {
    /// The cards.
    #[default]
    Devices,
    /// The processes.
    Processes,
    /// What was seen.
    Findings,
}

/// Which card is selected.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Selection {
    /// None by hand yet: the fullest of mine, as soon as all are known.
    #[default]
    Pending,
    /// All at once.
    All,
    /// One, by its identity: an index may move.
    One(DeviceId),
}

/// A row of the process table that stays selected wherever it moves to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RowKey {
    /// A process on a device.
    Holder(Gpu, ProcessKey),
    /// A job, by its leader: one row for all its processes.
    Job(ProcessKey),
    /// Memory of no process on a device.
    Unattributed(Gpu),
    /// Processes without a history of their own on a device.
    Others(Gpu),
}

/// How the rows of the process table hang together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Grouping {
    /// The processes of a job in one row, which folds.
    #[default]
    Jobs,
    /// All jobs unfolded, and processes below their parents.
    Tree,
    /// Every process by itself.
    None,
}

/// The spans of time that a timeline can show, and what they are called.
pub const SPANS: [(Period, &str); 16] = [
    (Period::secs(10), "10 s"),
    (Period::secs(30), "30 s"),
    (Period::secs(60), "1 min"),
    (Period::secs(120), "2 min"),
    (Period::secs(300), "5 min"),
    (Period::secs(600), "10 min"),
    (Period::secs(1_800), "30 min"),
    (Period::secs(3_600), "1 h"),
    (Period::secs(3 * 3_600), "3 h"),
    (Period::secs(6 * 3_600), "6 h"),
    (Period::secs(12 * 3_600), "12 h"),
    (Period::secs(86_400), "24 h"),
    (Period::secs(2 * 86_400), "2 days"),
    (Period::secs(3 * 86_400), "3 days"),
    (Period::secs(5 * 86_400), "5 days"),
    (Period::secs(7 * 86_400), "7 days"),
];

/// What can lie on top of the dashboard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layer {
    /// What keys do.
    Help,
    /// What to sort by.
    Sort,
    /// Which signal to send.
    Signal,
    /// One finding in full.
    Finding,
}

/// What all panels agree on.
#[derive(Clone, Debug, Default)]
pub struct Look {
    /// Which list the arrows move in.
    pub focus: Focus,
    /// Which card.
    pub selection: Selection,
    /// The card to go back to from all.
    pub single: Option<DeviceId>,
    /// What the last key did, where the picture does not show it.
    pub note: Option<String>,
    /// Which process; none until one is chosen.
    pub row: Option<RowKey>,
    /// The finding that was selected or jumped to last, by its number.
    pub finding: Option<u32>,
    /// The processes that are picked out to act on together.
    pub tags: Tags,
    /// How the rows of the process table hang together.
    pub grouping: Grouping,
    /// The jobs that are unfolded, by their leader.
    pub unfolded: BTreeSet<ProcessKey>,
    /// Which processes the table shows.
    pub filter: Filter,
    /// Whether processes that use a card for graphics alone are shown.
    pub graphics: bool,
    /// The line that is being typed.
    pub prompt: Option<Prompt>,
    /// The selected row is told in full.
    pub details: bool,
    /// Index into [`SPANS`].
    span: usize,
    /// The right end of the timeline; none follows now.
    pub end: Option<Timestamp>,
    /// While frozen: the moment that everything shows.
    pub cursor: Option<Timestamp>,
    /// The timeline takes the whole screen.
    pub large: bool,
    /// Index into the columns of the process table.
    pub sort: usize,
    /// Largest first.
    pub descending: bool,
    /// What lies on top of the dashboard.
    pub layer: Option<Layer>,
    /// What the signal menu is aimed at.
    pub aim: Option<Aim>,
    /// What a panel asks of the event loop; the app passes it on.
    pub wish: Option<Effect>,
}

impl Look {
    /// Two minutes, following now.
    pub fn new() -> Self {
        Self { span: 3, sort: super::columns::BY_MEMORY, descending: true, graphics: true, ..Self::default() }
    }

    /// The time that the timeline shows.
    pub fn span(&self) -> Period {
        SPANS[self.span].0
    }

    /// What that time is called.
    pub fn span_name(&self) -> &'static str {
        SPANS[self.span].1
    }

    /// The time that is in sight, up to the cursor where one stands; `now` is the newest moment there is.
    pub fn window(&self, now: Timestamp) -> (Timestamp, Timestamp) {
        let end = self.end.unwrap_or(now);
        (end.back(self.span()), self.cursor.map_or(end, |cursor| cursor.min(end)))
    }

    /// What the length of that time is called, without blanks: `5min`.
    pub fn span_short(&self) -> String {
        let name = self.span_name();
        // The unit's first letter, but for days.
        name.split_once(' ').map_or(name.to_owned(), |(number, unit)| format!("{number}{}", unit.get(..1).unwrap_or(unit)))
    }

    /// Shows less time; the cursor, or else the right end, stays where it is.
    pub fn zoom_in(&mut self) {
        self.zoom_to(self.span.saturating_sub(1));
    }

    /// Shows more time.
    pub fn zoom_out(&mut self) {
        self.zoom_to((self.span + 1).min(SPANS.len() - 1));
    }

    fn zoom_to(&mut self, span: usize) {
        let before = self.span();
        self.span = span;
        if let (Some(cursor), Some(end)) = (self.cursor, self.end) {
            let after_cursor = end.since(cursor).0 as f64 / before.0.max(1) as f64 * self.span().0 as f64;
            self.end = Some(cursor + Period(after_cursor as u64));
        }
    }

    /// Pans the end of the timeline by `by`, or moves the cursor while frozen; `limit` is the newest moment there is.
    pub fn pan(&mut self, later: bool, by: Period, limit: Timestamp) {
        let moved = |t: Timestamp| if later { t + by } else { t.back(by) };
        if let Some(cursor) = self.cursor {
            let cursor = moved(cursor).min(limit);
            self.cursor = Some(cursor);
            let end = self.end.unwrap_or(limit).max(cursor);
            self.end = Some(end.min(cursor + self.span().min(end.since(Timestamp::ZERO))));
        } else {
            let least = Timestamp(self.span().0.min(limit.0));
            if !later && self.end.unwrap_or(limit) <= least {
                self.note = Some("Nothing earlier: the picture begins with the first reading.".to_owned());
            }
            let end = moved(self.end.unwrap_or(limit)).max(least);
            self.end = (end < limit).then_some(end);
        }
    }

    /// Stops at `at`, with the picture as it is.
    pub fn freeze(&mut self, at: Timestamp, limit: Timestamp) {
        self.cursor = Some(at.min(limit));
        self.end = Some(self.end.unwrap_or(limit));
    }

    /// Brings a moment into sight, with a quarter of the picture after it where there is as much.
    pub fn show(&mut self, at: Timestamp, limit: Timestamp) {
        let end = self.end.unwrap_or(limit);
        if at > end || at < end.back(self.span()) {
            self.end = Some((at + Period(self.span().0 / 4)).min(limit));
        }
    }

    /// Sorts by a column; again by the same turns the order round.
    pub fn sort_by(&mut self, column: usize) {
        self.descending = if self.sort == column { !self.descending } else { super::columns::COLUMNS[column].descending };
        self.sort = column;
    }

    /// Goes on with now.
    pub fn thaw(&mut self) {
        self.cursor = None;
        self.end = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panning_back_to_now_follows_again() {
        let now = Timestamp::secs(1_000);
        let mut look = Look::new();
        look.pan(false, Period::secs(60), now);
        assert_eq!(look.end, Some(Timestamp::secs(940)));
        look.pan(true, Period::secs(60), now);
        assert_eq!(look.end, None);
        look.pan(false, Period::secs(5_000), now);
        assert_eq!(look.end, Some(Timestamp(look.span().0)), "not before the beginning");
    }

    #[test]
    fn the_cursor_takes_the_picture_along() {
        let now = Timestamp::secs(1_000);
        let mut look = Look::new();
        look.freeze(now, now);
        look.pan(false, Period::secs(30), now);
        assert_eq!((look.cursor, look.end), (Some(Timestamp::secs(970)), Some(now)));
        look.pan(false, Period::secs(170), now);
        assert_eq!((look.cursor, look.end), (Some(Timestamp::secs(800)), Some(Timestamp::secs(920))));
        look.zoom_in();
        assert_eq!(look.end, Some(Timestamp::secs(860)), "the cursor stays in sight");
        look.pan(true, Period::secs(9_999), now);
        assert_eq!((look.cursor, look.end), (Some(now), Some(now)));
        look.thaw();
        assert_eq!(look.end, None);
    }
}
