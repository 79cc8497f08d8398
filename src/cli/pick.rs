//! `pick`: GPUs with headroom for a new job, as a variable or for a command.

use std::ffi::OsString;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::mpsc::RecvTimeoutError;

use clap::builder::{StringValueParser, TypedValueParser};

use super::{Context, Exit, child, once, open, print};
use crate::config::SourceName;
use crate::domain::{Bytes, Gpu, Monitor, Period, Timestamp};
use crate::pick::leases::LeaseError;
use crate::pick::{Board, Candidate, Lease, Leases, Settle, Wish};
use crate::sampler::{Clock, SampleReceiver, channel};
use crate::source::{SourceError, SourceErrorKind, SourceHandle};

/// Arguments of `pick`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Memory that the job needs on each GPU: 20GiB, 20G (binary), 20GB (decimal)
    #[arg(long, value_name = "SIZE", value_parser = size())]
    need: Bytes,
    /// How many GPUs; with more than one no MIG instances, of which CUDA sees one alone
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u8).range(1..=64))]
    count: u8,
    /// Wait until there are that many; for so long at most, where a time is given
    #[arg(long, value_name = "DUR", num_args = 0..=1, require_equals = true, value_parser = duration())]
    #[expect(clippy::option_option, reason = "not given, given, and given with a time")]
    wait: Option<Option<Period>>,
    /// What a job takes beside what it asks for: the driver's context
    #[arg(long, value_name = "SIZE", default_value = "512MiB", value_parser = size())]
    margin: Bytes,
    /// Print the UUIDs without the name of the variable
    #[arg(long)]
    bare: bool,
    /// Run this command with the variable set, instead of printing it
    #[arg(last = true, value_name = "CMD")]
    command: Vec<OsString>,
}

/// The variable that CUDA reads.
const VARIABLE: &str = "CUDA_VISIBLE_DEVICES";
/// Names the folder of leases.
const LEASES: &str = "VRAMSCOPE_LEASES";
/// The time between two looks, and the longest wait for the next samples.
const TURN: Period = Period::millis(100);
/// Samples taken in one go.
const MOST: usize = 4_096;

fn size() -> impl TypedValueParser<Value = Bytes> {
    StringValueParser::new().try_map(|text| Bytes::parse(&text))
}

fn duration() -> impl TypedValueParser<Value = Period> {
    StringValueParser::new().try_map(|text| Period::parse(&text))
}

/// The devices, and what keeps others off them.
struct Picked {
    devices: Vec<Candidate>,
    leases: Vec<Lease>,
}

/// Picks, then prints or runs.
///
/// # Errors
/// No driver, or one that does not answer; a command that can't be run is told here and comes as its exit code.
pub fn run(args: &Args, context: &Context) -> anyhow::Result<Exit> {
    let (samples, received) = channel(open::queue(&context.settings));
    let handle = open::source(&context.settings, &context.env)?.start(samples);
    let picked = Picking::new(args, context, &handle).pick(&received);
    handle.stop.store(true, Ordering::Relaxed);
    drop(received);
    let Some(picked) = picked? else { return Ok(Exit::Incomplete) };
    if context.settings.source != SourceName::Nvml {
        print::note("simulated: no such GPU exists");
    }
    let uuids: Vec<&str> = picked.devices.iter().map(|one| &*one.id.0).collect();
    let uuids = uuids.join(",");
    if args.command.is_empty() {
        print::text(&if args.bare { format!("{uuids}\n") } else { format!("{VARIABLE}={uuids}\n") })?;
        return Ok(Exit::Success);
    }
    let ended = child::run(&args.command, (VARIABLE, &uuids));
    // Until here, and in those that the command left behind.
    drop(picked.leases);
    Ok(ended.unwrap_or_else(|(exit, error)| {
        print::error(&error);
        exit
    }))
}

/// Looks at the devices until some fit.
struct Picking<'a> {
    args: &'a Args,
    context: &'a Context,
    handle: &'a SourceHandle,
    wish: Wish,
    clock: Clock,
    monitor: Monitor,
    settle: Settle,
    leases: Option<Leases>,
    /// When any device could be chosen, for the last time.
    heard: Timestamp,
    is_waiting: bool,
}

impl<'a> Picking<'a> {
    fn new(args: &'a Args, context: &'a Context, handle: &'a SourceHandle) -> Self {
        let wish = Wish { need: args.need, margin: args.margin, count: usize::from(args.count) };
        let temporary = Path::new(context.env.get("TMPDIR").unwrap_or("/tmp"));
        let simulated = context.settings.source != SourceName::Nvml;
        let leases = match Leases::open(context.env.get(LEASES).map(Path::new), temporary, simulated) {
            Ok(leases) => Some(leases),
            Err(error) => {
                without_leases(&error);
                None
            }
        };
        Self {
            args,
            context,
            handle,
            wish,
            clock: Clock::start(),
            monitor: Monitor::new(),
            settle: Settle::default(),
            leases,
            heard: Timestamp::ZERO,
            is_waiting: false,
        }
    }

    /// The devices; none where not enough fit, which is told.
    fn pick(&mut self, samples: &SampleReceiver) -> anyhow::Result<Option<Picked>> {
        let timeout = self.context.settings.timeout;
        // A simulation first tells what happened before.
        let begin = (self.handle.now)();
        match self.handle.opened.recv_timeout(timeout.std()) {
            Ok(opened) => opened?,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                self.take(samples.queue.try_iter());
                let stall = self.monitor.snapshot().driver_stall;
                let why = stall.map_or("it did not open its devices".to_owned(), |(call, _)| format!("{call} has not returned"));
                return Err(once::not_answering(&why, timeout).into());
            }
        }
        self.heard = self.clock.now();
        let mut looked = Timestamp::ZERO;
        loop {
            match samples.queue.recv_timeout(TURN.std()) {
                Ok(first) => self.take(std::iter::once(first).chain(samples.queue.try_iter().take(MOST))),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => anyhow::bail!("the source of the figures has ended"),
            }
            let now = self.clock.now();
            if now.since(looked) < TURN {
                continue;
            }
            looked = now;
            let snapshot = self.monitor.snapshot();
            let board = Board::of(&snapshot, &self.settle);
            if board.candidates.is_empty() {
                let is_over = now.since(self.heard) >= timeout;
                let why: Vec<String> = board.silent.iter().map(|(gpu, why)| format!("GPU {gpu}: {why}")).collect();
                if is_over && (board.stalled || board.pending) {
                    return Err(once::not_answering(&why.join(", "), timeout).into());
                }
                if is_over || self.is_hopeless(&board) {
                    return Err(none_usable(&why.join(", ")).into());
                }
                continue;
            }
            self.heard = now;
            let is_early = snapshot.at < begin || board.pending;
            if is_early && now < Timestamp::ZERO + timeout {
                continue;
            }
            let mut taken = Vec::new();
            if let Some(picked) = self.choose(&board, &mut taken) {
                return Ok(Some(picked));
            }
            if self.is_over(now) {
                print::note(&board.miss(&self.wish, &taken));
                return Ok(None);
            }
            if !std::mem::replace(&mut self.is_waiting, true) {
                print::note(&format!("waiting: {}", board.miss(&self.wish, &taken)));
            }
        }
    }

    fn take(&mut self, samples: impl Iterator<Item = crate::domain::Sample>) {
        for sample in samples {
            self.settle.observe(&sample);
            self.monitor.ingest(&sample);
        }
    }

    /// Whether waiting for an answer is in vain: every device has said that it can't be used.
    fn is_hopeless(&self, board: &Board) -> bool {
        self.args.wait.is_none() && !board.pending && !board.stalled && !board.silent.is_empty()
    }

    /// Whether there is no more time to wait.
    fn is_over(&self, now: Timestamp) -> bool {
        match self.args.wait {
            None => true,
            Some(None) => false,
            Some(Some(longest)) => now >= Timestamp::ZERO + longest,
        }
    }

    /// Takes the best that nobody else has; none where these are not enough. `taken` gets those that others have.
    fn choose(&mut self, board: &Board, taken: &mut Vec<(Gpu, u32)>) -> Option<Picked> {
        let fitting: Vec<&Candidate> = board.fitting(&self.wish).collect();
        if fitting.len() < self.wish.count {
            return None;
        }
        if let Some(leases) = &self.leases {
            match lease(leases, &fitting, self.wish.count, !self.args.command.is_empty(), taken) {
                Ok(picked) => return picked,
                Err(error) => without_leases(&error),
            }
            self.leases = None;
        }
        let devices = fitting.into_iter().take(self.wish.count).cloned().collect();
        Some(Picked { devices, leases: Vec::new() })
    }
}

/// Leases the best devices that nobody has.
fn lease(
    leases: &Leases,
    fitting: &[&Candidate],
    count: usize,
    for_command: bool,
    taken: &mut Vec<(Gpu, u32)>,
) -> Result<Option<Picked>, LeaseError> {
    let turn = leases.turn()?;
    let mut picked = Picked { devices: Vec::new(), leases: Vec::new() };
    for one in fitting {
        if picked.devices.len() == count {
            break;
        }
        match turn.take(&one.id, one.holders.as_ref())? {
            Ok(lease) => {
                picked.devices.push((*one).clone());
                picked.leases.push(lease);
            }
            Err(pid) => taken.push((one.gpu, pid)),
        }
    }
    if picked.devices.len() < count {
        return Ok(None);
    }
    if for_command {
        picked.leases.iter().try_for_each(Lease::hand_down)?;
    } else {
        for (lease, one) in picked.leases.drain(..).zip(&picked.devices) {
            lease.leave(one.holders.as_ref())?;
        }
    }
    Ok(Some(picked))
}

/// The error where every device says that it can't be read.
fn none_usable(why: &str) -> SourceError {
    SourceError {
        kind: SourceErrorKind::Driver,
        what: "no GPU can be picked".to_owned(),
        why: if why.is_empty() { "the driver names none".to_owned() } else { why.to_owned() },
        fix: "`vramscope once` says more; `vramscope demo` works without a driver.".to_owned(),
    }
}

fn without_leases(error: &LeaseError) {
    print::note(&format!("leases are off, so that another pick may choose the same GPU: {error}"));
}
