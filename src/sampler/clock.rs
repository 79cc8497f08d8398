//! The stream's clock: microseconds since its start, on a clock that runs through suspend. The only reader of clocks.

use rustix::time::{ClockId, clock_gettime};

use crate::domain::{Timestamp, Wall};

/// A started clock. Copies share the origin.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    /// `CLOCK_BOOTTIME` at the origin, in microseconds.
    origin: i64,
    /// The wall clock at the origin.
    created: Wall,
}

impl Clock {
    /// Reads both clocks; this moment is the origin.
    pub fn start() -> Self {
        Self { origin: micros(ClockId::Boottime), created: Self::wall() }
    }

    /// Microseconds since the origin.
    pub fn now(&self) -> Timestamp {
        // Both are readings of one clock that never goes back.
        Timestamp(micros(ClockId::Boottime).saturating_sub(self.origin).max(0) as u64)
    }

    /// The wall clock at the origin: the header's `created`.
    pub fn created(&self) -> Wall {
        self.created
    }

    /// The wall clock at boot, so that process start times can be told.
    pub fn booted(&self) -> Wall {
        Wall(self.created.0.saturating_sub(self.origin))
    }

    /// Time since boot: what all processes of the machine agree on.
    pub fn since_boot() -> Timestamp {
        Timestamp(micros(ClockId::Boottime).max(0) as u64)
    }

    /// The wall clock right now.
    pub fn wall() -> Wall {
        Wall(micros(ClockId::Realtime))
    }
}

/// A clock's reading in microseconds.
fn micros(id: ClockId) -> i64 {
    let time = clock_gettime(id);
    time.tv_sec * 1_000_000 + time.tv_nsec / 1_000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_goes_on() {
        let clock = Clock::start();
        let first = clock.now();
        assert!(clock.now() >= first);
        assert!(clock.created().0 > 1_700_000_000_000_000, "a wall clock after 2023: {:?}", clock.created());
    }
}
