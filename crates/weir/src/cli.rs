//! The command line of `weir`.
//!
//! Must always hold: what this module writes goes to the streams that it was given, so that it can
//! be tested; help texts say what a command does in the words of MySQL's manual, and end with
//! examples that work.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{Args, Parser, Subcommand};

use crate::{advise, bench, catalog, cluster, config, ctl, logging, serve};

/// The command did what it was asked for.
const SUCCESS: u8 = 0;
/// The command failed; standard error says why.
const FAILURE: u8 = 1;
/// The command line is wrong.
const USAGE: u8 = 2;

/// MySQL middleware: one port in front of MySQL and MariaDB servers.
///
/// Clients connect to Weir with the drivers they have; Weir shares few, warm server connections
/// among them and sends reads to replicas.
#[derive(Debug, Parser)]
#[command(
    name = "weir",
    version = VERSION,
    arg_required_else_help = true,
    max_term_width = 100,
    after_help = "\
Examples:
  weir config example > weir.toml && chmod 600 weir.toml   create a configuration
  weir config check weir.toml                              report all errors in it
  weir serve --config weir.toml                            run the server
  weir up                                                  try it: real servers, Weir in front
  weir ctl sessions                                        show the sessions of a running Weir
  weir bench run overhead --quick                          measure it on this machine

Exit codes: 0 success, 1 failure, 2 wrong command line, 130 interrupted."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Serve(ServeArgs),
    Ctl(ctl::CtlArgs),
    /// Check, show or document the configuration
    #[command(subcommand, arg_required_else_help = true)]
    Config(ConfigCommand),
    #[command(after_help = "\
Examples:
  weir up                                       one writer, one replica, Weir on port 4406
  weir up --flavor mysql --replicas 2 --fresh   MySQL, two replicas, a new cluster each time
  weir up --shards 2 --replicas 0               two shards of one server each
  weir up --kind semisync --members 3           a group whose dead writer Weir replaces
  weir up --kind group_replication              MySQL Group Replication, three members")]
    Up(cluster::UpArgs),
    #[command(after_help = "\
Examples:
  weir down          stop the cluster, keep its data
  weir down --wipe   stop it, and remove it with its data")]
    Down(cluster::DownArgs),
    Status(cluster::StatusArgs),
    #[command(after_help = "\
Examples:
  weir kill db1          end the server db1 with SIGKILL, as a crash would
  weir kill db1 --stop   let it hang (SIGSTOP); weir start db1 lets it go on")]
    Kill(cluster::KillArgs),
    #[command(after_help = "\
Examples:
  weir start db1   start the server db1 again")]
    Start(cluster::StartArgs),
    Advise(advise::AdviseArgs),
    /// Inspect and repair the catalog of sharded databases
    #[command(subcommand, arg_required_else_help = true)]
    Catalog(catalog::CatalogCommand),
    /// Measure Weir beside direct connections and other proxies
    #[command(subcommand, arg_required_else_help = true)]
    Bench(bench::BenchCommand),
    /// Print the version
    Version,
}

/// Run the server
///
/// Reads the configuration, checks all of it, listens, and serves until it gets SIGTERM or SIGINT;
/// then it stops accepting and lets open transactions end (`shutdown.grace`).
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  weir serve --config /etc/weir/weir.toml
  weir serve --config weir.toml --check && systemctl restart weir
  weir serve --config weir.toml --takeover      upgrade: the process that runs hands over and ends
  WEIR_LOG=debug weir serve --config weir.toml

Environment:
  WEIR_LOG  what to log, overrides log.level: a level, or info,weir_backend=debug")]
struct ServeArgs {
    /// The configuration file
    #[arg(short, long, value_name = "FILE")]
    config: PathBuf,
    /// Check the configuration and exit, as `weir config check`
    #[arg(long)]
    check: bool,
    /// Take the listening sockets over from the process that serves with this configuration
    ///
    /// No client is refused; the old process ends when its sessions have left. If anything goes wrong before this
    /// process serves, it ends and the old one goes on.
    #[arg(long, conflicts_with = "check")]
    takeover: bool,
}

#[derive(Debug, Subcommand)]
enum ConfigCommand {
    /// Check a configuration file: report all errors in it
    ///
    /// Passwords and certificates are read; nothing is listened on or connected to.
    Check(FileArgs),
    /// Print the configuration in effect: defaults filled in, passwords masked
    Show(FileArgs),
    /// Print a configuration file with all keys, their defaults and what they mean
    #[command(after_help = "\
Example:
  weir config example > weir.toml && chmod 600 weir.toml")]
    Example,
    /// Print the reference of all keys, as Markdown
    Docs,
}

#[derive(Debug, Args)]
struct FileArgs {
    /// The configuration file
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

/// The version of the package.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
enum CommandError {
    #[error(transparent)]
    Config(#[from] config::ConfigError),
    #[error(transparent)]
    Log(#[from] logging::LogError),
    #[error(transparent)]
    Serve(#[from] serve::ServeError),
    #[error(transparent)]
    Ctl(#[from] ctl::CtlError),
    #[error(transparent)]
    Catalog(#[from] catalog::CatalogError),
    // Boxed for its size.
    #[error(transparent)]
    Cluster(Box<cluster::ClusterError>),
    #[error(transparent)]
    Advise(#[from] advise::AdviseError),
    #[error(transparent)]
    Bench(Box<bench::CommandError>),
    #[error("standard output: {0}")]
    Output(#[from] io::Error),
}

impl From<cluster::ClusterError> for CommandError {
    fn from(error: cluster::ClusterError) -> Self {
        Self::Cluster(Box::new(error))
    }
}

impl From<bench::CommandError> for CommandError {
    fn from(error: bench::CommandError) -> Self {
        Self::Bench(Box::new(error))
    }
}

impl CommandError {
    fn exit_code(&self) -> u8 {
        match self {
            // The reader had enough, as `head` has.
            Self::Output(error)
            | Self::Ctl(ctl::CtlError::Output(error))
            | Self::Advise(advise::AdviseError::Output(error))
                if error.kind() == io::ErrorKind::BrokenPipe =>
            {
                SUCCESS
            }
            Self::Ctl(ctl::CtlError::Words(_)) => USAGE,
            Self::Cluster(error) => error.exit_code(),
            Self::Bench(error) => error.exit_code(),
            _ => FAILURE,
        }
    }
}

/// Runs the command line `args` (the program's name first), and returns the exit code.
pub(crate) fn run(args: impl IntoIterator<Item = OsString>, out: &mut dyn Write, err: &mut dyn Write) -> u8 {
    let result = match Cli::try_parse_from(args) {
        Ok(cli) => execute(cli.command, out),
        Err(message) if message.use_stderr() => {
            explain_usage(err, &message);
            return USAGE;
        }
        Err(help) => write!(out, "{}", help.render()).map_err(CommandError::Output),
    };
    let Err(error) = result else {
        return SUCCESS;
    };
    let code = error.exit_code();
    if code != SUCCESS {
        for line in error.to_string().lines() {
            complain(err, line);
        }
    }
    code
}

/// Writes what is wrong with the command line; when nothing was asked for, the help alone.
fn explain_usage(err: &mut dyn Write, message: &clap::Error) {
    let text = message.render().to_string();
    if message.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        let _ = write!(err, "{text}");
    } else {
        complain(err, text.trim_start_matches("error: "));
    }
}

/// Writes an error message. When standard error itself is gone, nobody is left to be told.
fn complain(err: &mut dyn Write, message: &str) {
    let _ = writeln!(err, "weir: {}", message.trim_end());
}

fn execute(command: Command, out: &mut dyn Write) -> Result<(), CommandError> {
    match command {
        Command::Serve(args) if args.check => check(&args.config, out),
        Command::Serve(args) => {
            let loaded = config::load_with_keys(&args.config)?;
            let log = logging::init(&loaded.checked.log)?;
            Ok(serve::run(serve::Start { loaded, log, file: args.config, takeover: args.takeover })?)
        }
        Command::Ctl(args) => Ok(ctl::run(&args, out)?),
        Command::Config(ConfigCommand::Check(args)) => check(&args.file, out),
        Command::Config(ConfigCommand::Show(args)) => Ok(out.write_all(config::show(&args.file)?.as_bytes())?),
        Command::Config(ConfigCommand::Example) => Ok(out.write_all(config::example().as_bytes())?),
        Command::Config(ConfigCommand::Docs) => Ok(out.write_all(config::reference().as_bytes())?),
        Command::Up(args) => Ok(cluster::up(args)?),
        Command::Down(args) => Ok(cluster::down(args)?),
        Command::Status(args) => Ok(cluster::status(args)?),
        Command::Kill(args) => Ok(cluster::kill(&args)?),
        Command::Start(args) => Ok(cluster::start(&args)?),
        Command::Advise(args) => Ok(advise::run(&args, out)?),
        Command::Catalog(command) => Ok(catalog::run(&command, out)?),
        Command::Bench(command) => Ok(bench::run(command, out)?),
        Command::Version => {
            Ok(writeln!(out, "weir {VERSION} for {} on {}", std::env::consts::OS, std::env::consts::ARCH)?)
        }
    }
}

fn check(file: &std::path::Path, out: &mut dyn Write) -> Result<(), CommandError> {
    config::load(file)?;
    Ok(writeln!(out, "{}: the configuration is valid", file.display())?)
}

#[cfg(test)]
mod tests;
