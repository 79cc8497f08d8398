//! Explained logs: the cases of `fixtures/oom` by the scoring rule of its README, and what people and programs get to see.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use assert_cmd::Command;
use proptest::prelude::{Strategy, any, proptest};
use proptest::test_runner::Config;
use rustix::fs::{CWD, Mode};
use serde_json::Value;
use vramscope::domain::oom::decode::Encoding;
use vramscope::domain::oom::{Explanation, Kind, Scanner};
use vramscope::output::explain::{Look, document as json, page};

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

/// The binary in an environment of its own.
fn vramscope(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_vramscope"));
    command.env_clear().env("HOME", "/nonexistent").env("LANG", "C.UTF-8").arg("explain").args(args);
    command
}

/// Exit code, standard output and standard error.
fn run(command: &mut Command) -> (i32, String, String) {
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

fn case(name: &str) -> String {
    fixtures().join(format!("{name}.log")).to_str().unwrap().to_owned()
}

#[test]
fn the_exit_code_tells_a_gpu_from_all_else() {
    for (name, code, words) in [
        ("pt23-fragmentation-large", 0, "GPU out of memory: PyTorch could not get 3.88 GiB on GPU 0."),
        ("host-kernel-oom-killer", 1, "Not the GPU: the host's memory"),
        ("host-shm-bus-error", 1, "Not the GPU: /dev/shm"),
        ("triton-smem-false-friend", 1, "a kernel wants 160 KiB of on-chip shared memory"),
        ("nvenc-session-limit", 1, "limit of encode sessions"),
        ("tensorrt-skipping-tactic", 1, "the program went on"),
        ("not-oom-memory-words", 1, "No message of a memory failure was found."),
    ] {
        let (found, out, err) = run(&mut vramscope(&[&case(name)]));
        assert_eq!((found, err.as_str()), (code, ""), "{name}: {out}");
        assert!(out.contains(words), "{name}: {out}");
    }
}

#[test]
fn standard_input_is_read_with_and_without_a_dash() {
    let log = fs::read(case("pt17-reserved-total")).unwrap();
    for args in [&[][..], &["-"], &["-", "--json"]] {
        let (code, out, _) = run(vramscope(args).write_stdin(log.clone()));
        assert_eq!(code, 0, "{args:?}: {out}");
        assert!(out.contains(if args.len() == 2 { "\"device_oom\"" } else { "392 MiB" }), "{args:?}: {out}");
    }
}

#[test]
fn what_cannot_be_read_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    fs::write(at("log.gz"), [0x1f, 0x8b, 8, 0, 0, 0]).unwrap();
    fs::write(at("secret.log"), "x").unwrap();
    fs::set_permissions(at("secret.log"), std::os::unix::fs::PermissionsExt::from_mode(0o000)).unwrap();
    let mut refused = vec![
        (folder.path().to_str().unwrap().to_owned(), "directory"),
        (at("nowhere.log"), "No such file"),
        (at("log.gz"), "zcat"),
    ];
    // Root may read anything.
    if fs::read(at("secret.log")).is_err() {
        refused.push((at("secret.log"), "Permission denied"));
    }
    for (path, why) in refused {
        let (code, out, err) = run(&mut vramscope(&[&path]));
        assert_eq!((code, out.as_str()), (2, ""), "{path}: {err}");
        assert!(err.contains(why) && err.contains(&path), "{path}: {err}");
        // One log that can't be read makes the whole no better.
        assert_eq!(run(&mut vramscope(&[&case("pt12-cached"), &path])).0, 2, "{path}");
    }
}

#[test]
fn empty_binary_and_endless_input_is_read_to_its_end() {
    let message = fs::read(case("truncated-message")).unwrap();
    let noise: Vec<u8> = (0..1_u32 << 20).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let line = vec![b'x'; 24 << 20];
    for (input, code) in [
        (Vec::new(), 1),
        (vec![0; 1 << 20], 1),
        (noise.clone(), 1),
        ([&noise[..], b"\n", &message].concat(), 0),
        ([&line[..], &message].concat(), 0),
    ] {
        let length = input.len();
        let (found, out, err) = run(vramscope(&[]).write_stdin(input));
        assert_eq!((found, err.as_str()), (code, ""), "{length} bytes: {out}");
    }
}

#[test]
fn a_pipe_with_a_name_is_read_until_its_writer_leaves() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.fifo");
    rustix::fs::mkfifoat(CWD, &path, Mode::from_raw_mode(0o600)).unwrap();
    let writer = {
        let path = path.clone();
        std::thread::Builder::new()
            .name("writer".to_owned())
            .spawn(move || {
                let mut pipe = fs::OpenOptions::new().write(true).open(path).unwrap();
                for part in fs::read(case("pt12-cached")).unwrap().chunks(7) {
                    pipe.write_all(part).unwrap();
                }
            })
            .unwrap()
    };
    let (code, out, _) = run(&mut vramscope(&[path.to_str().unwrap()]));
    writer.join().unwrap();
    assert_eq!(code, 0, "{out}");
}

#[test]
fn nothing_hostile_reaches_the_terminal() {
    let log = "\u{1b}]0;title\u{7}step 1\n\u{202e}epoch \u{1b}[2J 3 loss 1\nTraceback (most recent call last):\n  File \"\u{1b}[31m\u{9b}2Jx.py\", line 1\n    \u{200b}loss.backward()\n\u{202e}torch.OutOfMemoryError: \u{1b}[1mCUDA out of memory. Tried to allocate 2.00 GiB\u{1b}[0m. GPU 0 has a total capacity of 8.00 GiB of which 1.00 GiB is free.\u{7}\u{2066}\n";
    for args in [&[][..], &["--json"]] {
        let (code, out, _) = run(vramscope(args).write_stdin(log));
        assert_eq!(code, 0, "{out}");
        let hostile = |c: char| {
            c != '\n' && c.is_control()
                || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
        };
        assert!(!out.contains(hostile), "{out:?}");
    }
}

#[test]
fn several_files_are_one_run() {
    let folder = tempfile::tempdir().unwrap();
    let message = |gpu: u32, free: u32| {
        format!(
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.34 GiB. GPU {gpu} has a total capacity of 79.25 GiB of which {free}.50 MiB is free. Including non-PyTorch memory, this process has 78.75 GiB memory in use. Of the allocated memory 76.08 GiB is allocated by PyTorch, and 629.20 MiB is reserved by PyTorch but unallocated.\n"
        )
    };
    let mut files = Vec::new();
    for (name, text) in [
        ("rank0.log", "step 1 loss 0.5\n".to_owned()),
        ("rank1.log", format!("step 1 loss 0.5\n{}", message(1, 130))),
        ("rank2.log", format!("step 1 loss 0.5\n{0}{0}", message(2, 118))),
    ] {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        files.push(path.to_str().unwrap().to_owned());
    }
    let mut args: Vec<&str> = files.iter().map(String::as_str).collect();
    args.push("--json");
    let (code, out, err) = run(&mut vramscope(&args));
    let found: Value = serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}{err}"));
    assert_eq!(code, 0);
    assert_eq!((&found["occurrences"], &found["device_index"]), (&Value::from(2), &Value::from(1)));
    assert_eq!(found["ranks"], serde_json::json!([1, 2]));
    let kinds: Vec<&str> = found["inputs"].as_array().unwrap().iter().map(|input| input["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["not_oom", "device_oom", "device_oom"]);
}

#[test]
fn the_document_has_the_fields_of_the_cases_and_the_page_the_same_tips() {
    for (name, log, wanted) in cases() {
        let found = explain(&log);
        let document: Value = serde_json::from_str(&json(&found, &[])).unwrap();
        let fields: BTreeSet<&str> = document.as_object().unwrap().keys().map(String::as_str).collect();
        for field in wanted.as_object().unwrap().keys() {
            let own = ["tolerance_bytes", "accept", "note", "tips_wrong"].contains(&field.as_str());
            assert!(own != fields.contains(field.as_str()), "{name}: {field}");
        }
        assert!(score(&wanted, &document).is_empty(), "{name}");
        let advised: Vec<&Value> = document["advice"].as_array().unwrap().iter().map(|advice| &advice["tip"]).collect();
        assert_eq!(advised, document["tips"].as_array().unwrap().iter().collect::<Vec<_>>(), "{name}");
        let text = page(&found, &[], Look { width: Some(80), ascii: false });
        for tip in found.tips.iter().map(|tip| tip.tip).chain(found.wont_help.iter().map(|tip| tip.tip)) {
            assert!(text.contains(&format!("({tip})")), "{name}: {tip} is not on the page");
        }
        for tip in found.wont_help {
            assert!(!found.tips.iter().any(|proposed| proposed.tip == tip.tip), "{name}: {} helps and does not", tip.tip);
        }
    }
}

#[test]
fn every_tip_that_is_ever_proposed_is_in_the_catalogue() {
    let mut logs: Vec<Vec<u8>> = cases().into_iter().map(|(_, log, _)| log).collect();
    let variants = fs::read_to_string(fixtures().with_file_name("oom-variants.txt")).unwrap();
    logs.extend(variants.split("\n=== ").map(|part| part.as_bytes().to_vec()));
    for log in logs {
        let found = explain(&log);
        for tip in found.tips.iter().map(|tip| tip.tip).chain(found.wont_help.iter().map(|tip| tip.tip)) {
            assert!(vramscope::domain::tips::Tip::named(tip).is_some(), "{tip}");
        }
    }
}

#[test]
fn each_dialect_is_in_its_slice() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/domain/oom/dialects");
    let files: BTreeSet<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned())
        .filter(|stem| !["mod", "passage"].contains(&stem.as_str()))
        .collect();
    let listed: BTreeSet<String> =
        vramscope::domain::oom::dialects::DIALECTS.iter().map(|dialect| dialect.id.to_owned()).collect();
    assert_eq!(files, listed);
}

#[test]
fn the_cases_are_covered_by_the_dialects_as_told() {
    let mut covered: BTreeMap<&str, u32> = BTreeMap::new();
    for (_, log, _) in cases() {
        *covered.entry(explain(&log).dialect.unwrap_or("none")).or_default() += 1;
    }
    let told: Vec<String> = covered.iter().map(|(dialect, count)| format!("{dialect} {count}")).collect();
    println!("{}", told.join(", "));
    assert_eq!(covered.values().sum::<u32>() as usize, cases().len());
}

/// A case that was cut, spliced with another, or had bytes put into it.
fn mangled() -> impl Strategy<Value = Vec<u8>> {
    let logs: Vec<Vec<u8>> = cases().into_iter().map(|(_, log, _)| log).collect();
    let pick = 0..logs.len();
    (pick.clone(), pick, any::<(u16, u16, u16)>(), proptest::collection::vec(any::<u8>(), 0..24)).prop_map(
        move |(a, b, (x, y, z), bytes)| {
            let (first, second) = (&logs[a], &logs[b]);
            let mut out = first[..usize::from(x) % (first.len() + 1)].to_vec();
            out.extend_from_slice(&bytes);
            out.extend_from_slice(&second[usize::from(y) % (second.len() + 1)..]);
            let at = usize::from(z) % (out.len() + 1);
            for (n, byte) in bytes.iter().enumerate() {
                out.insert((at + n * 37) % (out.len() + 1), *byte);
            }
            out
        },
    )
}

proptest! {
    #![proptest_config(Config { cases: 96, ..Config::default() })]

    #[test]
    fn whatever_comes_is_explained_without_harm(log in mangled(), cut in any::<u16>()) {
        let whole = explain(&log);
        // Wherever the blocks are cut.
        let (a, b) = log.split_at(usize::from(cut) % (log.len() + 1));
        let mut scanner = Scanner::new();
        scanner.push_bytes(a);
        scanner.push_bytes(b);
        let parts = scanner.finish().explain();
        // An encoding is told by the first block alone, as a file's begins.
        if a.is_empty() || Encoding::of(a) == Encoding::of(&log) {
            assert_eq!(whole, parts);
        }
        assert!(whole.kind == Kind::NotOom || whole.message.is_some());
        let text = page(&whole, &[], Look { width: Some(80), ascii: true });
        assert!(text.is_ascii() || whole.message.is_some());
        serde_json::from_str::<Value>(&json(&whole, &[])).unwrap();
    }
}
