//! `pick`: what fits, what nearly does, who waits, and that two never get the same card.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use vramscope::scenario::SCENARIOS;

use crate::support::scenario::staged;

/// A job of another user that fills both cards and leaves.
const LEAVING: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/scenarios/leaving.toml");

/// `vramscope pick` in an environment of its own, with leases in a folder.
fn pick(leases: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_vramscope"));
    command.env_clear().env("HOME", "/nonexistent").env("PATH", "/usr/bin:/bin").env("VRAMSCOPE_LEASES", leases);
    command.arg("pick").args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// What a pick said and how it ended.
struct Said {
    code: i32,
    out: String,
    err: String,
}

fn said(child: Child) -> Said {
    let output = child.wait_with_output().unwrap();
    Said {
        code: output.status.code().unwrap(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

fn run(leases: &Path, args: &[&str]) -> Said {
    said(pick(leases, args).spawn().unwrap())
}

/// A folder for leases that is not there yet.
fn folder() -> (TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let leases = folder.path().join("leases");
    (folder, leases)
}

/// A driver's library that plays a scenario.
fn library(folder: &TempDir, scenario: &str) -> String {
    staged(folder.path(), scenario).to_str().unwrap().to_owned()
}

#[test]
fn every_scenario_gives_what_it_has_and_no_more() {
    for scenario in SCENARIOS {
        let (_folder, leases) = folder();
        let source = format!("demo:{}", scenario.id);
        let few = run(&leases, &["--source", &source, "--speed", "10", "--need", "1GiB"]);
        assert_eq!(few.code, 0, "{}: {}", scenario.id, few.err);
        let uuids = few.out.trim_end().strip_prefix("CUDA_VISIBLE_DEVICES=").unwrap();
        assert!(uuids.starts_with("GPU-") || uuids.starts_with("MIG-"), "{uuids}");
        assert!(few.err.contains("simulated"), "{}", few.err);
        let much = run(&leases, &["--source", &source, "--speed", "10", "--need", "10TiB"]);
        assert_eq!((much.code, much.out.as_str()), (4, ""), "{}: {}", scenario.id, much.err);
        assert!(much.err.contains("nearest: GPU "), "{}: {}", scenario.id, much.err);
    }
}

#[test]
fn what_fits_is_printed_as_the_shell_takes_it() {
    let (_folder, leases) = folder();
    let named = run(&leases, &["--source", "demo", "--need", "20GiB"]);
    fs::remove_dir_all(&leases).unwrap();
    let bare = run(&leases, &["--source", "demo", "--need", "20GiB", "--bare"]);
    assert_eq!((named.code, bare.code), (0, 0));
    assert_eq!(named.out, format!("CUDA_VISIBLE_DEVICES={}", bare.out));
    fs::remove_dir_all(&leases).unwrap();
    let two = run(&leases, &["--source", "demo", "--need", "10GiB", "--count", "2", "--bare"]);
    let uuids: Vec<&str> = two.out.trim_end().split(',').collect();
    assert!(uuids.len() == 2 && uuids[0] != uuids[1], "{uuids:?}");
}

#[test]
fn the_nearest_miss_says_who_is_in_the_way() {
    let (_folder, leases) = folder();
    let source = format!("demo:{LEAVING}");
    let none = run(&leases, &["--source", &source, "--need", "20GiB", "--gpus", "1"]);
    assert_eq!((none.code, none.out.as_str()), (4, ""));
    let words = "nearest: GPU 1 has 10.0 GiB of the 20.5 GiB needed; user2's pid 813 holds 70.0 GiB there";
    assert!(none.err.contains(words), "{}", none.err);
    // The margin decides.
    let (code, tight) = (|args: &[&str]| run(&leases, &[&["--source", &source], args].concat()).code, "9.8GiB");
    assert_eq!(code(&["--need", tight]), 4);
    assert_eq!(code(&["--need", tight, "--margin", "0"]), 0);
}

#[test]
fn waiting_ends_when_the_job_of_another_has_left_or_the_time_is_over() {
    let (_folder, leases) = folder();
    let source = format!("demo:{LEAVING}");
    let waited = run(&leases, &["--source", &source, "--speed", "2", "--need", "20GiB", "--wait"]);
    assert_eq!(waited.code, 0, "{}", waited.err);
    assert!(waited.err.contains("waiting: no GPU has 20.5 GiB to spare"), "{}", waited.err);
    let given_up = run(&leases, &["--source", "demo:crowd", "--need", "10TiB", "--wait=300ms"]);
    assert_eq!((given_up.code, given_up.out.as_str()), (4, ""));
    assert!(given_up.err.contains("nearest: "), "{}", given_up.err);
}

#[test]
fn two_who_wait_get_two_cards_and_a_third_none() {
    let (_folder, leases) = folder();
    let args = |more: &[&'static str]| {
        let source = format!("demo:{LEAVING}");
        pick(&leases, &[&["--source", &source, "--speed", "2", "--need", "20GiB", "--bare"], more].concat()).spawn().unwrap()
    };
    let waiting: Vec<Child> = (0..2).map(|_| args(&["--wait"])).collect();
    let got: Vec<Said> = waiting.into_iter().map(said).collect();
    assert!(got.iter().all(|said| said.code == 0), "{}{}", got[0].err, got[1].err);
    assert_ne!(got[0].out, got[1].out);
    let third = said(args(&["--wait=6s"]));
    assert_eq!(third.code, 4, "{}", third.out);
    assert!(third.err.contains("GPU 0 has, but another pick (pid "), "{}", third.err);
    assert!(third.err.contains("GPU 1 has, but another pick (pid "), "{}", third.err);
    // Those of a simulation are leases on no real card.
    assert!(fs::read_dir(&leases).unwrap().all(|entry| {
        let name = entry.unwrap().file_name();
        name == "turn" || name.to_string_lossy().starts_with("simulated-GPU-")
    }));
}

#[test]
fn a_hung_driver_is_code_3_within_the_timeout() {
    let hanging = "[[device]]\nname = 'card'\ntotal = '8GiB'\n[[fault]]\ncall = 'nvmlDeviceGetMemoryInfo_v2'\nhang = true\n";
    for (scenario, call) in [("hang-init", "nvmlInit_v2"), (hanging, "nvmlDeviceGetMemoryInfo_v2")] {
        let (folder, leases) = folder();
        let library = library(&folder, scenario);
        for wait in [&[][..], &["--wait"]] {
            let args = [&["--need", "1GiB", "--timeout", "2s", "--nvml-lib", &library], wait].concat();
            let hung = run(&leases, &args);
            assert_eq!((hung.code, hung.out.as_str()), (3, ""), "{}", hung.err);
            assert!(hung.err.contains(call) && hung.err.contains("2 s (--timeout)"), "{}", hung.err);
        }
    }
    let (_folder, leases) = folder();
    assert_eq!(run(&leases, &["--need", "1GiB", "--nvml-lib", "/nonexistent.so"]).code, 3);
}

#[test]
fn a_card_that_hangs_does_not_keep_the_others_from_being_picked() {
    let one = "[[device]]\nname = 'card'\ntotal = '8GiB'\ncopies = 2\n\
               [[fault]]\ncall = 'nvmlDeviceGetMemoryInfo_v2'\ndevice = 0\nhang = true\n";
    let (folder, leases) = folder();
    let library = library(&folder, one);
    let picked = run(&leases, &["--need", "1GiB", "--timeout", "20s", "--nvml-lib", &library]);
    assert_eq!(picked.code, 0, "{}", picked.err);
    assert!(!picked.err.contains("simulated"), "{}", picked.err);
    let none = run(&leases, &["--need", "10GiB", "--timeout", "20s", "--nvml-lib", &library]);
    assert_eq!(none.code, 4, "{}", none.err);
    assert!(none.err.contains("GPU 0: nvmlDeviceGetMemoryInfo_v2 has not returned"), "{}", none.err);
}

#[test]
fn a_mig_instance_stands_alone() {
    let (_folder, leases) = folder();
    let one = run(&leases, &["--source", "demo:mig", "--speed", "10", "--need", "4GiB", "--bare"]);
    assert_eq!(one.code, 0, "{}", one.err);
    let many = run(&leases, &["--source", "demo:mig", "--speed", "10", "--need", "1GiB", "--count", "4", "--bare"]);
    assert_eq!((many.code, many.out.matches("MIG-").count()), (4, 0), "{}{}", many.out, many.err);
}

#[test]
fn a_command_runs_as_itself() {
    for (command, code, out) in [
        (&["sh", "-c", "echo $CUDA_VISIBLE_DEVICES"][..], 0, "GPU-"),
        (&["sh", "-c", "exit 7"], 7, ""),
        (&["sh", "-c", "kill -TERM $$"], 143, ""),
        (&["sh", "-c", "kill -KILL $$"], 137, ""),
        (&["/nonexistent"], 127, ""),
        (&["/etc/passwd"], 126, ""),
        (&["env", "-u", "CUDA_VISIBLE_DEVICES", "env"], 0, "HOME=/nonexistent\nPATH=/usr/bin:/bin\nVRAMSCOPE_LEASES="),
    ] {
        let (_folder, leases) = folder();
        let ran = run(&leases, &[&["--source", "demo", "--need", "1GiB", "--"], command].concat());
        assert_eq!(ran.code, code, "{command:?}: {}", ran.err);
        assert!(ran.out.contains(out), "{command:?}: {}", ran.out);
        // Nothing that does not hold is left behind.
        let again = run(&leases, &["--source", "demo", "--need", "1GiB", "--count", "4", "--margin", "0", "--bare"]);
        assert_eq!(again.code, 0, "{command:?}: the lease outlives the command: {}", again.err);
    }
    let (_folder, leases) = folder();
    let none = run(&leases, &["--source", "demo", "--need", "10TiB", "--", "sh", "-c", "echo started"]);
    assert_eq!((none.code, none.out.as_str()), (4, ""));
}

/// A card on which nothing else happens.
const IDLE: &str = "[[device]]\nname = 'card'\ntotal = '8GiB'\n[node]\nmemory = '64GiB'\n";

/// A pick that runs a command which says its pid and then waits for a line.
fn held(leases: &Path, source: &str, command: &str) -> (Child, BufReader<std::process::ChildStdout>, Pid) {
    let args = ["--source", source, "--speed", "10", "--need", "1GiB", "--", "sh", "-c", command];
    let mut child = pick(leases, &args).stdin(Stdio::piped()).spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    (child, out, Pid::from_raw(line.trim().parse().unwrap()).unwrap())
}

fn is_free(leases: &Path, source: &str) -> bool {
    let said = run(leases, &["--source", source, "--speed", "10", "--need", "1GiB"]);
    assert!([0, 4].contains(&said.code), "{}", said.err);
    // What it took is given back at once, for the next look.
    if said.code == 0 {
        fs::remove_dir_all(leases).unwrap();
    }
    said.code == 0
}

#[test]
fn a_lease_lives_as_long_as_its_command() {
    let (folder, leases) = folder();
    let scenario = folder.path().join("idle.toml");
    fs::write(&scenario, IDLE).unwrap();
    let source = format!("demo:{}", scenario.display());
    // Ended by itself.
    let (mut child, _, _) = held(&leases, &source, "echo $$; read line");
    assert!(!is_free(&leases, &source));
    child.stdin.take().unwrap().write_all(b"\n").unwrap();
    child.wait().unwrap();
    assert!(is_free(&leases, &source));
    // The command is killed.
    let (mut child, _, pid) = held(&leases, &source, "echo $$; read line");
    kill_process(pid, Signal::KILL).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(137));
    assert!(is_free(&leases, &source));
    // The pick is killed, and its command lives on.
    let (mut child, mut out, _) = held(&leases, &source, "echo $$; read line; read line; echo over");
    let keys = child.stdin.take();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!is_free(&leases, &source), "the command still runs");
    drop(keys);
    // The end of the output is that of the command.
    out.read_to_string(&mut String::new()).unwrap();
    assert!(is_free(&leases, &source));
    // The command leaves a daemon behind.
    let (mut child, mut out, _) = held(&leases, &source, "exec 3<&0; (read line <&3) & echo $$; exit 0");
    let keys = child.stdin.take();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(!is_free(&leases, &source), "the daemon still runs");
    drop(keys);
    out.read_to_string(&mut String::new()).unwrap();
    assert!(is_free(&leases, &source));
}

#[test]
fn signals_go_to_the_command() {
    let (_folder, leases) = folder();
    let command = "trap 'echo got it; exit 9' TERM; echo $$; while :; do read line || exit 1; done";
    let (mut child, mut out, pid) = held(&leases, "demo", command);
    let parent = Pid::from_child(&child);
    assert_ne!(parent, pid);
    kill_process(parent, Signal::TERM).unwrap();
    // The shell handles it when the read returns.
    child.stdin.as_mut().unwrap().write_all(b"\n").unwrap();
    let mut rest = String::new();
    out.read_to_string(&mut rest).unwrap();
    assert_eq!((child.wait().unwrap().code(), rest.as_str()), (Some(9), "got it\n"));
}

#[test]
fn without_a_folder_for_leases_it_warns_and_picks() {
    let (folder, _) = folder();
    let target = folder.path().join("elsewhere");
    fs::create_dir(&target).unwrap();
    let link = folder.path().join("link");
    symlink(&target, &link).unwrap();
    for leases in [Path::new("/proc/leases"), Path::new("/etc/passwd"), &link] {
        let said = run(leases, &["--source", "demo", "--need", "1GiB"]);
        assert_eq!(said.code, 0, "{}", said.err);
        assert!(said.err.contains("leases are off") && said.err.contains(leases.to_str().unwrap()), "{}", said.err);
    }
    assert_eq!(fs::read_dir(&target).unwrap().count(), 0, "nothing goes through the link");
}

#[test]
fn bad_arguments_are_named() {
    let (_folder, leases) = folder();
    for (args, words) in [
        (&[][..], &["--need"][..]),
        (&["--need", "many"], &["--need", "`many`", "20GiB"]),
        (&["--need", "1GiB", "--margin=-1"], &["--margin"]),
        (&["--need", "1GiB", "--count", "0"], &["--count"]),
        (&["--need", "1GiB", "--wait=soon"], &["--wait", "`soon`", "5m"]),
        (&["--need", "1GiB", "sh"], &["'sh'"]),
    ] {
        let said = run(&leases, args);
        assert_eq!((said.code, said.out.as_str()), (2, ""), "{args:?}");
        for word in words {
            assert!(said.err.contains(word), "{args:?}: no {word} in {}", said.err);
        }
    }
}
