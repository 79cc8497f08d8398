//! What is missing or does not work in a snapshot, and why: every N/A of a document has its reason here.

use crate::domain::{DeviceState, DeviceView, Gpu, MemoryKind, Missing, Reading, Snapshot, Timestamp};

/// One thing that does not work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where; none for the whole.
    pub gpu: Option<Gpu>,
    /// What does not work.
    pub what: String,
    /// Why.
    pub why: String,
    /// What to do; none where nothing can be done.
    pub fix: Option<String>,
}

/// What helps against processes that can't be seen.
const HOST_PIDS: &str = "in a container, run it with the host's process numbers (--pid=host)";

/// All of them: of the whole, then by device.
pub fn problems(snapshot: &Snapshot, now: Timestamp) -> Vec<Problem> {
    let mut out: Vec<Problem> = Vec::new();
    if let Some((call, since)) = snapshot.driver_stall {
        out.push(Problem { gpu: None, ..stall(Some(call), since, now) });
    }
    for problem in snapshot.problems.iter() {
        out.push(Problem {
            gpu: problem.gpu,
            what: problem.what.to_string(),
            why: problem.why.to_string(),
            fix: (!problem.fix.is_empty()).then(|| problem.fix.to_string()),
        });
    }
    if snapshot.dropped > 0 {
        out.push(Problem {
            gpu: None,
            what: format!("{} samples are lost", snapshot.dropped),
            why: "the machine was too busy to take them in time".to_owned(),
            fix: Some("a longer --interval".to_owned()),
        });
    }
    for view in &snapshot.devices {
        of_device(view, now, &mut out);
    }
    out
}

/// Those of one device; readings that miss for the same reason are named together.
fn of_device(view: &DeviceView, now: Timestamp, out: &mut Vec<Problem>) {
    let gpu = Some(view.gpu());
    if view.state == DeviceState::Stalled {
        out.push(Problem { gpu, ..stall(view.call, view.state_since, now) });
    }
    let unified = view.device.memory == MemoryKind::Unified;
    let readings: [(&str, Option<&Missing>); 5] = [
        ("memory", if unified && view.used().is_ok() { None } else { missing(&view.memory) }),
        ("process list", missing(&view.holders)),
        ("utilization", missing(&view.utilization)),
        ("temperature", missing(&view.temperature)),
        ("power", missing(&view.power)),
    ];
    let mut grouped: Vec<(Vec<&str>, &Missing)> = Vec::new();
    for (what, why) in readings {
        let Some(why) = why else { continue };
        match grouped.iter_mut().find(|(_, known)| *known == why) {
            Some((whats, _)) => whats.push(what),
            None => grouped.push((vec![what], why)),
        }
    }
    for (whats, why) in grouped {
        out.push(Problem { gpu, what: whats.join(", "), why: why.to_string(), fix: remedy(why).map(str::to_owned) });
    }
    let holders = || view.holders.iter().flat_map(|list| list.iter());
    let sizes: Vec<&Missing> = holders().filter_map(|holder| missing(&holder.holder.used)).collect();
    let facts: Vec<&Missing> =
        holders().filter_map(|holder| holder.process.as_ref().and_then(|process| missing(&process.command))).collect();
    for (subject, missing, help) in [("memory", sizes, None), ("command", facts, Some(HOST_PIDS))] {
        if let Some(why) = missing.first() {
            let what = format!("{subject} of {} of its processes", missing.len());
            out.push(Problem { gpu, what, why: why.to_string(), fix: help.or(remedy(why)).map(str::to_owned) });
        }
    }
}

fn missing<T>(reading: &Reading<T>) -> Option<&Missing> {
    reading.as_ref().err()
}

/// A call that does not return.
fn stall(call: Option<&str>, since: Timestamp, now: Timestamp) -> Problem {
    Problem {
        gpu: None,
        what: "driver not answering".to_owned(),
        why: format!("{} has not returned for {}", call.unwrap_or("a call"), now.since(since)),
        fix: Some("look for NVRM and Xid in the kernel log (dmesg); a reset or a reboot may be needed".to_owned()),
    }
}

/// What helps against a missing reading.
fn remedy(why: &Missing) -> Option<&'static str> {
    match why {
        Missing::Denied(_) => Some("run as a user who may see it, or as root"),
        Missing::Lost(_) => Some("look for Xid in the kernel log (dmesg); reset the card or reboot"),
        Missing::Pending => Some("a longer --timeout"),
        Missing::Unsupported(_) | Missing::Failed(_) => None,
    }
}
