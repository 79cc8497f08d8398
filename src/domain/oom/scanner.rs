//! A log of any length in blocks: most of it is only searched for words, the stretches around them are read, and the last of it is kept.

use std::collections::VecDeque;
use std::sync::OnceLock;

use aho_corasick::{AhoCorasick, packed};
use memchr::{memchr, memchr_iter, memchr2};

use super::clues::Clues;
use super::decode::{Decoder, Encoding};
use super::explanation::Found;
use super::growth::Growth;
use super::line::{self, Line};
use super::reader::Reader;

/// How much of the log is kept: figures that were printed before the failure are evidence.
pub const KEPT: u64 = 64 << 20;
/// How large a block should be.
pub const BLOCK: usize = 1 << 18;
/// What is read before a word that was found.
const BEFORE: u64 = 16 << 10;
/// What is read after it.
const AFTER: u64 = 32 << 10;
/// Longer lines are cut.
const LONGEST_LINE: usize = 64 << 10;
/// What is looked at before a failure for what was going on.
const SITUATION: u64 = 48 << 10;
/// What is looked at after a failure for whether the program went on.
const SEQUEL: u64 = 64 << 10;
/// The end of the log that tells how it ended.
const TAIL: u64 = 16 << 10;
/// The situation is looked at for so many failures: the first that is not recovered from is explained.
const MOST_SITUATIONS: usize = 32;

/// Words of which each message of each dialect holds one (a test holds that). Few, so that one pass with vector instructions finds
/// them all.
pub const TRIGGERS: &[&str] = &[
    "of memory",
    "OUT_OF_",
    "OutOf",
    "of GPU",
    "llocate ",
    "llocation ",
    "bad_alloc",
    "ALLOC",
    "MemoryAl",
    "OOM",
    "Killed",
    "SIGKILL",
    "hared ",
    "of resou",
    "paging f",
    "WinErr",
    " exit",
    "Exit C",
    "(exitc",
    " oom",
    "Of Mem",
    "emory lim",
    "MemoryErr",
    "low on ",
    "emory pre",
    "nsuffic",
    "enough ",
    "y_utiliz",
    "Free mem",
    "cache pool",
    "capacity is",
    "system mem",
    "fer of si",
    "Dst ten",
    "Limit:  ",
    "OpenEnc",
    "to CUDA",
    "ev/shm",
    "d cuDNN",
    "ailable mem",
    "cache is n",
    "</torch_",
    "ol size e",
    "sh: kill",
];

fn triggers() -> &'static (Option<packed::Searcher>, AhoCorasick) {
    static SEARCH: OnceLock<(Option<packed::Searcher>, AhoCorasick)> = OnceLock::new();
    SEARCH.get_or_init(|| {
        let packed = packed::Config::new().builder().extend(TRIGGERS).build();
        (packed, AhoCorasick::new(TRIGGERS).expect("a few dozen short words"))
    })
}

/// Calls back with the place of each trigger.
fn each_trigger(haystack: &[u8], mut found: impl FnMut(usize)) {
    let (packed, automaton) = triggers();
    match packed {
        Some(packed) if haystack.len() >= packed.minimum_len() => packed.find_iter(haystack).for_each(|hit| found(hit.start())),
        _ => automaton.find_iter(haystack).for_each(|hit| found(hit.start())),
    }
}

/// A part of the log, and room for more of it.
#[derive(Debug)]
pub struct Block {
    buffer: Vec<u8>,
    from: usize,
    to: usize,
    start: u64,
    /// Lines that end before it.
    lines: u64,
}

/// The kernel copies three times as fast to a place that begins with a line of the cache (measured on AMD EPYC).
const ALIGNED: usize = 64;

impl Block {
    fn new() -> Self {
        let buffer = vec![0; BLOCK + ALIGNED];
        let from = buffer.as_ptr().align_offset(ALIGNED).min(ALIGNED);
        Self { from, to: from, buffer, start: 0, lines: 0 }
    }

    /// Where more can be written.
    pub fn space(&mut self) -> &mut [u8] {
        self.buffer.get_mut(self.to..self.from + BLOCK).unwrap_or_default()
    }

    /// So many bytes were written there.
    pub fn fill(&mut self, bytes: usize) {
        self.to = (self.to + bytes).min(self.from + BLOCK);
    }

    /// What was written.
    pub fn bytes(&self) -> &[u8] {
        self.buffer.get(self.from..self.to).unwrap_or_default()
    }

    fn length(&self) -> u64 {
        (self.to - self.from) as u64
    }
}

/// A part of the log that is to be looked at for figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Where it begins.
    pub start: u64,
    /// How long it is.
    pub length: u64,
}

/// What was going on at a failure.
#[derive(Debug)]
struct Situation {
    failure: usize,
    end: u64,
    clues: Clues,
    complete: bool,
}

/// Reads a log that comes in blocks.
#[derive(Debug, Default)]
pub struct Scanner {
    encoding: Option<Encoding>,
    decoder: Option<Decoder>,
    blocks: VecDeque<Block>,
    spare: Option<Block>,
    total: u64,
    /// Lines that have ended.
    lines: u64,
    /// Everything before it was read or passed over.
    cursor: u64,
    /// The number of the line at the cursor.
    number: u64,
    /// Everything before it is to be read.
    wanted: u64,
    reader: Reader,
    growth: Growth,
    situations: Vec<Situation>,
}

impl Scanner {
    /// A scanner that has seen nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty block to fill: one that is no longer needed, where there is one.
    pub fn block(&mut self) -> Block {
        let mut block = self.spare.take().unwrap_or_else(Block::new);
        block.to = block.from;
        block
    }

    /// Bytes taken so far, as UTF-8.
    pub fn taken(&self) -> u64 {
        self.total
    }

    /// Takes the next part of the log.
    pub fn push(&mut self, block: Block) {
        if self.decode(block.bytes()) {
            self.spare = Some(block);
            return;
        }
        if block.length() == 0 {
            return;
        }
        let lines = self.lines;
        let start = self.total;
        self.lines += memchr_iter(b'\n', block.bytes()).count() as u64;
        self.total += block.length();
        self.blocks.push_back(Block { start, lines, ..block });
        self.look(start);
    }

    /// Takes the next part of the log from elsewhere.
    pub fn push_bytes(&mut self, bytes: &[u8]) {
        if !self.decode(bytes) {
            self.copy(bytes);
        }
    }

    /// Takes bytes of another encoding.
    fn decode(&mut self, bytes: &[u8]) -> bool {
        if bytes.is_empty() {
            return false;
        }
        let encoding = *self.encoding.get_or_insert_with(|| Encoding::of(bytes));
        if self.decoder.is_none() {
            self.decoder = Decoder::new(encoding);
        }
        let Some(decoder) = &mut self.decoder else { return false };
        let text = decoder.push(bytes);
        self.copy(&text);
        true
    }

    /// Small pieces share a block.
    fn copy(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            if self.blocks.back().is_none_or(|block| block.length() >= BLOCK as u64) {
                let block = self.block();
                self.blocks.push_back(Block { start: self.total, lines: self.lines, ..block });
            }
            let Some(block) = self.blocks.back_mut() else { return };
            let space = block.space();
            let (now, later) = bytes.split_at(bytes.len().min(space.len()));
            if let Some(space) = space.get_mut(..now.len()) {
                space.copy_from_slice(now);
            }
            block.fill(now.len());
            let start = self.total;
            self.lines += memchr_iter(b'\n', now).count() as u64;
            self.total += now.len() as u64;
            self.look(start);
            bytes = later;
        }
    }

    /// Looks for triggers from a place on, which stands in the last block, and reads what is around them.
    fn look(&mut self, start: u64) {
        let mut hits = Vec::new();
        // What stands across the border, then what stands behind it.
        if start > 0 {
            let from = start.saturating_sub(TRIGGER_OVERLAP);
            let border = self.bytes(from, (start + TRIGGER_OVERLAP).min(self.total));
            each_trigger(&border, |at| hits.push(from + at as u64));
        }
        if let Some(last) = self.blocks.back() {
            let skip = (start - last.start) as usize;
            let mut next = 0;
            each_trigger(last.bytes().get(skip..).unwrap_or_default(), |at| {
                // One for each stretch is enough.
                if at >= next {
                    hits.push(start + at as u64);
                    next = at + 256;
                }
            });
        }
        for hit in hits {
            self.want(hit);
        }
        self.read(self.wanted.min(self.total), false);
        self.follow_up(false);
        self.forget();
    }

    /// Has the stretch around a place read.
    fn want(&mut self, at: u64) {
        let from = at.saturating_sub(BEFORE);
        if from > self.wanted {
            self.read(self.wanted, false);
            self.reader.cut();
            self.situate();
            let line = self.line_start(from, at);
            if line > self.cursor {
                self.cursor = line;
                self.number = self.line_number(line);
            }
        }
        self.wanted = self.wanted.max(at + AFTER);
    }

    /// The first start of a line from a place on, or that place where there is none before `to`.
    fn line_start(&self, from: u64, to: u64) -> u64 {
        if from == 0 {
            return 0;
        }
        memchr(b'\n', &self.bytes(from, to)).map_or(from, |at| from + at as u64 + 1)
    }

    /// Reads whole lines up to a place; at the end of the log also what is left.
    fn read(&mut self, to: u64, end: bool) {
        while self.cursor < to {
            let Some((line, next, breaks)) = self.next_line(end) else { break };
            if !line.is_empty() {
                self.reader.push(&line, self.cursor, self.number + 1);
            }
            self.cursor = next;
            self.number += u64::from(breaks);
            self.situate();
        }
    }

    /// The line at the cursor, where the next one begins, and whether it ends in a line break; none while it goes on.
    fn next_line(&self, end: bool) -> Option<(Vec<u8>, u64, bool)> {
        let mut line = Vec::new();
        for block in self.blocks_from(self.cursor) {
            let skip = (self.cursor.max(block.start) - block.start) as usize;
            let bytes = block.bytes().get(skip..).unwrap_or_default();
            let room = LONGEST_LINE - line.len();
            let bytes = bytes.get(..room).unwrap_or(bytes);
            if let Some(at) = memchr2(b'\n', b'\r', bytes) {
                line.extend_from_slice(bytes.get(..at).unwrap_or_default());
                let next = self.cursor + line.len() as u64 + 1;
                return Some((line, next, bytes.get(at) == Some(&b'\n')));
            }
            line.extend_from_slice(bytes);
            if line.len() >= LONGEST_LINE {
                break;
            }
        }
        let next = self.cursor + line.len() as u64;
        (line.len() >= LONGEST_LINE || end && !line.is_empty()).then_some((line, next, false))
    }

    fn blocks_from(&self, offset: u64) -> impl Iterator<Item = &Block> {
        let first = self.blocks.partition_point(|block| block.start + block.length() <= offset);
        self.blocks.range(first.min(self.blocks.len())..)
    }

    /// How many lines end before a place.
    fn line_number(&self, offset: u64) -> u64 {
        let Some(block) = self.blocks_from(offset).next() else { return 0 };
        let within = block.bytes().get(..(offset.saturating_sub(block.start)) as usize).unwrap_or_default();
        block.lines + memchr_iter(b'\n', within).count() as u64
    }

    /// What is kept of a part of the log.
    fn bytes(&self, from: u64, to: u64) -> Vec<u8> {
        let mut out = Vec::new();
        for block in self.blocks_from(from) {
            if block.start >= to {
                break;
            }
            let start = from.saturating_sub(block.start) as usize;
            let stop = ((to - block.start) as usize).min(block.bytes().len());
            out.extend_from_slice(block.bytes().get(start..stop).unwrap_or_default());
        }
        out
    }

    fn oldest(&self) -> u64 {
        self.blocks.front().map_or(self.total, |block| block.start)
    }

    /// Looks at what was going on at failures that are new.
    fn situate(&mut self) {
        for failure in std::mem::take(&mut self.reader.fresh) {
            let Some(event) = self.reader.ledger.failures.get(failure) else { continue };
            if self.situations.len() >= MOST_SITUATIONS {
                return;
            }
            let (offset, end) = (event.offset, event.end);
            for piece in self.growth.pieces(self.oldest(), offset) {
                let bytes = self.bytes(piece.start, piece.start + piece.length);
                self.growth.read(piece.start, &bytes);
            }
            let lines = plain_lines(&self.bytes(offset.saturating_sub(SITUATION), offset));
            let clues = Clues::before(&lines, self.growth.trends());
            self.situations.push(Situation { failure, end, clues, complete: false });
        }
    }

    /// Looks at what came after failures, once it has come.
    fn follow_up(&mut self, end: bool) {
        for n in 0..self.situations.len() {
            let Some(situation) = self.situations.get(n) else { continue };
            let from = situation.end;
            if situation.complete || !end && self.total < from + SEQUEL {
                continue;
            }
            let lines = plain_lines(&self.bytes(from, (from + SEQUEL).min(self.total)));
            if let Some(situation) = self.situations.get_mut(n) {
                situation.clues.after(&lines);
                situation.complete = true;
            }
        }
    }

    /// Lets go of what is too old.
    fn forget(&mut self) {
        while self.total - self.oldest() > KEPT
            && let Some(block) = self.blocks.pop_front()
        {
            self.spare = Some(block);
        }
    }

    /// The end of the log: what it says.
    pub fn finish(mut self) -> Found {
        self.read(self.wanted.min(self.total), true);
        self.reader.cut();
        self.situate();
        self.follow_up(true);
        let tail = plain_lines(&self.bytes(self.total.saturating_sub(TAIL), self.total));
        let clues = self.situations.into_iter().map(|situation| (situation.failure, situation.clues)).collect();
        Found::new(self.reader.ledger, clues, &tail)
    }
}

/// No trigger is longer.
const TRIGGER_OVERLAP: u64 = 32;

/// A text line by line, made plain; line breaks of all kinds.
fn plain_lines(bytes: &[u8]) -> Vec<Line> {
    let mut lines = Vec::new();
    for raw in bytes.split(|byte| matches!(byte, b'\n' | b'\r')) {
        let raw = raw.get(..LONGEST_LINE).unwrap_or(raw);
        if !raw.is_empty() {
            line::plain(raw, 0, 0, &mut lines);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::super::dialects::DIALECTS;
    use super::*;
    use crate::domain::oom::{Explanation, Kind};

    #[test]
    fn no_message_escapes_the_search() {
        for dialect in DIALECTS {
            for mark in dialect.marks {
                assert!(TRIGGERS.iter().any(|trigger| mark.contains(trigger)), "{}: {mark}", dialect.id);
            }
        }
        assert!(TRIGGERS.iter().all(|trigger| (trigger.len() as u64) < TRIGGER_OVERLAP));
    }

    const MESSAGE: &str = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.34 GiB. GPU 2 has a total capacity of 79.25 GiB of which 130.50 MiB is free.";

    fn scan(parts: &[&[u8]]) -> Explanation {
        let mut scanner = Scanner::new();
        for part in parts {
            scanner.push_bytes(part);
        }
        scanner.finish().explain()
    }

    #[test]
    fn a_message_is_found_wherever_blocks_are_cut() {
        let text = format!("one\ntwo\n{MESSAGE}\nthree\n");
        for cut in 0..text.len() {
            let (a, b) = text.as_bytes().split_at(cut);
            let found = scan(&[a, b]);
            assert_eq!((found.kind, found.occurrences, found.line), (Kind::DeviceOom, 1, Some(3)), "cut at {cut}");
        }
    }

    #[test]
    fn memory_stays_bounded_and_the_end_is_found() {
        let blocks = KEPT / BLOCK as u64 + 80;
        let mut scanner = Scanner::new();
        let filler = b"step 12 loss 1.25 all is well with this line of a log\n".repeat(BLOCK / 54 + 1);
        let filler = &filler[..BLOCK];
        for _ in 0..blocks {
            let mut block = scanner.block();
            block.space().copy_from_slice(filler);
            block.fill(filler.len());
            scanner.push(block);
        }
        scanner.push_bytes(MESSAGE.as_bytes());
        assert!(scanner.total - scanner.oldest() <= KEPT + BLOCK as u64);
        let lines = memchr::memchr_iter(b'\n', filler).count() as u64 * blocks + 1;
        let found = scanner.finish().explain();
        assert_eq!((found.kind, found.line), (Kind::DeviceOom, Some(lines)));
    }

    #[test]
    fn an_endless_line_is_cut_and_read() {
        let mut text = vec![b'x'; 3 << 20];
        text.extend_from_slice(MESSAGE.as_bytes());
        text.extend(vec![b'y'; 1 << 20]);
        let parts: Vec<&[u8]> = text.chunks(BLOCK).collect();
        assert_eq!(scan(&parts).kind, Kind::DeviceOom);
    }
}
