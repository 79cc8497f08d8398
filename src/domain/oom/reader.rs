//! Plain lines in, failures out: what the dialects read in a stretch of a log.

use std::collections::VecDeque;
use std::sync::OnceLock;

use aho_corasick::{AhoCorasick, MatchKind};

use super::dialects::{DIALECTS, Dialect, Passage};
use super::event::Event;
use super::ledger::Ledger;
use super::line::{self, Line};
use crate::domain::text::clean;

/// Lines that a message may look back on.
const BEHIND: usize = 24;
/// Lines that a message may run over.
const AHEAD: usize = 48;
/// No passage is longer, in bytes.
const LONGEST: usize = 8 << 10;
/// No message is shown longer, in characters.
const SHOWN: usize = 1_000;
/// A message whose first line is shorter is shown with the lines that follow it.
const SHORT: usize = 64;
/// So many of them.
const MORE: usize = 5;
/// Lines at least this wide may have been folded by a terminal.
const FOLDED: usize = 60;

/// Reads lines as they come.
#[derive(Debug, Default)]
pub struct Reader {
    lines: VecDeque<Line>,
    /// The next line to look at.
    next: usize,
    /// The latest moment that a line named.
    time: Option<f64>,
    /// The rank whose stack is being printed, by lines that do not name it again.
    speaks: Option<(u32, bool)>,
    /// Whether the line before the next one gave a message.
    told: bool,
    /// What was found.
    pub ledger: Ledger,
    /// Failures that are new since they were last asked for, as indices.
    pub fresh: Vec<usize>,
}

/// Which dialects have a mark in a line, as bits.
fn marked(text: &str) -> u64 {
    static MARKS: OnceLock<(AhoCorasick, Vec<u64>)> = OnceLock::new();
    let (automaton, bits) = MARKS.get_or_init(|| {
        let marks = || DIALECTS.iter().enumerate().flat_map(|(n, dialect)| dialect.marks.iter().map(move |mark| (n, *mark)));
        let automaton = AhoCorasick::builder()
            .match_kind(MatchKind::Standard)
            .build(marks().map(|(_, mark)| mark))
            .expect("a few hundred short words");
        (automaton, marks().map(|(n, _)| 1_u64 << n).collect())
    });
    automaton.find_overlapping_iter(text).filter_map(|found| bits.get(found.pattern().as_usize())).fold(0, |all, bit| all | bit)
}

impl Reader {
    /// Takes a raw line.
    pub fn push(&mut self, raw: &[u8], offset: u64, number: u64) {
        let mut plain = Vec::new();
        line::plain(raw, offset, number, &mut plain);
        for mut line in plain {
            if line.text.is_empty() {
                continue;
            }
            if line.rank.is_some() || line.time.is_some() {
                let begins = line.text.contains("Traceback (most recent call last)");
                self.speaks = line.rank.map(|rank| (rank, line.sole)).filter(|_| begins);
            } else if let Some((rank, sole)) = self.speaks {
                (line.rank, line.sole) = (Some(rank), sole);
            }
            self.lines.push_back(line);
            if self.lines.len() - self.next > AHEAD {
                self.look();
            }
        }
    }

    /// What comes next does not follow what came: finishes what is open.
    pub fn cut(&mut self) {
        while self.next < self.lines.len() {
            self.look();
        }
        self.lines.clear();
        self.next = 0;
        self.told = false;
        self.speaks = None;
    }

    /// Looks at the next line.
    fn look(&mut self) {
        let at = self.next;
        self.next += 1;
        let Some(line) = self.lines.get(at) else { return };
        self.time = line.time.or(self.time);
        let dialects = marked(&line.text);
        let found = if dialects == 0 { None } else { self.read(at, dialects) };
        self.told = found.is_some();
        if let Some(event) = found
            && self.ledger.add(event)
        {
            self.fresh.push(self.ledger.failures.len() - 1);
        }
        while self.next > BEHIND {
            self.lines.pop_front();
            self.next -= 1;
        }
    }

    /// Reads the message that begins in a line, or in the one before it where it was folded there.
    fn read(&self, at: usize, dialects: u64) -> Option<Event> {
        let found = self.read_from(at, dialects);
        if found.is_some() || self.told || at == 0 {
            return found;
        }
        let (line, before) = (self.lines.get(at)?, self.lines.get(at - 1)?);
        if line.rank != before.rank || before.width + 12 < FOLDED {
            return None;
        }
        self.read_from(at - 1, dialects)
    }

    fn read_from(&self, at: usize, dialects: u64) -> Option<Event> {
        let line = self.lines.get(at)?;
        let before: Vec<&str> = self.lines.range(..at).map(|line| line.text.as_str()).collect();
        let before = before.join("\n");
        let follow = || self.lines.range(at + 1..).take(AHEAD).filter(|next| next.rank == line.rank || next.rank.is_none());
        let widest = follow().chain([line]).map(|line| line.width).max().unwrap_or(0);
        let joined = |how: fn(&Line, usize) -> &'static str| {
            let (mut text, mut last) = (line.text.clone(), line);
            for next in follow() {
                if text.len() + next.text.len() > LONGEST {
                    break;
                }
                text.push_str(how(last, widest));
                text.push_str(&next.text);
                last = next;
            }
            text
        };
        let mut texts = vec![joined(|_, _| "\n")];
        if line.width >= FOLDED - 12 {
            // Wrapped between words; folded at the last column, within words and numbers.
            texts.push(joined(|_, _| " "));
            texts.push(joined(|last, widest| if last.width == widest { "" } else { " " }));
        }
        let mut best: Option<Event> = None;
        let mut folded = false;
        for dialect in bits(dialects) {
            for (n, text) in texts.iter().enumerate() {
                let passage = Passage { text, first: line.text.len().min(text.len()), before: &before };
                let Some(event) = (dialect.read)(&passage) else { continue };
                if best.as_ref().is_none_or(|best| event.tells() > best.tells()) {
                    best = Some(event);
                    folded = n > 0;
                }
            }
            if best.is_some() {
                break;
            }
        }
        let mut event = best?;
        if event.rank.is_none() {
            (event.rank, event.sole) = (line.rank, line.sole);
        }
        event.time = line.time.or(self.time);
        event.offset = line.offset;
        event.end = line.offset + line.text.len() as u64;
        event.line = line.number;
        let more = if folded || line.text.len() < SHORT { MORE } else { 0 };
        let text: Vec<&str> = [line].into_iter().chain(follow().take(more)).map(|line| line.text.trim()).collect();
        event.text = clean(&text.join(" "), SHOWN);
        Some(event)
    }
}

/// The dialects of a set.
fn bits(set: u64) -> impl Iterator<Item = &'static Dialect> {
    DIALECTS.iter().enumerate().filter(move |(n, _)| set & (1 << n) != 0).map(|(_, dialect)| dialect)
}
