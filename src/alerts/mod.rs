//! Layer 5: runs the user's command when a device or job is at risk.
//!
//! The command is a text of the user's own, run through `sh -c`; the facts reach it in environment variables alone and
//! are never put into its text, since names of processes come from others.

use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use std::os::unix::process::CommandExt;

use crate::domain::{Alerter, Device, Gpu, Header, Risk, Said, Sample, SampleBody};
use crate::pipeline::Sink;

/// Commands that may run at the same time; a further alert is logged and its command left out.
const RUNNING: usize = 4;

/// How long a command may run before it is killed.
const PATIENCE: Duration = Duration::from_mins(1);

/// How often a running command is looked at.
const LOOK: Duration = Duration::from_millis(50);

/// A sink that runs a command at alerts.
pub struct AlertCommand {
    command: Arc<str>,
    alerter: Alerter,
    header: Option<Arc<Header>>,
    devices: Vec<Arc<Device>>,
    running: Arc<AtomicUsize>,
}

impl AlertCommand {
    /// Runs `command` for what the alerter takes.
    pub fn new(command: Arc<str>, alerter: Alerter) -> Self {
        Self { command, alerter, header: None, devices: Vec::new(), running: Arc::default() }
    }

    fn device(&self, gpu: Gpu) -> Option<&Arc<Device>> {
        self.devices.iter().find(|device| device.gpu == gpu)
    }

    fn run(&self, risk: &Risk) {
        let facts = facts(risk, self.device(risk.gpu).map(|device| &**device), self.header.as_deref());
        if self.running.fetch_add(1, Ordering::AcqRel) >= RUNNING {
            self.running.fetch_sub(1, Ordering::AcqRel);
            tracing::warn!(gpu = risk.gpu.0, level = %risk.level, "alert: {RUNNING} commands still run, this one was left out");
            return;
        }
        tracing::info!(gpu = risk.gpu.0, level = %risk.level, reason = &*risk.reason, "alert: running the command");
        let (command, running) = (Arc::clone(&self.command), Arc::clone(&self.running));
        let started = thread::Builder::new().name("alert".to_owned()).spawn(move || {
            execute(&command, facts);
            running.fetch_sub(1, Ordering::AcqRel);
        });
        if let Err(error) = started {
            self.running.fetch_sub(1, Ordering::AcqRel);
            tracing::error!("alert: no thread can be started: {error}");
        }
    }
}

impl Sink for AlertCommand {
    fn push(&mut self, sample: &Sample) {
        match &sample.body {
            SampleBody::Header(header) => self.header = Some(Arc::clone(header)),
            SampleBody::Device(device) => {
                self.devices.retain(|known| known.gpu != device.gpu);
                self.devices.push(Arc::clone(device));
            }
            _ => {}
        }
    }

    fn said(&mut self, said: &Said) {
        if let Said::Risk(risk) = said
            && self.alerter.takes(risk)
        {
            self.run(risk);
        }
    }

    fn finish(self: Box<Self>) {}
}

/// The facts that a command gets, by variable. What is not known is not set.
fn facts(risk: &Risk, device: Option<&Device>, header: Option<&Header>) -> Vec<(&'static str, String)> {
    let bytes = |value: crate::domain::Bytes| value.0.to_string();
    let seconds = |span: crate::domain::Period| format!("{:.1}", span.as_secs_f64());
    let full_in = risk.full_in.as_ref();
    let known = [
        ("VRAMSCOPE_RISK_LEVEL", Some(risk.level.to_string())),
        ("VRAMSCOPE_RISK_GPU", Some(risk.gpu.to_string())),
        ("VRAMSCOPE_RISK_UUID", device.map(|device| device.id.to_string())),
        ("VRAMSCOPE_RISK_NAME", device.and_then(|device| device.name.as_ref().ok()).map(ToString::to_string)),
        ("VRAMSCOPE_RISK_REASON", Some(risk.reason.to_string())),
        ("VRAMSCOPE_RISK_HEADROOM", risk.headroom.map(bytes)),
        ("VRAMSCOPE_RISK_REQUEST", risk.request.map(bytes)),
        ("VRAMSCOPE_RISK_FULL_IN_LO", full_in.map(|full_in| seconds(full_in.lo))),
        ("VRAMSCOPE_RISK_FULL_IN_MID", full_in.map(|full_in| seconds(full_in.mid))),
        ("VRAMSCOPE_RISK_FULL_IN_HI", full_in.map(|full_in| seconds(full_in.hi))),
        ("VRAMSCOPE_RISK_JOB", risk.job.map(|pid| pid.to_string())),
        ("VRAMSCOPE_RISK_HOST", header.and_then(|header| header.host.as_ref()).map(ToString::to_string)),
        ("VRAMSCOPE_RISK_SIMULATED", header.map(|header| header.simulated.to_string())),
    ];
    known.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

/// Runs a command to its end, in a process group of its own: Ctrl-C in the terminal is not meant for it, and its output
/// not for the screen.
fn execute(command: &str, facts: Vec<(&'static str, String)>) {
    let child = Command::new("sh")
        .args(["-c", command])
        .envs(facts)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn();
    let mut child = match child {
        Ok(child) => child,
        Err(error) => return tracing::error!("alert: sh can't be run: {error}"),
    };
    let mut waited = Duration::ZERO;
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return tracing::info!("alert: the command succeeded"),
            Ok(Some(status)) => return tracing::warn!("alert: the command failed: {status}"),
            Ok(None) if waited < PATIENCE => {
                thread::sleep(LOOK);
                waited += LOOK;
            }
            Ok(None) => break,
            Err(error) => return tracing::error!("alert: the command can't be waited for: {error}"),
        }
    }
    tracing::warn!("alert: the command ran for {} s and was killed", PATIENCE.as_secs());
    if let Some(group) = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw) {
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    let _ = child.wait();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Bytes, FullIn, Period, RiskLevel, Timestamp};

    fn risk(s: u64, reason: &str) -> Arc<Risk> {
        Arc::new(Risk {
            t: Timestamp::secs(s),
            gpu: Gpu(1),
            level: RiskLevel::High,
            full_in: Some(FullIn { lo: Period::secs(60), mid: Period::secs(85), hi: Period::secs(120) }),
            job: None,
            headroom: Some(Bytes::mib(3)),
            request: None,
            reason: reason.into(),
        })
    }

    #[test]
    fn a_hostile_reason_reaches_the_command_as_a_value_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let (out, trap) = (folder.path().join("out"), folder.path().join("trap"));
        let reason = format!("x'; touch {}; echo \"$(touch {})", trap.display(), trap.display());
        let facts = facts(&risk(1, &reason), None, None);
        assert!(facts.iter().all(|(name, _)| *name != "VRAMSCOPE_RISK_REQUEST"), "what is not known is not set");
        execute(
            &format!(
                "printf '%s %s %s' \"$VRAMSCOPE_RISK_GPU\" \"$VRAMSCOPE_RISK_FULL_IN_MID\" \"$VRAMSCOPE_RISK_REASON\" > {}",
                out.display()
            ),
            facts,
        );
        assert_eq!(std::fs::read_to_string(out).expect("the command ran"), format!("1 85.0 {reason}"));
        assert!(!trap.exists());
    }

    #[test]
    fn an_episode_runs_the_command_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let out = folder.path().join("out");
        let command = format!("echo \"$VRAMSCOPE_RISK_LEVEL\" >> {}", out.display());
        let mut sink = AlertCommand::new(command.into(), Alerter::new(RiskLevel::High, Period::secs(60)));
        for s in 1..50 {
            sink.said(&Said::Risk(risk(s, "grows")));
        }
        while sink.running.load(Ordering::Acquire) > 0 {
            thread::yield_now();
        }
        assert_eq!(std::fs::read_to_string(out).expect("the command ran"), "high\n");
    }

    #[test]
    fn commands_that_hang_do_not_pile_up() {
        let mut sink = AlertCommand::new("sleep 30".into(), Alerter::new(RiskLevel::High, Period::ZERO));
        sink.running.store(RUNNING, Ordering::Release);
        sink.said(&Said::Risk(risk(1, "grows")));
        assert_eq!(sink.running.load(Ordering::Acquire), RUNNING);
    }
}
