//! The binary: the command line of the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    toolglot::cli::main()
}
