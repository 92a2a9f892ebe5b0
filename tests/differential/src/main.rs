//! Runs statements on one plain server and through Weir over 1, 2 and 4 shards, and compares the answers.
//!
//! What must always hold: the plain server is the judge. A statement that Weir refuses (error 1235) counts as passed only where the
//! case says that it is refused; what one plain server answers, Weir has to answer alike: columns and types, rows, affected rows, insert
//! id, info, warnings, errors.
//!
//! The last line that is printed is `N passed, N failed`.
#![forbid(unsafe_code)]

mod answer;
mod case;
mod generate;
mod mutate;
mod run;
mod stage;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use indicatif::MultiProgress;
use weir_local::Flavor;

/// What anything here may fail with.
pub(crate) type Error = Box<dyn std::error::Error + Send + Sync>;

#[derive(Parser)]
#[command(about = "Runs statements on one plain server and through Weir over several shards, and compares the answers")]
pub(crate) struct Arguments {
    /// One kind of server only.
    #[arg(long)]
    server: Option<Kind>,
    /// Numbers of shards.
    #[arg(long, value_delimiter = ',', default_values_t = [1, 2, 4])]
    shards: Vec<usize>,
    /// Only files or titles that contain this.
    #[arg(long, default_value = "")]
    filter: String,
    /// The Weir binary; the one beside this program if not given.
    #[arg(long)]
    weir: Option<PathBuf>,
    /// Where the cases are.
    #[arg(long, default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/cases"))]
    cases: PathBuf,
    /// Show at most so many differences.
    #[arg(long, default_value_t = 50)]
    show: usize,
    /// Compare the plain server with itself: checks the cases, not Weir.
    #[arg(long)]
    direct: bool,
    /// No cases, only generated statements.
    #[arg(long)]
    generate: bool,
    /// The cases with their statements changed at random, for as many seconds as are given; what differs is printed by its kind.
    #[arg(long)]
    mutate: bool,
    /// Which statements are generated.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many are generated, at least, if the time suffices.
    #[arg(long, default_value_t = 600)]
    statements: usize,
    /// No script begins after so many seconds of generated statements.
    #[arg(long, default_value_t = 600)]
    seconds: u64,
    /// Session settings under which every case runs on all servers, as `SET` takes them: `collation_connection = utf16_general_ci`.
    #[arg(long)]
    settings: Option<String>,
    /// Print each statement and what the plain server answers.
    #[arg(long)]
    verbose: bool,
}

#[derive(Clone, Copy, ValueEnum, PartialEq, Eq)]
enum Kind {
    Mysql,
    Mariadb,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let flavors = match arguments.server {
        Some(Kind::Mysql) => vec![Flavor::MySql],
        Some(Kind::Mariadb) => vec![Flavor::MariaDb],
        None => vec![Flavor::MariaDb, Flavor::MySql],
    };
    let bars = MultiProgress::new();
    let (bars, arguments) = (&bars, &arguments);
    // One kind of server does not wait for the other: most of the time is theirs.
    let tallies: Vec<_> = std::thread::scope(|scope| {
        let runs: Vec<_> =
            flavors.iter().map(|&flavor| (flavor, scope.spawn(move || run::run(flavor, arguments, bars)))).collect();
        runs.into_iter().map(|(flavor, run)| (flavor, run.join())).collect()
    });
    let mut total = run::Tally::default();
    for (flavor, tally) in tallies {
        match tally {
            Ok(Ok(tally)) => {
                println!("{flavor}: {} passed, {} failed", tally.passed, tally.failed);
                total.add(tally);
            }
            Ok(Err(error)) => {
                println!("{flavor}: {error}");
                total.fail(format!("{flavor}: {error}"));
            }
            Err(_panic) => total.fail(format!("{flavor}: a panic")),
        }
    }
    if total.failed > 0 {
        println!("\nfailures:\n");
        total.failures.iter().enumerate().for_each(|(number, told)| println!("---- {} ----\n{told}\n", number + 1));
    }
    println!("{} passed, {} failed", total.passed, total.failed);
    if total.failed == 0 && total.passed > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
