//! Where the bytes of a recording come from: a file, a pipe or standard input, plain or zstd, told apart by their beginning.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use zstd::stream::raw::{Decoder, InBuffer, Operation, OutBuffer};

use crate::domain::Period;
use crate::domain::text::clean;

/// Why a file can't be read as a timeline.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// It can't be opened, or nothing of it can be read.
    #[error("{name}: {error}")]
    Io {
        /// Which.
        name: String,
        /// Why.
        error: io::Error,
    },
    /// It is a folder.
    #[error("{0} is a directory: name a recording in it")]
    Directory(String),
    /// It is a pipe, and nothing comes.
    #[error("{name} is a FIFO that nobody wrote to within {patience} (--timeout)")]
    Silent {
        /// Which.
        name: String,
        /// How long.
        patience: Period,
    },
    /// There is nothing in it.
    #[error("{0} is empty: nothing was recorded")]
    Empty(String),
    /// It is something else.
    #[error("{name} is no vramscope timeline: {why}")]
    Other {
        /// Which.
        name: String,
        /// What it looks like.
        why: String,
    },
    /// Its beginning is damaged, so that it can't be told what it is.
    #[error("{name}: its beginning can't be read: {why}")]
    Damaged {
        /// Which.
        name: String,
        /// Why.
        why: String,
    },
    /// It is a timeline whose header can't be used.
    #[error("{name}: line 1, the header: {why}")]
    Header {
        /// Which.
        name: String,
        /// Why.
        why: super::format::LineError,
    },
}

impl ReadError {
    pub(super) fn io(name: &str, error: io::Error) -> Self {
        Self::Io { name: name.to_owned(), error }
    }
}

/// The first bytes of a zstd frame.
const ZSTD: [u8; 4] = 0xFD2F_B528_u32.to_le_bytes();
/// The largest window of a frame as a power of two: 128 MiB, what `zstd -19` and `--ultra` write; more is a trap.
const WINDOW_LOG: u32 = 27;
/// Compressed bytes read at a time.
const HELD: usize = 128 << 10;
/// A frame up to this long is held until it is read. The recorder's are some 100 KiB.
const FRAME: usize = 4 << 20;
/// After so many damaged frames the rest is given up: each may cost as much time as a whole one.
const MOST_DAMAGED: usize = 4_096;

/// How a file is called in messages.
pub fn name_of(path: &Path) -> String {
    clean(&path.to_string_lossy(), 300)
}

/// Opens a file, a device or a pipe. A FIFO is waited for as long as `patience`, since opening one without a writer would
/// block for ever.
///
/// # Errors
/// It can't be opened, is a directory, or a FIFO without a writer.
pub fn open(path: &Path, patience: Period) -> Result<File, ReadError> {
    let name = || name_of(path);
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(OFlags::NONBLOCK.bits().cast_signed())
        .open(path)
        .map_err(|error| ReadError::io(&name(), error))?;
    let metadata = file.metadata().map_err(|error| ReadError::io(&name(), error))?;
    if metadata.is_dir() {
        return Err(ReadError::Directory(name()));
    }
    if metadata.file_type().is_fifo() {
        wait_for_writer(&file, patience)
            .map_err(|error| ReadError::io(&name(), error))?
            .then_some(())
            .ok_or_else(|| ReadError::Silent { name: name(), patience })?;
    }
    let blocking = fcntl_getfl(&file).and_then(|flags| fcntl_setfl(&file, flags - OFlags::NONBLOCK));
    blocking.map_err(|error| ReadError::io(&name(), error.into()))?;
    Ok(file)
}

/// Whether somebody wrote, or had written and closed, within the time.
fn wait_for_writer(file: &File, patience: Period) -> io::Result<bool> {
    let timeout = rustix::event::Timespec {
        tv_sec: i64::try_from(patience.0 / 1_000_000).unwrap_or(i64::MAX),
        tv_nsec: i64::try_from(patience.0 % 1_000_000 * 1_000).unwrap_or(0),
    };
    let mut waiting = [PollFd::from_borrowed_fd(file.as_fd(), PollFlags::IN)];
    Ok(poll(&mut waiting, Some(&timeout))? > 0)
}

/// Why bytes stop coming.
#[derive(Debug, thiserror::Error)]
pub enum Break {
    /// They can't be read; nothing comes after it.
    #[error("can't be read further: {0}")]
    Io(#[from] io::Error),
    /// A frame is damaged; more may come after it.
    #[error("the compressed data is damaged ({0}): what this part held is lost, the next part is read")]
    Frame(String),
    /// So many frames are damaged that the rest is not looked at.
    #[error("the compressed data is damaged in more than {MOST_DAMAGED} places: the rest is not read")]
    Hopeless,
    /// The compressed data ends within a frame; nothing comes after it.
    #[error("the compressed data ends within a frame: the recording was cut off or is still being written")]
    Cut,
}

/// The bytes of a recording, unpacked.
pub enum Bytes {
    /// As they are.
    Plain(Box<dyn Read + Send>),
    /// In zstd frames.
    Zstd(Box<Frames>),
}

impl Bytes {
    /// Looks at the beginning to see how they are packed.
    ///
    /// # Errors
    /// Nothing can be read.
    pub fn new(mut from: Box<dyn Read + Send>) -> io::Result<Self> {
        let mut head = [0; ZSTD.len()];
        let mut have = 0;
        while have < head.len() {
            match read(&mut from, head.get_mut(have..).unwrap_or_default())? {
                0 => break,
                n => have += n,
            }
        }
        let head = head.get(..have).unwrap_or_default().to_vec();
        let packed = head == ZSTD || is_skippable(&head);
        let all: Box<dyn Read + Send> = Box::new(io::Cursor::new(head).chain(from));
        Ok(if packed { Self::Zstd(Box::new(Frames::new(all)?)) } else { Self::Plain(all) })
    }

    /// Fills a part of `buffer`; 0 at the end.
    ///
    /// # Errors
    /// As [`Break`] tells.
    pub fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Break> {
        match self {
            Self::Plain(from) => Ok(read(from, buffer)?),
            Self::Zstd(frames) => frames.read(buffer),
        }
    }
}

/// Frames of other tools between ours carry what need not be unpacked.
fn is_skippable(head: &[u8]) -> bool {
    matches!(head, [first, 0x2A, 0x4D, 0x18] if first & 0xF0 == 0x50)
}

/// As `read`, again where a signal came between.
fn read(from: &mut dyn Read, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match from.read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}

/// Independent zstd frames: where one is damaged, the next is looked for.
pub struct Frames {
    from: Box<dyn Read + Send>,
    decoder: Decoder<'static>,
    held: Vec<u8>,
    /// Where the frame that is being read begins within `held`, as long as it is short: a broken size makes a frame swallow
    /// those that follow, which are then looked for in it.
    frame: usize,
    /// Up to here it is read.
    start: usize,
    /// Within a frame: the end of the data is no end of the recording.
    within: bool,
    /// After damage: the next frame's beginning is looked for.
    lost: bool,
    damaged: usize,
    ended: bool,
}

impl Frames {
    fn new(from: Box<dyn Read + Send>) -> io::Result<Self> {
        let mut decoder = Decoder::new()?;
        decoder.set_parameter(zstd::stream::raw::DParameter::WindowLogMax(WINDOW_LOG))?;
        Ok(Self { from, decoder, held: Vec::new(), frame: 0, start: 0, within: false, lost: false, damaged: 0, ended: false })
    }

    fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Break> {
        loop {
            if self.lost && !self.find_frame()? {
                return Ok(0);
            }
            if self.start >= self.held.len() && !self.ended {
                self.refill()?;
            }
            let mut input = InBuffer::around(self.held.get(self.start..).unwrap_or_default());
            if input.src.is_empty() && !self.within {
                return Ok(0);
            }
            let mut output = OutBuffer::around(&mut *buffer);
            let done = self.decoder.run(&mut input, &mut output);
            let (used, made) = (input.pos(), output.pos());
            match done {
                Ok(hint) => {
                    self.start += used;
                    self.within = hint != 0;
                    if !self.within {
                        self.frame = self.start;
                    }
                }
                Err(error) => {
                    self.give_up()?;
                    return Err(Break::Frame(clean(&error.to_string(), 100)));
                }
            }
            if made > 0 {
                return Ok(made);
            }
            if used == 0 && self.ended {
                self.give_up()?;
                return Err(if self.find_frame()? { Break::Frame("it ends early".to_owned()) } else { Break::Cut });
            }
        }
    }

    /// Leaves the frame that is being read: what follows its own beginning may hold others.
    fn give_up(&mut self) -> Result<(), Break> {
        self.damaged += 1;
        if self.damaged > MOST_DAMAGED {
            return Err(Break::Hopeless);
        }
        self.lost = true;
        self.within = false;
        self.start = (self.frame + 1).min(self.held.len());
        Ok(self.decoder.reinit()?)
    }

    /// Reads on to the next beginning of a frame; false at the end.
    fn find_frame(&mut self) -> Result<bool, Break> {
        loop {
            let rest = self.held.get(self.start..).unwrap_or_default();
            if let Some(at) = memchr::memmem::find(rest, &ZSTD) {
                self.start += at;
                self.frame = self.start;
                self.lost = false;
                return Ok(true);
            }
            // A beginning may stand across two readings.
            self.start = self.held.len().saturating_sub(ZSTD.len() - 1).max(self.start);
            self.frame = self.start;
            if self.ended {
                self.start = self.held.len();
                return Ok(false);
            }
            self.refill()?;
        }
    }

    /// Reads more behind what is still held.
    fn refill(&mut self) -> Result<(), Break> {
        let keep = if self.start - self.frame <= FRAME { self.frame } else { self.start };
        self.held.drain(..keep);
        self.start -= keep;
        self.frame = 0;
        let have = self.held.len();
        self.held.resize(have + HELD, 0);
        let done = read(&mut self.from, self.held.get_mut(have..).unwrap_or_default());
        let n = *done.as_ref().unwrap_or(&0);
        self.held.truncate(have + n);
        self.ended = n == 0;
        done?;
        Ok(())
    }
}
