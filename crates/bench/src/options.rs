//! What the user asks for, as the command line hands it over.

use std::path::PathBuf;

use weir_local::{Account, Cancel, Flavor};

use crate::catalogue::Bench;
use crate::selection::{Length, Selection};

/// A server that is measured instead of one that the bench starts.
#[derive(Debug, Clone)]
pub struct GivenServer {
    /// Host name or IP address.
    pub host: String,
    /// TCP port.
    pub port: u16,
    /// Who connects: the load tools, and the proxies that watch the server. Needs all rights on the database.
    pub account: Account,
    /// The database in which the bench makes its table `sbtest1`, and drops it again.
    pub database: String,
}

/// Everything that a run depends on.
#[derive(Debug, Clone)]
pub struct Options {
    /// Which bench.
    pub bench: Bench,
    /// How much of it.
    pub length: Length,
    /// Where record, report and raw outputs go; made if it is not there.
    pub out: PathBuf,
    /// A part of it.
    pub selection: Selection,
    /// The kind of server that is started.
    pub flavor: Flavor,
    /// The server program to start, or a tree that holds one.
    pub server_program: Option<PathBuf>,
    /// A server to measure instead.
    pub given: Option<GivenServer>,
    /// The program `weir` that is a target.
    pub weir: PathBuf,
    /// The program that [`DRIVER_ARGUMENTS`] make a load tool: a Weir of another version may lack a load.
    pub driver: PathBuf,
    /// The command line that repeats the run, without passwords.
    pub command: String,
    /// Ends the run early.
    pub cancel: Cancel,
}

/// What `weir` is called with to be the load tool of [`crate::driver`]; the options that follow are
/// [`crate::driver::DriverOptions`]'s.
pub const DRIVER_ARGUMENTS: [&str; 2] = ["bench", "drive"];
/// What the load tool prints when all its clients are connected and its measured seconds begin, where it waits for that.
pub const DRIVER_STARTED: &str = "all clients are connected";
/// The environment variable in which the load tool gets its password.
pub const DRIVER_PASSWORD: &str = "WEIR_BENCH_PASSWORD";
