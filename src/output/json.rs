//! `once --json`: one snapshot as DESIGN.md section 7 lays it down. Unknown is null, never zero; an unreadable list is null, an
//! empty one is empty.

use serde::Serialize;

use super::anatomy::AnatomyEntry;
use super::figures::Figures;
use super::problems::problems;
use crate::domain::{Bytes, DeviceView, Gpu, HolderView, JobView, Period, Reading, Risk, Snapshot, Timestamp, UserTotal};
use crate::timeline::format;

/// The version of this format. It rises only when an old reader would be wrong.
const VERSION: u32 = 1;

#[derive(Serialize)]
struct Document<F> {
    version: u32,
    simulated: bool,
    time: Option<String>,
    source: Option<String>,
    host: Option<String>,
    driver: Option<String>,
    cuda: Option<String>,
    devices: Vec<DeviceEntry>,
    findings: Vec<F>,
    jobs: Vec<JobEntry>,
    users: Vec<UserEntry>,
    host_memory: Option<HostEntry>,
    problems: Vec<ProblemEntry>,
}

#[derive(Serialize)]
struct DeviceEntry {
    gpu: u32,
    uuid: String,
    parent: Option<String>,
    name: Option<String>,
    pci: Option<String>,
    memory: String,
    total: Option<Bytes>,
    used: Option<Bytes>,
    free: Option<Bytes>,
    reserved: Option<Bytes>,
    used_includes_reserved: Option<bool>,
    headroom: Option<Bytes>,
    unattributed: Option<Bytes>,
    excess: Option<Bytes>,
    unexplained: Option<Bytes>,
    peak_used: Option<Bytes>,
    utilization: Option<f32>,
    temperature: Option<f32>,
    power: Option<f32>,
    age_s: Option<f64>,
    holders_age_s: Option<f64>,
    state: String,
    risk: Option<RiskEntry>,
    holders: Option<Vec<HolderEntry>>,
}

#[derive(Serialize)]
struct HolderEntry {
    pid: u32,
    start: Option<u64>,
    started: Option<String>,
    user: Option<String>,
    relation: String,
    kind: String,
    used: Option<Bytes>,
    peak_used: Option<Bytes>,
    peak_accounted: Option<Bytes>,
    command: Option<String>,
    container: Option<String>,
    instance: Option<String>,
    anatomy: Option<AnatomyEntry>,
}

/// A launcher with its workers, on all cards.
#[derive(Serialize)]
struct JobEntry {
    pid: u32,
    start: Option<u64>,
    launcher: String,
    command: Option<String>,
    user: Option<String>,
    relation: String,
    used: Option<Bytes>,
    on: Vec<ShareEntry>,
    tightest: Option<TightestEntry>,
    processes: Vec<u32>,
}

#[derive(Serialize)]
struct ShareEntry {
    gpu: u32,
    used: Option<Bytes>,
}

#[derive(Serialize)]
struct TightestEntry {
    gpu: u32,
    headroom: Bytes,
}

/// What one user holds on all cards; `partial` where the size of some process is missing.
#[derive(Serialize)]
struct UserEntry {
    user: Option<String>,
    relation: String,
    used: Bytes,
    partial: bool,
    processes: usize,
}

#[derive(Serialize)]
struct RiskEntry {
    level: String,
    full_in: Option<FullInEntry>,
    reason: String,
}

/// Seconds until a request fails.
#[derive(Serialize)]
struct FullInEntry {
    lo: f64,
    mid: f64,
    hi: f64,
}

#[derive(Serialize)]
struct HostEntry {
    total: Bytes,
    available: Bytes,
    swap_used: Bytes,
    swap_total: Bytes,
}

#[derive(Serialize)]
struct ProblemEntry {
    gpu: Option<u32>,
    what: String,
    why: String,
    r#do: Option<String>,
}

/// The document, indented, with a newline at its end. `now` is the stream's clock at this moment.
pub fn document(snapshot: &Snapshot, now: Timestamp) -> String {
    let header = snapshot.header.as_deref();
    let document = Document {
        version: VERSION,
        simulated: snapshot.simulated(),
        time: header.and_then(|header| header.created.after(now).rfc3339()),
        source: header.map(|header| header.source.to_string()),
        host: header.and_then(|header| header.host.as_ref()).map(ToString::to_string),
        driver: header.and_then(|header| known(&header.driver)),
        cuda: header.and_then(|header| known(&header.cuda)),
        devices: snapshot.devices.iter().map(|view| device(snapshot, view, now)).collect(),
        findings: snapshot.findings.iter().map(|finding| format::finding(finding)).collect(),
        jobs: snapshot.jobs().iter().map(job).collect(),
        users: snapshot.users().into_iter().map(user).collect(),
        host_memory: snapshot.host.map(|host| HostEntry {
            total: host.total,
            available: host.available,
            swap_used: host.swap_used,
            swap_total: host.swap_total,
        }),
        problems: problems(snapshot, now)
            .into_iter()
            .map(|problem| ProblemEntry {
                gpu: problem.gpu.map(|gpu| gpu.0),
                what: problem.what,
                why: problem.why,
                r#do: problem.fix,
            })
            .collect(),
    };
    let mut text = serde_json::to_string_pretty(&document).expect("strings, numbers and lists alone: nothing here can fail");
    text.push('\n');
    text
}

fn device(snapshot: &Snapshot, view: &DeviceView, now: Timestamp) -> DeviceEntry {
    let figures = Figures::of(view);
    let static_facts = &view.device;
    DeviceEntry {
        gpu: view.gpu().0,
        uuid: static_facts.id.to_string(),
        parent: static_facts.parent.as_ref().map(ToString::to_string),
        name: known(&static_facts.name),
        pci: known(&static_facts.pci),
        memory: static_facts.memory.to_string(),
        total: figures.total,
        used: figures.used,
        free: figures.free,
        reserved: figures.reserved,
        used_includes_reserved: figures.used_includes_reserved,
        headroom: figures.headroom,
        unattributed: figures.unattributed,
        excess: figures.excess,
        unexplained: figures.unexplained,
        peak_used: view.peak.map(|(_, peak)| peak),
        utilization: number(&view.utilization),
        temperature: number(&view.temperature),
        power: number(&view.power),
        age_s: figures.at.or(view.last_memory.map(|(t, _)| t)).map(|t| seconds(now.since(t))),
        holders_age_s: view.holders_at.map(|t| seconds(now.since(t))),
        state: view.state.to_string(),
        risk: view.risk.as_deref().map(risk),
        holders: view.holders.as_ref().ok().map(|list| list.iter().map(|h| holder(snapshot, h)).collect()),
    }
}

fn risk(risk: &Risk) -> RiskEntry {
    let full_in =
        risk.full_in.map(|full_in| FullInEntry { lo: seconds(full_in.lo), mid: seconds(full_in.mid), hi: seconds(full_in.hi) });
    RiskEntry { level: risk.level.to_string(), full_in, reason: risk.reason.to_string() }
}

fn holder(snapshot: &Snapshot, view: &HolderView) -> HolderEntry {
    let process = view.process.as_deref();
    HolderEntry {
        pid: view.pid().0,
        start: view.key.start,
        started: process.and_then(|process| process.started.as_ref().ok()).and_then(|wall| wall.rfc3339()),
        user: process.and_then(|process| known(&process.user)),
        relation: view.relation().to_string(),
        kind: view.kind().to_string(),
        used: view.used(),
        peak_used: view.peak.map(|(_, peak)| peak),
        peak_accounted: view.usage.as_ref().and_then(|usage| usage.accounted.as_ref().ok()).copied(),
        command: process.and_then(|process| known(&process.command)),
        container: process.and_then(|process| process.container.as_ref()).map(ToString::to_string),
        instance: view.holder.instance.and_then(|gpu| uuid(snapshot, gpu)),
        anatomy: view.anatomy.map(AnatomyEntry::from),
    }
}

fn job(view: &JobView) -> JobEntry {
    let mut processes: Vec<u32> = view.members.iter().map(|(_, holder)| holder.pid().0).collect();
    processes.sort_unstable();
    processes.dedup();
    JobEntry {
        pid: view.job.leader.pid.0,
        start: view.job.leader.start,
        launcher: view.job.launcher.to_string(),
        command: known(&view.job.command),
        user: view.user.as_ref().map(ToString::to_string),
        relation: view.relation.to_string(),
        used: view.used(),
        on: view.on.iter().map(|(gpu, used)| ShareEntry { gpu: gpu.0, used: *used }).collect(),
        tightest: view.tightest.map(|(gpu, headroom)| TightestEntry { gpu: gpu.0, headroom }),
        processes,
    }
}

fn user(total: UserTotal) -> UserEntry {
    UserEntry {
        user: total.user.map(|user| user.to_string()),
        relation: total.relation.to_string(),
        used: total.used,
        partial: total.partial,
        processes: total.processes,
    }
}

fn uuid(snapshot: &Snapshot, gpu: Gpu) -> Option<String> {
    snapshot.device(gpu).map(|view| view.device.id.to_string())
}

fn known<T: ToString>(reading: &Reading<T>) -> Option<String> {
    reading.as_ref().ok().map(ToString::to_string)
}

fn number(reading: &Reading<f32>) -> Option<f32> {
    reading.as_ref().ok().copied().filter(|value| value.is_finite())
}

fn seconds(period: Period) -> f64 {
    period.as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::fixture;

    #[test]
    fn what_is_unknown_is_null_and_an_unreadable_list_too() {
        insta::assert_snapshot!("document", document(&fixture::snapshot(), fixture::NOW));
    }

    #[test]
    fn before_anything_is_known_the_document_stands() {
        let text = document(&Snapshot::default(), Timestamp::ZERO);
        let value: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        assert!(value["time"].is_null() && value["devices"].as_array().is_some_and(Vec::is_empty), "{text}");
    }
}
