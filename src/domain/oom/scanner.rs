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
pub const BLOCK: usize = 1 << 20;
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
    "ALLOC",
    "AllocAsync f",
    "AllocHost",
    "OUT_OF_",
    "CPUAlloc",
    "error(2)",
    "error(3)",
    "failure 2",
    "failure 3",
    "CUDNN failure",
    "llocate memory",
    "Dst tensor",
    "MemoryAlloc",
    "Exit Code:",
    "Fail to alloc",
    "Failed to CUDA",
    "Free memory on",
    "GC over",
    "HostAlloc",
    "KV cache is n",
    "KV cache pool",
    "Killed",
    "Limit:  ",
    "MallocHost",
    "MemoryError",
    "NV_ENC_ERR",
    "Not enough m",
    "OOM",
    "OpenEncode",
    "Out Of M",
    "OutOf",
    "EXHAUSTED",
    "RMM failure",
    "RMM_ERROR",
    "Resource-Exh",
    "ResourceExh",
    "SIGKILL",
    "NOT_INITIALIZED",
    "Tactic Dev",
    "o allocate",
    "WinError",
    "Workspace ",
    "alloc fail",
    "locatable dev",
    "llocation fa",
    "llocation er",
    "llocation of s",
    "llocation on d",
    "atus 137",
    "ode 137",
    "ode: 137",
    "ode=137",
    "ode (137",
    "(137)",
    "bad_alloc",
    "buffer of s",
    "bus error",
    "by signal: ",
    "not be alloc",
    "eemptively",
    "emory capacity",
    "emory for the c",
    "emory layout",
    "emory limit",
    "enforce fail",
    "enough KV",
    "exitcode",
    "status 5",
    "fallocate",
    "ize limit",
    "heap space",
    "in KV cache (",
    "he KV cache (",
    "kipping tac",
    "lama runner p",
    "low on ",
    "emory budget",
    "emory press",
    "more system",
    "nable to mm",
    "nable to wr",
    "nsufficient",
    "oom-k",
    "oom_k",
    "oom_r",
    "oomd",
    "os error 14",
    "ould not alloc",
    "out of res",
    "of-memory h",
    "page-lock",
    "paging file",
    "pinned host",
    "pinned mem",
    "sted bytes",
    "shared da",
    "shared me",
    "signal 9",
    "us_memory",
    "tactics do",
    "large for sys",
    "ut of GPU",
    "ut of mem",
    "valid cuDNN",
    "/dev/shm",
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

/// A part of the log.
#[derive(Debug)]
struct Block {
    bytes: Vec<u8>,
    start: u64,
    /// Lines that end before it.
    lines: u64,
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
    spare: Option<Vec<u8>>,
    total: u64,
    /// Lines that have ended.
    lines: u64,
    /// Everything before it was read or passed over.
    cursor: u64,
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
    pub fn block(&mut self) -> Vec<u8> {
        let mut block = self.spare.take().unwrap_or_else(|| Vec::with_capacity(BLOCK));
        block.clear();
        block
    }

    /// Bytes taken so far, as UTF-8.
    pub fn taken(&self) -> u64 {
        self.total
    }

    /// Takes the next part of the log.
    pub fn push(&mut self, block: Vec<u8>) {
        if block.is_empty() {
            return;
        }
        let encoding = *self.encoding.get_or_insert_with(|| Encoding::of(&block));
        if encoding != Encoding::Bytes && self.decoder.is_none() {
            self.decoder = Decoder::new(encoding);
        }
        let block = match &mut self.decoder {
            Some(decoder) => decoder.push(&block),
            None => block,
        };
        self.keep(block);
    }

    fn keep(&mut self, bytes: Vec<u8>) {
        let (start, length) = (self.total, bytes.len() as u64);
        let before = self.bytes(start.saturating_sub(TRIGGER_OVERLAP), start);
        let lines = self.lines;
        self.lines += memchr_iter(b'\n', &bytes).count() as u64;
        self.total += length;
        match self.blocks.back_mut() {
            // Small pieces share a block.
            Some(last) if last.bytes.len() + bytes.len() <= BLOCK => last.bytes.extend_from_slice(&bytes),
            _ => self.blocks.push_back(Block { bytes, start, lines }),
        }
        // What stands across the border, then what stands in the block.
        let mut hits = Vec::new();
        if !before.is_empty() {
            let from = start - before.len() as u64;
            let border = self.bytes(from, (start + TRIGGER_OVERLAP).min(self.total));
            each_trigger(&border, |at| hits.push(from + at as u64));
        }
        let mut next = 0;
        if let Some(last) = self.blocks.back() {
            let skip = (start - last.start) as usize;
            each_trigger(last.bytes.get(skip..).unwrap_or_default(), |at| {
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
            self.cursor = self.cursor.max(self.line_start(from, at));
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
            let Some((line, next)) = self.next_line(end) else { break };
            let number = self.line_number(self.cursor);
            if !line.is_empty() {
                self.reader.push(&line, self.cursor, number);
            }
            self.cursor = next;
            self.situate();
        }
    }

    /// The line at the cursor and where the next one begins; none while it goes on.
    fn next_line(&self, end: bool) -> Option<(Vec<u8>, u64)> {
        let mut line = Vec::new();
        for block in self.blocks_from(self.cursor) {
            let skip = (self.cursor.max(block.start) - block.start) as usize;
            let bytes = block.bytes.get(skip..).unwrap_or_default();
            let room = LONGEST_LINE - line.len();
            let bytes = bytes.get(..room).unwrap_or(bytes);
            if let Some(at) = memchr2(b'\n', b'\r', bytes) {
                line.extend_from_slice(bytes.get(..at).unwrap_or_default());
                let next = self.cursor + line.len() as u64 + 1;
                return Some((line, next));
            }
            line.extend_from_slice(bytes);
            if line.len() >= LONGEST_LINE {
                break;
            }
        }
        let next = self.cursor + line.len() as u64;
        (line.len() >= LONGEST_LINE || end && !line.is_empty()).then_some((line, next))
    }

    fn blocks_from(&self, offset: u64) -> impl Iterator<Item = &Block> {
        let first = self.blocks.partition_point(|block| block.start + block.bytes.len() as u64 <= offset);
        self.blocks.range(first.min(self.blocks.len())..)
    }

    fn line_number(&self, offset: u64) -> u64 {
        let Some(block) = self.blocks_from(offset).next() else { return 0 };
        let within = block.bytes.get(..(offset.saturating_sub(block.start)) as usize).unwrap_or_default();
        block.lines + memchr_iter(b'\n', within).count() as u64 + 1
    }

    /// What is kept of a part of the log.
    fn bytes(&self, from: u64, to: u64) -> Vec<u8> {
        let mut out = Vec::new();
        for block in self.blocks_from(from) {
            if block.start >= to {
                break;
            }
            let start = from.saturating_sub(block.start) as usize;
            let stop = ((to - block.start) as usize).min(block.bytes.len());
            out.extend_from_slice(block.bytes.get(start..stop).unwrap_or_default());
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
            for block in self.blocks.iter().take_while(|block| block.start < offset) {
                let stop = ((offset - block.start) as usize).min(block.bytes.len());
                self.growth.read(block.start, block.bytes.get(..stop).unwrap_or_default());
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
            self.spare = Some(block.bytes);
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
            scanner.push(part.to_vec());
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
        let mut scanner = Scanner::new();
        let filler = b"step 12 loss 1.25 all is well with this line of a log\n".repeat(BLOCK / 54);
        for _ in 0..80 {
            let mut block = scanner.block();
            block.extend_from_slice(&filler);
            scanner.push(block);
        }
        scanner.push(MESSAGE.as_bytes().to_vec());
        assert!(scanner.total - scanner.oldest() <= KEPT + BLOCK as u64);
        let lines = 80 * (BLOCK as u64 / 54) + 1;
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
