//! Where a setting's text came from, and the merge: flag over variable over file over default.

use std::fmt;

use super::settings::SETTINGS;
use super::{Environment, Setting};

/// Who said it; names the place that the user has to mend.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Origin {
    /// Nobody: the default.
    #[default]
    Default,
    /// A line of the configuration file.
    File {
        /// The file.
        path: String,
        /// The line, from 1.
        line: usize,
        /// The key.
        key: &'static str,
    },
    /// A variable.
    Variable(&'static str),
    /// An option, without its dashes.
    Flag(&'static str),
    /// An argument, as the usage writes it.
    Argument(&'static str),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File { path, line, key } => write!(f, "{path}:{line}: {key}"),
            Self::Variable(name) | Self::Argument(name) => f.write_str(name),
            Self::Flag(name) => write!(f, "--{name}"),
        }
    }
}

/// The texts given for each setting, by index in [`SETTINGS`]; a later push of the same setting wins.
#[derive(Clone, Debug, Default)]
pub struct Layers {
    given: Vec<(usize, Origin, String)>,
}

impl Layers {
    /// Nothing given.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a text for a setting above everything added so far.
    pub fn push(&mut self, setting: usize, origin: Origin, text: impl Into<String>) {
        self.given.push((setting, origin, text.into()));
    }

    /// Adds those variables that are set.
    pub fn push_environment(&mut self, env: &Environment) {
        for (index, setting) in SETTINGS.iter().enumerate() {
            if let Some(text) = env.get(setting.variable) {
                self.push(index, Origin::Variable(setting.variable), text);
            }
        }
    }

    /// All texts that were given for one setting, the weakest first.
    pub fn given(&self, name: &str) -> impl Iterator<Item = (&Origin, &str)> {
        let index = super::settings::index_of(name);
        self.given.iter().filter(move |(n, ..)| Some(*n) == index).map(|(_, origin, text)| (origin, text.as_str()))
    }

    /// All texts of one setting, the weakest first; the default is the first.
    pub(super) fn of<'a>(&'a self, index: usize, setting: &Setting) -> impl Iterator<Item = (Origin, &'a str)> + use<'a> {
        let default = (Origin::Default, setting.default);
        let given = self.given.iter().filter(move |(n, ..)| *n == index);
        std::iter::once(default).chain(given.map(|(_, origin, text)| (origin.clone(), text.as_str())))
    }
}
