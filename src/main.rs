//! The command `vramscope`: parse, run, and turn the result into an exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(vramscope::cli::main(std::env::args_os()))
}
