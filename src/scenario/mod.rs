//! Layer 1: simulated nodes as scenario files, shared by the demo, the fake driver, the tests and the README's pictures.
//!
//! A [`Scenario`] is a checked file; a [`World`] answers for any moment of it; a [`Stream`] is the sample stream that a
//! monitor on that node would record.

mod cast;
mod check;
mod error;
mod fault;
mod file;
mod hash;
mod layout;
mod phase;
mod scan;
mod shape;
mod stream;
mod track;
mod values;
mod world;

pub use error::ScenarioError;
pub use fault::{Driver, ErrorCode, Fault, Lost, RowFormat};
pub use file::Scenario;
pub use layout::Place;
pub use stream::{Stream, StreamOptions};
pub use values::Time;
pub use world::{Ending, Row, World};

/// A scenario that comes with the program.
#[derive(Clone, Copy, Debug)]
pub struct Builtin {
    /// Its name for `vramscope demo NAME`.
    pub id: &'static str,
    /// One line that says what it shows; the file says the same.
    pub title: &'static str,
    /// The file.
    pub text: &'static str,
}

/// The scenarios of `vramscope demo --list`; the first is the default.
pub const SCENARIOS: &[Builtin] = &[
    Builtin {
        id: "default",
        title: "Four H100s: training, a leak that ends in an OOM, a serving pool, a newcomer and an orphan",
        text: include_str!("../../assets/scenarios/default.toml"),
    },
    Builtin {
        id: "eight",
        title: "Eight H100s with 48 processes that all move a little",
        text: include_str!("../../assets/scenarios/eight.toml"),
    },
    Builtin {
        id: "sixteen",
        title: "Sixteen cards: one job on fourteen of them",
        text: include_str!("../../assets/scenarios/sixteen.toml"),
    },
    Builtin {
        id: "crowd",
        title: "512 processes on one card, each with a context of its own",
        text: include_str!("../../assets/scenarios/crowd.toml"),
    },
    Builtin {
        id: "spikes",
        title: "One flat process with spikes of 5, 20, 100 and 500 ms",
        text: include_str!("../../assets/scenarios/spikes.toml"),
    },
    Builtin {
        id: "lost",
        title: "A card that falls off the bus and comes back",
        text: include_str!("../../assets/scenarios/lost.toml"),
    },
    Builtin {
        id: "hang",
        title: "A driver call that does not return for one of three cards",
        text: include_str!("../../assets/scenarios/hang.toml"),
    },
    Builtin {
        id: "mig",
        title: "A card split into MIG instances, and split anew",
        text: include_str!("../../assets/scenarios/mig.toml"),
    },
    Builtin {
        id: "unified",
        title: "A GB10 whose memory is the host's",
        text: include_str!("../../assets/scenarios/unified.toml"),
    },
    Builtin {
        id: "wsl",
        title: "WSL2: a card whose driver keeps the sizes of processes to itself",
        text: include_str!("../../assets/scenarios/wsl.toml"),
    },
    Builtin {
        id: "jobs",
        title: "Two cards: a launcher with four workers and their data loaders, a pod, a Slurm job, another user",
        text: include_str!("../../assets/scenarios/jobs.toml"),
    },
    Builtin {
        id: "leftovers",
        title: "Three cards with memory that outlived its owners: a zombie's worker, an orphan, and nobody at all",
        text: include_str!("../../assets/scenarios/leftovers.toml"),
    },
    Builtin {
        id: "container",
        title: "Seen from a container: the driver's pids belong to processes that can't be seen",
        text: include_str!("../../assets/scenarios/container.toml"),
    },
    Builtin { id: "idle", title: "Two cards on which nothing runs", text: include_str!("../../assets/scenarios/idle.toml") },
];
