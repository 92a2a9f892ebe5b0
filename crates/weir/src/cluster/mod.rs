//! `weir up`, `weir down`, `weir status`, `weir kill`, `weir start`: a whole cluster of real servers on this machine, with Weir in front.
//!
//! What the commands do to processes and directories is `weir-local`'s; here are the arguments, the checks before
//! anything is started, Weir's configuration file for the cluster, and what the user gets to see. A command that fails or
//! is interrupted leaves no process behind that it started.

mod check;
mod config_file;
mod error;
mod foreground;
mod interrupt;
mod members;
mod show;
mod status;
mod up;

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use weir_local::{Cluster, Flavor, Kind};

pub(crate) use error::ClusterError;
pub(crate) use interrupt::Interrupt;
pub(crate) use members::{KillArgs, StartArgs, kill, start};
pub(crate) use status::status;
pub(crate) use up::up;

use show::{Show, say};

/// Start a cluster of real servers in a directory, with Weir in front.
///
/// Makes the cluster if there is none, and starts what does not run of the one that is there. The servers listen on
/// 127.0.0.1 only.
#[derive(Debug, Args)]
pub(crate) struct UpArgs {
    /// The cluster's directory; made if it is not there.
    #[arg(long, value_name = "DIR", default_value = "weir-cluster")]
    dir: PathBuf,
    /// The kind of server [default: MariaDB if it is installed, else MySQL].
    #[arg(long, value_enum)]
    flavor: Option<FlavorArg>,
    /// How the servers of each shard replicate [default: static].
    #[arg(long, value_enum)]
    kind: Option<KindArg>,
    /// The server program, or an unpacked tree that holds one [default: looked for].
    #[arg(long, value_name = "PATH")]
    server: Option<PathBuf>,
    /// How many shards the cluster gets, each with servers of its own [default: 1].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=16))]
    shards: Option<u16>,
    /// How many replicas the writer of each shard gets [default: 1].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(0..=8), conflicts_with = "members")]
    replicas: Option<u16>,
    /// How many servers each shard gets, the writer included [default: 2, and 3 of the kinds that replace a writer].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=9))]
    members: Option<u16>,
    /// The port on 127.0.0.1 where Weir listens [default: 4406].
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    port: Option<u16>,
    /// Wipe the cluster that is in the directory, and start over.
    #[arg(long)]
    fresh: bool,
    /// Stay in the foreground; Ctrl-C stops the cluster.
    #[arg(long)]
    foreground: bool,
    /// Start the servers only, without Weir.
    #[arg(long, hide = true)]
    no_weir: bool,
}

/// Stop a cluster: Weir, then the replicas, then the writers. The data is kept.
#[derive(Debug, Args)]
pub(crate) struct DownArgs {
    /// The cluster's directory.
    #[arg(long, value_name = "DIR", default_value = "weir-cluster")]
    dir: PathBuf,
    /// Remove the cluster with all its data.
    #[arg(long, conflicts_with = "keep_data")]
    wipe: bool,
    /// Keep the data: the default.
    #[arg(long)]
    keep_data: bool,
}

/// Show what runs of a cluster.
#[derive(Debug, Args)]
pub(crate) struct StatusArgs {
    /// The cluster's directory.
    #[arg(long, value_name = "DIR", default_value = "weir-cluster")]
    dir: PathBuf,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// The kinds of server, as an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FlavorArg {
    /// MariaDB
    Mariadb,
    /// MySQL
    Mysql,
}

/// The kinds of groups, as an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum KindArg {
    /// A writer and replicas; the writer stays the writer
    Static,
    /// A writer and replicas; Weir replaces a writer that dies
    Async,
    /// The same, and each commit waits for a replica (lossless semi-synchronous replication)
    #[value(name = "semisync")]
    SemiSync,
    /// MySQL Group Replication with one primary
    GroupReplication,
    /// A MariaDB Galera cluster
    Galera,
}

impl From<KindArg> for Kind {
    fn from(argument: KindArg) -> Self {
        match argument {
            KindArg::Static => Self::Static,
            KindArg::Async => Self::Async,
            KindArg::SemiSync => Self::SemiSync,
            KindArg::GroupReplication => Self::GroupReplication,
            KindArg::Galera => Self::Galera,
        }
    }
}

impl From<FlavorArg> for Flavor {
    fn from(argument: FlavorArg) -> Self {
        match argument {
            FlavorArg::Mariadb => Self::MariaDb,
            FlavorArg::Mysql => Self::MySql,
        }
    }
}

/// Runs `weir down`. A cluster that is down already is no error.
pub(crate) fn down(args: DownArgs) -> Result<(), ClusterError> {
    let mut show = Show::new();
    if args.wipe {
        Cluster::wipe(&args.dir, &mut show)?;
        say(&format!("The cluster in {} is gone.\n", args.dir.display()));
        return Ok(());
    }
    let stopped = Cluster::down(&args.dir, &mut show)?;
    let what = if stopped == 0 { "was down already" } else { "is down; its data is kept" };
    say(&format!("The cluster in {} {what}.\n", args.dir.display()));
    Ok(())
}
