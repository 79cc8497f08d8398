//! What a detector sees, and how it says something.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::domain::analyst::card::Card;
use crate::domain::analyst::{Said, moment, size, span};
use crate::domain::{Certainty, Evidence, Finding, FindingKind, Gpu, Pid, Process, Quantity, Timestamp};

/// A device at a moment, and the others beside it.
#[derive(Debug)]
pub(crate) struct Scene<'a> {
    /// Seconds since the origin.
    pub(crate) now: f64,
    pub(crate) gpu: Gpu,
    pub(crate) card: &'a Card,
    pub(crate) cards: &'a BTreeMap<Gpu, Card>,
    pub(crate) people: &'a BTreeMap<Pid, Arc<Process>>,
    /// Processes that ended of late, and when.
    pub(crate) exits: &'a [(Pid, f64)],
}

/// A finding to be said.
#[derive(Clone, Debug)]
pub(crate) struct Draft {
    pub(crate) kind: FindingKind,
    pub(crate) certainty: Certainty,
    pub(crate) pid: Option<Pid>,
    pub(crate) from: f64,
    pub(crate) to: Option<f64>,
    pub(crate) evidence: Evidence,
}

/// Says findings, and numbers them.
#[derive(Debug)]
pub(crate) struct Say<'a> {
    pub(crate) t: Timestamp,
    pub(crate) gpu: Gpu,
    pub(crate) next: &'a mut u32,
    pub(crate) said: &'a mut Vec<Said>,
}

/// A finding that lasts: when to renew it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Open {
    n: u32,
    /// When it began.
    pub(crate) from: f64,
    /// Its duration or magnitude when it was said last.
    measure: f64,
}

impl Draft {
    /// A finding that was inferred.
    pub(crate) fn likely(kind: FindingKind, pid: Option<Pid>, from: f64, to: Option<f64>, evidence: Evidence) -> Self {
        Self { kind, certainty: Certainty::Likely, pid, from, to, evidence }
    }

    /// A finding that the figures say themselves.
    pub(crate) fn fact(kind: FindingKind, pid: Option<Pid>, from: f64, to: Option<f64>, evidence: Evidence) -> Self {
        Self { certainty: Certainty::Fact, ..Self::likely(kind, pid, from, to, evidence) }
    }
}

impl Say<'_> {
    fn push(&mut self, n: u32, draft: Draft) {
        let Draft { kind, certainty, pid, from, to, evidence } = draft;
        let finding = Finding {
            t: self.t,
            n,
            gpu: self.gpu,
            kind,
            certainty,
            pid,
            from: moment(from).min(self.t),
            to: to.map(|to| moment(to).min(self.t)),
            evidence,
            advice: Arc::from([]),
        };
        self.said.push(Said::Finding(Arc::new(finding)));
    }

    /// Says something that is over.
    pub(crate) fn once(&mut self, draft: Draft) -> u32 {
        *self.next += 1;
        let n = *self.next;
        self.push(n, draft);
        n
    }

    /// Says something that goes on; `measure` is what must double before it is renewed.
    pub(crate) fn open(&mut self, draft: Draft, measure: f64) -> Open {
        let from = draft.from;
        Open { n: self.once(draft), from, measure }
    }

    /// Renews what has doubled.
    pub(crate) fn renew(&mut self, open: &mut Open, measure: f64, draft: impl FnOnce() -> Draft) {
        if measure >= 2.0 * open.measure {
            open.measure = measure;
            self.push(open.n, draft());
        }
    }

    /// Renews what lasts four times as long, or is four times as much.
    pub(crate) fn renew_seldom(&mut self, open: &mut Open, measure: f64, draft: impl FnOnce() -> Draft) {
        if measure >= 4.0 * open.measure {
            self.renew(open, measure, draft);
        }
    }

    /// Renews for the last time.
    pub(crate) fn close(&mut self, open: Open, draft: Draft) {
        self.push(open.n, draft);
    }
}

/// Evidence, a figure a line.
#[derive(Debug, Default)]
pub(crate) struct EvidenceOf(Evidence);

/// Begins evidence.
pub(crate) fn evidence() -> EvidenceOf {
    EvidenceOf::default()
}

impl EvidenceOf {
    fn with(mut self, name: &'static str, quantity: Quantity) -> Self {
        self.0.push((Cow::Borrowed(name), quantity));
        self
    }

    /// A size from MiB.
    pub(crate) fn mib(self, name: &'static str, mib: f64) -> Self {
        self.with(name, Quantity::Bytes(size(mib)))
    }

    /// A size, where it is known.
    pub(crate) fn maybe_mib(self, name: &'static str, mib: Option<f64>) -> Self {
        match mib {
            Some(mib) => self.mib(name, mib),
            None => self,
        }
    }

    /// A rate from MiB per second.
    pub(crate) fn rate(self, name: &'static str, rate: f64) -> Self {
        self.with(name, Quantity::Rate(rate * 1_048_576.0))
    }

    /// A span from seconds.
    pub(crate) fn seconds(self, name: &'static str, seconds: f64) -> Self {
        self.with(name, Quantity::Span(span(seconds)))
    }

    /// A share.
    pub(crate) fn share(self, name: &'static str, share: f64) -> Self {
        self.with(name, Quantity::Share(share.clamp(0.0, 1.0)))
    }

    /// A number.
    pub(crate) fn count(self, name: &'static str, count: usize) -> Self {
        self.with(name, Quantity::Count(count as u64))
    }

    /// A word.
    pub(crate) fn text(self, name: &'static str, text: &str) -> Self {
        self.with(name, Quantity::Text(text.into()))
    }

    /// All of it.
    pub(crate) fn done(self) -> Evidence {
        self.0
    }
}

impl Scene<'_> {
    /// What a new allocation can have.
    pub(crate) fn headroom(&self) -> Option<f64> {
        self.card.limit.map(|limit| limit - self.card.filling().level())
    }

    /// What there is beyond the peak of every cycle.
    pub(crate) fn spare(&self) -> Option<f64> {
        self.card.limit.map(|limit| limit - self.card.filling().ceiling())
    }

    /// Since when the device is known.
    pub(crate) fn begun(&self) -> f64 {
        self.card.signal.first().map_or(self.now, |first| first.t)
    }

    /// Whether a process came within so many seconds.
    pub(crate) fn newcomer(&self, seconds: f64) -> bool {
        self.card.held.iter().any(|held| held.born_here && self.now - held.first < seconds)
    }

    /// Who moved between two moments: the holder with most of the rise; else the only one that computes.
    pub(crate) fn mover(&self, from: f64, to: f64) -> Option<Pid> {
        let rise = |held: &crate::domain::analyst::held::Held| {
            let before = if held.first > from { Some(0.0) } else { held.signal.at(from) };
            let (_, after) =
                held.signal.range_after(from).filter(|_| held.signal.last().is_some_and(|last| last.t <= to + 5.0))?;
            Some(after - before?)
        };
        let rises: Vec<(Pid, f64)> = self.card.held.iter().filter_map(|held| Some((held.pid, rise(held)?))).collect();
        let all: f64 = rises.iter().map(|(_, rise)| rise.max(0.0)).sum();
        let most = rises.iter().copied().max_by(|a, b| a.1.total_cmp(&b.1));
        most.filter(|(_, rise)| *rise > 4.0 && *rise >= 0.5 * all).map(|(pid, _)| pid).or_else(|| self.worker())
    }

    /// The one that computes, or holds most by far.
    pub(crate) fn worker(&self) -> Option<Pid> {
        let held = &self.card.held;
        let all: f64 = held.iter().filter_map(|held| held.used).sum();
        let busiest = held.iter().filter(|held| held.busy.is_some_and(|busy| busy >= 10.0));
        let busiest = busiest.max_by(|a, b| a.busy.unwrap_or(0.0).total_cmp(&b.busy.unwrap_or(0.0)));
        let largest = held.iter().filter(|held| held.used.is_some_and(|used| used >= 0.6 * all && used > 64.0));
        busiest.or_else(|| largest.max_by(|a, b| a.used.unwrap_or(0.0).total_cmp(&b.used.unwrap_or(0.0)))).map(|held| held.pid)
    }

    /// Who fell within so many seconds: the holder that lost most.
    pub(crate) fn faller(&self, seconds: f64) -> Option<Pid> {
        let fall = |held: &crate::domain::analyst::held::Held| {
            let (_, most) = held.signal.range_after(self.now - seconds)?;
            Some((held.pid, most - held.signal.level()))
        };
        let falls = self.card.held.iter().filter_map(fall).filter(|(_, fall)| *fall > 64.0);
        falls.max_by(|a, b| a.1.total_cmp(&b.1)).map(|(pid, _)| pid)
    }

    /// The process that came last, if it came within so many seconds.
    pub(crate) fn newest(&self, seconds: f64) -> Option<Pid> {
        let born = self.card.held.iter().filter(|held| held.born_here && self.now - held.first < seconds);
        born.max_by(|a, b| a.first.total_cmp(&b.first)).map(|held| held.pid)
    }
}
