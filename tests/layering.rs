//! Arrows between modules go down: a module uses only modules of a smaller layer.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The map of `lib.rs`. Equals do not know each other.
const LAYERS: &[(&str, u8)] = &[
    ("domain", 0),
    ("config", 1),
    ("scenario", 1),
    ("timeline", 1),
    ("sampler", 2),
    ("source", 3),
    ("pipeline", 4),
    ("alerts", 5),
    ("output", 5),
    ("pick", 5),
    ("tui", 5),
    ("cli", 6),
];

/// What the screen may see; its layer number alone would allow more.
const TUI_SEES: &[&str] = &["config", "domain"];

/// What the domain may not name: the outside.
const OUTSIDE: &[&str] =
    &["std::fs", "std::net", "std::thread", "std::process", "std::env", "tokio", "ratatui", "crossterm", "rustix"];

fn sources() -> Vec<(String, PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    for (module, _) in LAYERS {
        let mut folders = vec![root.join(module)];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).unwrap().map(Result::unwrap) {
                let path = entry.path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|ext| ext == "rs") {
                    let text = fs::read_to_string(&path).unwrap();
                    files.push(((*module).to_owned(), path, text));
                }
            }
        }
    }
    files
}

fn layer(module: &str) -> Option<u8> {
    LAYERS.iter().find(|(name, _)| *name == module).map(|(_, layer)| *layer)
}

/// Code without comments and without the unit tests at its end, which may use anything.
fn code(text: &str) -> String {
    let text = text.split("#[cfg(test)]\nmod tests").next().unwrap();
    text.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

/// The modules that a file names as `crate::MODULE` or within `use crate::{…}`.
fn used(code: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for rest in code.split("crate::").skip(1) {
        if let Some(group) = rest.strip_prefix('{') {
            let (mut depth, mut word) = (1, String::new());
            for c in group.chars() {
                match c {
                    '{' => depth += 1,
                    '}' => depth -= 1,
                    c if depth == 1 && (c.is_alphanumeric() || c == '_') => word.push(c),
                    _ if depth == 1 => {
                        names.insert(std::mem::take(&mut word));
                    }
                    _ => {}
                }
                if depth == 0 {
                    names.insert(std::mem::take(&mut word));
                    break;
                }
            }
        } else {
            names.insert(rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect());
        }
    }
    names.into_iter().filter(|name| layer(name).is_some()).collect()
}

#[test]
fn arrows_go_down() {
    let mut wrong = Vec::new();
    for (module, path, text) in sources() {
        let own = layer(&module).unwrap();
        for other in used(&code(&text)) {
            let up = layer(&other).unwrap() >= own;
            let unseen = module == "tui" && !TUI_SEES.contains(&other.as_str());
            if other != module && (up || unseen) {
                wrong.push(format!("{}: {module} uses {other}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "arrows that point up:\n{}", wrong.join("\n"));
}

#[test]
fn the_domain_knows_nothing_outside() {
    for (module, path, text) in sources() {
        if module == "domain" {
            for outside in OUTSIDE {
                assert!(!code(&text).contains(&format!("{outside}::")), "{} names {outside}", path.display());
            }
        }
    }
}

#[test]
fn every_module_has_its_layer() {
    let lib = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/lib.rs")).unwrap();
    let modules: Vec<&str> = lib.lines().filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';')).collect();
    for module in &modules {
        let layer = layer(module).unwrap_or_else(|| panic!("{module} has no layer in tests/layering.rs"));
        assert!(lib.contains(&format!("//! | {layer} | [`{module}`] |")), "lib.rs does not show {module} as layer {layer}");
    }
    assert_eq!(modules.len(), LAYERS.len());
}

#[test]
fn files_open_with_their_subject() {
    for (_, path, text) in sources() {
        assert!(text.starts_with("//! "), "{} does not open with a sentence", path.display());
    }
}

#[test]
fn the_scan_finds_what_it_should() {
    let found =
        used("use crate::domain::Bytes;\nuse crate::{config::Layers, source::{A, sampler}, tui};\nfn f() { crate::cli::main() }");
    let found: Vec<&str> = found.iter().map(String::as_str).collect();
    assert_eq!(found, ["cli", "config", "domain", "source", "tui"]);
}
