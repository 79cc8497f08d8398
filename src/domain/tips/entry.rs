//! What a tip is made of.

use crate::domain::Framework;
use crate::domain::advice::{Case, Proposal};

/// One piece of advice: everything that is known of it.
#[derive(Debug)]
pub struct Tip {
    /// Its name, which never changes.
    pub id: &'static str,
    /// What to do, as a short order.
    pub title: &'static str,
    /// What it is about.
    pub topic: Topic,
    /// Who can do it.
    pub sides: &'static [Side],
    /// How much has to change.
    pub effort: Effort,
    /// What it does to memory.
    pub does: &'static str,
    /// How to write it, in each of the frameworks that have a way of their own.
    pub code: &'static [Code],
    /// What it costs.
    pub cost: &'static str,
    /// When it does not help.
    pub not_when: &'static [&'static str],
    /// The frameworks it is for; none for any.
    pub frameworks: &'static [Framework],
    /// Where its claims come from.
    pub sources: &'static [&'static str],
    /// What it proposes for a finding; none for a tip that nothing seen from outside can call for.
    pub applies: Option<fn(&Case) -> Option<Proposal>>,
}

/// One way to write it.
#[derive(Debug)]
pub struct Code {
    /// In what: a library, an engine, a shell.
    pub of: &'static str,
    /// Line by line.
    pub lines: &'static [&'static str],
}

/// What a tip is about, in the order of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, strum::Display, strum::EnumIter)]
#[strum(serialize_all = "snake_case")]
pub enum Topic {
    /// What one training step holds.
    Step,
    /// Evaluation, and memory that grows.
    Growth,
    /// Weights, gradients and optimizer states.
    States,
    /// The framework's allocator.
    Allocator,
    /// Serving engines.
    Serving,
    /// Processes and cards.
    Sharing,
    /// Finding out.
    Diagnosis,
    /// Memory of the host, and limits that are no GPU memory.
    Host,
}

/// How much has to change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, strum::Display, strum::EnumIter)]
#[strum(serialize_all = "lowercase")]
pub enum Effort {
    /// A flag, a variable or a number.
    Flag,
    /// A few lines.
    Lines,
    /// How the program or the node is set up.
    Redesign,
}

/// Who can do it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, strum::Display, strum::EnumIter, strum::IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum Side {
    /// Who trains.
    Training,
    /// Who runs a model in a program of their own.
    Inference,
    /// Who runs a serving engine.
    Serving,
    /// Who looks after the node.
    Operator,
}

impl Topic {
    /// The heading of the list.
    pub fn title(self) -> &'static str {
        match self {
            Self::Step => "What one training step holds",
            Self::Growth => "Evaluation, and memory that grows",
            Self::States => "Weights, gradients and optimizer states",
            Self::Allocator => "The framework's allocator",
            Self::Serving => "Serving engines",
            Self::Sharing => "Processes and cards",
            Self::Diagnosis => "Finding out",
            Self::Host => "Host memory, and limits that are no GPU memory",
        }
    }
}

impl Effort {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Flag => "one flag",
            Self::Lines => "a few lines",
            Self::Redesign => "a redesign",
        }
    }

    /// By what the bytes that a tip saves are divided when tips are ranked: a flag is tried in a minute, a few lines in the
    /// better part of an hour, and a redesign has to save a multiple to come first.
    pub fn weight(self) -> u64 {
        match self {
            Self::Flag => 1,
            Self::Lines => 2,
            Self::Redesign => 6,
        }
    }
}
