//! The only clock: microseconds since the start on a clock that runs through suspend, and the wall clock.

use crate::domain::{Timestamp, Wall};

/// Time since a start, and when that was.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    origin: u64,
    created: Wall,
}

impl Clock {
    /// A clock that shows zero now.
    pub fn start() -> Self {
        Self { origin: boot_time(), created: Self::wall() }
    }

    /// Time since the start.
    pub fn now(&self) -> Timestamp {
        Timestamp(boot_time().saturating_sub(self.origin))
    }

    /// The wall clock at the start.
    pub fn created(&self) -> Wall {
        self.created
    }

    /// The wall clock now.
    pub fn wall() -> Wall {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
        Wall(now.tv_sec.saturating_mul(1_000_000).saturating_add(now.tv_nsec / 1_000))
    }
}

fn boot_time() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    u64::try_from(now.tv_sec.saturating_mul(1_000_000).saturating_add(now.tv_nsec / 1_000)).unwrap_or(0)
}
