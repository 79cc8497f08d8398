//! The scenario file: its tables and keys, and what is refused in it.

use std::io::Read as _;
use std::ops::Range;
use std::path::Path;

use serde::Deserialize;
use toml::Spanned;

use super::error::ScenarioError;
use super::fault::{Driver, Fault, Lost};
use super::phase::Phase;
use super::values::{Fraction, Kind, Number, Size, Time};
use crate::domain::{Bytes, HolderKind, Period};

/// The largest file.
const MAX_FILE: u64 = 1 << 20;
/// A simulated node and its story, checked.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The built-in id, or the file's name without its extension.
    pub name: String,
    pub(super) origin: String,
    pub(super) text: String,
    pub(super) file: File,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    pub title: Option<String>,
    #[serde(default)]
    pub seed: u32,
    #[serde(default = "ten_minutes")]
    pub duration: Spanned<Time>,
    #[serde(default = "nothing")]
    pub preroll: Spanned<Time>,
    /// Where the story goes on after its end; without it, the last phases simply continue.
    pub repeat_from: Option<Spanned<Time>>,
    #[serde(default)]
    pub node: Node,
    pub device: Spanned<Vec<Card>>,
    #[serde(default)]
    pub process: Vec<Spanned<Actor>>,
    #[serde(default)]
    pub bystander: Vec<Spanned<Bystander>>,
    #[serde(default)]
    pub driver: Driver,
    #[serde(default)]
    pub fault: Vec<Spanned<Fault>>,
    #[serde(default)]
    pub lost: Vec<Spanned<Lost>>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Node {
    pub host: String,
    pub me: String,
    pub uid: u32,
    pub driver: String,
    pub cuda: String,
    pub memory: Size,
    /// What the system and all processes that are not in the file hold.
    pub memory_used: Size,
    pub swap: Size,
    /// Per-process sizes are not available (WDDM, WSL2).
    pub sizes_unavailable: bool,
    /// The viewer lives in a PID namespace of its own.
    pub foreign_pids: bool,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Card {
    pub name: String,
    pub total: Size,
    #[serde(default)]
    pub reserved: Size,
    /// What the driver holds for itself, in no process's name.
    #[serde(default)]
    pub overhead: Size,
    #[serde(default)]
    pub memory: Manager,
    #[serde(default = "one")]
    pub copies: u32,
    pub uuid: Option<String>,
    pub pci: Option<String>,
    /// Idle and under full load, °C.
    #[serde(default = "temperatures")]
    pub temperature: [Number; 2],
    /// Idle and under full load, W.
    #[serde(default = "powers")]
    pub power: [Number; 2],
    #[serde(default)]
    pub mig: Vec<Spanned<Instance>>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Manager {
    #[default]
    Dedicated,
    Unified,
    Numa,
}

/// A MIG instance.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Instance {
    /// By which processes name it.
    pub id: String,
    /// `1g.10gb`
    pub profile: String,
    pub total: Size,
    #[serde(default)]
    pub reserved: Size,
    #[serde(default)]
    pub overhead: Size,
    #[serde(rename = "gpu_instance")]
    pub gi: u32,
    #[serde(default, rename = "compute_instance")]
    pub ci: u32,
    #[serde(default)]
    pub from: Time,
    pub until: Option<Time>,
}

/// A process, or several alike.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Actor {
    pub pid: u32,
    pub command: String,
    /// The node's user where absent.
    pub user: Option<String>,
    pub uid: Option<u32>,
    #[serde(default = "init")]
    pub ppid: u32,
    #[serde(default = "compute")]
    pub kind: Kind,
    pub container: Option<String>,
    #[serde(default)]
    pub details: Facts,
    /// When it starts.
    #[serde(default)]
    pub at: Time,
    /// How long it had run at that moment.
    #[serde(default)]
    pub age: Time,
    /// This many, with pids in sequence.
    #[serde(default = "one")]
    pub copies: u32,
    /// Each copy on one of the devices in turn, not on all.
    #[serde(default)]
    pub spread: bool,
    /// Each copy this much later than the one before.
    #[serde(default)]
    pub stagger: Time,
    /// By how much the sizes of copies fall short of the file's.
    #[serde(default)]
    pub vary: Fraction,
    /// In no process list: what it holds is unattributed.
    #[serde(default)]
    pub hidden: bool,
    /// Percent of one core while it works.
    #[serde(default = "one_core")]
    pub cpu: Number,
    #[serde(default = "resident")]
    pub rss: Size,
    pub on: Vec<Spanned<Place>>,
}

/// What a process does on devices.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Place {
    #[serde(default = "first_card")]
    pub devices: Vec<u32>,
    pub instance: Option<String>,
    pub phases: Vec<Spanned<Phase>>,
}

/// A process that no list names: a launcher, a shell, one that is left with a node open.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Bystander {
    pub pid: u32,
    #[serde(default = "init")]
    pub ppid: u32,
    pub command: String,
    /// The kernel's name of it; that of the program where absent.
    pub name: Option<String>,
    /// The node's user where absent.
    pub user: Option<String>,
    pub uid: Option<u32>,
    pub container: Option<String>,
    #[serde(default)]
    pub details: Facts,
    /// When it starts.
    #[serde(default)]
    pub at: Time,
    /// How long it had run at that moment.
    #[serde(default)]
    pub age: Time,
    /// When it ends and its parent does not look: it is a zombie from then on.
    pub zombie: Option<Time>,
    /// When it is gone; its children have pid 1 as their parent then.
    pub until: Option<Time>,
    /// The cards whose nodes it has open.
    #[serde(default)]
    pub opens: Vec<u32>,
    /// The process whose orphaned memory goes with it.
    pub keeps: Option<u32>,
}

/// Where a process comes from and runs.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Facts {
    pub cwd: Option<String>,
    pub batch: Option<String>,
    pub environment: Option<String>,
    pub session: Option<String>,
}

impl Default for Node {
    fn default() -> Self {
        Self {
            host: "node17".to_owned(),
            me: "user1".to_owned(),
            uid: 1000,
            driver: "570.86.15".to_owned(),
            cuda: "12.8".to_owned(),
            memory: Size(Bytes::gib(1007)),
            memory_used: Size(Bytes::gib(38)),
            swap: Size(Bytes::gib(8)),
            sizes_unavailable: false,
            foreign_pids: false,
        }
    }
}

fn ten_minutes() -> Spanned<Time> {
    Spanned::new(0..0, Time(Period::secs(600)))
}
fn nothing() -> Spanned<Time> {
    Spanned::new(0..0, Time::default())
}
fn one() -> u32 {
    1
}
fn init() -> u32 {
    1
}
fn compute() -> Kind {
    Kind(HolderKind::C)
}
fn one_core() -> Number {
    Number(100.0)
}
fn resident() -> Size {
    Size(Bytes::gib(2))
}
fn first_card() -> Vec<u32> {
    vec![0]
}
fn temperatures() -> [Number; 2] {
    [Number(31.0), Number(66.0)]
}
fn powers() -> [Number; 2] {
    [Number(72.0), Number(690.0)]
}

impl Scenario {
    /// Reads a scenario; `origin` is the file's name, or the id of a built-in one.
    pub fn parse(origin: &str, text: &str) -> Result<Self, ScenarioError> {
        let file: File = toml::from_str(text).map_err(|bad| ScenarioError::at(origin, text, bad.span(), bad.message()))?;
        let name = Path::new(origin).file_stem().map_or_else(|| origin.to_owned(), |stem| stem.to_string_lossy().into_owned());
        let scenario =
            Self { name: crate::domain::text::clean(&name, 40), origin: origin.to_owned(), text: text.to_owned(), file };
        scenario.check().map_err(|(span, what)| scenario.error(span, &what))?;
        Ok(scenario)
    }

    /// A built-in scenario by its id, or a file by its path.
    pub fn load(name: &str) -> Result<Self, ScenarioError> {
        if let Some(builtin) = super::SCENARIOS.iter().find(|builtin| builtin.id == name) {
            return Self::parse(builtin.id, builtin.text);
        }
        let path = Path::new(name);
        let as_path = name.contains(['/', '\\']) || path.extension().is_some_and(|extension| extension == "toml");
        if !as_path && !path.is_file() {
            let known: Vec<&str> = super::SCENARIOS.iter().map(|builtin| builtin.id).collect();
            let name = crate::domain::text::clean(name, 60);
            return Err(ScenarioError::Unknown { name, known: known.join(", ") });
        }
        let failed = |source| ScenarioError::Io { path: path.to_owned(), source };
        let mut text = String::new();
        // A pipe or a device never says how long it is.
        let file = std::fs::File::open(path).map_err(failed)?;
        file.take(MAX_FILE + 1).read_to_string(&mut text).map_err(failed)?;
        if text.len() as u64 > MAX_FILE {
            return Err(ScenarioError::TooLarge { path: path.to_owned() });
        }
        Self::parse(name, &text)
    }

    /// One line that says what it shows.
    pub fn title(&self) -> &str {
        self.file.title.as_deref().unwrap_or(&self.name)
    }

    /// The file as it was read.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// How much of the story has passed when a viewer comes.
    pub fn preroll(&self) -> Period {
        self.file.preroll.get_ref().0
    }

    /// How the driver library as a whole behaves.
    pub fn driver(&self) -> &Driver {
        &self.file.driver
    }

    pub(super) fn error(&self, span: Range<usize>, what: &str) -> ScenarioError {
        ScenarioError::at(&self.origin, &self.text, Some(span), what)
    }
}
