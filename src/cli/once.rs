//! `once`: one complete snapshot as a table or JSON.

use std::sync::atomic::Ordering;
use std::sync::mpsc::RecvTimeoutError;

use super::{Context, Exit, open, print};
use crate::config::terminal::is_utf8;
use crate::domain::{DeviceState, DeviceView, Missing, Monitor, Period, Snapshot, Timestamp};
use crate::output::{json, table};
use crate::pipeline::collect;
use crate::sampler::clock::Clock;
use crate::sampler::{SampleReceiver, channel};
use crate::source::{SourceError, SourceErrorKind, SourceHandle};

/// Arguments of `once`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
}

/// How long readings that not every device has (load, host memory) may hold the output up.
const EXTRAS: Period = Period::millis(300);

/// Samples taken in one go.
const MOST: usize = 65_536;

/// Prints one snapshot.
///
/// # Errors
/// No driver, or one that does not answer within `--timeout`; what was read until then is printed.
pub fn run(args: &Args, context: &Context) -> anyhow::Result<Exit> {
    print(context, args.json)
}

/// The table, for a dashboard that has no terminal.
///
/// # Errors
/// As [`run`].
pub fn print_table(context: &Context) -> anyhow::Result<Exit> {
    print(context, false)
}

fn print(context: &Context, as_json: bool) -> anyhow::Result<Exit> {
    let (samples, received) = channel(open::queue(&context.settings));
    let handle = open::source(&context.settings, &context.env)?.start(samples);
    let mut monitor = Monitor::new();
    let outcome = read(&handle, &received, &mut monitor, context.settings.timeout);
    handle.stop.store(true, Ordering::Relaxed);
    let snapshot = monitor.snapshot();
    if outcome.is_ok() || snapshot.devices.iter().any(|view| view.last_memory.is_some() || view.holders_at.is_some()) {
        let now = (handle.now)().max(snapshot.at);
        print::text(&if as_json { json::document(&snapshot, now) } else { table::table(&snapshot, now, look(context)) })?;
    }
    outcome?;
    Ok(Exit::Success)
}

/// Folds samples until every device is complete.
fn read(handle: &SourceHandle, samples: &SampleReceiver, monitor: &mut Monitor, timeout: Period) -> Result<(), SourceError> {
    let clock = Clock::start();
    // A simulation first tells what happened before the viewer came.
    let begin = (handle.now)();
    let left = || Period(timeout.0.saturating_sub(clock.now().0));
    match handle.opened.recv_timeout(timeout.std()) {
        Ok(result) => result?,
        Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
            fold_waiting(samples, monitor);
            let snapshot = monitor.snapshot();
            let why = snapshot
                .driver_stall
                .map_or("it did not open its devices".to_owned(), |(call, _)| format!("{call} has not returned"));
            return Err(not_answering(&why, timeout));
        }
    }
    // Every device is announced by now: one of which nothing else is known yet is waited for.
    fold_waiting(samples, monitor);
    let complete = |snapshot: &Snapshot| snapshot.at >= begin && snapshot.devices.iter().all(|view| waits_for(view).is_none());
    if !complete(&monitor.snapshot()) && !collect(samples, monitor, left(), complete) {
        let snapshot = monitor.snapshot();
        let waiting: Vec<String> = snapshot
            .devices
            .iter()
            .filter_map(|view| waits_for(view).map(|what| format!("GPU {}: {}", view.gpu(), unread(view, what))))
            .collect();
        return Err(not_answering(&waiting.join(", "), timeout));
    }
    let full = |snapshot: &Snapshot| snapshot.host.is_some() && snapshot.devices.iter().all(|view| has_load(view));
    if !full(&monitor.snapshot()) {
        collect(samples, monitor, left().min(EXTRAS), full);
    }
    match monitor.snapshot().devices.iter().find(|view| view.state == DeviceState::Stalled) {
        None => Ok(()),
        Some(view) => {
            let call = view.call.unwrap_or("a call of the driver");
            Err(not_answering(&format!("GPU {}: {call} has not returned", view.gpu()), timeout))
        }
    }
}

/// Folds what waits in the queue; not more than it holds, since a source may be faster than this.
fn fold_waiting(samples: &SampleReceiver, monitor: &mut Monitor) {
    for sample in samples.queue.try_iter().take(MOST) {
        monitor.ingest(&sample);
    }
}

/// What a device still lacks for a complete line.
fn waits_for(view: &DeviceView) -> Option<&'static str> {
    if view.state == DeviceState::Lost {
        return None;
    }
    let pending = Missing::Pending;
    if view.memory.as_ref().err() == Some(&pending) {
        return Some("its memory");
    }
    if view.holders.as_ref().err() == Some(&pending) {
        return Some("its process list");
    }
    let balanced = view.balance.is_some_and(|balance| view.holders_at.is_none_or(|list: Timestamp| list <= balance.t));
    // A list whose memory reading has not come yet; where memory can't be read there is nothing to wait for.
    (view.memory.is_ok() && view.holders.is_ok() && !balanced).then_some("its memory after the process list")
}

/// That something was not read, with the call that does not return where it is known.
fn unread(view: &DeviceView, what: &str) -> String {
    view.call.map_or_else(|| format!("{what} was not read"), |call| format!("{call} has not returned"))
}

fn has_load(view: &DeviceView) -> bool {
    [&view.utilization, &view.temperature, &view.power]
        .into_iter()
        .all(|reading| reading.as_ref().err() != Some(&Missing::Pending))
}

/// The error for a driver that leaves one waiting.
pub fn not_answering(why: &str, timeout: Period) -> SourceError {
    SourceError {
        kind: SourceErrorKind::Driver,
        what: "the NVIDIA driver does not answer".to_owned(),
        why: format!("{why} within {timeout} (--timeout)"),
        fix: "Look for NVRM and Xid in the kernel log (dmesg); a reset of the card or a reboot may be needed. \
              `vramscope demo` works without a driver."
            .to_owned(),
    }
}

fn look(context: &Context) -> table::Look {
    // What reads a pipe has no width, and may look for what would be cut.
    let width = print::columns();
    let settings = &context.settings;
    // A pipe has no locale of its own: what reads it takes UTF-8.
    let ascii = settings.ascii.unwrap_or(width.is_some() && !is_utf8(&context.env));
    table::Look { width, ascii, utc: settings.utc }
}
