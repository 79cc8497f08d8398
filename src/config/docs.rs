//! The table of settings as documents: a sample file and the table of the README.

use std::fmt::Write;

use super::{SETTINGS, Setting};

/// A configuration file in which every setting stands with its default, as a comment. `words` gives the words that a setting
/// takes, where those are a closed list: some are known to upper layers alone.
pub fn sample_file(words: impl Fn(&Setting) -> Vec<&'static str>) -> String {
    let mut out = String::from(
        "# Settings of vramscope. Copy to $XDG_CONFIG_HOME/vramscope/config.toml (~/.config/vramscope/config.toml).\n\
         # A flag beats a variable, a variable beats this file. Every line below shows the default.\n",
    );
    for setting in SETTINGS {
        out.push('\n');
        for line in setting.details().lines() {
            let _ = if line.is_empty() { writeln!(out, "#") } else { writeln!(out, "# {line}") };
        }
        let words = words(setting);
        if !words.is_empty() {
            let _ = writeln!(out, "# One of: {}", words.join(", "));
        }
        let value = setting.default;
        let bare = value.parse::<f64>().is_ok() || matches!(value, "true" | "false");
        let _ =
            if bare { writeln!(out, "#{} = {value}", setting.name) } else { writeln!(out, "#{} = \"{value}\"", setting.name) };
    }
    out
}

/// The settings as a Markdown table; `words` as in [`sample_file`].
pub fn table(words: impl Fn(&Setting) -> Vec<&'static str>) -> String {
    let mut out = String::from("| Flag and key | Default | Variable | Does |\n|---|---|---|---|\n");
    for setting in SETTINGS {
        let flag = match (setting.switch, setting.default) {
            (true, "true") => format!("--{}=false", setting.name),
            (true, _) => format!("--{}", setting.name),
            (false, _) => format!("--{} {}", setting.name, setting.value),
        };
        let default = if setting.default.is_empty() { String::new() } else { format!("`{}`", setting.default) };
        let words = if setting.switch { Vec::new() } else { words(setting) };
        let words: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
        let words = if words.is_empty() { String::new() } else { format!(" ({})", words.join(", ")) };
        let _ = writeln!(out, "| `{flag}` | {default} | `{}` | {}{words} |", setting.variable, setting.summary());
    }
    out
}
