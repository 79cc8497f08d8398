//! What a worker does at each turn.

use crate::domain::{Period, Timestamp};

/// One kind of reading of one thing. It sends its samples itself, in the order that readers need.
pub trait Probe {
    /// One blocking look.
    fn read(&mut self, now: Timestamp) -> Look;
}

/// What a look was like, for the pace of the next.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    /// Time in the driver; none where it was not asked.
    pub spent: Option<Period>,
    /// Whether something goes on that is worth the fastest interval.
    pub busy: bool,
    /// The next look is not worth it before this much time has passed, whatever the interval.
    pub rest: Option<Period>,
    /// Whether readers still listen.
    pub listened: bool,
}
