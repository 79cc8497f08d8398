//! `man`: the manual page, from the command line's own description.

use std::io::{self, Write};

use clap_mangen::Man;

use super::{Exit, args, print};

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
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    writeln!(page, ".SH COMMANDS")?;
    for subcommand in command.get_subcommands() {
        writeln!(page, ".SS vramscope {}", subcommand.get_name())?;
        writeln!(page, "{}", escaped(&subcommand.get_about().map(ToString::to_string).unwrap_or_default()))?;
        for arg in subcommand.get_arguments().filter(|arg| !arg.is_global_set() && arg.get_id() != "help") {
            let name = arg.get_long().map_or_else(|| value_name(arg), |long| format!("--{long}"));
            writeln!(page, ".TP\n\\fB{}\\fR", escaped(&name))?;
            writeln!(page, "{}", escaped(&arg.get_help().map(ToString::to_string).unwrap_or_default()))?;
        }
    }
    writeln!(page, ".SH EXIT STATUS\n{}", exit_codes())?;
    Ok(page)
}

fn value_name(arg: &clap::Arg) -> String {
    arg.get_value_names().and_then(<[_]>::first).map(ToString::to_string).unwrap_or_default()
}

fn exit_codes() -> &'static str {
    ".TP\n0\nsuccess\n.TP\n1\nfailure\n.TP\n2\nusage error, bad configuration or unreadable input\n\
     .TP\n3\nno usable NVIDIA driver or device, or it does not answer"
}

/// Text that roff takes for no request.
fn escaped(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-");
    if text.starts_with(['.', '\'']) { format!("\\&{text}") } else { text }
}
