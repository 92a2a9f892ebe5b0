//! `weir bench`: the arguments of `weir-bench`, which does the work, and what the user gets to see at the end.
//!
//! Must always hold: a password is taken from a file or the environment, and is never a part of the command line that the
//! record keeps.

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use weir_bench::driver::{DriverKind, DriverOptions, drive};
use weir_bench::plan::Workload;
use weir_bench::target::TargetKind;
use weir_bench::{
    Bench, BenchError, DRIVER_PASSWORD, DRIVER_STARTED, GivenServer, Length, Options, Prepared, Selection,
};
use weir_local::Account;

use crate::cluster::{ClusterError, FlavorArg, Interrupt};

/// Where passwords of given servers come from, unless a file is named.
const PASSWORD_VARIABLE: &str = DRIVER_PASSWORD;

/// The subcommands of `weir bench`.
#[derive(Debug, Subcommand)]
pub(crate) enum BenchCommand {
    /// List the benches, and how long they take
    List,
    Run(RunArgs),
    /// Make the Markdown and HTML reports again from the records (*.json) of a directory
    Report {
        /// The directory
        #[arg(value_name = "DIR")]
        dir: PathBuf,
    },
    /// Be a load tool of a bench
    #[command(hide = true)]
    Drive(DriveArgs),
}

/// Run a bench: a record, a report in Markdown and HTML, and the tools' own outputs.
///
/// Starts a MariaDB or MySQL server and the targets in a private directory, on loopback; sysbench and mariadb-slap make the
/// load, on each target in turn, several times. Ctrl-C stops everything and reports what was measured until then.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  weir bench run overhead --quick                        a first look, under three minutes
  weir bench run overhead --target direct,haproxy,weir --workload oltp_point_select --clients 16,256
  weir bench run kingshard --flavor mysql --out figures  the whole bench, on MySQL
  weir bench run overhead --server 10.0.0.5:3306 --user bench --database bench --password-file FILE

Environment:
  WEIR_BENCH_PASSWORD  the password of --user, unless --password-file names a file")]
pub(crate) struct RunArgs {
    /// The bench; `weir bench list` lists them
    #[arg(value_name = "NAME")]
    bench: Bench,
    /// Fewer points and shorter runs: under three minutes
    #[arg(long)]
    quick: bool,
    /// The shortest form, to see that everything works; its figures mean nothing
    #[arg(long, conflicts_with = "quick")]
    smoke: bool,
    /// Of overhead: direct and through Weir on a machine that has other work, on a server that is slow, and on one that
    /// stops in mid-run
    #[arg(long)]
    contended: bool,
    /// Where the record, the report and the tools' outputs go; made if it is not there
    #[arg(long, value_name = "DIR", default_value = "weir-bench")]
    out: PathBuf,
    /// Only these targets: direct, haproxy, router, weir; of hotrow also weir-off, weir-merge
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    target: Vec<TargetKind>,
    /// Only these workloads: oltp_point_select, oltp_read_only, oltp_read_only_skip_trx, oltp_read_write, oltp_write_only,
    /// oltp_insert, read_write_4to1, churn, storm, idle, freshness, scatter, merge, merge_text, oltp_update_non_index,
    /// seckill, seckill_slap, seckill_autocommit, seckill_key, seckill_packets, seckill_hints, tpcc
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    workload: Vec<Workload>,
    /// Only these numbers of clients; for churn, storm, idle and freshness only if --workload names them; not for scatter
    /// and merges
    #[arg(long, value_name = "N,…", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=15_000))]
    clients: Vec<u32>,
    /// Server-side prepared statements
    #[arg(long, value_enum)]
    prepared: Option<PreparedArg>,
    /// Seconds of each run
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=3_600))]
    seconds: Option<u32>,
    /// Runs of each point on each target
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: Option<u32>,
    /// Rows of each table
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(100..=100_000_000))]
    rows: Option<u32>,
    /// The Weir that is measured [default: this program]
    #[arg(long, value_name = "PATH")]
    weir: Option<PathBuf>,
    /// The kind of server that is started
    #[arg(long, value_enum, default_value = "mariadb", conflicts_with = "server")]
    flavor: FlavorArg,
    /// The server program to start, or an unpacked tree that holds one [default: looked for]
    #[arg(long, value_name = "PATH", conflicts_with = "server")]
    server_program: Option<PathBuf>,
    /// Measure this server instead of starting one. CPU and memory of its process are then unknown
    #[arg(long, value_name = "HOST:PORT", requires = "user", requires = "database")]
    server: Option<String>,
    /// The account on the given server; the bench and the targets connect as it
    #[arg(long, requires = "server")]
    user: Option<String>,
    /// A file with the account's password in its first line
    #[arg(long, value_name = "FILE", requires = "server")]
    password_file: Option<PathBuf>,
    /// The database on the given server where the table sbtest1 is made, and dropped at the end
    #[arg(long, value_name = "NAME", requires = "server")]
    database: Option<String>,
}

/// Whether statements are prepared, as an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum PreparedArg {
    /// Only prepared
    Yes,
    /// Only text
    No,
    /// Both
    Both,
}

impl From<PreparedArg> for Prepared {
    fn from(argument: PreparedArg) -> Self {
        match argument {
            PreparedArg::Yes => Self::Yes,
            PreparedArg::No => Self::No,
            PreparedArg::Both => Self::Both,
        }
    }
}

/// What the load tool's clients do, as an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum KindArg {
    Storm,
    Idle,
    Freshness,
    Transaction,
    Tpcc,
}

/// The arguments of the load tool; see `weir_bench::driver`.
#[derive(Debug, Args)]
pub(crate) struct DriveArgs {
    #[arg(value_enum)]
    kind: KindArg,
    #[arg(long)]
    host: String,
    #[arg(long)]
    port: u16,
    #[arg(long)]
    user: String,
    #[arg(long)]
    database: String,
    #[arg(long)]
    clients: u32,
    #[arg(long)]
    seconds: u32,
    #[arg(long, default_value = "")]
    query: String,
    #[arg(long)]
    prepared: bool,
    #[arg(long, default_value_t = 0)]
    items: u32,
}

/// Why a bench command failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CommandError {
    /// The bench itself.
    #[error(transparent)]
    Bench(#[from] BenchError),
    /// Signals could not be watched.
    #[error(transparent)]
    Signals(#[from] ClusterError),
    /// An argument that can't be used.
    #[error("{0}")]
    Argument(String),
    /// Something of this process itself.
    #[error("cannot {0}: {1}")]
    Io(&'static str, io::Error),
}

impl CommandError {
    /// The exit code that shells expect: 130 after an interrupt, 1 otherwise.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::Bench(error) if error.is_interrupt() => 130,
            Self::Io(_, error) if error.kind() == io::ErrorKind::BrokenPipe => 0,
            _ => 1,
        }
    }
}

/// Runs `weir bench …`.
pub(crate) fn run(command: BenchCommand, out: &mut dyn Write) -> Result<(), CommandError> {
    let text = match command {
        BenchCommand::List => weir_bench::list(),
        BenchCommand::Run(args) => return run_bench(args, out),
        BenchCommand::Report { dir } => {
            let files = weir_bench::report_again(&dir)?;
            files.iter().map(|file| format!("{}\n", file.display())).collect()
        }
        BenchCommand::Drive(args) => {
            let report = serde_json::to_string(&drive(&args.options(), || println!("{DRIVER_STARTED}")));
            report.map_err(|error| CommandError::Io("write the report", error.into()))? + "\n"
        }
    };
    say(out, &text)
}

fn run_bench(args: RunArgs, out: &mut dyn Write) -> Result<(), CommandError> {
    let interrupt = Interrupt::watch()?;
    let options = args.options(&interrupt)?;
    let finished = weir_bench::run(&options)?;
    let mut text = format!("\n{}\n", weir_bench::report::summary(&finished.record).trim());
    text.push_str("\nRecord, report and raw outputs:\n");
    for file in &finished.files {
        text.push_str(&format!("  {}\n", file.display()));
    }
    text.push_str(&format!("  {}\n", options.out.join("raw").join(options.bench.name()).display()));
    say(out, &text)?;
    finished.error.map_or(Ok(()), |error| Err(error.into()))
}

fn say(out: &mut dyn Write, text: &str) -> Result<(), CommandError> {
    out.write_all(text.as_bytes()).map_err(|error| CommandError::Io("write to standard output", error))
}

impl RunArgs {
    fn options(&self, interrupt: &Interrupt) -> Result<Options, CommandError> {
        let given = self.server.as_deref().map(|server| self.given(server)).transpose()?;
        let this = std::env::current_exe().map_err(|error| CommandError::Io("find the path of this program", error));
        let driver = this?;
        let weir = self.weir.clone().unwrap_or_else(|| driver.clone());
        let words = std::env::args().skip(1).map(|word| shell_word(&word));
        let command = std::iter::once("weir".to_owned()).chain(words).collect::<Vec<_>>().join(" ");
        let length = match (self.quick, self.smoke) {
            (true, _) => Length::Quick,
            (_, true) => Length::Smoke,
            _ => Length::Full,
        };
        let selection = Selection {
            targets: self.target.clone(),
            workloads: self.workload.clone(),
            clients: self.clients.clone(),
            prepared: self.prepared.map(Prepared::from),
            seconds: self.seconds,
            rounds: self.rounds,
            rows: self.rows,
            contended: self.contended,
        };
        Ok(Options {
            bench: self.bench,
            length,
            out: self.out.clone(),
            selection,
            flavor: self.flavor.into(),
            server_program: self.server_program.clone(),
            given,
            weir,
            driver,
            command,
            cancel: interrupt.cancel.clone(),
        })
    }

    fn given(&self, server: &str) -> Result<GivenServer, CommandError> {
        let bad = || CommandError::Argument(format!("--server {server}: a host and a port are needed, as db1:3306"));
        let (host, port) = server.rsplit_once(':').ok_or_else(bad)?;
        let port = port.parse().map_err(|_| bad())?;
        let password = match &self.password_file {
            Some(file) => {
                let text = fs::read_to_string(file)
                    .map_err(|error| CommandError::Argument(format!("--password-file {}: {error}", file.display())))?;
                text.lines().next().unwrap_or_default().to_owned()
            }
            None => std::env::var(PASSWORD_VARIABLE).unwrap_or_default(),
        };
        let name = self.user.clone().unwrap_or_default();
        let database = self.database.clone().unwrap_or_default();
        let host = host.trim_matches(['[', ']']).to_owned();
        Ok(GivenServer { host, port, account: Account { name, password }, database })
    }
}

impl DriveArgs {
    fn options(self) -> DriverOptions {
        DriverOptions {
            kind: match self.kind {
                KindArg::Storm => DriverKind::Storm,
                KindArg::Idle => DriverKind::Idle,
                KindArg::Freshness => DriverKind::Freshness,
                KindArg::Transaction => DriverKind::Transaction,
                KindArg::Tpcc => DriverKind::Tpcc,
            },
            host: self.host,
            port: self.port,
            user: self.user,
            password: std::env::var(PASSWORD_VARIABLE).unwrap_or_default(),
            database: self.database,
            clients: self.clients,
            seconds: self.seconds,
            query: self.query,
            prepared: self.prepared,
            items: self.items,
        }
    }
}

/// A word as a shell reads it.
fn shell_word(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./,:=@%+".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::shell_word;

    #[test]
    fn words_are_quoted_where_a_shell_would_split_them() {
        for (word, quoted) in
            [("--clients=16,256", "--clients=16,256"), ("a b", "'a b'"), ("it's", r"'it'\''s'"), ("", "''")]
        {
            assert_eq!(shell_word(word), quoted);
        }
    }
}
