//! `man`: the manual page, from the command line's own description and the tables of settings and keys.

use std::io::{self, Write};

use clap::{Arg, ArgAction, Command};
use clap_mangen::Man;

use super::{Exit, args, print};
use crate::config::SETTINGS;
use crate::tui::action::ACTIONS;

/// Variables that others define too, and what they do here.
const FOREIGN: &[(&str, &str)] = &[
    ("NO_COLOR", "where it is set, no colours, unless --color asks for them"),
    ("COLORTERM, TERM", "how many colours the terminal has"),
    ("LC_ALL, LC_CTYPE, LANG", "the first that is set tells whether the terminal takes UTF-8; ASCII is drawn otherwise"),
    ("VRAMSCOPE_LEASES", "the folder of leases of pick"),
    ("TMPDIR", "the folder for temporary files; /tmp where it is not set"),
    ("XDG_CONFIG_HOME", "where the configuration file lies; ~/.config where it is not set"),
];

/// Files that are read.
const FILES: &[(&str, &str)] = &[
    (
        "$XDG_CONFIG_HOME/vramscope/config.toml",
        "settings, one `key = value` a line: the keys are the options without their dashes. --config and VRAMSCOPE_CONFIG name another.",
    ),
    (
        "/run/lock/vramscope",
        "leases on GPUs that pick gave away, one file each; $VRAMSCOPE_LEASES names another folder, and vramscope-leases in that for \
         temporary files is used where there is none",
    ),
    ("libnvidia-ml.so.1", "the driver's library, as the system finds it; --nvml-lib names another"),
];

const EXIT_STATUS: &[(&str, &str)] = &[
    ("0", "success"),
    ("1", "failure; explain: no GPU out of memory in the input"),
    ("2", "usage error, bad configuration or unreadable input"),
    ("3", "no usable NVIDIA driver or device, or it does not answer"),
    (
        "4",
        "the recording is damaged, and what could be read was used; pick: no device has that headroom, or the time to wait ran out",
    ),
    (
        "pick with a command",
        "once it has started, its own status, or 128 + n if signal n ended it; 125 vramscope failed, 126 it can't be executed, 127 it is not there",
    ),
];

/// Prints the page.
///
/// # Errors
/// Standard output can't be written.
pub fn run() -> anyhow::Result<Exit> {
    print::bytes(&page()?)?;
    Ok(Exit::Success)
}

/// The page, in roff: the main command, then the options that each subcommand has of its own.
fn page() -> io::Result<Vec<u8>> {
    let mut command = args::command().disable_help_subcommand(true);
    command.build();
    let mut page = Vec::new();
    let man = Man::new(command.clone());
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    synopsis(&mut page, &command)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    writeln!(page, ".SH COMMANDS")?;
    for subcommand in command.get_subcommands() {
        writeln!(page, ".SS vramscope {}", subcommand.get_name())?;
        writeln!(page, "{}", escaped(&subcommand.get_about().map(ToString::to_string).unwrap_or_default()))?;
        for arg in own(subcommand) {
            let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
            let values = arg.get_possible_values();
            let values: Vec<&str> = values.iter().map(clap::builder::PossibleValue::get_name).collect();
            let values = if values.is_empty() || !arg.get_action().takes_values() || arg.is_hide_possible_values_set() {
                String::new()
            } else {
                format!(": {}", values.join(", "))
            };
            entry(&mut page, &usage(arg), &format!("{help}{values}"))?;
        }
    }
    writeln!(page, ".SH KEYS")?;
    for action in ACTIONS {
        entry(&mut page, &action.keys.join(", "), action.help)?;
    }
    section(&mut page, "FILES", FILES)?;
    writeln!(page, ".SH ENVIRONMENT")?;
    for setting in SETTINGS {
        entry(&mut page, setting.variable, &format!("as --{}", setting.name))?;
    }
    entry(&mut page, args::CONFIG_VARIABLE, &format!("as --{}", args::CONFIG))?;
    for (name, text) in FOREIGN {
        entry(&mut page, name, text)?;
    }
    section(&mut page, "EXIT STATUS", EXIT_STATUS)?;
    Ok(page)
}

/// How each command is called, with the options that are its own.
fn synopsis(page: &mut Vec<u8>, command: &Command) -> io::Result<()> {
    writeln!(page, ".SH SYNOPSIS\n.nf\n{}", escaped("vramscope [OPTIONS]"))?;
    for subcommand in command.get_subcommands() {
        let own: Vec<String> =
            own(subcommand).map(|arg| if arg.is_required_set() { usage(arg) } else { format!("[{}]", usage(arg)) }).collect();
        let line = format!("vramscope {} [OPTIONS] {}", subcommand.get_name(), own.join(" "));
        writeln!(page, "{}", escaped(line.trim_end()))?;
    }
    writeln!(page, ".fi\n.PP\nOPTIONS, before or after the command:\n.PP\n.nf")?;
    for arg in command.get_arguments().filter(|arg| arg.is_global_set()) {
        writeln!(page, "{}", escaped(&format!("[{}]", usage(arg))))?;
    }
    writeln!(page, ".fi")
}

/// The arguments that a subcommand has of its own, options first.
fn own(command: &Command) -> impl Iterator<Item = &Arg> {
    let own = || command.get_arguments().filter(|arg| !arg.is_global_set() && arg.get_id() != "help");
    own().filter(|arg| !arg.is_positional()).chain(own().filter(|arg| arg.is_positional()))
}

/// An argument as it is written: `--interval DUR`, `--ascii[=WHEN]`, `--json`, `SCENARIO`.
fn usage(arg: &Arg) -> String {
    let value = arg.get_value_names().and_then(<[_]>::first).map(ToString::to_string).unwrap_or_default();
    match arg.get_long() {
        None => value,
        Some(long) if !matches!(arg.get_action(), ArgAction::Set | ArgAction::Append) => format!("--{long}"),
        Some(long) if arg.is_require_equals_set() => format!("--{long}[={value}]"),
        Some(long) => format!("--{long} {value}"),
    }
}

fn section(page: &mut Vec<u8>, title: &str, entries: &[(&str, &str)]) -> io::Result<()> {
    writeln!(page, ".SH {title}")?;
    entries.iter().try_for_each(|(name, text)| entry(page, name, text))
}

fn entry(page: &mut Vec<u8>, name: &str, text: &str) -> io::Result<()> {
    writeln!(page, ".TP\n\\fB{}\\fR\n{}", escaped(name), escaped(text))
}

/// Text that roff takes for no request.
fn escaped(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-");
    if text.starts_with(['.', '\'']) { format!("\\&{text}") } else { text }
}
