//! What the user asks for, as the command line hands it over.

use std::path::PathBuf;

use weir_local::{Account, Cancel, Flavor};

use crate::catalogue::Bench;
use crate::plan::Workload;
use crate::target::TargetKind;

/// How much is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Length {
    /// All points, as the reports in the documentation.
    #[default]
    Full,
    /// Fewer points and shorter runs: under three minutes.
    Quick,
    /// The shortest form: shows that everything works; its figures mean nothing.
    Smoke,
}

/// Which of the two ways of sending statements are measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prepared {
    /// With server-side prepared statements.
    Yes,
    /// As text.
    No,
    /// First the one, then the other.
    Both,
}

impl Prepared {
    pub(crate) fn modes(self) -> &'static [bool] {
        match self {
            Self::Yes => &[true],
            Self::No => &[false],
            Self::Both => &[false, true],
        }
    }
}

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

/// A part of a bench. `None` and empty lists stand for what the bench does by itself.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// Only these targets.
    pub targets: Vec<TargetKind>,
    /// Only these workloads.
    pub workloads: Vec<Workload>,
    /// Only these numbers of clients; for churn, storm and idle only if they are named in `workloads`.
    pub clients: Vec<u32>,
    /// Prepared statements or text.
    pub prepared: Option<Prepared>,
    /// Length of a run.
    pub seconds: Option<u32>,
    /// Runs of each point.
    pub rounds: Option<u32>,
    /// Rows of the table.
    pub rows: Option<u32>,
    /// With busy processes beside the run, and a server that is slow or stops.
    pub contended: bool,
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
    /// The program `weir`: it is a target, and [`DRIVER_ARGUMENTS`] make it a load tool.
    pub weir: PathBuf,
    /// The command line that repeats the run, without passwords.
    pub command: String,
    /// Ends the run early.
    pub cancel: Cancel,
}

/// What `weir` is called with to be the load tool of [`crate::driver`]; the options that follow are
/// [`crate::driver::DriverOptions`]'s.
pub const DRIVER_ARGUMENTS: [&str; 2] = ["bench", "drive"];
/// The environment variable in which the load tool gets its password.
pub const DRIVER_PASSWORD: &str = "WEIR_BENCH_PASSWORD";
