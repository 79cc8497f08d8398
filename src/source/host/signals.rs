//! Signals through pidfds: a pidfd means one process for good, also after its pid was given to another.

use std::io;
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::process::{PidfdFlags, getpid, pidfd_open, pidfd_send_signal};

use super::procfs;
use super::root::Root;
use crate::domain::signal::{Refusal, Sent, Signal, Signaller};
use crate::domain::{Pid, ProcessKey};

/// Holds pidfds of the processes that the user is about to signal.
#[derive(Debug, Default)]
pub struct Pidfds {
    held: Vec<Result<OwnedFd, Refusal>>,
}

impl Signaller for Pidfds {
    fn hold(&mut self, targets: &[ProcessKey]) -> Vec<Result<(), Refusal>> {
        self.held = targets.iter().map(|target| open(*target)).collect();
        self.held.iter().map(|held| held.as_ref().map(|_| ()).map_err(Clone::clone)).collect()
    }

    fn signal(&mut self, signal: Signal) -> Vec<Result<Sent, Refusal>> {
        let send = |held: &Result<OwnedFd, Refusal>| {
            let pidfd = held.as_ref().map_err(Clone::clone)?;
            pidfd_send_signal(pidfd, number(signal)).map(|()| Sent::Delivered).map_err(refused)
        };
        let answers = self.held.iter().map(send).collect();
        tracing::info!(%signal, ?answers, "signalled");
        answers
    }
}

/// A pidfd of exactly this process. Its start is compared after the pidfd is there: from then on the pid, if it still has that
/// start, and the pidfd mean the same process, and what happens to the pid later does not matter.
fn open(target: ProcessKey) -> Result<OwnedFd, Refusal> {
    let Pid(pid) = target.pid;
    let start = target.start.ok_or(Refusal::Unknown)?;
    let raw = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw).ok_or(Refusal::Unknown)?;
    if pid == 1 {
        return Err(Refusal::Init);
    }
    if raw == getpid() {
        return Err(Refusal::Itself);
    }
    let pidfd = pidfd_open(raw, PidfdFlags::empty()).map_err(|error| match error {
        // A filter such as that of an old container runtime says EPERM for calls it does not know; the call itself never does.
        Errno::NOSYS | Errno::PERM => Refusal::NoPidfd,
        error => refused(error),
    })?;
    match procfs::stat(&Root::default(), pid) {
        None => Err(Refusal::Ended),
        Some(stat) if stat.start != start => Err(Refusal::Reused),
        Some(stat) if stat.kernel => Err(Refusal::Kernel),
        Some(_) => Ok(pidfd),
    }
}

fn refused(error: Errno) -> Refusal {
    match error {
        Errno::SRCH => Refusal::Ended,
        Errno::PERM => Refusal::Denied,
        Errno::NOSYS => Refusal::NoPidfd,
        error => Refusal::Failed(io::Error::from(error).to_string().into()),
    }
}

fn number(signal: Signal) -> rustix::process::Signal {
    use rustix::process::Signal as System;
    match signal {
        Signal::Term => System::TERM,
        Signal::Int => System::INT,
        Signal::Kill => System::KILL,
        Signal::Usr1 => System::USR1,
        Signal::Stop => System::STOP,
        Signal::Cont => System::CONT,
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::{Child, Command};

    use super::*;

    /// A process that waits to be signalled, and its key.
    fn sleeper() -> (Child, ProcessKey) {
        let child = Command::new("sleep").arg("1000").spawn().expect("sleep is there");
        let target = key(child.id(), procfs::stat(&Root::default(), child.id()).map(|stat| stat.start));
        (child, target)
    }

    fn key(pid: u32, start: Option<u64>) -> ProcessKey {
        ProcessKey { pid: Pid(pid), start }
    }

    #[test]
    fn a_held_process_gets_the_signal() {
        let (mut child, target) = sleeper();
        let mut pidfds = Pidfds::default();
        assert_eq!(pidfds.hold(&[target]), [Ok(())]);
        assert_eq!(pidfds.signal(Signal::Term), [Ok(Sent::Delivered)]);
        assert_eq!(child.wait().expect("it ends").signal(), Some(15));
        assert_eq!(pidfds.signal(Signal::Kill), [Err(Refusal::Ended)], "the pid may be anybody's now, the pidfd is not");
    }

    #[test]
    fn a_pid_that_means_another_process_is_refused() {
        let (mut child, target) = sleeper();
        let older = target.start.map(|start| start - 1);
        let mut pidfds = Pidfds::default();
        assert_eq!(pidfds.hold(&[key(child.id(), older), target]), [Err(Refusal::Reused), Ok(())]);
        assert_eq!(pidfds.signal(Signal::Kill), [Err(Refusal::Reused), Ok(Sent::Delivered)]);
        child.wait().expect("it ends");
        assert_eq!(pidfds.hold(&[target]), [Err(Refusal::Ended)]);
        assert_eq!(pidfds.hold(&[]), []);
        assert_eq!(pidfds.signal(Signal::Kill), [], "what was let go is not hit");
    }

    #[test]
    fn what_must_not_be_signalled_is_not_even_held() {
        let me = std::process::id();
        let start = |pid| procfs::stat(&Root::default(), pid).map(|stat| stat.start);
        for (target, refusal) in [
            (key(1, start(1)), Refusal::Init),
            (key(me, start(me)), Refusal::Itself),
            (key(me, None), Refusal::Unknown),
            (key(0, Some(1)), Refusal::Unknown),
            (key(u32::MAX, Some(1)), Refusal::Unknown),
        ] {
            assert_eq!(Pidfds::default().hold(&[target]), [Err(refusal)], "{target:?}");
        }
    }
}
