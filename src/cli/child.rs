//! Running a command as if it had been started directly: its own status, the signals that come for it, nothing else.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus};
use std::thread;

use anyhow::Context as _;
use rustix::process::{Pid, PidfdFlags, Signal, getpgrp, pidfd_open, pidfd_send_signal};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, oneshot};

use super::Exit;

/// vramscope itself failed.
const FAILED: u8 = 125;
/// The command is there, but can't be run.
const NOT_EXECUTABLE: u8 = 126;
/// There is no such command.
const NOT_FOUND: u8 = 127;

/// Signals that are meant for the command.
const FORWARDED: [Signal; 6] = [Signal::TERM, Signal::HUP, Signal::INT, Signal::QUIT, Signal::USR1, Signal::USR2];

/// Runs a command with one more variable and gives its status; 128 + n where signal n ended it.
///
/// # Errors
/// What keeps it from being run comes with the exit code for it.
pub fn run(command: &[OsString], variable: (&str, &str)) -> Result<Exit, (Exit, anyhow::Error)> {
    let failed = |error: anyhow::Error| (Exit::Status(FAILED), error);
    let Some((program, arguments)) = command.split_first() else {
        return Err(failed(anyhow::anyhow!("there is no command to run")));
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|error| failed(error.into()))?;
    runtime.block_on(async {
        // Caught before there is a command, so that none that is meant for it ends this process alone.
        let (caught, mut signals) = mpsc::unbounded_channel();
        for number in FORWARDED {
            let mut stream = signal(SignalKind::from_raw(number.as_raw())).map_err(|error| failed(error.into()))?;
            let caught = caught.clone();
            tokio::spawn(async move { while stream.recv().await.is_some() && caught.send(number).is_ok() {} });
        }
        let mut child = Command::new(program).args(arguments).env(variable.0, variable.1).spawn().map_err(|error| {
            let code = match error.kind() {
                io::ErrorKind::NotFound => NOT_FOUND,
                io::ErrorKind::PermissionDenied | io::ErrorKind::ExecutableFileBusy => NOT_EXECUTABLE,
                _ if error.raw_os_error() == Some(rustix::io::Errno::NOEXEC.raw_os_error()) => NOT_EXECUTABLE,
                _ => FAILED,
            };
            let name = crate::domain::text::clean(&program.to_string_lossy(), 200);
            (Exit::Status(code), anyhow::Error::new(error).context(name))
        })?;
        // Before it is waited for: its pid is its own until then.
        let pidfd =
            i32::try_from(child.id()).ok().and_then(Pid::from_raw).and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
        let (tell, mut ended) = oneshot::channel();
        thread::Builder::new()
            .name("waiting".to_owned())
            .spawn(move || {
                // This process waits as long as the command lives.
                let _ = tell.send(child.wait());
            })
            .context("no thread can be started")
            .map_err(failed)?;
        loop {
            tokio::select! {
                status = &mut ended => {
                    let status = status.context("the command was lost").and_then(|status| Ok(status?)).map_err(failed)?;
                    return Ok(Exit::Status(code(status)));
                }
                Some(number) = signals.recv() => forward(pidfd.as_ref(), number),
            }
        }
    })
}

/// Passes a signal on, unless the terminal has sent it to the command already.
fn forward(pidfd: Option<&OwnedFd>, number: Signal) {
    let from_keyboard = number == Signal::INT || number == Signal::QUIT;
    if from_keyboard && is_foreground() {
        return;
    }
    if let Some(pidfd) = pidfd {
        // It may have ended in this moment.
        let _ = pidfd_send_signal(pidfd, number);
    }
}

/// Whether the keys of the terminal go to this process and to the command alike.
fn is_foreground() -> bool {
    std::fs::File::open("/dev/tty").is_ok_and(|tty| rustix::termios::tcgetpgrp(&tty).is_ok_and(|group| group == getpgrp()))
}

/// A status as shells tell it.
fn code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|number| 128 + number));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(FAILED)
}
