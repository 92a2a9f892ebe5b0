//! Measures the SQL parser on the statements of MariaDB's own tests, with real servers as the judges.
//!
//! The statements are those of Debian's package `mariadb-test-data` (see `scripts/get-sql-corpus`), as far as a live MySQL
//! or MariaDB reads them. See docs/sql-parser.md, "Measured".
#![forbid(unsafe_code)]

mod class;
mod client;
mod corpus;
mod expressions;
mod judge;
mod measure;
mod missing;
mod opinion;
mod random_expressions;
mod report;
mod run;
mod script;
mod setting;
mod spans;
mod splices;
mod tables;

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// The parser's stack in Weir is that of a worker; here it is larger, since unoptimised code needs more.
pub(crate) const STACK: usize = 256 << 20;

#[derive(Parser)]
#[command(about = "Measures the SQL parser on the statements of MariaDB's own tests")]
struct Arguments {
    /// One kind of server only.
    #[arg(long, global = true)]
    server: Option<Kind>,
    /// Show so many examples of each kind of mistake.
    #[arg(long, global = true, value_name = "N", default_value_t = 3)]
    show: usize,
    #[command(subcommand)]
    what: Option<What>,
}

#[derive(Clone, Copy, ValueEnum, PartialEq, Eq)]
enum Kind {
    Mysql,
    Mariadb,
}

#[derive(Subcommand)]
enum What {
    /// How many statements of each class are read, and what stops the others.
    Table(TableArguments),
    /// Whether the tables that the tree names are those that the server looks for.
    Tables {
        /// Look at so many statements only, chosen at random.
        #[arg(long, value_name = "N", default_value_t = usize::MAX)]
        sample: usize,
    },
    /// Whether expressions, fully put in parentheses as the tree has them, have the value that they have without.
    Expressions {
        /// So many random expressions in each `sql_mode`, besides those of the corpus.
        #[arg(long, value_name = "N", default_value_t = 5000)]
        random: usize,
        /// Where the random ones begin.
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
    /// Whether each node's span, cut out and read alone, gives the same node.
    Spans,
    /// Whether texts that are changed at random nodes are read as they should be.
    Splices,
    /// Whether the crate `sqlparser` finds the same tables, where it reads a statement.
    Opinion,
    /// All of these, with the least that is wanted of the table; what asks servers much, on samples.
    All,
    /// Ask the servers about statements: whether they can be prepared, and the rows of those that are run.
    Ask {
        /// Also run them.
        #[arg(long)]
        run: bool,
        /// With this `sql_mode`.
        #[arg(long, default_value = "")]
        mode: String,
        /// The statements.
        #[arg(required = true)]
        statements: Vec<String>,
    },
}

#[derive(Args, Clone, Default)]
struct TableArguments {
    /// Fail if a class is below what is wanted of it.
    #[arg(long)]
    check: bool,
    /// Show so many of the most frequent causes of failure.
    #[arg(long, value_name = "N", default_value_t = 0)]
    causes: usize,
    /// Only classes whose name has this in it: `table`, `select`.
    #[arg(long)]
    class: Option<String>,
    /// Append the statements that were not read to this file, with server, class and reason.
    #[arg(long, value_name = "FILE")]
    dump: Option<PathBuf>,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    // A panic of the parser is counted, not shown; one of this program ends it all the same.
    std::panic::set_hook(Box::new(|_| {}));
    match run::run(&arguments) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("sql-corpus: {error}");
            ExitCode::FAILURE
        }
    }
}

/// What a thread gave; a panic of this program becomes an error.
pub(crate) fn joined<T>(result: std::thread::Result<io::Result<T>>) -> io::Result<T> {
    result.unwrap_or_else(|panic| {
        let message = panic.downcast_ref::<String>().cloned();
        let message = message.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        Err(io::Error::other(message.unwrap_or_else(|| "this program panicked".to_owned())))
    })
}
