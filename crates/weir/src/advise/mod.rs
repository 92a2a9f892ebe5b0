//! `weir advise`: reads a dump and tells, before anything is made, where each of its tables would be in a sharded database, which shard keys
//! would suit it, and all that will be refused.
//!
//! What must always hold: the rules are those of the server itself (`weir_catalog::define`, `weir_ddl::define`), never a second copy of
//! them. Nothing is connected to.

mod keys;
mod place;
mod schema;
mod split;
#[cfg(test)]
mod tests;

use std::io::{self, Read, Write};
use std::path::PathBuf;

use clap::Args;
use weir_local::Flavor;
use weir_sql::Dialect;

use crate::cluster::FlavorArg;
use keys::{Suggestion, Ties, suggestions};
use place::{Place, Servers, counted, place};
use schema::{Refused, Schema};

/// The largest file that is read: a dump's definitions are far smaller.
const LARGEST: u64 = 1 << 30;

/// Tell where the tables of a dump would be in a sharded database
///
/// For each table: where it would be without a clause and why, which shard keys would suit it (the columns that foreign keys tie to other
/// tables), and all that will be refused, at once. Keys that ALTER TABLE and CREATE INDEX add later count. Nothing is connected to: rows are
/// not looked at, and collations that Weir checks on the servers are taken as exact. Exit code 1 if anything will be refused.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  mysqldump --no-data --routines --triggers shop > schema.sql && weir advise schema.sql
  weir advise --default-single schema.sql     in a database with /*weir: default single */")]
pub(crate) struct AdviseArgs {
    /// The dump; `-` reads standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The kind of server that it is for
    #[arg(long, value_enum, default_value_t = FlavorArg::Mariadb)]
    flavor: FlavorArg,
    /// The database that it is restored into, unless it names others
    #[arg(long, value_name = "NAME", default_value = "app")]
    database: String,
    /// That database has SINGLE as its default
    #[arg(long)]
    default_single: bool,
}

/// Why there is no advice.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AdviseError {
    #[error("{0}: {1}")]
    File(String, io::Error),
    #[error("{0} has more than 1 GiB: take a dump without rows (mysqldump --no-data)")]
    Large(String),
    #[error("{0} will be refused")]
    Refused(String),
    #[error("standard output: {0}")]
    Output(#[from] io::Error),
}

/// Runs the command.
pub(crate) fn run(args: &AdviseArgs, out: &mut dyn Write) -> Result<(), AdviseError> {
    let name = args.file.display().to_string();
    let text = read(args).map_err(|error| AdviseError::File(name.clone(), error))?;
    if text.len() as u64 > LARGEST {
        return Err(AdviseError::Large(name));
    }
    let dialect = match Flavor::from(args.flavor) {
        Flavor::MariaDb => Dialect::MariaDb,
        Flavor::MySql => Dialect::MySql,
    };
    let advice = Advice::of(&text, &args.database, args.default_single, dialect);
    advice.write(out)?;
    match advice.refused.len() {
        0 => Ok(()),
        1 => Err(AdviseError::Refused("1 statement".to_owned())),
        count => Err(AdviseError::Refused(format!("{count} statements"))),
    }
}

fn read(args: &AdviseArgs) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    let file: Box<dyn Read> = match args.file.to_str() {
        Some("-") => Box::new(io::stdin()),
        _ => Box::new(std::fs::File::open(&args.file)?),
    };
    file.take(LARGEST + 1).read_to_end(&mut text)?;
    Ok(text)
}

/// What is to be said of a dump.
struct Advice {
    tables: Vec<(Place, Vec<Suggestion>)>,
    refused: Vec<Refused>,
}

impl Advice {
    fn of(text: &[u8], database: &str, single: bool, dialect: Dialect) -> Advice {
        let mut servers = Servers::of(dialect);
        let mut schema = Schema::read(text, database, single, servers.mode);
        let places = place(&mut schema, &mut servers);
        let ties = Ties::of(&places, &servers);
        let tables = places.into_iter().map(|place| {
            let suited = match place.asked {
                true => Vec::new(),
                false => suggestions(&place, &ties, &schema.catalog, &mut servers),
            };
            (place, suited)
        });
        let tables = tables.collect();
        let mut refused = schema.refused;
        refused.sort_by_key(|one| one.line);
        Advice { tables, refused }
    }

    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        for (place, suited) in &self.tables {
            writeln!(out, "{} (line {}): {}", place.object, place.line, place.clause)?;
            if let Some(why) = &place.why {
                writeln!(out, "  why: {why}")?;
            }
            for one in suited {
                writeln!(out, "  key: {}", told(one))?;
            }
        }
        if !self.refused.is_empty() {
            writeln!(out, "\nRefused:")?;
        }
        for refused in &self.refused {
            writeln!(out, "  line {}: {}\n    {}", refused.line, refused.what, refused.why)?;
        }
        let places: Vec<Place> = self.tables.iter().map(|(place, _)| place.clone()).collect();
        let counts: Vec<String> = counted(&places).iter().map(|(kind, count)| format!("{count} {kind}")).collect();
        writeln!(out, "\n{} tables: {}; {} refused", places.len(), counts.join(", "), self.refused.len())
    }
}

/// A suggestion in words.
fn told(one: &Suggestion) -> String {
    let mut text = format!("/*weir: shard by hash({}) */", one.column);
    if !one.beside.is_empty() {
        text.push_str(&format!(", beside {}", one.beside.join(", ")));
    }
    if !one.without.is_empty() {
        text.push_str(&format!(
            "; unique keys without it: {} (add {} to them, or write UNIQUE UNCHECKED)",
            one.without.join(", "),
            one.column
        ));
    }
    if !one.global.is_empty() {
        text.push_str(&format!("; by foreign keys, GLOBAL would have to be: {}", one.global.join(", ")));
    }
    if one.drops {
        text.push_str("; without the foreign key to itself");
    }
    text
}
