//! What a log says about a failure, as a whole: the contract of `explain --json`.

use std::collections::{BTreeMap, BTreeSet};

use super::advice::{Proposed, Unhelpful, propose, unhelpful};
use super::cause::{Verdict, verdict};
use super::clues::{Clues, Sequel};
use super::event::{Cause, Event, Figures, Kind, OtherProcess};
use super::ledger::Ledger;
use super::line::Line;
use super::size::Pattern;
use crate::domain::{Bytes, Framework};

/// What a log says about its failure.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// What kind of failure.
    pub kind: Kind,
    /// The library whose words the decisive line is.
    pub framework: Option<Framework>,
    /// Releases that print exactly this form.
    pub versions: Option<&'static str>,
    /// The device as printed.
    pub device: Option<u32>,
    /// What the message says in bytes.
    pub figures: Figures,
    /// Other processes on the card.
    pub others: Vec<OtherProcess>,
    /// Distinct failures.
    pub occurrences: u64,
    /// Ranks that reported one.
    pub ranks: Vec<u32>,
    /// Why.
    pub cause: Cause,
    /// What tells the cause, as sentences.
    pub evidence: Vec<String>,
    /// What helps, the best first.
    pub tips: Vec<Proposed>,
    /// What would not.
    pub wont_help: Vec<Unhelpful>,
    /// The message, harmless and cut.
    pub message: Option<String>,
    /// The line it stands in.
    pub line: Option<u64>,
    /// The input it stands in, where there are several.
    pub input: Option<usize>,
}

/// What was found in one log.
#[derive(Debug)]
pub struct Found {
    failures: Vec<Event>,
    more: u64,
    clues: BTreeMap<usize, Clues>,
    inputs: Vec<usize>,
}

static RANK_OF_FILE: Pattern = Pattern::new(r"(?i)rank[-_.]?(\d{1,5})");

impl Found {
    /// What one log holds: failures from which the program went on are told from those that ended it.
    pub fn new(ledger: Ledger, clues: BTreeMap<usize, Clues>, tail: &[Line]) -> Self {
        let mut last = Clues::default();
        last.after(tail);
        let mut failures = ledger.failures;
        let hard = failures.iter().any(|event| event.kind == Kind::DeviceOom && !event.soft);
        for (n, event) in failures.iter_mut().enumerate() {
            let sequel = clues.get(&n).map(|clues| &clues.sequel);
            if sequel.is_some_and(|sequel| recovered(event, sequel, &last.sequel, hard)) {
                event.kind = Kind::Recovered;
            }
        }
        Self { inputs: vec![0; failures.len()], failures, more: ledger.more, clues }
    }

    /// Several logs of one run, one per rank for example; a name may tell the rank.
    pub fn merge(parts: Vec<(String, Self)>) -> Self {
        let mut merged = Self { failures: Vec::new(), more: 0, clues: BTreeMap::new(), inputs: Vec::new() };
        for (input, (name, part)) in parts.into_iter().enumerate() {
            let rank = RANK_OF_FILE.number(&name).and_then(|rank| rank.try_into().ok());
            merged.more += part.more;
            for (n, mut event) in part.failures.into_iter().enumerate() {
                event.rank = event.rank.or(rank);
                let known = event.rank.is_some()
                    && merged.failures.iter().any(|other| {
                        other.rank == event.rank
                            && other.kind == event.kind
                            && other.figures == event.figures
                            && other.device == event.device
                    });
                if known {
                    continue;
                }
                if let Some(clues) = part.clues.get(&n) {
                    merged.clues.insert(merged.failures.len(), clues.clone());
                }
                merged.failures.push(event);
                merged.inputs.push(input);
            }
        }
        merged
    }

    /// Explains what was found.
    pub fn explain(&self) -> Explanation {
        // What ended the run comes first, the GPU before all.
        let kind = self.failures.iter().map(|event| event.kind).min().unwrap_or(Kind::NotOom);
        let kind = match (self.first(Kind::HostShm), self.first(Kind::HostOom)) {
            (Some(shm), Some(host)) if kind == Kind::HostOom && shm < host => Kind::HostShm,
            _ => kind,
        };
        let Some(n) = self.first(kind) else { return Explanation::nothing() };
        let Some(event) = self.failures.get(n) else { return Explanation::nothing() };
        let mut clues = self.clues.get(&n).cloned().unwrap_or_default();
        clues.own(&event.text);
        let same = || self.failures.iter().filter(|event| event.kind == kind);
        let mut ranks: BTreeSet<u32> = same().filter_map(|event| event.rank).collect();
        // A run of one process may call itself number 0 all the same.
        if ranks.iter().eq([&0]) && same().all(|event| event.rank.is_none() || event.sole) {
            ranks.clear();
        }
        let counts = matches!(kind, Kind::DeviceOom | Kind::HostOom | Kind::HostShm);
        let occurrences = if counts { same().count() as u64 + self.more } else { 0 };
        let Verdict { cause, evidence, activity } = verdict(event, &clues);
        let verdict = Verdict { cause, evidence: evidence.clone(), activity };
        let tips = propose(event, &verdict, &clues, ranks.len());
        let wont_help = unhelpful(event, &verdict, &clues, &tips);
        let failed = kind != Kind::Recovered;
        let pytorch = event.dialect.starts_with("pytorch") && kind == Kind::DeviceOom;
        let card = clues.cards.iter().next().copied().filter(|_| pytorch && clues.cards.len() == 1);
        let mut evidence = evidence;
        if kind == Kind::Recovered {
            evidence.extend(clues.sequel.recovers.iter().map(|text| format!("the log says \"{text}\"")));
            if evidence.is_empty() {
                evidence.push("the message itself, or what follows it, shows that the program went on".to_owned());
            }
        }
        Explanation {
            kind,
            framework: event.framework,
            versions: event.versions.filter(|_| failed),
            device: event.device.or(card),
            figures: if failed { event.figures } else { Figures::default() },
            others: if failed { event.others.clone() } else { Vec::new() },
            occurrences,
            ranks: if counts { ranks.into_iter().collect() } else { Vec::new() },
            cause,
            evidence,
            tips,
            wont_help,
            message: Some(event.text.clone()),
            line: Some(event.line).filter(|line| *line > 0),
            input: self.inputs.get(n).copied(),
        }
    }

    fn first(&self, kind: Kind) -> Option<usize> {
        self.failures.iter().position(|event| event.kind == kind)
    }
}

/// Whether the program went on after a message of a failure.
fn recovered(event: &Event, sequel: &Sequel, end: &Sequel, hard: bool) -> bool {
    let device = event.kind == Kind::DeviceOom;
    let soft_host = event.soft && event.kind == Kind::HostOom;
    if !(device || soft_host) {
        return false;
    }
    let goes_on = sequel.went_on >= 2;
    if event.soft {
        return hard || goes_on || sequel.went_on > 0 || end.succeeds.is_some() && !end.fails;
    }
    // A builder tries many ways, each of which may fail.
    if event.dialect == "tensorrt" {
        return end.succeeds.is_some() && !end.fails;
    }
    let good_end = (sequel.succeeds.is_some() || end.succeeds.is_some()) && !end.fails;
    goes_on && !end.fails || sequel.recovers.is_some() && (goes_on || sequel.went_on > 0 || good_end)
}

impl Explanation {
    /// Nothing about memory failed.
    fn nothing() -> Self {
        Self {
            kind: Kind::NotOom,
            framework: None,
            versions: None,
            device: None,
            figures: Figures::default(),
            others: Vec::new(),
            occurrences: 0,
            ranks: Vec::new(),
            cause: Cause::None,
            evidence: Vec::new(),
            tips: Vec::new(),
            wont_help: Vec::new(),
            message: None,
            line: None,
            input: None,
        }
    }

    /// The parts of the card, as far as the message tells them.
    pub fn parts(&self) -> Option<Parts> {
        let f = &self.figures;
        let capacity = f.capacity.filter(|capacity| *capacity > Bytes::ZERO)?;
        let others: Bytes = self.others.iter().filter_map(|other| other.bytes).sum();
        let (allocated, unallocated) = (f.allocated?, f.unallocated.unwrap_or_default());
        let outside = f.process.map(|process| process.saturating_sub(allocated).saturating_sub(unallocated));
        let known = [Some(allocated), Some(unallocated), outside, Some(others), f.free].into_iter().flatten().sum::<Bytes>();
        Some(Parts {
            capacity,
            allocated,
            unallocated,
            outside,
            others,
            free: f.free,
            rest: capacity.saturating_sub(known),
            over: known.saturating_sub(capacity),
        })
    }
}

/// A card, divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parts {
    /// All of it.
    pub capacity: Bytes,
    /// Live in the framework's allocator.
    pub allocated: Bytes,
    /// Held by it and not live.
    pub unallocated: Bytes,
    /// Of this process outside the allocator: context and libraries; none where the process is not told.
    pub outside: Option<Bytes>,
    /// Of other processes.
    pub others: Bytes,
    /// Free.
    pub free: Option<Bytes>,
    /// What nobody is said to hold.
    pub rest: Bytes,
    /// By how much the parts exceed the card: memory that was moved to the host, or rounding.
    pub over: Bytes,
}
