//! What a process is: identity, owner, and what it holds on a device.

use std::fmt;
use std::sync::Arc;

use super::command::title;
use super::{Bytes, Gpu, Missing, Period, Reading, Wall};

/// A process id in the reader's PID namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pid(pub u32);

impl Pid {
    /// Linux gives no pid above this (`PID_MAX_LIMIT`).
    pub const MAX: u32 = 1 << 22;
}

impl fmt::Display for Pid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Identity of a process: the pid **and** its start time in `/proc` clock ticks since boot, since pids are reused.
/// The start is none where `/proc` does not tell (another namespace, another platform).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProcessKey {
    /// The pid.
    pub pid: Pid,
    /// Field 22 of `/proc/PID/stat`.
    pub start: Option<u64>,
}

/// Whose a holder is; the first that fits (DESIGN.md section 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, strum::Display, strum::EnumString, strum::EnumIter)]
#[strum(serialize_all = "lowercase")]
pub enum Relation {
    /// In the process tree watched by `run` or `--pid`.
    Job,
    /// Of my user; root's included where I am root.
    Mine,
    /// Of another user.
    Foreign,
    /// A display server, compositor or known daemon.
    System,
    /// Not visible from this PID namespace.
    Unknown,
}

impl Relation {
    /// Whose a process is by its owner alone: `me` and `owner` are user numbers, `owner` none where it can't be told.
    pub fn by_owner(me: u32, owner: Option<u32>) -> Self {
        match owner {
            Some(owner) if owner == me => Self::Mine,
            Some(_) => Self::Foreign,
            None => Self::Unknown,
        }
    }
}

/// Static facts of a process. A new record for a pid rebinds it. All texts are cleaned ([`super::text::clean`]).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// pid and start.
    pub key: ProcessKey,
    /// Start on the wall clock.
    pub started: Reading<Wall>,
    /// The parent's pid.
    pub ppid: Reading<Pid>,
    /// The owner's name, or the number where it has none.
    pub user: Reading<Arc<str>>,
    /// The owner's number.
    pub uid: Reading<u32>,
    /// Whose it is.
    pub relation: Relation,
    /// Command line, or the name in brackets where there is none.
    pub command: Reading<Arc<str>>,
    /// Container it runs in, as the runtime names it: `docker 3f2a9c1b04de`, `pod team/train-0 (worker)`.
    pub container: Option<Arc<str>>,
    /// The job that it is part of, where a launcher started it or it was forked by one of its like.
    pub job: Option<Arc<Job>>,
    /// Where it comes from and runs; none where nothing of it was read.
    pub details: Option<Arc<Details>>,
}

/// A launcher with its workers, or a program with its forked children: one row that folds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// The process at its head: it need not hold memory itself.
    pub leader: ProcessKey,
    /// What makes them one: the launcher's name (`torchrun`, `mpirun`, …), `fork` for children of a like program, or
    /// `tree` for the watched one.
    pub launcher: Arc<str>,
    /// The leader's command line.
    pub command: Reading<Arc<str>>,
}

/// Where a process comes from and runs. A fact that was read and is not there is `Ok(None)`; one that can't be read says why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Details {
    /// The working directory.
    pub cwd: Reading<Arc<str>>,
    /// Its parents, the nearest first; cut at pid 1 and after [`Details::MAX_PARENTS`].
    pub parents: Arc<[Ancestor]>,
    /// The batch system's job: `slurm 4711`.
    pub batch: Reading<Option<Arc<str>>>,
    /// The conda or venv environment's name.
    pub environment: Reading<Option<Arc<str>>>,
    /// The terminal multiplexer's session: `tmux train`.
    pub session: Reading<Option<Arc<str>>>,
}

/// A parent of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ancestor {
    /// pid and start.
    pub key: ProcessKey,
    /// Its name.
    pub name: Arc<str>,
}

/// A process that has a device node open without standing in any of the driver's lists: a leftover, a monitor, or one that
/// the driver hides. Found through `/proc/PID/fd`, as `fuser` does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenHandle {
    /// pid and start; its facts come in a record of their own.
    pub key: ProcessKey,
    /// The devices whose nodes it has open; empty for the control node alone.
    pub gpus: Arc<[Gpu]>,
    /// The letter of `/proc/PID/stat`.
    pub state: Reading<char>,
}

/// In which of the driver's lists a process stands; a set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HolderKind(u8);

impl HolderKind {
    /// Compute.
    pub const C: Self = Self(1);
    /// Graphics.
    pub const G: Self = Self(2);
    /// Client of the Multi-Process Service.
    pub const M: Self = Self(4);

    /// Both sets together.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether every list of `other` is in this set.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Reads `C`, `G`, `M` or a join by `+`.
    pub fn parse(text: &str) -> Option<Self> {
        text.split('+').try_fold(Self::default(), |set, part| {
            Some(set.union(match part {
                "C" => Self::C,
                "G" => Self::G,
                "M" => Self::M,
                _ => return None,
            }))
        })
    }
}

impl fmt::Display for HolderKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letters: Vec<&str> = [(Self::C, "C"), (Self::G, "G"), (Self::M, "M")]
            .into_iter()
            .filter_map(|(kind, letter)| self.contains(kind).then_some(letter))
            .collect();
        f.pad(&letters.join("+"))
    }
}

/// One process on one device, as the merged process lists say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// The pid as the driver gives it.
    pub pid: Pid,
    /// The memory it holds there: missing under WDDM, WSL2 and in some MIG cases.
    pub used: Reading<Bytes>,
    /// The lists it stands in.
    pub kind: HolderKind,
    /// On a MIG parent: the instance it runs in.
    pub instance: Option<Gpu>,
}

/// Why a driver has no account of a process's peak, and what that means for the sampled one.
pub const ACCOUNTING_OFF: Missing = Missing::Unsupported(std::borrow::Cow::Borrowed(
    "accounting is off; the sampled peak can miss what is shorter than the interval",
));

/// What a process uses beside memory, over the last process interval.
#[derive(Clone, Debug, PartialEq)]
pub struct ProcessUsage {
    /// The pid.
    pub pid: Pid,
    /// Percent of the device's SM time, 0 to 100.
    pub gpu: Reading<f32>,
    /// Percent of one CPU core, 0 to 100 times the cores.
    pub cpu: Reading<f32>,
    /// Resident set on the host.
    pub rss: Reading<Bytes>,
    /// The letter of `/proc/PID/stat`: `R`, `S`, `D`, `Z`, `T` …
    pub state: Reading<char>,
    /// The largest memory since its start by the driver's own accounting (`maxMemoryUsage`), which misses no spike.
    pub accounted: Reading<Bytes>,
}

impl Job {
    /// What it is called: its launcher and what that runs.
    pub fn title(&self) -> String {
        let launcher = &*self.launcher;
        let Ok(command) = &self.command else { return launcher.to_owned() };
        if matches!(launcher, "fork" | "tree") {
            return title(command).into_owned();
        }
        // `python /usr/bin/torchrun … train.py`: what stands before the launcher only starts it.
        let own = command.find(launcher).map_or(&**command, |at| command.split_at(at).1);
        match title(own) {
            script if *script == *launcher => launcher.to_owned(),
            script => format!("{launcher} {script}"),
        }
    }
}

impl Details {
    /// How many parents are kept.
    pub const MAX_PARENTS: usize = 16;
}

impl Process {
    /// How long it has run at a point of the wall clock.
    pub fn running(&self, now: Wall) -> Option<Period> {
        let started = self.started.as_ref().ok()?;
        Some(Period(u64::try_from(now.0.saturating_sub(started.0)).unwrap_or(0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Missing;

    #[test]
    fn jobs_are_called_by_launcher_and_script() {
        for (launcher, command, name) in [
            ("torchrun", Some("torchrun --nproc-per-node 2 train.py"), "torchrun train.py"),
            ("torchrun", Some("/env/bin/python /usr/local/bin/torchrun --nproc-per-node 4 train.py --fsdp"), "torchrun train.py"),
            ("mpirun", Some("mpirun -n 8 ./solve"), "mpirun"),
            ("fork", Some("python loader.py --workers 8"), "loader.py"),
            ("ray", None, "ray"),
        ] {
            let job = Job {
                leader: ProcessKey { pid: Pid(1), start: None },
                launcher: launcher.into(),
                command: command.map(Into::into).ok_or(Missing::Pending),
            };
            assert_eq!(job.title(), name, "{command:?}");
        }
    }

    #[test]
    fn kinds_join_and_read_back() {
        for text in ["C", "G", "M", "C+G", "C+G+M"] {
            assert_eq!(HolderKind::parse(text).map(|kind| kind.to_string()).as_deref(), Some(text));
        }
        assert_eq!(HolderKind::parse("X"), None);
        assert_eq!(HolderKind::default().to_string(), "");
    }
}
