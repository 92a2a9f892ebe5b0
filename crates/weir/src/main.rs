//! The binary `weir`: command line, configuration, wiring.
//!
//! Must always hold: the exit code is 0 for success, 1 for a failure, 2 for a wrong command line,
//! 130 after an interrupt; what a command was asked for goes to standard output, and errors go to
//! standard error as lines that begin with `weir: `.
#![forbid(unsafe_code)]

mod advise;
mod bench;
mod catalog;
mod cli;
mod cluster;
mod config;
mod ctl;
mod logging;
mod serve;

use std::process::ExitCode;

fn main() -> ExitCode {
    let code = cli::run(std::env::args_os(), &mut std::io::stdout(), &mut std::io::stderr());
    ExitCode::from(code)
}
