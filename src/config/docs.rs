//! The table of settings as documents: a sample file and the table of the README.

use std::fmt::Write;

use super::SETTINGS;

/// A configuration file in which every setting stands with its default, as a comment.
pub fn sample_file() -> String {
    let mut out = String::from(
        "# Settings of vramscope. Copy to $XDG_CONFIG_HOME/vramscope/config.toml (~/.config/vramscope/config.toml).\n\
         # A flag beats a variable, a variable beats this file. Every line below shows the default.\n",
    );
    for setting in SETTINGS {
        out.push('\n');
        for line in setting.details().lines() {
            let _ = if line.is_empty() { writeln!(out, "#") } else { writeln!(out, "# {line}") };
        }
        if !setting.choices.is_empty() {
            let _ = writeln!(out, "# One of: {}", setting.choices.join(", "));
        }
        let value = setting.default;
        let bare = value.parse::<f64>().is_ok() || matches!(value, "true" | "false");
        let _ =
            if bare { writeln!(out, "#{} = {value}", setting.name) } else { writeln!(out, "#{} = \"{value}\"", setting.name) };
    }
    out
}

/// The settings as a Markdown table.
pub fn table() -> String {
    let mut out = String::from("| Flag and key | Default | Variable | Does |\n|---|---|---|---|\n");
    for setting in SETTINGS {
        let flag = match (setting.switch, setting.default) {
            (true, "true") => format!("--{}=false", setting.name),
            (true, _) => format!("--{}", setting.name),
            (false, _) => format!("--{} {}", setting.name, setting.value),
        };
        let default = if setting.default.is_empty() { String::new() } else { format!("`{}`", setting.default) };
        let _ = writeln!(out, "| `{flag}` | {default} | `{}` | {} |", setting.variable, setting.summary());
    }
    out
}
