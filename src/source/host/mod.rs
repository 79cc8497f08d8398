//! The machine itself: its memory, and who the processes are that the driver names by number.

pub mod container;
pub mod details;
pub mod kin;
pub mod memory;
pub mod namespace;
pub mod nodes;
pub mod origin;
pub mod people;
pub mod procfs;
pub mod root;
pub mod signals;
pub mod users;
pub mod watch;
pub mod who;

use std::sync::Arc;

use crate::domain::{Period, SampleBody, Timestamp, text};
use crate::sampler::{Look, Probe, Studio};
use people::People;

/// How often host memory is read.
pub const INTERVAL: Period = Period::secs(1);

/// The machine's name, cleaned.
pub fn name() -> Option<Arc<str>> {
    let uname = rustix::system::uname();
    let name = text::clean(&uname.nodename().to_string_lossy(), 64);
    (!name.is_empty()).then(|| name.into())
}

/// Reads host memory, and looks after processes that left the driver's lists.
#[derive(Debug)]
pub struct HostProbe {
    studio: Studio,
    people: Arc<People>,
}

impl HostProbe {
    /// A probe that shares the known processes with the readers of the lists.
    pub fn new(studio: Studio, people: Arc<People>) -> Self {
        Self { studio, people }
    }
}

impl Probe for HostProbe {
    fn read(&mut self, _now: Timestamp) -> Look {
        let mut listened = true;
        if let Some(memory) = memory::read() {
            listened = self.studio.send(self.studio.clock.now(), SampleBody::Host(memory));
        }
        for process in self.people.renamed(&self.studio) {
            self.studio.send(self.studio.clock.now(), SampleBody::Process(process));
        }
        for pid in self.people.ended() {
            self.studio.send(self.studio.clock.now(), SampleBody::Exit { pid, status: None });
        }
        Look { spent: None, busy: false, rest: None, listened }
    }
}
