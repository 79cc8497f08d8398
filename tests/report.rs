//! `report`: a recording as a whole, through the command.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use assert_cmd::Command;
use serde_json::{Value, json};
use vramscope::domain::{Monitor, Said, Sample, Timestamp};
use vramscope::scenario::{Scenario, Stream, StreamOptions, World};
use vramscope::timeline::{Reader, Record, Writer};

use crate::timeline::CONTRACT;

/// A header and one card of 80,000 bytes, for what a test adds.
const HEAD: &str = r#"{"type":"header","format":"vramscope-timeline","version":1,"created":"2026-11-30T14:00:00Z","source":"nvml","simulated":false}
{"type":"device","t":0,"gpu":0,"uuid":"GPU-a","index":0,"name":"card","memory":"dedicated","total":80000}
"#;

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_vramscope"));
    command.env_clear().env("HOME", "/nonexistent").env("LANG", "C.UTF-8").arg("report").args(arguments);
    command.timeout(std::time::Duration::from_mins(5));
    command
}

/// Exit code, standard output and standard error.
fn run(command: &mut Command) -> (i32, String, String) {
    let output = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

/// The report of a file with this content, and its exit code.
fn report(content: impl AsRef<[u8]>, more: &[&str]) -> (i32, Value) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.jsonl");
    fs::write(&path, content).unwrap();
    let (code, out, err) = run(command(&[path.to_str().unwrap(), "--format", "json"]).args(more));
    assert!(code == 0 || code == 4, "{err}");
    (code, serde_json::from_str(&out).unwrap())
}

/// A scenario from its beginning to a time, and the file that a recorder would make of it with what it said.
fn recorded(scenario: &str, seconds: u64) -> (Vec<Sample>, Vec<u8>) {
    let world = Arc::new(World::new(&Scenario::load(scenario).unwrap()).unwrap());
    let end = Timestamp::secs(seconds);
    let samples: Vec<Sample> = Stream::new(world, StreamOptions::default()).take_while(|sample| sample.t <= end).collect();
    let mut writer = Writer::new(Vec::new());
    for sample in &samples {
        writer.sample(sample).unwrap();
    }
    (samples, writer.into_inner())
}

/// What the dashboard's fold says of the samples, as documents hold it.
fn live(samples: &[Sample]) -> (Vec<Value>, Vec<Value>) {
    let (mut monitor, mut findings, mut risks) = (Monitor::new(), Vec::new(), Vec::new());
    for sample in samples {
        monitor.ingest(sample);
        for said in monitor.take_said() {
            match said {
                Said::Finding(finding) => {
                    findings.push(serde_json::to_value(vramscope::timeline::format::finding(&finding)).unwrap());
                }
                Said::Risk(risk) => risks.push(serde_json::to_value(vramscope::timeline::format::risk(&risk)).unwrap()),
            }
        }
    }
    (findings, risks)
}

fn entries<'a>(document: &'a Value, name: &str) -> &'a Vec<Value> {
    document[name].as_array().unwrap()
}

/// A file's lines up to a time.
fn cut(file: &[u8], seconds: f64) -> String {
    let text = std::str::from_utf8(file).unwrap();
    let early = |line: &&str| {
        let line: Value = serde_json::from_str(line).unwrap();
        line["t"].as_f64().unwrap_or(0.0) <= seconds
    };
    text.lines().filter(early).flat_map(|line| [line, "\n"]).collect()
}

#[test]
fn the_document_has_the_fields_of_the_contract() {
    let (code, document) = report(CONTRACT, &[]);
    assert_eq!(code, 0);
    let fields = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>().join(" ");
    // This library sorts them by name.
    assert_eq!(fields(&document), "advice devices findings holders problems risk simulated version");
    assert_eq!(
        fields(&document["devices"][0]),
        "duration_s gpu mean_used min_free name parent peak_t peak_used samples shape total uuid"
    );
    assert_eq!(
        fields(&document["holders"][0]),
        "anatomy command first_t gpu grew last_t peak_used pid relation shape start user"
    );
    assert_eq!(fields(&document["holders"][0]["anatomy"]), "cached context gradients optimizer swing weights");
    assert_eq!((&document["version"], &document["simulated"]), (&json!(1), &json!(false)));
    let (_, stored) = report(CONTRACT, &["--recorded"]);
    let lines = |kind: &str| -> Vec<Value> {
        CONTRACT.lines().map(|line| serde_json::from_str(line).unwrap()).filter(|line: &Value| line["type"] == kind).collect()
    };
    assert_eq!((entries(&stored, "findings"), entries(&stored, "risk")), (&lines("finding"), &lines("risk")));
    assert_eq!(
        stored["advice"],
        json!([{"tip": "reduce_batch_accumulate", "saves": [8_000_000_000_u64, 12_000_000_000_u64], "why": "half the batch",
                "finding": 3, "gpu": 0, "pid": 4242}])
    );
}

#[test]
fn figures_of_a_device_are_those_of_its_readings() {
    let (code, document) = report(
        format!(
            "{HEAD}{}",
            r#"{"type":"memory","t":10,"gpu":0,"used":10000,"free":69000,"reserved":1000}
{"type":"memory","t":20,"gpu":0,"used":30000,"free":49000,"reserved":1000}
{"type":"state","t":31,"gpu":0,"state":"stalled","call":"nvmlDeviceGetMemoryInfo_v2","since":30}
{"type":"gap","t":90,"gpu":0,"from":30,"reason":"driver did not answer"}
{"type":"memory","t":90,"gpu":0,"used":20000,"free":59000,"reserved":1000}
{"type":"memory","t":100,"gpu":0,"used":30000,"free":49000,"reserved":1000}
{"type":"end","t":100}
"#
        ),
        &[],
    );
    assert_eq!(code, 0);
    let device = &document["devices"][0];
    assert_eq!(
        [
            &device["samples"],
            &device["duration_s"],
            &device["peak_used"],
            &device["peak_t"],
            &device["min_free"],
            &device["total"]
        ],
        [&json!(4), &json!(90.0), &json!(30_000), &json!(20.0), &json!(49_000), &json!(80_000)]
    );
    // 10 s each of 10,000, 30,000 and 20,000; of the minute between nothing is known.
    assert_eq!(device["mean_used"], 20_000);
    assert_eq!(document["problems"], json!([]));
}

#[test]
fn a_holder_is_a_pid_and_its_start() {
    let (_, document) = report(
        format!(
            "{HEAD}{}",
            r#"{"type":"memory","t":0,"gpu":0,"used":0,"free":80000,"reserved":0}
{"type":"holders","t":1,"gpu":0,"holders":[{"pid":7,"used":500,"kind":"C"},{"pid":9,"used":null,"kind":"G"}]}
{"type":"process","t":1,"pid":7,"start":111,"user":"ann","uid":1000,"relation":"mine","command":"python a.py"}
{"type":"holders","t":2,"gpu":0,"holders":[{"pid":7,"used":900,"kind":"C"},{"pid":9,"used":null,"kind":"G"}]}
{"type":"holders","t":3,"gpu":0,"holders":[{"pid":7,"used":400,"kind":"C"}]}
{"type":"exit","t":4,"pid":7,"status":0}
{"type":"process","t":5,"pid":7,"start":222,"user":"bob","uid":1001,"relation":"foreign","command":"python b.py"}
{"type":"holders","t":5,"gpu":0,"holders":[{"pid":7,"used":100,"kind":"C"}]}
{"type":"end","t":6}
"#
        ),
        &[],
    );
    let row = |n: usize| {
        let row = &document["holders"][n];
        let fields = ["pid", "start", "user", "relation", "command", "peak_used", "first_t", "last_t", "grew"];
        json!(fields.map(|field| row[field].clone()))
    };
    assert_eq!(row(0), json!([7, 111, "ann", "mine", "python a.py", 900, 1.0, 3.0, -100]));
    assert_eq!(row(1), json!([7, 222, "bob", "foreign", "python b.py", 100, 5.0, 5.0, 0]));
    assert_eq!(row(2), json!([9, null, null, "unknown", null, null, 1.0, 2.0, null]));
    assert_eq!(entries(&document, "holders").len(), 3);
}

#[test]
fn what_is_usable_is_told_from_what_is_not() {
    let lists = r#"{"type":"holders","t":1,"gpu":0,"holders":[{"pid":7,"used":500,"kind":"C"}]}"#;
    let (code, document) = report(format!("{HEAD}{lists}\n{{\"type\":\"end\",\"t\":2}}\n"), &[]);
    let device = &document["devices"][0];
    assert_eq!(
        (code, &device["samples"], &device["peak_used"], &device["mean_used"]),
        (0, &json!(0), &Value::Null, &Value::Null)
    );
    assert_eq!(document["holders"][0]["peak_used"], 500);
    let percent = r#"{"type":"memory","t":1,"gpu":0,"used":null,"used_pct":1.91}"#;
    let (code, document) = report(format!("{HEAD}{percent}\n"), &[]);
    let device = &document["devices"][0];
    assert_eq!((code, &device["samples"], &device["peak_used"]), (0, &json!(1), &Value::Null));
    let used_only = r#"{"type":"memory","t":1,"gpu":0,"used":500}"#;
    let (_, document) = report(format!("{HEAD}{used_only}\n"), &[]);
    let device = &document["devices"][0];
    assert_eq!((&device["peak_used"], &device["min_free"]), (&json!(500), &Value::Null), "{device}");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.jsonl");
    for (lines, words) in [
        ("", "neither `memory` nor `holders`"),
        ("{\"type\":\"memory\",\"t\":1,\"gpu\":0,\"used\":null}\n{\"type\":\"memory\",\"t\":2,\"gpu\":0}\n", "all 2 `memory`"),
        ("{\"type\":\"holders\",\"t\":1,\"gpu\":0,\"holders\":null}\n", "`used` is null in all 1 `holders`"),
    ] {
        fs::write(&path, format!("{HEAD}{lines}")).unwrap();
        let (code, out, err) = run(&mut command(&[path.to_str().unwrap(), "--format", "json"]));
        assert_eq!((code, out.as_str()), (2, ""));
        assert!(err.contains(words) && err.contains("a.jsonl"), "{err}");
    }
}

#[test]
fn damage_is_said_and_what_was_read_is_reported() {
    let mut lines: Vec<&str> = CONTRACT.lines().collect();
    lines.insert(3, "nonsense");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.jsonl");
    fs::write(&path, lines.join("\n")).unwrap();
    let (code, out, err) = run(&mut command(&[path.to_str().unwrap(), "--format", "json"]));
    assert_eq!(code, 4, "{err}");
    assert!(err.contains("a.jsonl is damaged") && err.contains("line 4: not a record"), "{err}");
    let document: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(document["devices"][0]["peak_used"], 34_359_738_368_u64);
    assert_eq!((&document["problems"][0]["line"], entries(&document, "problems").len()), (&json!(4), 1));
    // Cut off between two records: the report says so, and nothing that was recorded is lost.
    let (code, document) = report(lines[..3].join("\n") + "\n" + lines[4], &[]);
    assert_eq!((code, entries(&document, "problems").len()), (0, 1));
    assert!(document["problems"][0]["text"].as_str().unwrap().contains("no `end` record"), "{document}");
}

#[test]
fn what_is_no_recording_is_code_2() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, content: &[u8]| {
        let path = folder.path().join(name);
        fs::write(&path, content).unwrap();
        path
    };
    let fifo = folder.path().join("fifo");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let huge = file("huge", b"");
    fs::File::create(&huge).unwrap().set_len(10 << 30).unwrap();
    let newer = CONTRACT.replacen("\"version\":1", "\"version\":7", 1);
    for (path, words) in [
        (folder.path().to_owned(), "is a directory"),
        (PathBuf::from("/nonexistent/a.jsonl"), "No such file"),
        (file("empty", b""), "is empty"),
        (fifo, "FIFO"),
        (huge, "no vramscope timeline"),
        (file("text", b"once upon a time\n"), "no header record"),
        (file("newer", newer.as_bytes()), "version 7"),
    ] {
        let (code, out, err) = run(&mut command(&[path.to_str().unwrap(), "--format", "json", "--timeout", "200ms"]));
        assert_eq!((code, out.as_str()), (2, ""), "{err}");
        assert!(err.contains(words) && err.contains(path.to_str().unwrap()), "{err}");
    }
    let (code, _, err) = run(&mut command(&["a.jsonl"]));
    assert!(code == 2 && err.contains("--format"), "{err}");
    let path = file("good", CONTRACT.as_bytes());
    let (code, _, err) = run(&mut command(&[path.to_str().unwrap(), "--format", "json", "--gpus", "7"]));
    assert!(code == 2 && err.contains("--gpus") && err.contains("`7`"), "{err}");
}

#[test]
fn pipes_and_packed_files_are_read() {
    let (_, plain) = report(CONTRACT, &[]);
    let packed = zstd::encode_all(CONTRACT.as_bytes(), 3).unwrap();
    assert_eq!(report(&packed, &[]).1, plain);
    let (code, out, err) = run(command(&["-", "--format", "json"]).write_stdin(packed));
    assert_eq!(code, 0, "{err}");
    assert_eq!(serde_json::from_str::<Value>(&out).unwrap(), plain);
    let folder = tempfile::tempdir().unwrap();
    let fifo = folder.path().join("fifo");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let writer = {
        let fifo = fifo.clone();
        std::thread::Builder::new().spawn(move || fs::write(fifo, CONTRACT)).unwrap()
    };
    let (code, out, err) = run(&mut command(&[fifo.to_str().unwrap(), "--format", "json", "--timeout", "60s"]));
    assert_eq!(code, 0, "{err}");
    writer.join().unwrap().unwrap();
    assert_eq!(serde_json::from_str::<Value>(&out).unwrap(), plain);
}

#[test]
fn a_report_goes_to_a_file_and_replaces_none_unasked() {
    let folder = tempfile::tempdir().unwrap();
    let recording = folder.path().join("a.jsonl");
    fs::write(&recording, CONTRACT).unwrap();
    let out = folder.path().join("report.json");
    let to = |out: &Path, more: &[&str]| {
        run(command(&[recording.to_str().unwrap(), "--format", "json", "-o", out.to_str().unwrap()]).args(more))
    };
    let (code, printed, err) = to(&out, &[]);
    assert_eq!((code, printed.as_str(), err.as_str()), (0, "", ""));
    let document: Value = serde_json::from_str(&fs::read_to_string(&out).unwrap()).unwrap();
    assert_eq!(document["version"], 1);
    fs::write(&out, "mine").unwrap();
    let (code, _, err) = to(&out, &[]);
    assert!(code == 2 && err.contains("--force") && fs::read_to_string(&out).unwrap() == "mine", "{err}");
    assert_eq!(to(&out, &["--force"]).0, 0);
    assert!(fs::read_to_string(&out).unwrap().starts_with('{'));
    // A link is replaced, and what it points to is left alone.
    let link = folder.path().join("link");
    let target = folder.path().join("target");
    fs::write(&target, "mine").unwrap();
    std::os::unix::fs::symlink(&target, &link).unwrap();
    assert_eq!(to(&link, &[]).0, 2);
    assert_eq!(to(&link, &["--force"]).0, 0);
    assert!(!link.is_symlink() && fs::read_to_string(&target).unwrap() == "mine");
    for (path, words) in [(recording.as_path(), "the recording itself"), (Path::new("/dev/null"), "no regular file")] {
        let (code, _, err) = to(path, &["--force"]);
        assert!(code == 2 && err.contains(words), "{err}");
    }
    assert_eq!(to(Path::new("/nonexistent/report.json"), &[]).0, 1);
    let names: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names.len(), 4, "nothing is left behind: {names:?}");
}

#[test]
fn devices_can_be_chosen() {
    let (_, file) = recorded("mig", 5);
    let (_, all) = report(&file, &[]);
    let uuid = all["devices"].as_array().unwrap().iter().find(|device| device["parent"].is_string()).unwrap()["uuid"].clone();
    let (_, one) = report(&file, &["--gpus", uuid.as_str().unwrap()]);
    let device = entries(&one, "devices");
    assert!(device.len() == 1 && device[0]["uuid"] == uuid && entries(&all, "devices").len() > 1);
    assert!(entries(&one, "holders").iter().all(|holder| holder["gpu"] == device[0]["gpu"]));
}

#[test]
fn the_file_of_the_readme_is_read() {
    let readme = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap();
    let (_, rest) = readme.split_once("```json\n").unwrap();
    let (file, _) = rest.split_once("```").unwrap();
    let (code, document) = report(file, &[]);
    assert_eq!((code, &document["problems"]), (0, &json!([])));
    let device = &document["devices"][0];
    assert_eq!((&device["samples"], &device["peak_used"]), (&json!(2), &json!(38_654_705_664_u64)));
}

#[test]
fn simulated_is_said() {
    let (_, file) = recorded("idle", 2);
    assert_eq!(report(&file, &[]).1["simulated"], true);
}

#[test]
fn every_scenario_is_read_back_as_it_was_and_reported_as_live() {
    for scenario in vramscope::scenario::SCENARIOS {
        let (samples, file) = recorded(scenario.id, 60);
        let mut reader = Reader::new(scenario.id.to_owned(), Box::new(std::io::Cursor::new(file.clone()))).unwrap();
        let read: Vec<Record> = reader.by_ref().collect();
        assert_eq!(read.len(), samples.len());
        for (read, sample) in read.iter().zip(&samples) {
            assert!(matches!(read, Record::Sample(read) if read == sample), "{}: {read:?}\n{sample:?}", scenario.id);
        }
        let (code, document) = report(&file, &[]);
        let (findings, risks) = live(&samples);
        assert_eq!(code, 0, "{}", scenario.id);
        assert_eq!(entries(&document, "findings"), &findings, "{}", scenario.id);
        assert_eq!(entries(&document, "risk"), &risks, "{}", scenario.id);
    }
}

#[test]
fn what_is_said_at_a_time_depends_on_nothing_later() {
    let (samples, file) = recorded("default", 150);
    let (_, whole) = report(&file, &[]);
    assert!(!entries(&whole, "risk").is_empty(), "nothing to compare");
    assert_eq!(entries(&whole, "risk"), &live(&samples).1);
    // Of one device or job: on change of level, else at most once a second.
    let mut newest: BTreeMap<String, &Value> = BTreeMap::new();
    for risk in entries(&whole, "risk") {
        let subject = format!("{} {}", risk["gpu"], risk["job"]);
        if let Some(before) = newest.insert(subject, risk) {
            let apart = risk["t"].as_f64().unwrap() - before["t"].as_f64().unwrap();
            assert!(apart >= 1.0 - 1e-9 || risk["level"] != before["level"], "{before}\n{risk}");
        }
    }
    for seconds in [1.0, 17.3, 60.0, 93.25, 119.0, 149.0] {
        let (_, part) = report(cut(&file, seconds), &[]);
        for name in ["findings", "risk"] {
            let early: Vec<&Value> =
                entries(&whole, name).iter().filter(|entry| entry["t"].as_f64().unwrap() <= seconds).collect();
            assert_eq!(entries(&part, name).iter().collect::<Vec<_>>(), early, "{name} up to {seconds} s");
        }
    }
}
