//! The command `vramscope`: parse, run, and turn the result into an exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    let code = vramscope::cli::main(std::env::args_os());
    vramscope::cli::leave(code);
    ExitCode::from(code)
}
