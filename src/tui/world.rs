//! What panels see: the snapshot and everything that is worked out from it once per frame.

use std::borrow::Cow;

use super::cards::Card;
use super::keymap::Keymap;
use super::look::{Look, Selection};
use super::options::DashboardOptions;
use super::theme::{Role, Styles};
use super::wallclock::WallClock;
use super::widgets::glyphs::{ASCII, Glyphs, UNICODE};
use crate::domain::command::title;
use crate::domain::{Bytes, DeviceId, DeviceState, Gpu, HolderView, Snapshot, Timestamp};
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
        Self {
            snapshot,
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

    /// The most rows that the process table has for any one card: its holders and what is unattributed.
    pub fn table_rows(&self) -> usize {
        self.cards.iter().map(|card| card.view.holders.as_ref().map_or(0, |list| list.len()) + 1).max().unwrap_or(1)
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
