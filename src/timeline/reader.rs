//! The records of a timeline file, one after the other, in bounded memory and whatever is wrong with it.

use std::collections::VecDeque;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use super::Record;
use super::format::{self, Keys, LineError, MAX_TIME};
use super::input::{self, Break, Bytes, ReadError};
use super::lines::{Line, Lines};
use super::order::{Order, SLACK};
use super::problems::{Kind, Problems};
use crate::domain::{Header, Period, Sample, SampleBody, Timestamp};

/// What is not recognised within this is something else.
const HEAD: usize = 64 << 10;
const BOM: &[u8] = b"\xEF\xBB\xBF";

/// Reads a timeline file. The first record is its header; what is wrong is in [`Reader::problems`] when there are no more.
///
/// Several recordings one after the other are read as one: the time of the later ones is counted from the first one's origin,
/// and nothing is known of the time between them.
pub struct Reader {
    name: String,
    lines: Lines,
    header: Arc<Header>,
    keys: Keys,
    order: Order,
    ready: VecDeque<Record>,
    problems: Problems,
    records: u64,
    part: Part,
    done: bool,
}

/// The recording within the file that is being read.
#[derive(Clone, Copy, Debug)]
struct Part {
    /// What its times count from.
    offset: Period,
    /// It is left out.
    skipped: bool,
    /// It was ended.
    ended: bool,
}

impl Reader {
    /// Opens a file, `-` for standard input. A FIFO is waited for as long as `patience`.
    ///
    /// # Errors
    /// It can't be read, or is none of ours.
    pub fn open(path: &Path, patience: Period) -> Result<Self, ReadError> {
        if path.as_os_str() == "-" {
            return Self::new("standard input".to_owned(), Box::new(std::io::stdin()));
        }
        let file = input::open(path, patience)?;
        Self::new(input::name_of(path), Box::new(file))
    }

    /// Reads from what is already open; `name` is how messages call it.
    ///
    /// # Errors
    /// As [`Reader::open`].
    pub fn new(name: String, from: Box<dyn Read + Send>) -> Result<Self, ReadError> {
        let bytes = Bytes::new(from).map_err(|error| ReadError::io(&name, error))?;
        let mut lines = Lines::new(bytes);
        let mut keys = Keys::default();
        let sample = header(&name, &mut lines, &mut keys)?;
        let SampleBody::Header(header) = &sample.body else {
            return Err(ReadError::Other { name, why: NO_HEADER.to_owned() });
        };
        let header = Arc::clone(header);
        let mut reader = Self {
            name,
            lines,
            header,
            keys,
            order: Order::default(),
            ready: VecDeque::new(),
            problems: Problems::default(),
            records: 0,
            part: Part { offset: Period(0), skipped: false, ended: false },
            done: false,
        };
        reader.pass(Record::Sample(sample));
        Ok(reader)
    }

    /// How messages call the file.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The first header.
    pub fn header(&self) -> &Arc<Header> {
        &self.header
    }

    /// Records yielded so far.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// What was wrong so far.
    pub fn problems(&self) -> &Problems {
        &self.problems
    }

    /// Reads one line, or finds that there is none.
    fn advance(&mut self) {
        let read = match self.lines.next() {
            Line::Text { text, whole } => {
                let text = text.trim_ascii();
                if text.is_empty() {
                    return;
                }
                match format::read(text, &mut self.keys) {
                    // A line that is cut off says nothing of the others.
                    Err(LineError::Json(error)) if !whole && error.is_eof() => Found::Cut,
                    Ok(record) => Found::Record(record),
                    Err(error) => Found::Bad(error),
                }
            }
            Line::TooLong => Found::TooLong,
            Line::Broken(broken) => Found::Broken(broken),
            Line::Hopeless => Found::Hopeless,
            Line::End => Found::End,
        };
        let line = self.lines.number();
        match read {
            Found::Record(record) => {
                self.lines.good();
                if let Some(record) = record {
                    self.take(line, record);
                }
            }
            Found::Bad(LineError::Newer(version)) => {
                let text = format!("another recording begins here; {}: the rest is left out", LineError::Newer(version));
                self.problems.add(Kind::Another, line, true, &text);
                self.finish();
            }
            Found::Bad(error) => self.problems.add(Kind::Line, line, true, &error.to_string()),
            Found::TooLong => self.problems.add(Kind::TooLong, line, true, "longer than any record"),
            Found::Cut => {
                self.problems.add(Kind::Cut, line, true, "cut off within this record: it is lost");
                self.finish();
            }
            Found::Broken(broken) => {
                let kind = if matches!(broken, Break::Frame(_)) { Kind::Frame } else { Kind::Cut };
                self.problems.add(kind, line, true, &broken.to_string());
                if kind == Kind::Cut {
                    self.finish();
                }
            }
            Found::Hopeless => {
                self.problems.add(Kind::Cut, line, true, "no record for so long that the rest is not read");
                self.finish();
            }
            Found::End => {
                if !self.part.ended {
                    let text = "no `end` record: the recording was cut off here, or is still being written";
                    self.problems.add(Kind::Cut, line, false, text);
                }
                self.finish();
            }
        }
    }

    fn finish(&mut self) {
        self.done = true;
        self.order.flush(&mut self.ready);
    }

    /// A record as the file has it.
    fn take(&mut self, line: u64, mut record: Record) {
        if let Record::Sample(Sample { t, body: SampleBody::Header(next) }) = &record {
            let again = next.created == self.created() && *t + self.part.offset + SLACK >= self.order.last();
            if !again {
                let next = Arc::clone(next);
                return self.another(line, &next);
            }
        }
        if self.part.skipped {
            return;
        }
        self.part.ended = matches!(record, Record::End { .. });
        if self.part.offset > Period::ZERO {
            record.shift(self.part.offset);
        }
        if record.t() > MAX_TIME {
            self.problems.add(Kind::Time, line, true, "a time out of range");
            return;
        }
        let mut strays = Vec::new();
        self.order.take(line, record, &mut self.ready, &mut strays);
        for stray in strays {
            let text = format!("time {} s among records of {} s: left out", stray.t.as_secs_f64(), stray.around.as_secs_f64());
            self.problems.add(Kind::Time, stray.line, true, &text);
        }
    }

    /// The origin of the recording that is being read.
    fn created(&self) -> crate::domain::Wall {
        self.header.created.after(Timestamp::ZERO + self.part.offset)
    }

    /// Another recording begins: it goes on from its own time if that is after all that was read.
    fn another(&mut self, line: u64, next: &Header) {
        self.order.flush(&mut self.ready);
        let last = self.order.last();
        let offset = next.created.0.checked_sub(self.header.created.0).and_then(|micros| u64::try_from(micros).ok());
        let offset = offset.map(Period).filter(|offset| Timestamp::ZERO + *offset >= last && offset.0 <= MAX_TIME.0);
        let Some(offset) = offset else {
            let text = "another recording begins here, but earlier than the one before it ends: left out";
            self.problems.add(Kind::Another, line, true, text);
            self.part = Part { skipped: true, ended: true, ..self.part };
            return;
        };
        let text = "another recording begins here: it is read as going on after a gap";
        self.problems.add(Kind::Another, line, false, text);
        self.part = Part { offset, skipped: false, ended: false };
        let t = Timestamp::ZERO + offset;
        self.order.resume(t);
        // Whatever was simulated once stays called so.
        let simulated = next.simulated || self.header.simulated;
        let header = Header { created: self.header.created, simulated, ..next.clone() };
        self.pass(Record::Sample(Sample { t, body: SampleBody::Header(Arc::new(header)) }));
        for gpu in self.keys.gpus().collect::<Vec<_>>() {
            let body = SampleBody::Gap { gpu, from: last, reason: "another recording begins".into() };
            self.pass(Record::Sample(Sample { t, body }));
        }
    }

    fn pass(&mut self, record: Record) {
        self.ready.push_back(record);
    }
}

/// What a line turned out to be.
enum Found {
    Record(Option<Record>),
    Bad(LineError),
    TooLong,
    Cut,
    Broken(Break),
    Hopeless,
    End,
}

impl Iterator for Reader {
    type Item = Record;

    fn next(&mut self) -> Option<Record> {
        loop {
            if let Some(record) = self.ready.pop_front() {
                self.records += 1;
                return Some(record);
            }
            if self.done {
                return None;
            }
            self.advance();
        }
    }
}

const NO_HEADER: &str = "its first line is no header record";

/// The header that a timeline opens with.
fn header(name: &str, lines: &mut Lines, keys: &mut Keys) -> Result<Sample, ReadError> {
    let name = || name.to_owned();
    let damaged = |broken: Break| match broken {
        Break::Io(error) => ReadError::Io { name: name(), error },
        other => ReadError::Damaged { name: name(), why: other.to_string() },
    };
    let head = lines.peek(HEAD).map_err(damaged)?;
    if head.is_empty() {
        return Err(ReadError::Empty(name()));
    }
    let other = |why: &str| ReadError::Other { name: name(), why: why.to_owned() };
    if let Some(why) = looks_like(head) {
        return Err(other(&why));
    }
    if head.starts_with(BOM) {
        lines.pass(BOM.len());
    }
    let first = match lines.next() {
        Line::Text { text, .. } => text.trim_ascii(),
        Line::Broken(broken) => return Err(damaged(broken)),
        _ => return Err(other(NO_HEADER)),
    };
    match format::read(first, keys) {
        Ok(Some(Record::Sample(sample))) if matches!(sample.body, SampleBody::Header(_)) => {
            lines.good();
            Ok(Sample { t: Timestamp::ZERO, ..sample })
        }
        Err(why) if memchr::memmem::find(first, format::FORMAT.as_bytes()).is_some() => {
            Err(ReadError::Header { name: name(), why })
        }
        _ => Err(other(NO_HEADER)),
    }
}

/// What a file that is none of ours is taken for.
fn looks_like(head: &[u8]) -> Option<String> {
    let packed = [(&b"\x1f\x8b"[..], "gzip", "zcat"), (b"BZh", "bzip2", "bzcat"), (b"\xfd7zXZ", "xz", "xzcat")];
    if let Some((_, tool, unpack)) = packed.into_iter().find(|(magic, ..)| head.starts_with(magic)) {
        return Some(format!("it is packed by {tool}; `{unpack} FILE | vramscope report -` reads it unpacked"));
    }
    let begin = head.strip_prefix(BOM).unwrap_or(head).trim_ascii_start();
    if begin.first() == Some(&b'{') && memchr::memchr(b'\n', head).is_none() && head.len() >= HEAD {
        return Some(NO_HEADER.to_owned());
    }
    match begin.first() {
        Some(b'{') => None,
        _ if memchr::memchr(0, head).is_some() => Some("it is not text".to_owned()),
        _ => Some(NO_HEADER.to_owned()),
    }
}
