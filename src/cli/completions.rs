//! `completions SHELL`: a completion script from the command line's own description.

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
    print::bytes(&script)?;
    Ok(Exit::Success)
}
