//! What panels see: the snapshot and everything that is worked out from it once per frame.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::cards::Card;
use super::grown::Grown;
use super::keymap::Keymap;
use super::look::{Grouping, Look, Selection};
use super::options::DashboardOptions;
use super::rows::{self, Table};
use super::theme::{Role, Styles};
use super::wallclock::WallClock;
use super::widgets::glyphs::{ASCII, Glyphs, UNICODE};
use crate::domain::command::title;
use crate::domain::{Bytes, DeviceId, DeviceState, Gpu, HolderView, JobView, ProcessKey, Snapshot, Timestamp};
use ratatui::style::Style;

/// The world at the moment looked at.
pub struct World<'a> {
    /// The newest picture; while frozen, that of the freeze.
    pub snapshot: &'a Snapshot,
    /// The stream's time that `snapshot` is looked at: the reader's now, or that of the freeze.
    pub now: Timestamp,
    /// The reader's now, freeze or not.
    pub clock_now: Timestamp,
    /// A moment before `now`, where the cursor stands on one.
    pub past: Option<Timestamp>,
    /// All cards in the order of the screen.
    pub cards: Vec<Card<'a>>,
    /// The wall clock, once the stream has said when it began.
    pub clock: Option<WallClock>,
    /// Colours.
    pub styles: &'a Styles,
    /// Characters.
    pub glyphs: &'static Glyphs,
    /// Settings.
    pub options: &'a DashboardOptions,
    /// Keys.
    pub keymap: &'a Keymap,
    /// Whether the host has a row of its own on this screen.
    pub has_host_row: bool,
    /// The time that the timeline shows, up to the moment looked at.
    pub window: (Timestamp, Timestamp),
    /// What the length of that time is called.
    pub window_name: String,
    jobs: OnceCell<BTreeMap<ProcessKey, Arc<JobView>>>,
    /// By card.
    grown: Vec<OnceCell<Option<Grown>>>,
    table: OnceCell<Table<'a>>,
}

impl<'a> World<'a> {
    /// Works out everything that several panels need. `frozen` is the time of the freeze.
    pub fn new(
        snapshot: &'a Snapshot,
        clock_now: Timestamp,
        frozen: Option<Timestamp>,
        look: &Look,
        (options, styles, keymap): (&'a DashboardOptions, &'a Styles, &'a Keymap),
    ) -> Self {
        let now = frozen.unwrap_or(clock_now).max(snapshot.at);
        let past = look.cursor.filter(|cursor| *cursor < now);
        let clock = snapshot.header.as_ref().map(|header| WallClock::new(header.created, &options.timezone, now));
        let glyphs = if options.ascii { &ASCII } else { &UNICODE };
        let cards = Card::all(snapshot, past, now);
        let grown = cards.iter().map(|_| OnceCell::new()).collect();
        Self {
            snapshot,
            window: look.window(now),
            window_name: look.span_short(),
            jobs: OnceCell::new(),
            grown,
            table: OnceCell::new(),
            now,
            clock_now: clock_now.max(snapshot.at),
            past,
            cards,
            clock,
            styles,
            glyphs,
            options,
            keymap,
            has_host_row: false,
        }
    }

    /// The jobs of the moment looked at, by their leader.
    pub fn jobs(&self) -> &BTreeMap<ProcessKey, Arc<JobView>> {
        self.jobs.get_or_init(|| rows::jobs(self.snapshot, self.past))
    }

    /// What changed on a card over the time in sight.
    pub fn grown(&self, gpu: Gpu) -> Option<&Grown> {
        let at = self.cards.iter().position(|card| card.gpu() == gpu)?;
        let (from, to) = self.window;
        self.grown[at].get_or_init(|| Grown::of(self.cards[at].view, from, to)).as_ref()
    }

    /// The process table as `look` asks for it; that of the first call, since one world is looked at in one way.
    pub fn table(&self, look: &Look) -> &Table<'a> {
        self.table.get_or_init(|| rows::table(self, look))
    }

    /// The most rows that the process table has for any one card: its holders, the processes of a folded job as one, and
    /// what is unattributed.
    pub fn table_rows(&self, look: &Look) -> usize {
        let of = |card: &Card<'_>| {
            let Ok(list) = &card.view.holders else { return 0 };
            if look.grouping != Grouping::Jobs {
                return list.len();
            }
            let mut folded: BTreeMap<ProcessKey, usize> = BTreeMap::new();
            for leader in list.iter().filter_map(|holder| Some(holder.process.as_ref()?.job.as_ref()?.leader)) {
                *folded.entry(leader).or_default() += 1;
            }
            let hidden = |(leader, members): (&ProcessKey, &usize)| if look.unfolded.contains(leader) { 0 } else { members - 1 };
            list.len() - folded.iter().map(hidden).sum::<usize>()
        };
        self.cards.iter().map(|card| of(card) + 1).max().unwrap_or(1)
    }

    /// The style of a role.
    pub fn style(&self, role: Role) -> Style {
        self.styles[role]
    }

    /// The moment that everything shows.
    pub fn moment(&self) -> Timestamp {
        self.past.unwrap_or(self.now)
    }

    /// The wall-clock time of a moment, `14:03:22`; nothing before the stream has begun.
    pub fn time(&self, t: Timestamp) -> String {
        self.clock.map_or_else(String::new, |clock| clock.time(t))
    }

    /// Why nothing is known of a card at the moment of the past, in a few words.
    pub fn why_blank(&self, card: &Card<'_>) -> String {
        let view = card.view;
        let since = || self.time(view.state_since);
        match (view.state, self.moment() >= view.state_since) {
            _ if view.series.first().is_some_and(|first| self.moment() < first) => "it was not watched yet".to_owned(),
            (DeviceState::Lost, true) => format!("the card was lost at {}", since()),
            (DeviceState::Stalled, true) => format!("the driver does not answer since {}", since()),
            (DeviceState::Failed, true) => format!("the card can't be read since {}", since()),
            _ => "a gap: the card or its driver did not answer".to_owned(),
        }
    }

    /// The selected card.
    pub fn selected<'b>(&'b self, look: &Look) -> Option<&'b Card<'a>> {
        match &look.selection {
            Selection::One(id) => self.card_of(id),
            Selection::Pending | Selection::All => None,
        }
    }

    /// The card of that identity.
    pub fn card_of(&self, id: &DeviceId) -> Option<&Card<'a>> {
        self.cards.iter().find(|card| card.view.device.id == *id)
    }

    /// The card of that key.
    pub fn card(&self, gpu: Gpu) -> Option<&Card<'a>> {
        self.cards.iter().find(|card| card.gpu() == gpu)
    }

    /// The largest extent: the scale on which all bars are drawn.
    pub fn scale(&self) -> Bytes {
        self.cards.iter().map(|card| card.figures.extent()).max().unwrap_or_default()
    }
}

/// The short name of a process: the script of an interpreter, else the program without its path.
pub fn short_name(holder: &HolderView) -> Cow<'_, str> {
    let command = holder.process.as_ref().and_then(|process| process.command.as_ref().ok());
    command.map_or(Cow::Borrowed("unknown process"), |command| title(command))
}

/// Three digits of a size in GiB, or the word for what is missing.
pub fn gib(size: Option<Bytes>) -> String {
    size.map_or_else(|| "N/A".to_owned(), |size| crate::domain::bytes::three_digits(size.as_gib()))
}
