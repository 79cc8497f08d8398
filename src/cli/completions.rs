//! `completions SHELL`: a completion script from the command line's own description.

use std::fmt::Write;

use clap::{Arg, Command};
use clap_complete::Shell;

use super::{Exit, args, print};

/// Arguments of `completions`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Which shell
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

/// Prints the script.
///
/// # Errors
/// Standard output can't be written.
pub fn run(args: &Args) -> anyhow::Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut args::command(), "vramscope", &mut script);
    if args.shell == Shell::Fish {
        script.extend(fish_arguments(&args::command()).into_bytes());
    }
    print::bytes(&script)?;
    Ok(Exit::Success)
}

/// What the generator for fish leaves out: the values of arguments that stand without an option.
fn fish_arguments(command: &Command) -> String {
    let mut out = String::new();
    for subcommand in command.get_subcommands() {
        let values = subcommand.get_positionals().flat_map(Arg::get_possible_values);
        for value in values {
            let help = value.get_help().map(ToString::to_string).unwrap_or_default().replace('\'', "\\'");
            let (name, value) = (subcommand.get_name(), value.get_name());
            let _ = writeln!(out, "complete -c vramscope -n '__fish_vramscope_using_subcommand {name}' -a {value} -d '{help}'");
        }
    }
    out
}
