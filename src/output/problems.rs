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
    /// The reading's own reason, where a reading is missing: `why` is its text.
    pub missing: Option<Missing>,
    /// What to do; none where nothing can be done.
    pub fix: Option<String>,
}

/// What helps against processes that can't be seen.
const HOST_PIDS: &str = "in a container, run it with the host's process numbers (--pid=host)";

/// All of them: of the whole, then by device.
pub fn problems(snapshot: &Snapshot, now: Timestamp) -> Vec<Problem> {
    let mut out: Vec<Problem> = Vec::new();
    if let Some(header) = snapshot.header.as_deref() {
        for (what, version) in [("driver version", &header.driver), ("CUDA version", &header.cuda)] {
            // Not read yet: what keeps the driver from answering is told below.
            out.extend(
                missing(version).filter(|why| **why != Missing::Pending).map(|why| of_reading(None, what.to_owned(), why)),
            );
        }
    }
    if let Some((call, since)) = snapshot.driver_stall {
        out.push(Problem { gpu: None, ..stall(Some(call), since, now) });
    }
    for problem in snapshot.problems.iter() {
        out.push(Problem {
            gpu: problem.gpu,
            what: problem.what.to_string(),
            why: problem.why.to_string(),
            missing: None,
            fix: (!problem.fix.is_empty()).then(|| problem.fix.to_string()),
        });
    }
    if snapshot.dropped > 0 {
        out.push(Problem {
            gpu: None,
            what: format!("{} samples are lost", snapshot.dropped),
            why: "the machine was too busy to take them in time".to_owned(),
            missing: None,
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
    // The driver may keep quiet about memory that it shares with the system; what its processes hold is known all the same.
    let memory = if unified && view.used().is_ok() { "total, free, reserved" } else { "memory" };
    let readings: [(&str, Option<&Missing>); 7] = [
        ("name", missing(&view.device.name)),
        ("PCI address", missing(&view.device.pci)),
        (memory, missing(&view.memory)),
        ("process list", missing(&view.holders)),
        ("utilization", missing(&view.utilization)),
        ("temperature", missing(&view.temperature)),
        ("power", missing(&view.power)),
    ];
    let mut grouped: Vec<(Vec<&str>, &Missing)> = Vec::new();
    for (what, why) in readings {
        let Some(why) = why else { continue };
        // A card that is lost has been asked for nothing else.
        if view.state == DeviceState::Lost && *why == Missing::Pending {
            continue;
        }
        match grouped.iter_mut().find(|(_, known)| *known == why) {
            Some((whats, _)) => whats.push(what),
            None => grouped.push((vec![what], why)),
        }
    }
    for (whats, why) in grouped {
        out.push(of_reading(gpu, whats.join(", "), why));
    }
    if view.memory.as_ref().is_ok_and(|figures| figures.reserved.is_none()) {
        let why = Missing::Unsupported("the driver does not tell it apart, used includes it".into());
        out.push(of_reading(gpu, "reserved".to_owned(), &why));
    }
    let unseen = Missing::Unsupported("not visible from here".into());
    let holders = || view.holders.iter().flat_map(|list| list.iter());
    let sizes: Vec<&Missing> = holders().filter_map(|holder| missing(&holder.holder.used)).collect();
    let facts: Vec<&Missing> = holders()
        .filter_map(|holder| holder.process.as_ref().map_or(Some(&unseen), |process| missing(&process.command)))
        .collect();
    for (subject, missing, help) in [("memory", sizes, None), ("command", facts, Some(HOST_PIDS))] {
        if let Some(why) = missing.first() {
            let what = format!("{subject} of {} of its processes", missing.len());
            let problem = of_reading(gpu, what, why);
            out.push(Problem { fix: help.map(str::to_owned).or(problem.fix), ..problem });
        }
    }
}

/// A reading that is missing.
fn of_reading(gpu: Option<Gpu>, what: String, why: &Missing) -> Problem {
    Problem { gpu, what, why: why.to_string(), missing: Some(why.clone()), fix: remedy(why).map(str::to_owned) }
}

impl Problem {
    /// What and why as a line for people: a missing reading is called what stands in its place.
    pub fn line(&self) -> String {
        let Self { what, why, .. } = self;
        let fix = self.fix.as_ref().map_or_else(String::new, |fix| format!(" ({fix})"));
        match &self.missing {
            Some(
                missing @ (Missing::Unsupported(reason)
                | Missing::Denied(reason)
                | Missing::Lost(reason)
                | Missing::Failed(reason)),
            ) => format!("{what} {}: {reason}{fix}", missing.word()),
            Some(Missing::Pending) | None => format!("{what}: {why}{fix}"),
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
        missing: None,
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
