//! Output and exit codes of the commands.

use std::fs;

use assert_cmd::Command;
use serde_json::Value;

use crate::support::scenario::staged;

/// Two cards; the memory call of the second never returns.
const HANGING_CARD: &str = "
[[device]]
name = 'card'
total = '8GiB'
copies = 2

[[fault]]
call = 'nvmlDeviceGetMemoryInfo_v2'
device = 1
hang = true
";

/// The binary in an environment of its own.
fn vramscope(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_vramscope"));
    command.env_clear().env("HOME", "/nonexistent").env("LANG", "C.UTF-8").args(args);
    command
}

/// What a run said and how it ended.
struct Said {
    code: i32,
    out: String,
    err: String,
}

fn run(command: &mut Command) -> Said {
    let output = command.output().unwrap();
    Said {
        code: output.status.code().unwrap(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// A run that fails with this code and says all of these.
fn refused(command: &mut Command, code: i32, words: &[&str]) {
    let said = run(command);
    assert_eq!(said.code, code, "{command:?}: {}{}", said.out, said.err);
    assert_eq!(said.out, "", "{command:?}");
    for word in words {
        assert!(said.err.contains(word), "{command:?}: no `{word}` in {}", said.err);
    }
    assert!(!said.err.contains('\u{1b}'), "escape codes: {:?}", said.err);
}

#[test]
fn bad_usage_names_the_option() {
    for (args, words) in [
        (&["--interval", "0", "once"][..], &["--interval", "too short", "1ms"][..]),
        (&["once", "--interval", "1x"], &["--interval", "`1x`", "250ms"]),
        (&["once", "--timeout", "soon"], &["--timeout", "`soon`"]),
        (&["once", "--process-interval=0ms"], &["--process-interval", "too short"]),
        (&["once", "--gpus", "0,first"], &["--gpus", "`first`"]),
        (&["once", "--source", "cuda"], &["--source", "`cuda`", "demo:SCENARIO"]),
        (&["once", "--source", "demo", "--gpus", "99"], &["--gpus", "99"]),
        (&["once", "--source", "demo:nowhere"], &["--source", "nowhere"]),
        (&["demo", "nowhere"], &["SCENARIO", "nowhere"]),
        (&["demo", "--source", "nvml"], &["--source"]),
        (&["--theme", "mud"], &["--theme", "mud", "terminal, paper, clear"]),
        (&["--theme", "mud", "--source", "demo", "once"], &["--theme", "mud", "terminal, paper, clear"]),
        (&["--speed", "2", "once"], &["--speed", "--source demo"]),
        (&["--frobnicate"], &["--frobnicate"]),
        (&["frobnicate"], &["frobnicate"]),
        (&["tips", "expandable-segmets"], &["`expandable-segmets`", "did you mean `expandable_segments`?"]),
        (&["tips", "jax", "windmill"], &["`jax windmill`", "`vramscope tips` lists all"]),
        (&["tips", "--json", "zzz\u{1b}[2J"], &["`zzz·[2J`"]),
        (&["once", "--config", "/nonexistent/c.toml"], &["--config", "/nonexistent/c.toml"]),
        (&["once", "--source", "demo", "--log", "/nonexistent/x.log"], &["--log", "/nonexistent/x.log"]),
    ] {
        refused(&mut vramscope(args), 2, words);
    }
}

#[test]
fn bad_variables_and_files_are_named() {
    refused(vramscope(&["once"]).env("VRAMSCOPE_INTERVAL", "0"), 2, &["VRAMSCOPE_INTERVAL", "too short"]);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("vramscope/config.toml");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, "mouse = true\nintervall = '1s'\n").unwrap();
    let words = ["config.toml:2", "`intervall`", "did you mean `interval`?"];
    refused(vramscope(&["once"]).env("XDG_CONFIG_HOME", folder.path()), 2, &words);
    fs::write(&file, "mouse = true\ntheme = 'mud'\n").unwrap();
    for args in [&["once", "--source", "demo"][..], &["demo", "--list"], &["once", "--source", "demo", "--theme", "paper"]] {
        let words = ["config.toml:2: theme", "`mud`", "terminal, paper, clear"];
        refused(vramscope(args).env("XDG_CONFIG_HOME", folder.path()), 2, &words);
    }
    fs::write(&file, "\ngpus = [9]\nspeed = 3\n").unwrap();
    let words = ["config.toml:2: gpus", "`9`", "0, 1, 2, 3"];
    refused(vramscope(&["once", "--source", "demo"]).env("XDG_CONFIG_HOME", folder.path()), 2, &words);
    refused(vramscope(&["once", "--source", "demo"]).env("VRAMSCOPE_GPUS", "9"), 2, &["VRAMSCOPE_GPUS: ", "`9`"]);
    let (_fake, path) = library("idle");
    refused(vramscope(&["once", "--nvml-lib", &path]).env("VRAMSCOPE_GPUS", "9"), 2, &["VRAMSCOPE_GPUS: ", "`9`"]);
    // A speed in the file is for simulations, and no mistake where there is none.
    fs::write(&file, "speed = 3\n").unwrap();
    assert_eq!(run(vramscope(&["once", "--nvml-lib", &path]).env("XDG_CONFIG_HOME", folder.path())).code, 0);
    fs::write(&file, "[interval\n").unwrap();
    refused(&mut vramscope(&["once", "--config", file.to_str().unwrap()]), 2, &["config.toml:1"]);
    // Neither keeps what reads no settings from working.
    assert_eq!(run(vramscope(&["man"]).env("XDG_CONFIG_HOME", folder.path())).code, 0);
}

#[test]
fn a_bad_scenario_names_file_and_line() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.toml");
    fs::write(&file, "name = 'mine'\nfrobs = 3\n").unwrap();
    let path = file.to_str().unwrap();
    refused(&mut vramscope(&["demo", path]), 2, &["mine.toml:2"]);
    refused(&mut vramscope(&["once", "--source", &format!("demo:{path}")]), 2, &["mine.toml:2"]);
}

#[test]
fn without_a_library_the_way_out_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("libnvidia-ml.so.1");
    fs::write(&text, "no library").unwrap();
    for path in ["/nonexistent/libnvidia-ml.so.1", text.to_str().unwrap()] {
        for args in [&["once", "--nvml-lib", path][..], &["once", "--json", "--nvml-lib", path], &["--nvml-lib", path]] {
            refused(&mut vramscope(args), 3, &[path, "vramscope demo"]);
        }
    }
}

#[test]
fn once_shows_the_simulated_node_as_a_table() {
    for args in [&["once", "--source", "demo"][..], &["demo"], &["--source", "demo"], &["top", "--source", "demo"]] {
        let said = run(&mut vramscope(args));
        assert_eq!(said.code, 0, "{}", said.err);
        assert!(said.out.starts_with("SIMULATED"), "{}", said.out);
        assert!(!said.out.contains('\u{1b}'), "escape codes in {:?}", said.out);
        // A pipe has no width: nothing is cut.
        assert!(!said.out.contains('…'), "{}", said.out);
        assert!(said.out.contains("reserved"), "{}", said.out);
        assert_eq!(said.err, "");
    }
    let said = run(&mut vramscope(&["once", "--source", "demo", "--ascii"]));
    assert!(said.out.is_ascii(), "{}", said.out);
}

/// `total = free + (reserved or 0) + used` and `used = Σ holders + unattributed − excess`, to the byte.
pub fn assert_identity(document: &Value) {
    let devices = document["devices"].as_array().unwrap();
    assert!(!devices.is_empty());
    for device in devices {
        let bytes = |name: &str| device[name].as_i64();
        if let (Some(total), Some(free), Some(used)) = (bytes("total"), bytes("free"), bytes("used")) {
            assert_eq!(total, free + bytes("reserved").unwrap_or(0) + used, "{device:#}");
        }
        if let (Some(used), Some(holders)) = (bytes("used"), device["holders"].as_array()) {
            let sizes: Vec<Option<i64>> = holders.iter().map(|holder| holder["used"].as_i64()).collect();
            let known: i64 = sizes.iter().flatten().sum();
            if sizes.iter().all(Option::is_some) {
                assert_eq!(used, known + bytes("unattributed").unwrap() - bytes("excess").unwrap(), "{device:#}");
            } else {
                assert!(device["unattributed"].is_null() && device["excess"].is_null(), "{device:#}");
                assert_eq!(bytes("unexplained"), Some((used - known).max(0)), "{device:#}");
            }
        }
    }
}

#[test]
fn once_json_adds_up_and_says_it_is_simulated() {
    let said = run(&mut vramscope(&["once", "--json", "--source", "demo"]));
    assert_eq!(said.code, 0, "{}", said.err);
    assert!(said.out.ends_with("}\n"));
    let document: Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(document["version"], 1);
    assert_eq!(document["simulated"], true);
    // The viewer comes after the beginning: what was seen by then is told, each with its kind and its evidence.
    let findings = document["findings"].as_array().unwrap();
    assert!(findings.iter().any(|finding| finding["kind"] == "preallocated" && finding["gpu"] == 2), "{findings:?}");
    assert!(findings.iter().all(|finding| finding["evidence"].is_object() && finding["advice"].is_array()), "{findings:?}");
    assert!(document["devices"].as_array().unwrap().iter().all(|device| device["risk"]["level"].is_string()));
    assert!(document["time"].as_str().unwrap().ends_with('Z'));
    assert_identity(&document);
    let device = document["devices"][0].as_object().unwrap();
    let fields: Vec<&str> = device.keys().map(String::as_str).collect();
    insta::assert_snapshot!("json_fields_of_a_device", fields.join("\n"));
}

/// A driver's library that plays a scenario, in a folder of its own.
fn library(scenario: &str) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = staged(folder.path(), scenario).to_str().unwrap().to_owned();
    (folder, path)
}

#[test]
fn the_sums_hold_on_any_driver() {
    for scenario in ["eight", "mig", "wsl", "unified", "old-driver-v1", "old-lists", "five-field"] {
        let (_folder, path) = library(scenario);
        let said = run(&mut vramscope(&["once", "--json", "--nvml-lib", &path]));
        assert_eq!(said.code, 0, "{scenario}: {}", said.err);
        let document: Value = serde_json::from_str(&said.out).unwrap();
        assert_eq!((&document["simulated"], &document["source"]), (&Value::Bool(false), &Value::from("nvml")), "{scenario}");
        assert_identity(&document);
    }
}

#[test]
fn a_driver_that_does_not_answer_is_code_3_and_names_the_call() {
    let (_folder, path) = library("hang-init");
    refused(&mut vramscope(&["once", "--timeout", "2s", "--nvml-lib", &path]), 3, &["nvmlInit_v2", "2 s", "vramscope demo"]);
    // One card that hangs: what the others say is printed all the same.
    let (_folder, path) = library(HANGING_CARD);
    let said = run(&mut vramscope(&["once", "--json", "--timeout", "3s", "--nvml-lib", &path]));
    assert_eq!(said.code, 3, "{}", said.out);
    assert!(said.err.contains("GPU 1") && said.err.contains("nvmlDeviceGetMemoryInfo_v2"), "{}", said.err);
    let document: Value = serde_json::from_str(&said.out).unwrap();
    assert_identity(&document);
    assert!(document["devices"][0]["used"].is_u64() && document["devices"][1]["used"].is_null(), "{document:#}");
}

#[test]
fn what_unified_memory_does_not_tell_has_a_reason_and_headroom_is_shown() {
    let (_folder, library) = library("unified");
    for source in [["--nvml-lib", library.as_str()], ["--source", "demo:unified"]] {
        let said = run(vramscope(&["once", "--json"]).args(source));
        let document: Value = serde_json::from_str(&said.out).unwrap();
        let device = &document["devices"][0];
        assert!(device["total"].is_null() && device["free"].is_null() && device["headroom"].is_u64(), "{device:#}");
        let problems = document["problems"].as_array().unwrap();
        let told =
            |problem: &Value| problem["gpu"] == 0 && problem["what"].as_str().unwrap().starts_with("total, free, reserved");
        assert!(problems.iter().any(told), "{problems:#?}");
        let said = run(vramscope(&["once"]).args(source));
        assert!(said.out.contains(" available ") && said.out.contains("GPU 0: total, free, reserved"), "{}", said.out);
    }
}

/// A library whose first call never returns, and whose destructor would wait for it.
const STUCK: &str = "
#include <unistd.h>
int nvmlInit_v2(void) { for (;;) pause(); }
__attribute__((destructor)) static void unload(void) { for (;;) pause(); }
";

#[test]
fn leaving_waits_for_nothing_within_the_library() {
    let folder = tempfile::tempdir().unwrap();
    let (source, library) = (folder.path().join("stuck.c"), folder.path().join("libstuck.so"));
    fs::write(&source, STUCK).unwrap();
    // Rust itself links with it.
    let compiled = std::process::Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&library).arg(&source).status().unwrap();
    assert!(compiled.success());
    let mut command = vramscope(&["once", "--timeout", "300ms", "--nvml-lib", library.to_str().unwrap()]);
    let said = run(command.timeout(std::time::Duration::from_secs(20)));
    assert_eq!(said.code, 3);
    assert!(said.err.contains("does not answer"), "{}", said.err);
}

#[test]
fn an_unknown_gpu_of_the_driver_is_a_usage_error() {
    let (_folder, path) = library("idle");
    for name in ["7", "GPU-none"] {
        refused(&mut vramscope(&["once", "--gpus", name, "--nvml-lib", &path]), 2, &["--gpus", name]);
    }
}

#[test]
fn gpus_can_be_chosen() {
    let said = run(&mut vramscope(&["once", "--json", "--source", "demo", "--gpus", "1"]));
    assert_eq!(said.code, 0, "{}", said.err);
    let document: Value = serde_json::from_str(&said.out).unwrap();
    let gpus: Vec<i64> = document["devices"].as_array().unwrap().iter().map(|device| device["gpu"].as_i64().unwrap()).collect();
    assert_eq!(gpus, [1]);
}

#[test]
fn what_cuda_is_shown_can_be_chosen() {
    let (_fake, default) = library("default");
    let (_other, mig) = library("mig");
    let gpus = |said: &Said| -> String {
        let document: Value = serde_json::from_str(&said.out).unwrap();
        let devices = document["devices"].as_array().unwrap();
        devices.iter().map(|device| device["gpu"].to_string()).collect::<Vec<_>>().join(" ")
    };
    let uuid = |source: &[&str], gpu: usize| -> String {
        let document: Value = serde_json::from_str(&run(vramscope(&["once", "--json"]).args(source)).out).unwrap();
        document["devices"][gpu]["uuid"].as_str().unwrap().to_owned()
    };
    for source in [&["--source", "demo"][..], &["--nvml-lib", &default]] {
        let third = uuid(source, 2);
        let beginning: String = third.chars().take(12).collect();
        for (list, shown) in
            [("2", "2"), ("3,1", "1 3"), ("0,9,1", "0"), ("2,-1", "2"), (third.as_str(), "2"), (beginning.as_str(), "2")]
        {
            let mut command = vramscope(&["once", "--json", "--visible"]);
            let said = run(command.args(source).env("CUDA_VISIBLE_DEVICES", list));
            assert_eq!((said.code, gpus(&said).as_str()), (0, shown), "{source:?} {list}: {}", said.err);
        }
        for (list, words) in [("", "shows no GPU"), ("-1", "shows no GPU"), ("0,0", "twice"), ("GPU-none", "shows no GPU")] {
            let mut command = vramscope(&["once", "--visible"]);
            refused(command.args(source).env("CUDA_VISIBLE_DEVICES", list), 2, &["--visible", words, "nvidia-smi -L"]);
        }
        let mut command = vramscope(&["once", "--visible", "--gpus", "1"]);
        refused(command.args(source).env("CUDA_VISIBLE_DEVICES", "0"), 2, &["--visible", "--gpus"]);
        // Not set, or not asked for: all.
        assert_eq!(gpus(&run(vramscope(&["once", "--json", "--visible"]).args(source))), "0 1 2 3");
        assert_eq!(gpus(&run(vramscope(&["once", "--json"]).args(source).env("CUDA_VISIBLE_DEVICES", "0"))), "0 1 2 3");
    }
    for source in [&["--source", "demo:mig"][..], &["--nvml-lib", &mig]] {
        let of = |list: &str| {
            let mut command = vramscope(&["once", "--json", "--visible"]);
            run(command.args(source).env("CUDA_VISIBLE_DEVICES", list))
        };
        let (gpu, instance) = (uuid(source, 0), uuid(source, 2));
        assert!(instance.starts_with("MIG-"), "{instance}");
        let one: Value = serde_json::from_str(&of(&instance).out).unwrap();
        let ids: Vec<&str> = one["devices"].as_array().unwrap().iter().map(|device| device["uuid"].as_str().unwrap()).collect();
        assert_eq!(ids, [gpu.as_str(), instance.as_str()], "an instance, and the GPU that it is part of");
        let old = of(&format!("MIG-{gpu}/2/0"));
        assert_eq!((old.code, gpus(&old)), (0, gpus(&of(&instance))), "{}", old.err);
        assert_eq!(of("0").code, 2, "numbers are not known where a GPU is cut up");
        assert_eq!(of(&uuid(source, 1)).code, 0);
    }
    // Two models: the order is CUDA's secret until it is told.
    let two = "[[device]]\nname = 'A'\ntotal = '8GiB'\n[[device]]\nname = 'B'\ntotal = '8GiB'\n";
    let (_two, two) = library(two);
    let mut command = vramscope(&["once", "--visible", "--nvml-lib", &two]);
    refused(command.env("CUDA_VISIBLE_DEVICES", "1"), 2, &["CUDA_DEVICE_ORDER=PCI_BUS_ID", "UUIDs", "fastest first"]);
    let mut command = vramscope(&["once", "--json", "--visible", "--nvml-lib", &two]);
    let said = run(command.env("CUDA_VISIBLE_DEVICES", "1").env("CUDA_DEVICE_ORDER", "PCI_BUS_ID"));
    assert_eq!(gpus(&said), "1");
}

#[test]
fn the_log_is_a_file_without_escape_codes() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("vramscope.log");
    for runs in 1..=2 {
        let said = run(&mut vramscope(&["once", "--source", "demo:idle", "--log", log.to_str().unwrap()]));
        assert_eq!((said.code, said.err.as_str()), (0, ""));
        let text = fs::read_to_string(&log).unwrap();
        assert_eq!(text.matches("started").count(), runs, "it is continued: {text}");
        assert!(!text.contains('\u{1b}'), "{text}");
    }
}

#[test]
fn scenarios_are_listed() {
    let said = run(&mut vramscope(&["demo", "--list"]));
    assert_eq!(said.code, 0, "{}", said.err);
    for scenario in vramscope::scenario::SCENARIOS {
        assert!(said.out.lines().any(|line| line.starts_with(scenario.id)), "no {} in {}", scenario.id, said.out);
    }
}

#[test]
fn tips_are_listed_searched_and_shown_in_full() {
    use vramscope::domain::tips::TIPS;
    let said = run(&mut vramscope(&["tips"]));
    assert_eq!((said.code, said.err.as_str()), (0, ""));
    assert!(said.out.is_ascii() && !said.out.contains('\u{1b}'), "{}", said.out);
    for tip in TIPS {
        let row = |line: &str| line.split_whitespace().next() == Some(tip.id) && line.ends_with(tip.title);
        assert!(said.out.lines().any(row), "no {} in {}", tip.id, said.out);
    }
    let said = run(&mut vramscope(&["tips", "JAX", "one flag"]));
    assert!(said.out.contains("preallocate_off") && !said.out.contains("clean_orphan"), "{}", said.out);
    let said = run(&mut vramscope(&["tips", "inference-mode"]));
    assert!(said.out.starts_with("Evaluate under inference_mode\n") && said.out.contains("https://"), "{}", said.out);
    // A wrong configuration does not keep advice from anyone.
    assert_eq!(run(vramscope(&["tips"]).env("VRAMSCOPE_INTERVAL", "0")).code, 0);
}

#[test]
fn tips_json_is_a_list_or_one() {
    let json = |args: &[&str]| -> Value {
        let said = run(&mut vramscope(args));
        assert_eq!((said.code, said.err.as_str()), (0, ""));
        serde_json::from_str(&said.out).unwrap()
    };
    let all = json(&["tips", "--json"]);
    assert_eq!(all["version"], 1);
    assert_eq!(all["tips"].as_array().unwrap().len(), vramscope::domain::tips::TIPS.len());
    let some = json(&["tips", "ollama", "--json"]);
    let some = some["tips"].as_array().unwrap();
    assert!(!some.is_empty() && some.iter().all(|tip| tip.to_string().to_lowercase().contains("ollama")));
    let one = json(&["tips", "--json", "cpu_offload"]);
    assert_eq!((&one["id"], &one["version"]), (&Value::from("cpu_offload"), &Value::from(1)));
    assert_eq!(
        Some(&one["does"]),
        all["tips"].as_array().unwrap().iter().find(|tip| tip["id"] == "cpu_offload").map(|tip| &tip["does"])
    );
}

#[test]
fn help_completions_and_man_come_from_one_description() {
    let help = run(vramscope(&["--help"]).env("COLUMNS", "100"));
    assert_eq!(help.code, 0);
    insta::assert_snapshot!("help", help.out);
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = run(&mut vramscope(&["completions", shell]));
        assert_eq!(script.code, 0);
        // The generators for the other two know no values.
        let words: &[&str] =
            if ["elvish", "powershell"].contains(&shell) { &[] } else { &["paper", "sixteen", "expandable_segments"] };
        for word in ["process-interval", "demo"].iter().chain(words) {
            assert!(script.out.contains(word), "no {word} for {shell}");
        }
    }
    let man = run(&mut vramscope(&["man"]));
    for part in ["SYNOPSIS", "COMMANDS", "KEYS", "FILES", "ENVIRONMENT", "EXIT STATUS"] {
        assert!(man.out.contains(&format!(".SH {part}\n")), "{part}");
    }
    assert!(
        man.out.contains("[\\-\\-interval DUR]") && man.out.contains("demo [OPTIONS] [\\-\\-list] [SCENARIO]"),
        "{}",
        man.out
    );
    assert!(man.out.contains("paper") && man.out.contains("VRAMSCOPE_CONFIG"), "{}", man.out);
    for setting in vramscope::config::SETTINGS {
        assert!(help.out.contains(&format!("--{}", setting.name)), "{}", setting.name);
        assert!(help.out.contains(setting.variable), "{}", setting.variable);
        assert!(man.out.contains(&setting.name.replace('-', "\\-")), "{}", setting.name);
    }
}

#[test]
fn a_reader_who_leaves_is_no_error() {
    use std::process::{Command, Stdio};
    let mut child = Command::new(env!("CARGO_BIN_EXE_vramscope"))
        .args(["completions", "bash"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
    assert_eq!(output.status.code(), Some(0));
}
