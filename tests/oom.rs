//! Explained logs: the cases of `fixtures/oom` by the scoring rule of its README, and what people and programs get to see.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use vramscope::domain::oom::{Explanation, Scanner};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/oom")
}

fn cases() -> Vec<(String, Vec<u8>, Value)> {
    // A set of one's own of the same kind may be checked in its place.
    #[expect(clippy::disallowed_methods, reason = "a switch of this test, not a setting of the product")]
    let folder = std::env::var_os("VRAMSCOPE_OOM_CASES").map_or_else(fixtures, PathBuf::from);
    let mut cases: Vec<(String, Vec<u8>, Value)> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ext| ext == "log"))
        .map(|path| {
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            let wanted = fs::read_to_string(path.with_file_name(format!("{name}.expect.json"))).unwrap();
            (name, fs::read(&path).unwrap(), serde_json::from_str(&wanted).unwrap())
        })
        .collect();
    cases.sort_by(|a, b| a.0.cmp(&b.0));
    cases
}

fn explain(log: &[u8]) -> Explanation {
    let mut scanner = Scanner::new();
    scanner.push_bytes(log);
    scanner.finish().explain()
}

/// What differs from what is wanted, by the rule.
fn score(wanted: &Value, found: &Value) -> Vec<String> {
    let mut wrong = Vec::new();
    let accepted = |field: &str| wanted["accept"][field].as_array().cloned().unwrap_or_default();
    for field in ["kind", "framework", "device_index", "occurrences", "ranks", "primary_cause"] {
        if found[field] != wanted[field] && !accepted(field).contains(&found[field]) {
            wrong.push(format!("{field}: {} instead of {}", found[field], wanted[field]));
        }
    }
    for field in [
        "requested_bytes",
        "capacity_bytes",
        "free_bytes",
        "process_bytes",
        "allocated_bytes",
        "reserved_unallocated_bytes",
        "allowed_bytes",
    ] {
        let tolerance = wanted["tolerance_bytes"][field].as_u64().unwrap_or(0);
        let near = match (found[field].as_u64(), wanted[field].as_u64()) {
            (Some(a), Some(b)) => a.abs_diff(b) <= tolerance,
            _ => found[field] == wanted[field],
        };
        if !near && !accepted(field).contains(&found[field]) {
            wrong.push(format!("{field}: {} instead of {}", found[field], wanted[field]));
        }
    }
    let pids = |value: &Value| -> Vec<Value> {
        value["other_processes"].as_array().unwrap().iter().map(|other| other["pid"].clone()).collect()
    };
    if pids(found) != pids(wanted) {
        wrong.push(format!("other_processes: {} instead of {}", found["other_processes"], wanted["other_processes"]));
    }
    let tolerance = wanted["tolerance_bytes"]["other_processes"].as_u64().unwrap_or(0);
    for (a, b) in found["other_processes"].as_array().unwrap().iter().zip(wanted["other_processes"].as_array().unwrap()) {
        let near = match (a["bytes"].as_u64(), b["bytes"].as_u64()) {
            (Some(a), Some(b)) => a.abs_diff(b) <= tolerance,
            (a, b) => a == b,
        };
        if !near {
            wrong.push(format!("other_processes: {a} instead of {b}"));
        }
    }
    let tips = |value: &Value| -> Vec<String> {
        value.as_array().map(|tips| tips.iter().map(|tip| tip.as_str().unwrap().to_owned()).collect()).unwrap_or_default()
    };
    let (shown, best) = (tips(&found["tips"]), tips(&wanted["tips"]));
    let good: Vec<String> = best.iter().cloned().chain(tips(&wanted["accept"]["tips"])).collect();
    if best.is_empty() && !shown.is_empty() {
        wrong.push(format!("tips: {shown:?} where none is wanted"));
    }
    if let Some(first) = best.first()
        && !shown.iter().take(2).any(|tip| tip == first)
    {
        wrong.push(format!("tips: {first} is not among the first two of {shown:?}"));
    }
    for tip in shown.iter().take(best.len()) {
        if !good.contains(tip) {
            wrong.push(format!("tips: {tip} of {shown:?} is not in {good:?}"));
        }
    }
    for tip in tips(&wanted["tips_wrong"]) {
        if shown.contains(&tip) {
            wrong.push(format!("tips: {tip} must not be shown"));
        }
    }
    wrong
}

/// The fields of the cases, as the library has them.
fn document(found: &Explanation) -> Value {
    let f = &found.figures;
    serde_json::json!({
        "kind": found.kind.to_string(),
        "framework": found.framework.map(|framework| framework.to_string()),
        "framework_version_range": found.versions,
        "device_index": found.device,
        "requested_bytes": f.requested,
        "capacity_bytes": f.capacity,
        "free_bytes": f.free,
        "process_bytes": f.process,
        "allocated_bytes": f.allocated,
        "reserved_unallocated_bytes": f.unallocated,
        "allowed_bytes": f.allowed,
        "other_processes": found.others.iter().map(|other| serde_json::json!({"pid": other.pid, "bytes": other.bytes})).collect::<Vec<_>>(),
        "occurrences": found.occurrences,
        "ranks": found.ranks,
        "primary_cause": found.cause.to_string(),
        "tips": found.tips.iter().map(|tip| tip.tip).collect::<Vec<_>>(),
    })
}

#[test]
fn every_case_is_explained() {
    let mut wrong: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut versions = Vec::new();
    let cases = cases();
    for (name, log, wanted) in &cases {
        let found = document(&explain(log));
        let faults = score(wanted, &found);
        if !faults.is_empty() {
            wrong.insert(name.clone(), faults);
        }
        if found["framework_version_range"] != wanted["framework_version_range"] {
            versions
                .push(format!("{name}: {} instead of {}", found["framework_version_range"], wanted["framework_version_range"]));
        }
    }
    let right = cases.len() - wrong.len();
    println!("{right} of {} cases, {} version ranges differ", cases.len(), versions.len());
    assert!(wrong.is_empty(), "{right} of {}: {wrong:#?}\n{versions:#?}", cases.len());
    assert!(versions.is_empty(), "{versions:#?}");
}

/// Own variants: name, then kind, framework, device, cause, occurrences and ranks as words, then the tip that has to be among the
/// first two; below it the log.
#[test]
fn variants_are_told_apart() {
    let text = fs::read_to_string(fixtures().with_file_name("oom-variants.txt")).unwrap();
    let mut wrong = Vec::new();
    let mut count = 0;
    for part in format!("\n{text}").split("\n=== ").filter(|part| !part.trim().is_empty()) {
        let (head, log) = part.split_once('\n').unwrap();
        let mut fields = head.split('|').map(str::trim);
        let (name, wanted, tip) = (fields.next().unwrap(), fields.next().unwrap(), fields.next().unwrap_or_default());
        let found = explain(log.as_bytes());
        let word = |text: Option<String>| text.filter(|text| !text.is_empty()).unwrap_or_else(|| "-".to_owned());
        let ranks: Vec<String> = found.ranks.iter().map(ToString::to_string).collect();
        let got = [
            found.kind.to_string(),
            word(found.framework.map(|framework| framework.to_string())),
            word(found.device.map(|device| device.to_string())),
            found.cause.to_string(),
            found.occurrences.to_string(),
            word(Some(ranks.join(","))),
        ]
        .join(" ");
        let tips: Vec<&str> = found.tips.iter().map(|tip| tip.tip).collect();
        let advised = if tip.is_empty() { tips.is_empty() } else { tips.iter().take(2).any(|first| *first == tip) };
        if got != wanted || !advised {
            wrong.push(format!("{name}:\n  found  {got} {tips:?}\n  wanted {wanted} {tip}"));
        }
        count += 1;
    }
    assert!(wrong.is_empty(), "{} of {count}:\n{}", count - wrong.len(), wrong.join("\n"));
}
