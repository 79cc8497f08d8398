//! What a thread is waiting for right now, readable by the watchdog without a lock.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::domain::Timestamp;

/// Set in the word once the watchdog has reported this very call.
const REPORTED: u64 = 1 << 63;

/// One thread's call in flight: its number and start packed into a word, zero while there is none.
#[derive(Debug)]
pub struct InFlight {
    word: AtomicU64,
    names: &'static [&'static str],
}

/// A call that has not returned yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pending {
    /// The function's name.
    pub call: &'static str,
    /// When it began.
    pub since: Timestamp,
    /// Whether [`InFlight::report`] was called for it.
    pub reported: bool,
    word: u64,
}

impl InFlight {
    /// No call yet; `names` are the functions' names by number, at most 255.
    pub fn new(names: &'static [&'static str]) -> Self {
        Self { word: AtomicU64::new(0), names }
    }

    /// A call begins.
    pub fn enter(&self, number: u8, now: Timestamp) {
        let start = (now.0 << 8) & !REPORTED;
        self.word.store(start | (u64::from(number) + 1), Ordering::Release);
    }

    /// The call returned. True where the watchdog had reported it.
    pub fn leave(&self) -> bool {
        self.word.swap(0, Ordering::AcqRel) & REPORTED != 0
    }

    /// The call in flight.
    pub fn pending(&self) -> Option<Pending> {
        let word = self.word.load(Ordering::Acquire);
        let number = (word & 0xff).checked_sub(1)?;
        let since = Timestamp((word & !REPORTED) >> 8);
        let call = self.names.get(number as usize).copied().unwrap_or("an unknown function");
        Some(Pending { call, since, reported: word & REPORTED != 0, word })
    }

    /// Marks a call as reported. False where it has returned meanwhile.
    pub fn report(&self, pending: Pending) -> bool {
        self.word.compare_exchange(pending.word, pending.word | REPORTED, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_for_one_call_alone() {
        let slot = InFlight::new(&["first", "second"]);
        assert_eq!(slot.pending(), None);
        slot.enter(0, Timestamp::secs(3));
        let first = slot.pending().expect("in flight");
        assert_eq!((first.call, first.since, first.reported), ("first", Timestamp::secs(3), false));
        assert!(!slot.leave());
        slot.enter(1, Timestamp::secs(4));
        assert!(!slot.report(first), "that call is over");
        let second = slot.pending().expect("in flight");
        assert!(slot.report(second));
        assert!(slot.pending().expect("in flight").reported);
        assert!(slot.leave(), "the thread learns that it was missed");
        assert_eq!(slot.pending(), None);
    }
}
