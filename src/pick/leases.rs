//! Leases: a file per card, shared by all users, that keeps two picks from choosing the same card.
//!
//! A lease is the lock (`flock`) on the card's file, held while the command lives: it falls with its last holder, however that
//! ends. Where no command is run nobody is left to hold a lock, and what is written in the file counts instead: for
//! [`Leases::LASTS`], or until a process holds memory on that card that did not when the lease was taken. Choosing and taking
//! happen under one more lock, so that those who choose at the same time do so one after the other.
//!
//! The folder belongs to nobody (mode 1777), so everything in it may be forged: no link is followed, only a plain file of one
//! name is opened, only so much of it is read, and what it says can at worst keep a card from being picked for a minute.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::thread;

use rustix::fs::{Access, AtFlags, CWD, FileType, FlockOperation, Mode, OFlags};
use rustix::fs::{accessat, fchmod, flock, fstat, mkdirat, openat};
use rustix::io::{Errno, FdFlags, fcntl_setfd};
use serde::{Deserialize, Serialize};

use crate::domain::{DeviceId, Period, Timestamp};
use crate::sampler::Clock;

/// Where leases lie if nobody says otherwise.
const SHARED: &str = "/run/lock/vramscope";
/// The name of the folder within that for temporary files, where there is no such place.
const FALLBACK: &str = "vramscope-leases";
/// The file whose lock orders those who choose.
const TURN: &str = "turn";
/// Everybody may come and go, nobody may take away what is another's.
const FOLDER: u32 = 0o1777;
/// Everybody may lock and write.
const FILE: u32 = 0o666;
/// How much of a file is read.
const LONGEST: u64 = 1 << 16;
/// How many holders are kept in it.
const MOST_HOLDERS: usize = 4_096;
/// How long somebody else may choose: it takes milliseconds.
const PATIENCE: Period = Period::secs(2);
/// Between two looks whether the other one is done.
const LOOK: Period = Period::millis(10);

/// Why leases are off. The texts are for the user.
#[derive(Debug, thiserror::Error)]
pub enum LeaseError {
    /// The folder or a file in it can't be used.
    #[error("{}: {why}", path.display())]
    Unusable {
        /// Which.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// Somebody keeps the lock under which is chosen.
    #[error("{}: another pick holds it for more than {PATIENCE}", .0.display())]
    Busy(PathBuf),
}

/// The folder of leases.
#[derive(Debug)]
pub struct Leases {
    folder: OwnedFd,
    path: PathBuf,
    prefix: &'static str,
}

/// The right to choose: nobody else does until it is dropped.
#[derive(Debug)]
pub struct Turn<'a> {
    leases: &'a Leases,
    now: Timestamp,
    _lock: File,
}

/// A card that is ours.
#[derive(Debug)]
pub struct Lease {
    file: File,
    path: PathBuf,
    taken: Timestamp,
}

/// What a file says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Record {
    /// Who picked.
    pid: u32,
    /// When, in microseconds since boot: a clock that all share, and that starts anew with an empty node.
    taken: u64,
    /// Whether the lock is what counts.
    command: bool,
    /// The processes that held memory on the card then; none where that was not known.
    holders: Option<Vec<u32>>,
}

/// Who holds memory on a card.
#[derive(Clone, Debug)]
pub struct Holders {
    /// Their pids.
    pub pids: Vec<u32>,
    /// How old the list is.
    pub age: Period,
}

impl Leases {
    /// How long a lease lasts that no command holds.
    pub const LASTS: Period = Period::secs(60);

    /// Opens the folder, made where it is missing: the one that was asked for, else [`SHARED`], else one in `temporary`.
    /// Cards of a simulation are no cards: theirs are kept apart.
    ///
    /// # Errors
    /// It can't be made or used, or is a link.
    pub fn open(asked: Option<&Path>, temporary: &Path, simulated: bool) -> Result<Self, LeaseError> {
        let prefix = if simulated { "simulated-" } else { "" };
        let open = |path: &Path| folder(path).map(|folder| Self { folder, path: path.to_owned(), prefix });
        match asked {
            Some(path) => open(path),
            None => open(Path::new(SHARED)).or_else(|_| open(&temporary.join(FALLBACK))),
        }
    }

    /// Waits until nobody else chooses.
    ///
    /// # Errors
    /// Somebody does for longer than it can take.
    pub fn turn(&self) -> Result<Turn<'_>, LeaseError> {
        let clock = Clock::start();
        let lock = self.file(TURN)?;
        loop {
            match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(Turn { leases: self, now: Clock::since_boot(), _lock: lock }),
                Err(Errno::WOULDBLOCK | Errno::INTR) if clock.now() < Timestamp::ZERO + PATIENCE => thread::sleep(LOOK.std()),
                Err(Errno::WOULDBLOCK | Errno::INTR) => return Err(LeaseError::Busy(self.path.join(TURN))),
                Err(error) => return Err(self.unusable(TURN, error)),
            }
        }
    }

    /// Opens a plain file of one name, making it where it is missing.
    fn file(&self, name: &str) -> Result<File, LeaseError> {
        let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        // Opened before it is made: with CREATE the kernel refuses files of others in such a folder (fs.protected_regular).
        let mut tries = 0;
        let file = loop {
            match openat(&self.folder, name, flags, Mode::empty()) {
                Err(Errno::NOENT) if tries < 3 => {}
                other => break other.map_err(|error| self.unusable(name, error))?,
            }
            tries += 1;
            match openat(&self.folder, name, flags | OFlags::CREATE | OFlags::EXCL, Mode::from_raw_mode(FILE)) {
                Ok(file) => {
                    // Whatever the umask says.
                    fchmod(&file, Mode::from_raw_mode(FILE)).map_err(|error| self.unusable(name, error))?;
                    break file;
                }
                // Another one was faster.
                Err(Errno::EXIST) => {}
                Err(error) => return Err(self.unusable(name, error)),
            }
        };
        let facts = fstat(&file).map_err(|error| self.unusable(name, error))?;
        // With a second name it may be anybody's file, brought here by a hard link.
        if FileType::from_raw_mode(facts.st_mode) != FileType::RegularFile || facts.st_nlink != 1 {
            return Err(LeaseError::Unusable { path: self.path.join(name), why: "it is not a plain file of its own".to_owned() });
        }
        Ok(File::from(file))
    }

    fn unusable(&self, name: &str, error: Errno) -> LeaseError {
        let why = if error == Errno::LOOP { "it is a link".to_owned() } else { io::Error::from(error).to_string() };
        LeaseError::Unusable { path: self.path.join(name), why }
    }
}

impl Turn<'_> {
    /// Takes the lease on a card on which these processes hold memory, where that is known. Where somebody has it, the pid
    /// that took it.
    ///
    /// # Errors
    /// Its file can't be used.
    pub fn take(&self, id: &DeviceId, holders: Option<&Holders>) -> Result<Result<Lease, u32>, LeaseError> {
        let name = format!("{}{}", self.leases.prefix, id.0.replace('/', "_"));
        let mut file = self.leases.file(&name)?;
        let path = self.leases.path.join(&name);
        let record = read(&mut file);
        let pid = record.as_ref().map_or(0, |record| record.pid);
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => return Ok(Err(pid)),
            Err(error) => return Err(self.leases.unusable(&name, error)),
        }
        if record.is_some_and(|record| record.counts(self.now, holders)) {
            return Ok(Err(pid));
        }
        Ok(Ok(Lease { file, path, taken: self.now }))
    }
}

impl Lease {
    /// Keeps others off until a new process holds memory there, and for [`Leases::LASTS`] at most.
    ///
    /// # Errors
    /// The file can't be written.
    pub fn leave(self, holders: Option<&Holders>) -> Result<(), LeaseError> {
        self.write(false, holders)
    }

    /// Keeps others off as long as this process or one that it starts lives: the lock goes to every child that does not
    /// close what it inherits.
    ///
    /// # Errors
    /// The file can't be written.
    pub fn hand_down(&self) -> Result<(), LeaseError> {
        self.write(true, None)?;
        fcntl_setfd(&self.file, FdFlags::empty()).map_err(|error| self.unusable(&error.into()))
    }

    fn write(&self, command: bool, holders: Option<&Holders>) -> Result<(), LeaseError> {
        let holders = holders.map(|holders| holders.pids.iter().copied().take(MOST_HOLDERS).collect());
        let record = Record { pid: std::process::id(), taken: self.taken.0, command, holders };
        let mut file = &self.file;
        let write = |file: &mut &File| {
            let text = serde_json::to_vec(&record)?;
            file.set_len(0)?;
            file.seek(SeekFrom::Start(0))?;
            file.write_all(&text)
        };
        write(&mut file).map_err(|error| self.unusable(&error))
    }

    fn unusable(&self, error: &io::Error) -> LeaseError {
        LeaseError::Unusable { path: self.path.clone(), why: error.to_string() }
    }
}

impl Record {
    /// Whether it keeps others off a card on which `holders` hold memory now, given that nobody holds the lock.
    fn counts(&self, now: Timestamp, holders: Option<&Holders>) -> bool {
        let age = now.0.checked_sub(self.taken);
        let is_young = age.is_some_and(|age| age < Leases::LASTS.0);
        // The new job is there: what it holds is seen. A list from before the lease tells of those who left.
        let has_come = holders.zip(self.holders.as_ref()).is_some_and(|(now_there, before)| {
            age.is_some_and(|age| now_there.age.0 < age)
                && now_there.pids.iter().take(MOST_HOLDERS).any(|pid| !before.contains(pid))
        });
        !self.command && is_young && !has_come
    }
}

/// What the file says; nothing where it is empty or makes no sense.
fn read(file: &mut File) -> Option<Record> {
    let mut text = Vec::new();
    file.take(LONGEST).read_to_end(&mut text).ok()?;
    serde_json::from_slice(&text).ok()
}

/// Opens a folder that is there, or makes it.
fn folder(path: &Path) -> Result<OwnedFd, LeaseError> {
    let failed = |error: Errno| {
        let why = match error {
            // NOFOLLOW with DIRECTORY says of a link that it is no folder.
            Errno::LOOP | Errno::NOTDIR => "it is a link, or no folder".to_owned(),
            error => io::Error::from(error).to_string(),
        };
        LeaseError::Unusable { path: path.to_owned(), why }
    };
    let open = || openat(CWD, path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty());
    let folder = match open() {
        Err(Errno::NOENT) => {
            match mkdirat(CWD, path, Mode::from_raw_mode(FOLDER)) {
                Ok(()) => {
                    let folder = open().map_err(failed)?;
                    // Whatever the umask says; of a folder that somebody put in its place, the owner may not be changed.
                    fchmod(&folder, Mode::from_raw_mode(FOLDER)).map_err(failed)?;
                    folder
                }
                // Another one was faster.
                Err(Errno::EXIST) => open().map_err(failed)?,
                Err(error) => return Err(failed(error)),
            }
        }
        other => other.map_err(failed)?,
    };
    accessat(&folder, ".", Access::WRITE_OK | Access::EXEC_OK, AtFlags::EACCESS).map_err(failed)?;
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn id(name: &str) -> DeviceId {
        DeviceId(name.into())
    }

    fn leases(path: &Path, simulated: bool) -> Leases {
        Leases::open(Some(path), Path::new("/nonexistent"), simulated).expect("a folder that can be used")
    }

    /// Takes a card for a moment, and says who has it.
    fn owner(leases: &Leases, name: &str, pids: &[u32]) -> Option<u32> {
        leases.turn().expect("nobody else").take(&id(name), Some(&holders(pids))).expect("a good file").err()
    }

    /// A list that was read just now.
    fn holders(pids: &[u32]) -> Holders {
        Holders { pids: pids.to_vec(), age: Period::ZERO }
    }

    #[test]
    fn a_lease_that_is_left_lasts_until_a_newcomer_holds_memory() {
        let temporary = tempfile::tempdir().expect("a folder");
        let leases = leases(&temporary.path().join("leases"), false);
        let turn = leases.turn().expect("nobody else");
        let lease = turn.take(&id("GPU-1"), None).expect("a good file").expect("free");
        lease.leave(Some(&holders(&[7]))).expect("it can be written");
        drop(turn);
        let me = std::process::id();
        for (pids, taken) in [(&[7][..], Some(me)), (&[], Some(me)), (&[7, 8], None)] {
            assert_eq!(owner(&leases, "GPU-1", pids), taken, "{pids:?}");
        }
        assert_eq!(owner(&leases, "GPU-2", &[]), None, "each card has its own");
        let simulated = super::tests::leases(&temporary.path().join("leases"), true);
        assert_eq!(owner(&simulated, "GPU-1", &[]), None, "a simulated card is another");
    }

    #[test]
    fn a_record_counts_for_a_minute_of_this_boot() {
        let now = Timestamp::secs(1_000);
        for (taken, command, counts) in
            [(1_000, false, true), (941, false, true), (940, false, false), (2_000, false, false), (1_000, true, false)]
        {
            let record = Record { pid: 1, taken: taken * 1_000_000, command, holders: Some(vec![]) };
            assert_eq!(record.counts(now, None), counts, "{record:?}");
        }
    }

    #[test]
    fn only_a_list_from_after_the_lease_tells_of_newcomers() {
        let record = |holders| Record { pid: 1, taken: 990_000_000, command: false, holders };
        for (before, pids, age, counts) in [
            (Some(vec![7]), &[7, 8][..], 9, false),
            // Read before: the other one may have left since.
            (Some(vec![7]), &[7, 8], 10, true),
            (Some(vec![7]), &[7], 1, true),
            // Who was there then is not known.
            (None, &[7], 1, true),
        ] {
            let holders = Holders { pids: pids.to_vec(), age: Period::secs(age) };
            assert_eq!(
                record(before.clone()).counts(Timestamp::secs(1_000), Some(&holders)),
                counts,
                "{before:?} {pids:?} {age}"
            );
        }
    }

    #[test]
    fn the_lock_is_the_lease_of_a_command_and_falls_with_it() {
        let temporary = tempfile::tempdir().expect("a folder");
        let leases = leases(temporary.path(), false);
        let lease = leases.turn().expect("nobody else").take(&id("GPU-1"), None).expect("a good file").expect("free");
        lease.hand_down().expect("it can be written");
        assert_eq!(owner(&leases, "GPU-1", &[9]), Some(std::process::id()), "also when its job has come");
        drop(lease);
        assert_eq!(owner(&leases, "GPU-1", &[]), None);
    }

    #[test]
    fn one_chooses_at_a_time() {
        let temporary = tempfile::tempdir().expect("a folder");
        let leases = leases(temporary.path(), false);
        let first = leases.turn().expect("nobody else");
        assert!(matches!(leases.turn(), Err(LeaseError::Busy(_))));
        drop(first);
        assert!(leases.turn().is_ok());
    }

    #[test]
    fn what_is_made_is_everybodys() {
        let temporary = tempfile::tempdir().expect("a folder");
        let path = temporary.path().join("leases");
        let leases = leases(&path, false);
        assert_eq!(owner(&leases, "MIG-GPU-1/2/0", &[]), None);
        let mode = |path: &Path| fs::metadata(path).expect("it is there").permissions().mode() & 0o7777;
        assert_eq!((mode(&path), mode(&path.join("turn")), mode(&path.join("MIG-GPU-1_2_0"))), (FOLDER, FILE, FILE));
    }

    #[test]
    fn links_and_what_is_no_file_are_not_touched() {
        let temporary = tempfile::tempdir().expect("a folder");
        let path = temporary.path().join("leases");
        let leases = leases(&path, false);
        let precious = temporary.path().join("precious");
        fs::write(&precious, "text").expect("a file");
        symlink(&precious, path.join("GPU-link")).expect("a link");
        fs::hard_link(&precious, path.join("GPU-hard")).expect("a second name");
        fs::create_dir(path.join("GPU-folder")).expect("a folder");
        rustix::fs::mkfifoat(CWD, path.join("GPU-pipe"), Mode::from_raw_mode(FILE)).expect("a pipe");
        for name in ["GPU-link", "GPU-hard", "GPU-folder", "GPU-pipe"] {
            let turn = leases.turn().expect("nobody else");
            assert!(matches!(turn.take(&id(name), None), Err(LeaseError::Unusable { .. })), "{name}");
        }
        assert_eq!(fs::read_to_string(&precious).expect("it is still there"), "text");
        symlink(&path, temporary.path().join("link")).expect("a link");
        for bad in ["link", "precious"] {
            let error = Leases::open(Some(&temporary.path().join(bad)), Path::new("/"), false).expect_err(bad);
            assert!(error.to_string().contains(bad), "{error}");
        }
    }

    #[test]
    fn nonsense_in_a_file_leases_nothing() {
        let temporary = tempfile::tempdir().expect("a folder");
        let leases = leases(temporary.path(), false);
        let now = Clock::since_boot().0;
        let endless = format!("{{\"pid\":1,\"taken\":{now},\"command\":false,\"holders\":[{}]}}", "1,".repeat(1 << 20));
        for text in ["", "x", "{}", "{\"pid\":-1}", "[[[[", &endless, &"[".repeat(100_000)] {
            fs::write(temporary.path().join("GPU-1"), text).expect("a file");
            assert_eq!(owner(&leases, "GPU-1", &[]), None, "{text:.40}");
        }
    }
}
