//! Registries are complete and generated documents current.
//!
//! With `VRAMSCOPE_BLESS` set, the generated parts are written anew instead of compared.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use vramscope::cli::args::words;
use vramscope::config::{Layers, SETTINGS, Settings, docs, file};
use vramscope::domain::Framework;
use vramscope::domain::oom::Scanner;
use vramscope::domain::tips::{TIPS, Tip};
use vramscope::output::{explain, tips};
use vramscope::scenario::{SCENARIOS, Scenario, World};
use vramscope::tui::THEMES;
use vramscope::tui::action::ACTIONS;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

#[expect(clippy::disallowed_methods, reason = "a switch of this test, not a setting of the product")]
fn bless() -> bool {
    std::env::var_os("VRAMSCOPE_BLESS").is_some()
}

/// Compares a file with what it should be, or writes it.
fn current(name: &str, wanted: &str) {
    let path = root().join(name);
    if bless() {
        fs::write(&path, wanted).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(found == wanted, "{name} is out of date: run `VRAMSCOPE_BLESS=1 cargo test docs`");
}

/// The table of actions as Markdown.
fn keys() -> String {
    let mut out = String::from("| Keys | Do |\n|---|---|\n");
    for action in ACTIONS {
        let keys: Vec<String> = action.keys.iter().map(|key| format!("`{key}`")).collect();
        writeln!(out, "| {} | {} |", keys.join(" "), action.help).unwrap();
    }
    out
}

/// A file with the text between `<!-- NAME: … -->` and the next `<!-- end -->` replaced.
fn with_part(text: &str, name: &str, part: &str) -> String {
    let (before, rest) = text.split_once(&format!("<!-- {name}:")).unwrap_or_else(|| panic!("no mark for {name}"));
    let (mark, rest) = rest.split_once("-->\n").unwrap();
    let (_, after) = rest.split_once("<!-- end -->").unwrap();
    format!("{before}<!-- {name}:{mark}-->\n\n{part}\n<!-- end -->{after}")
}

#[test]
fn the_readme_shows_the_tables() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let wanted = with_part(&readme, "settings", &docs::table(words));
    let wanted = with_part(&wanted, "keys", &keys());
    let tip = Tip::named("detach_logged_tensors").unwrap();
    let wanted = with_part(&wanted, "tip", &format!("```text\n{}```\n", tips::full(tip, None)));
    let mut scanner = Scanner::new();
    scanner.push_bytes(&fs::read(root().join("tests/fixtures/oom/pt23-fragmentation-large.log")).unwrap());
    let explained = explain::page(&scanner.finish().explain(), &[], explain::Look { width: None, ascii: false });
    let wanted = with_part(&wanted, "explain", &format!("```text\n{explained}```\n"));
    current("README.md", &wanted);
}

#[test]
fn the_scenario_of_the_readme_plays() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let (_, rest) = readme.split_once("```toml\n").unwrap();
    let (text, _) = rest.split_once("```").unwrap();
    World::new(&Scenario::parse("README.md", text).unwrap()).unwrap();
}

#[test]
fn the_sample_file_is_current_and_good() {
    let sample = docs::sample_file(words);
    current("assets/config.toml", &sample);
    // Also with every line switched on.
    let on: Vec<&str> =
        sample.lines().map(|line| line.strip_prefix('#').filter(|rest| !rest.starts_with(' ')).unwrap_or(line)).collect();
    let on = on.join("\n");
    let mut layers = Layers::new();
    file::push_text(&mut layers, "config.toml", &on).unwrap();
    assert_eq!(on.lines().filter(|line| line.contains(" = ") && !line.starts_with('#')).count(), SETTINGS.len());
    assert_eq!(Settings::merge(&layers).unwrap().timeout, Settings::merge(&Layers::new()).unwrap().timeout);
}

/// The stems of the files in a folder that have an ending.
fn stems(folder: &str, ending: &str) -> BTreeSet<String> {
    fs::read_dir(root().join(folder))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ext| ext == ending))
        .map(|path| path.file_stem().unwrap().to_string_lossy().into_owned())
        .filter(|stem| stem != "mod")
        .collect()
}

#[test]
fn every_scenario_file_is_in_its_slice() {
    let listed: BTreeSet<String> = SCENARIOS.iter().map(|scenario| scenario.id.to_owned()).collect();
    assert_eq!(listed, stems("assets/scenarios", "toml"));
    assert_eq!(listed.len(), SCENARIOS.len(), "an id stands twice");
}

#[test]
fn every_theme_file_is_in_its_slice_and_the_first_is_the_default() {
    let listed: BTreeSet<String> = THEMES.iter().map(|theme| theme.name.to_owned()).collect();
    assert_eq!(listed, stems("assets/themes", "toml"));
    let default = SETTINGS.iter().find(|setting| setting.name == "theme").map(|setting| setting.default);
    assert_eq!(default, THEMES.first().map(|theme| theme.name));
}

#[test]
fn every_tip_file_is_in_its_slice() {
    let listed: BTreeSet<String> = TIPS.iter().map(|tip| tip.id.to_owned()).collect();
    let mut files = stems("src/domain/tips", "rs");
    // What a tip is made of, and how it is found.
    for part in ["entry", "find"] {
        assert!(files.remove(part));
    }
    assert_eq!(listed, files);
    assert_eq!(listed.len(), TIPS.len(), "an id stands twice");
}

/// The words that labelled logs may use.
fn vocabulary() -> serde_json::Value {
    serde_json::from_str(&fs::read_to_string(root().join("tests/fixtures/oom/vocabulary.json")).unwrap()).unwrap()
}

#[test]
fn every_tip_and_framework_of_the_vocabulary_is_known() {
    let vocabulary = vocabulary();
    for id in vocabulary["tip"].as_object().unwrap().keys() {
        assert!(Tip::named(id).is_some(), "no tip {id}");
    }
    for id in ["set_device_per_rank", "workers_without_cuda", "sysmem_fallback_off", "clean_orphan"] {
        assert!(Tip::named(id).is_some(), "no tip {id}");
    }
    let words: BTreeSet<&str> = vocabulary["framework"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
    let known: BTreeSet<String> = <Framework as strum::IntoEnumIterator>::iter().map(|framework| framework.to_string()).collect();
    assert_eq!(words, known.iter().map(String::as_str).collect());
}

#[test]
fn every_source_file_is_compiled() {
    let mut folders = vec![root().join("src")];
    while let Some(folder) = folders.pop() {
        let top = if folder.ends_with("src") { "lib.rs" } else { "mod.rs" };
        let parent = fs::read_to_string(folder.join(top)).unwrap();
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            let source = path.extension().is_some_and(|ext| ext == "rs");
            if path.is_dir() && name != "snapshots" {
                folders.push(path.clone());
            } else if !source || ["lib", "main", "mod"].contains(&name.as_str()) {
                continue;
            }
            // A registry whose entries are modules names them in its own macro, one to a line.
            let entry = parent.contains("$(mod $id;)*") && parent.lines().any(|line| line.trim() == name);
            assert!(entry || parent.contains(&format!("mod {name};")), "{} is in no module", path.display());
        }
    }
}
