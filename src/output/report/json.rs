//! `report --format json`, as DESIGN.md section 5 lays it down.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;

use super::super::anatomy::AnatomyEntry;
use super::{DeviceRow, HolderRow, Report};
use crate::domain::{Advice, Bytes, Finding};
use crate::timeline::format;

/// The version of this format. It rises only when an old reader would be wrong.
const VERSION: u32 = 1;

#[derive(Serialize)]
struct Document<'a, F, R> {
    version: u32,
    simulated: bool,
    devices: Vec<DeviceEntry<'a>>,
    holders: Vec<HolderEntry<'a>>,
    findings: Vec<F>,
    risk: Vec<R>,
    advice: Vec<AdviceEntry<'a>>,
    problems: Vec<ProblemEntry<'a>>,
}

#[derive(Serialize)]
struct DeviceEntry<'a> {
    gpu: u32,
    uuid: &'a str,
    parent: Option<&'a str>,
    name: Option<&'a str>,
    total: Option<Bytes>,
    shape: String,
    samples: u64,
    duration_s: Option<f64>,
    peak_used: Option<Bytes>,
    peak_t: Option<f64>,
    mean_used: Option<Bytes>,
    min_free: Option<Bytes>,
}

#[derive(Serialize)]
struct HolderEntry<'a> {
    pid: u32,
    start: Option<u64>,
    gpu: u32,
    user: Option<&'a str>,
    relation: String,
    command: Option<&'a str>,
    shape: String,
    peak_used: Option<Bytes>,
    first_t: f64,
    last_t: f64,
    grew: Option<i64>,
    anatomy: AnatomyEntry,
}

#[derive(Serialize)]
struct AdviceEntry<'a> {
    tip: &'a str,
    saves: Option<(Bytes, Bytes)>,
    why: &'a str,
    /// The number of the finding that it is for.
    finding: u32,
    gpu: u32,
    pid: Option<u32>,
}

#[derive(Serialize)]
struct ProblemEntry<'a> {
    line: Option<u64>,
    text: &'a str,
}

/// The document, indented, with a newline at its end.
pub fn document(report: &Report) -> String {
    let document = Document {
        version: VERSION,
        simulated: report.simulated,
        devices: report.devices.iter().map(device).collect(),
        holders: report.holders.iter().map(holder).collect(),
        findings: report.findings.iter().map(|finding| format::finding(finding)).collect(),
        risk: report.risks.iter().map(|risk| format::risk(risk)).collect(),
        advice: advice(&report.findings),
        problems: report.problems.iter().map(|problem| ProblemEntry { line: problem.line, text: &problem.text }).collect(),
    };
    let mut text = serde_json::to_string_pretty(&document).expect("strings, numbers and lists alone: nothing here can fail");
    text.push('\n');
    text
}

fn device(row: &DeviceRow) -> DeviceEntry<'_> {
    DeviceEntry {
        gpu: row.device.gpu.0,
        uuid: &row.device.id.0,
        parent: row.device.parent.as_ref().map(|parent| &*parent.0),
        name: row.device.name.as_deref().ok(),
        total: row.total,
        shape: row.shape.to_string(),
        samples: row.samples,
        duration_s: row.duration().map(crate::domain::Period::as_secs_f64),
        peak_used: row.peak.map(|(_, used)| used),
        peak_t: row.peak.map(|(t, _)| t.as_secs_f64()),
        mean_used: row.mean_used(),
        min_free: row.min_free,
    }
}

fn holder(row: &HolderRow) -> HolderEntry<'_> {
    let process = row.process.as_deref();
    HolderEntry {
        pid: row.pid().0,
        start: row.key.start,
        gpu: row.gpu.0,
        user: process.and_then(|process| process.user.as_deref().ok()),
        relation: row.relation().to_string(),
        command: process.and_then(|process| process.command.as_deref().ok()),
        shape: row.shape.to_string(),
        peak_used: row.peak,
        first_t: row.first.as_secs_f64(),
        last_t: row.last.as_secs_f64(),
        grew: row.grew(),
        anatomy: row.anatomy.into(),
    }
}

/// What to do, most bytes first: each tip once for a process, by the newest word on the finding that promises most.
fn advice(findings: &[Arc<Finding>]) -> Vec<AdviceEntry<'_>> {
    let newest: BTreeMap<u32, &Finding> = findings.iter().map(|finding| (finding.n, &**finding)).collect();
    let mut best: BTreeMap<(&str, u32, Option<u32>), (&Finding, &Advice)> = BTreeMap::new();
    for finding in newest.values() {
        for advice in finding.advice.iter() {
            let entry = best.entry((&advice.tip, finding.gpu.0, finding.pid.map(|pid| pid.0))).or_insert((finding, advice));
            if promise(advice) > promise(entry.1) {
                *entry = (finding, advice);
            }
        }
    }
    let mut list: Vec<(&Finding, &Advice)> = best.into_values().collect();
    list.sort_by_key(|(finding, advice)| (std::cmp::Reverse(promise(advice)), finding.n));
    list.into_iter()
        .map(|(finding, advice)| AdviceEntry {
            tip: &advice.tip,
            saves: advice.saves,
            why: &advice.why,
            finding: finding.n,
            gpu: finding.gpu.0,
            pid: finding.pid.map(|pid| pid.0),
        })
        .collect()
}

/// The bytes in the middle of what it should save.
fn promise(advice: &Advice) -> Option<u64> {
    advice.saves.map(|(from, to)| from.0 / 2 + to.0 / 2)
}
