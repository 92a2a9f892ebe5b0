//! `weir kill` and `weir start`: a server of a cluster dies, hangs, and comes back.

use std::path::PathBuf;

use clap::Args;
use weir_local::{Cluster, Woken};

use super::ClusterError;
use super::interrupt::Interrupt;
use super::show::{Show, say};

/// Kill a server of a cluster, to see what happens.
///
/// `weir status` shows the servers' names.
#[derive(Debug, Args)]
pub(crate) struct KillArgs {
    /// The server's name.
    #[arg(value_name = "NAME")]
    name: String,
    /// The cluster's directory.
    #[arg(long, value_name = "DIR", default_value = "weir-cluster")]
    dir: PathBuf,
    /// Let it hang (SIGSTOP) instead of ending it (SIGKILL).
    #[arg(long)]
    stop: bool,
}

/// Start a server of a cluster that was killed, or let one go on that hangs.
///
/// It takes its part in its group again; who takes writes is the group's matter, and Weir's.
#[derive(Debug, Args)]
pub(crate) struct StartArgs {
    /// The server's name.
    #[arg(value_name = "NAME")]
    name: String,
    /// The cluster's directory.
    #[arg(long, value_name = "DIR", default_value = "weir-cluster")]
    dir: PathBuf,
}

/// Runs `weir kill`. A server that does not run is no error.
pub(crate) fn kill(args: &KillArgs) -> Result<(), ClusterError> {
    let was_running = Cluster::kill_server(&args.dir, &args.name, args.stop)?;
    let what = match (was_running, args.stop) {
        (false, _) => "was down already",
        (true, false) => "is dead",
        (true, true) => "hangs",
    };
    say(&format!("{} {what}.\n", args.name));
    Ok(())
}

/// Runs `weir start`. A server that runs is no error.
pub(crate) fn start(args: &StartArgs) -> Result<(), ClusterError> {
    let interrupt = Interrupt::watch()?;
    let mut show = Show::new();
    let what = match Cluster::start_server(&args.dir, &args.name, &interrupt.cancel, &mut show)? {
        Woken::Started => "is up",
        Woken::Resumed => "goes on",
        Woken::Running => "was up already",
    };
    say(&format!("{} {what}.\n", args.name));
    Ok(())
}
