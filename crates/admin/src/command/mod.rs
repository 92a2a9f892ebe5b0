//! The commands: one list from which the SQL after WEIR, the REST interface with its OpenAPI document, `weir ctl` and
//! the help are all made, so that no door can know what another does not.
//!
//! To add a command: a variant of [`Command`], an entry in [`CATALOGUE`], and an arm where commands run
//! ([`crate::Commands::run`]).

mod arguments;
mod batches;
mod catalogue;
mod form;
mod growth;
mod moves;
mod parse;
mod tokens;

pub use catalogue::CATALOGUE;
use weir_wire::{Failure, error::codes};

use crate::answer::Column;
use crate::like::Pattern;
use crate::sessions::Interrupt;

/// Something to do or to tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Version, uptime, counts.
    Status,
    /// The servers.
    ShowServers(Option<Pattern>),
    /// The sessions.
    ShowSessions(Option<Pattern>),
    /// The pools of server connections.
    ShowPools(Option<Pattern>),
    /// The rows that many clients change at once.
    ShowHotRows(Option<Pattern>),
    /// Branches of transactions that are in doubt.
    ShowTransactions(Option<Pattern>),
    /// What statements cost, by digest.
    ShowDigests {
        /// Those whose text matches.
        like: Option<Pattern>,
        /// So many.
        limit: Option<u64>,
    },
    /// Forgets what was counted of digests.
    ResetDigests,
    /// Begins new files of the slow log and the audit log.
    RotateLogs,
    /// The rules.
    ShowRules(Option<Pattern>),
    /// Refuses statements that change data, or no longer.
    SetReadOnly(bool),
    /// The configuration in effect.
    ShowConfig(Option<Pattern>),
    /// Ends a session, or its statement.
    Kill {
        /// The session's connection id.
        id: u64,
        /// Which of both.
        why: Interrupt,
    },
    /// Reads the configuration file again.
    Reload,
    /// Changes how much is logged.
    SetLogLevel(String),
    /// Makes a server the writer of its group.
    SetWriter(String),
    /// The groups, with the state of each server.
    ShowGroups(Option<Pattern>),
    /// What was done to the groups.
    ShowFailovers(Option<Pattern>),
    /// Makes a server the writer in place of one that is there.
    Switchover {
        /// The group; the server's own if it is not named.
        group: Option<String>,
        /// The server.
        server: String,
    },
    /// Settings of a group's servers that could be better; of all groups if none is named.
    Advise(Option<String>),
    /// Replaces a writer that is gone.
    Failover {
        /// The group; the only one if it is not named.
        group: Option<String>,
        /// By this server; by whom Weir chooses if it is not named.
        server: Option<String>,
    },
    /// Starts a group that is down as a whole.
    BootGroup(Option<String>),
    /// The shards.
    ShowShards(Option<Pattern>),
    /// The tables of sharded databases.
    ShowTables(Option<Pattern>),
    /// Compares the catalog with the servers.
    CheckCatalog,
    /// The definitions that not all shards have.
    ShowDefinitions,
    /// Goes on with a definition.
    ResumeDefinition(u64),
    /// Forgets a definition.
    CancelDefinition(u64),
    /// Says how changes of a table's hot rows are made.
    AlterHot {
        /// The table, with its database.
        table: String,
        /// Those of counters by one statement for several clients.
        merge: bool,
    },
    /// The writes in parts.
    ShowBatches(Option<Pattern>),
    /// Tells a write in parts what to do.
    Batch {
        /// Its number.
        id: u64,
        /// What.
        order: weir_batches::Order,
    },
    /// The moves of tables.
    ShowMoves(Option<Pattern>),
    /// Begins a move of tables.
    MoveTables(String),
    /// Tells a move what to do.
    Move {
        /// Its number.
        id: u64,
        /// What.
        order: MoveOrder,
    },
    /// Changes which shards hold what.
    Grow(Growth),
    /// Adopts a database that is on the servers.
    Attach(String),
    /// Forgets a database.
    Detach(String),
    /// The commands that begin with these words.
    Help(Option<String>),
}

/// What shards are to hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Growth {
    /// Spreads databases evenly over the shards in use.
    Rebalance {
        /// Which; all if none is named.
        database: Option<String>,
        /// It is only told what would move.
        dry_run: bool,
    },
    /// Moves slots of a database.
    MoveSlots {
        /// Which.
        slots: std::ops::RangeInclusive<usize>,
        /// Of which database.
        database: String,
        /// To which shard.
        shard: String,
    },
    /// Takes a shard into use again.
    AddShard(String),
    /// Moves everything off a shard.
    Drain {
        /// Which.
        shard: String,
        /// It is only told what would move.
        dry_run: bool,
    },
}

/// What a move is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MoveOrder {
    /// To copy no further, and not to cut over.
    Pause,
    /// To go on.
    Resume,
    /// To be given up before its cutover.
    Cancel,
    /// To cut over as soon as it can; not before this time, if there is one.
    CutOver(Option<String>),
    /// To compare both sides.
    Verify,
    /// To drop the old tables.
    Finish,
    /// To take the old placement back.
    Undo,
    /// To copy so many rows per second at most; 0: no bound.
    Throttle(u64),
}

/// What an argument is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArgumentKind {
    /// A whole number.
    Integer,
    /// Text.
    Text,
}

/// An argument of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Argument {
    /// Its name, as in the forms, the path, the query or the body.
    pub name: &'static str,
    /// What it is.
    pub kind: ArgumentKind,
    /// What it means.
    pub about: &'static str,
}

/// What a command answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// Rows with these columns.
    Rows(&'static [Column]),
    /// One object with these fields.
    Record(&'static [Column]),
    /// Nothing.
    Done,
}

/// A method of HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Tells something.
    Get,
    /// Does something.
    Post,
    /// Sets something.
    Put,
    /// Removes something.
    Delete,
}

impl Method {
    /// As HTTP writes it.
    pub fn name(self) -> &'static str {
        match self {
            Method::Get => "GET",
            Method::Post => "POST",
            Method::Put => "PUT",
            Method::Delete => "DELETE",
        }
    }
}

/// A command with all of its interfaces: SQL, REST and command line.
///
/// A form is written as in MySQL's manual: words in capitals stand for themselves, words in small letters for
/// arguments, brackets for what may be left out, `…` for all words that are left.
#[derive(Debug)]
pub struct Spec {
    /// How SQL writes it, after the word WEIR: the usual form first.
    pub sql: &'static [&'static str],
    /// How `weir ctl` writes it.
    pub ctl: &'static str,
    /// Its method of HTTP.
    pub method: Method,
    /// Its path, with arguments in braces. Other arguments are in the query (GET) or in the body, a JSON object.
    pub path: &'static str,
    /// Its arguments.
    pub arguments: &'static [Argument],
    /// What it answers.
    pub shape: Shape,
    /// What it does, in one line.
    pub about: &'static str,
    build: fn(&Arguments) -> Result<Command, Failure>,
}

impl Spec {
    /// The command with these arguments.
    ///
    /// # Errors
    /// 1210 when an argument is missing or is not of its kind.
    pub fn command(&self, arguments: &Arguments) -> Result<Command, Failure> {
        (self.build)(arguments)
    }

    /// The arguments that are not part of the path.
    pub fn loose_arguments(&self) -> impl Iterator<Item = &'static Argument> {
        self.arguments.iter().filter(|argument| !self.path.contains(&format!("{{{}}}", argument.name)))
    }

    /// Whether an argument that is not part of the path can't be left out.
    pub fn needs_body(&self) -> bool {
        self.method != Method::Get && self.loose_arguments().any(|argument| !self.is_optional(argument))
    }

    /// Whether the argument may be left out: it stands in brackets in the usual form.
    pub fn is_optional(&self, argument: &Argument) -> bool {
        form::is_optional(self.sql[0], argument.name)
    }
}

/// Arguments by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Arguments(Vec<(&'static str, String)>);

impl Arguments {
    /// Adds one.
    pub fn set(&mut self, name: &'static str, value: String) {
        self.0.push((name, value));
    }

    /// The argument of this name.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str())
    }

    fn text(&self, name: &str) -> Result<String, Failure> {
        self.get(name).map(str::to_owned).ok_or_else(|| wrong_argument(&format!("`{name}` is missing")))
    }

    fn integer(&self, name: &str) -> Result<u64, Failure> {
        let text = self.text(name)?;
        text.parse().map_err(|_| wrong_argument(&format!("`{name}` must be a whole number, not `{text}`")))
    }

    fn on_or_off(&self, name: &str) -> Result<bool, Failure> {
        match self.text(name)?.to_ascii_uppercase().as_str() {
            "ON" | "1" => Ok(true),
            "OFF" | "0" => Ok(false),
            other => Err(wrong_argument(&format!("`{name}` must be ON or OFF, not `{other}`"))),
        }
    }

    fn optional_integer(&self, name: &str) -> Result<Option<u64>, Failure> {
        self.get(name).map(|_| self.integer(name)).transpose()
    }

    fn pattern(&self) -> Option<Pattern> {
        self.get(arguments::PATTERN.name).map(Pattern::new)
    }
}

fn wrong_argument(what: &str) -> Failure {
    let message = format!("Incorrect arguments to WEIR: {what}");
    Failure::client(codes::ER_WRONG_ARGUMENTS, message)
}

impl Command {
    /// Reads the text after the word WEIR.
    ///
    /// # Errors
    /// 1064 for what is not a command: it says what was expected, and which word may have been meant; 1210 for a wrong
    /// argument.
    pub fn parse(text: &str) -> Result<Command, Failure> {
        let tokens = tokens::of_sql(text);
        // WEIR alone asks what there is.
        if tokens.is_empty() {
            return Ok(Command::Help(None));
        }
        let (spec, arguments) = parse::find(&tokens, |spec| spec.sql).map_err(|miss| miss.in_sql(text))?;
        spec.command(&arguments)
    }

    /// Reads the words behind `weir ctl`, and says by which request the command is given.
    ///
    /// # Errors
    /// What was expected instead.
    pub fn find_ctl(words: &[String]) -> Result<(&'static Spec, Arguments), String> {
        let tokens = tokens::of_words(words);
        let forms = |spec: &'static Spec| std::slice::from_ref(&spec.ctl);
        let (spec, arguments) = parse::find(&tokens, forms).map_err(|miss| miss.in_words())?;
        spec.command(&arguments).map_err(|failure| failure.message)?;
        Ok((spec, arguments))
    }
}

/// How `weir ctl` writes a command, for people.
pub fn ctl_form(spec: &Spec) -> String {
    spec.ctl.to_ascii_lowercase().replace('\'', "")
}

#[cfg(test)]
mod tests;
