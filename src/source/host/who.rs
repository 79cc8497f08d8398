//! The thread that finds out what takes time: details of processes, and open nodes while memory is unattributed.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::people::People;
use crate::domain::{Bytes, DeviceView, Gpu, Period, SampleBody, Timestamp};
use crate::sampler::{Look, Probe, Studio};

/// How often it turns on its own; new processes wake it before that.
pub const TURN: Period = Period::secs(10);
/// The least time between two turns.
pub const SPACING: Period = Period::millis(50);
/// The first search waits this long for the first lists.
const SOON: Period = Period::secs(3);
/// Between two searches there is at least this: a little less than a turn, so that every turn may search.
const BETWEEN: Period = Period::secs(9);
/// A search may take one part in so many of the time.
const SHARE: u64 = 250;

/// What the cards tell of themselves, for the search.
#[derive(Debug, Default)]
pub struct Cards(Mutex<States>);

#[derive(Debug, Default)]
struct States {
    /// All cards of the start are here.
    open: bool,
    cards: BTreeMap<Gpu, State>,
}

#[derive(Clone, Copy, Debug, Default)]
struct State {
    minor: Option<u32>,
    listed: bool,
    notable: bool,
}

impl Cards {
    /// The lists of a card will be read. `minor` is the number of its node, none for an instance, which has no node of its own.
    pub fn expect(&self, gpu: Gpu, minor: Option<u32>) {
        self.lock().cards.entry(gpu).or_default().minor = minor;
    }

    /// No further card is awaited. True where all their lists are there.
    pub fn open(&self) -> bool {
        let mut states = self.lock();
        states.open = true;
        states.complete()
    }

    /// A card's list was read, with so much of its memory in nobody's name; none where that can't be told. True when it is
    /// the last card whose first list was awaited.
    pub fn listed(&self, gpu: Gpu, unattributed: Option<Bytes>) -> bool {
        let mut states = self.lock();
        let state = states.cards.entry(gpu).or_default();
        state.notable = unattributed.is_some_and(|bytes| bytes > DeviceView::NOTABLE);
        !std::mem::replace(&mut state.listed, true) && states.complete()
    }

    fn is_complete(&self) -> bool {
        self.lock().complete()
    }

    fn some_notable(&self) -> bool {
        self.lock().cards.values().any(|state| state.notable)
    }

    fn numbers(&self) -> Vec<(u32, Gpu)> {
        self.lock().cards.iter().filter_map(|(gpu, state)| Some((state.minor?, *gpu))).collect()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, States> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl States {
    fn complete(&self) -> bool {
        self.open && self.cards.values().all(|state| state.listed)
    }
}

/// Reads details, and searches for open nodes.
#[derive(Debug)]
pub struct WhoProbe {
    studio: Studio,
    people: Arc<People>,
    cards: Arc<Cards>,
    /// When parents were reviewed.
    reviewed: Timestamp,
    /// When the next search may be; none before the first.
    search_at: Option<Timestamp>,
    /// Something was to be explained at the last search: one more shows what has become of it.
    explained: bool,
}

impl WhoProbe {
    /// A probe that shares processes and cards with the readers of the lists.
    pub fn new(studio: Studio, people: Arc<People>, cards: Arc<Cards>) -> Self {
        Self { studio, people, cards, reviewed: Timestamp::ZERO, search_at: None, explained: false }
    }

    fn search(&mut self, now: Timestamp) -> bool {
        let notable = self.cards.some_notable();
        let due = match self.search_at {
            // Once at the start, when the lists are there; later only where something is to be explained.
            None => self.cards.is_complete() || now >= Timestamp::ZERO + SOON,
            Some(at) => now >= at && (notable || self.explained || self.people.lists_found_one()),
        };
        if !due {
            return true;
        }
        self.explained = notable;
        let search = self.people.search(&self.cards.numbers());
        let done = self.studio.clock.now();
        self.search_at = Some(now + BETWEEN.max(Period(done.since(now).0.saturating_mul(SHARE))));
        for process in search.processes {
            self.studio.send(done, SampleBody::Process(process));
        }
        let listened = self.studio.send(done, SampleBody::Handles { list: search.list, denied: search.denied });
        for pid in search.ended {
            self.studio.send(done, SampleBody::Exit { pid, status: None });
        }
        listened
    }
}

impl Probe for WhoProbe {
    fn read(&mut self, now: Timestamp) -> Look {
        let listened = self.search(now);
        if now.since(self.reviewed) >= TURN {
            self.reviewed = now;
            self.people.review_parents();
        }
        let described = self.people.describe_pending();
        let t = self.studio.clock.now();
        for process in described {
            self.studio.send(t, SampleBody::Process(process));
        }
        Look { spent: None, busy: false, rest: None, listened }
    }
}
