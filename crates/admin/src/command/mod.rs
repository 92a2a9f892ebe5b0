//! The commands: one list from which the SQL after WEIR, the REST interface with its OpenAPI document, `weir ctl` and
//! the help are all made, so that no door can know what another does not.
//!
//! To add a command: a variant of [`Command`], an entry in [`CATALOGUE`], and an arm where commands run
//! ([`crate::Commands::run`]).

mod form;
mod parse;
mod tokens;

use weir_wire::{Failure, Fault, error::codes};

use crate::answer::Column;
use crate::columns;
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
    /// Adopts a database that is on the servers.
    Attach(String),
    /// Forgets a database.
    Detach(String),
    /// The commands that begin with these words.
    Help(Option<String>),
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

/// A command at all of its doors.
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
        text.parse().map_err(|_| wrong_argument(&format!("`{name}` is a whole number, not `{text}`")))
    }

    fn on_or_off(&self, name: &str) -> Result<bool, Failure> {
        match self.text(name)?.to_ascii_uppercase().as_str() {
            "ON" | "1" => Ok(true),
            "OFF" | "0" => Ok(false),
            other => Err(wrong_argument(&format!("`{name}` is ON or OFF, not `{other}`"))),
        }
    }

    fn optional_integer(&self, name: &str) -> Result<Option<u64>, Failure> {
        self.get(name).map(|_| self.integer(name)).transpose()
    }

    fn pattern(&self) -> Option<Pattern> {
        self.get(PATTERN.name).map(Pattern::new)
    }
}

fn wrong_argument(what: &str) -> Failure {
    let message = format!("Incorrect arguments to WEIR: {what}");
    Failure::new(Fault::Client, codes::ER_WRONG_ARGUMENTS, b"HY000", message)
}

const PATTERN: Argument = Argument {
    name: "pattern",
    kind: ArgumentKind::Text,
    about: "What to show, as in MySQL's LIKE: `%` is any text, `_` one character",
};
const STATE: Argument = Argument { name: "state", kind: ArgumentKind::Text, about: "`ON` or `OFF`" };
const LIMIT: Argument =
    Argument { name: "limit", kind: ArgumentKind::Integer, about: "The most rows to show; 100 if not given" };
const ID: Argument =
    Argument { name: "id", kind: ArgumentKind::Integer, about: "The connection id of a session: `CONNECTION_ID()`" };

const DATABASE: Argument = Argument { name: "database", kind: ArgumentKind::Text, about: "The database's name" };

const DEFINITION: Argument =
    Argument { name: "id", kind: ArgumentKind::Integer, about: "The definition's number, as SHOW DDL shows it" };

fn kill(arguments: &Arguments, why: Interrupt) -> Result<Command, Failure> {
    Ok(Command::Kill { id: arguments.integer(ID.name)?, why })
}

/// All commands.
pub static CATALOGUE: &[Spec] = &[
    Spec {
        sql: &["STATUS", "SHOW STATUS"],
        ctl: "STATUS",
        method: Method::Get,
        path: "/api/v1/status",
        arguments: &[],
        shape: Shape::Record(columns::STATUS),
        about: "Version, uptime, sessions and server connections at a glance",
        build: |_| Ok(Command::Status),
    },
    Spec {
        sql: &["SHOW SERVERS [LIKE 'pattern']"],
        ctl: "SERVERS ['pattern']",
        method: Method::Get,
        path: "/api/v1/servers",
        arguments: &[PATTERN],
        shape: Shape::Rows(columns::SERVERS),
        about: "The servers, by name, and whether they answer",
        build: |arguments| Ok(Command::ShowServers(arguments.pattern())),
    },
    Spec {
        sql: &["SHOW SESSIONS [LIKE 'pattern']"],
        ctl: "SESSIONS ['pattern']",
        method: Method::Get,
        path: "/api/v1/sessions",
        arguments: &[PATTERN],
        shape: Shape::Rows(columns::SESSIONS),
        about: "The sessions, by user, what each does, and what binds it to a server connection",
        build: |arguments| Ok(Command::ShowSessions(arguments.pattern())),
    },
    Spec {
        sql: &["SHOW POOLS [LIKE 'pattern']"],
        ctl: "POOLS ['pattern']",
        method: Method::Get,
        path: "/api/v1/pools",
        arguments: &[PATTERN],
        shape: Shape::Rows(columns::POOLS),
        about: "The pools of server connections, by server and worker",
        build: |arguments| Ok(Command::ShowPools(arguments.pattern())),
    },
    Spec {
        sql: &["SHOW TRANSACTIONS [LIKE 'pattern']"],
        ctl: "TRANSACTIONS ['pattern']",
        method: Method::Get,
        path: "/api/v1/transactions",
        arguments: &[PATTERN],
        shape: Shape::Rows(columns::TRANSACTIONS),
        about: "Prepared branches of transactions with several shards, by name: left by a Weir or a server that died",
        build: |arguments| Ok(Command::ShowTransactions(arguments.pattern())),
    },
    Spec {
        sql: &["SHOW DIGESTS [LIKE 'pattern'] [LIMIT limit]"],
        ctl: "DIGESTS [LIMIT limit] ['pattern']",
        method: Method::Get,
        path: "/api/v1/digests",
        arguments: &[PATTERN, LIMIT],
        shape: Shape::Rows(columns::DIGESTS),
        about: "What statements cost, by their text without literals, those with the most time first",
        build: |arguments| {
            let limit = arguments.optional_integer(LIMIT.name)?;
            Ok(Command::ShowDigests { like: arguments.pattern(), limit })
        },
    },
    Spec {
        sql: &["RESET DIGESTS"],
        ctl: "RESET DIGESTS",
        method: Method::Delete,
        path: "/api/v1/digests",
        arguments: &[],
        shape: Shape::Done,
        about: "Forget what was counted of digests",
        build: |_| Ok(Command::ResetDigests),
    },
    Spec {
        sql: &["SHOW CONFIG [LIKE 'pattern']"],
        ctl: "CONFIG ['pattern']",
        method: Method::Get,
        path: "/api/v1/config",
        arguments: &[PATTERN],
        shape: Shape::Rows(columns::CONFIG),
        about: "The configuration in effect, by key; passwords are masked",
        build: |arguments| Ok(Command::ShowConfig(arguments.pattern())),
    },
    Spec {
        sql: &["KILL [CONNECTION] id"],
        ctl: "KILL id",
        method: Method::Delete,
        path: "/api/v1/sessions/{id}",
        arguments: &[ID],
        shape: Shape::Done,
        about: "End a session",
        build: |arguments| kill(arguments, Interrupt::Connection),
    },
    Spec {
        sql: &["KILL QUERY id"],
        ctl: "KILL-QUERY id",
        method: Method::Post,
        path: "/api/v1/sessions/{id}/kill-query",
        arguments: &[ID],
        shape: Shape::Done,
        about: "End the statement that a session runs",
        build: |arguments| kill(arguments, Interrupt::Query),
    },
    Spec {
        sql: &["RELOAD"],
        ctl: "RELOAD",
        method: Method::Post,
        path: "/api/v1/reload",
        arguments: &[],
        shape: Shape::Rows(columns::RELOAD),
        about: "Read the configuration file again, and apply what can be applied without a restart",
        build: |_| Ok(Command::Reload),
    },
    Spec {
        sql: &["SET LOG LEVEL [=] level"],
        ctl: "SET LOG-LEVEL level",
        method: Method::Put,
        path: "/api/v1/log-level",
        arguments: &[Argument {
            name: "level",
            kind: ArgumentKind::Text,
            about: "`error`, `warn`, `info`, `debug`, `trace`, or a list such as `info,weir_backend=debug`",
        }],
        shape: Shape::Done,
        about: "Change how much is logged, until the next start or reload",
        build: |arguments| Ok(Command::SetLogLevel(arguments.text("level")?)),
    },
    Spec {
        sql: &["SET WRITER [=] server"],
        ctl: "SET WRITER server",
        method: Method::Put,
        path: "/api/v1/writer",
        arguments: &[Argument {
            name: "server",
            kind: ArgumentKind::Text,
            about: "The server's name. It must take writes (read_only = 0) and have all that the present writer has committed",
        }],
        shape: Shape::Done,
        about: "Send writes to another server of the group from now on",
        build: |arguments| Ok(Command::SetWriter(arguments.text("server")?)),
    },
    Spec {
        sql: &["SHOW RULES [LIKE 'pattern']"],
        ctl: "RULES ['pattern']",
        method: Method::Get,
        path: "/api/v1/rules",
        arguments: &[PATTERN],
        shape: Shape::Rows(columns::RULES),
        about: "The rules in their order, and how often each was applied",
        build: |arguments| Ok(Command::ShowRules(arguments.pattern())),
    },
    Spec {
        sql: &["SET READ_ONLY [=] state"],
        ctl: "SET READ-ONLY state",
        method: Method::Put,
        path: "/api/v1/read-only",
        arguments: &[STATE],
        shape: Shape::Done,
        about: "Refuse statements that change data (ON), or no longer (OFF), until the next start",
        build: |arguments| Ok(Command::SetReadOnly(arguments.on_or_off(STATE.name)?)),
    },
    Spec {
        sql: &["ROTATE LOGS"],
        ctl: "ROTATE LOGS",
        method: Method::Post,
        path: "/api/v1/logs/rotate",
        arguments: &[],
        shape: Shape::Done,
        about: "Begin new files of the slow log and the audit log",
        build: |_| Ok(Command::RotateLogs),
    },
    Spec {
        sql: &["SHOW SHARDS [LIKE 'pattern']"],
        ctl: "SHARDS ['pattern']",
        method: Method::Get,
        path: "/api/v1/shards",
        arguments: &[PATTERN],
        shape: Shape::Rows(columns::SHARDS),
        about: "The shards, by name, and which version of the catalog each has a copy of",
        build: |arguments| Ok(Command::ShowShards(arguments.pattern())),
    },
    Spec {
        sql: &["SHOW DDL"],
        ctl: "DDL",
        method: Method::Get,
        path: "/api/v1/definitions",
        arguments: &[],
        shape: Shape::Rows(columns::DEFINITIONS),
        about: "The definitions that are under way, or that some shards have and some don't",
        build: |_| Ok(Command::ShowDefinitions),
    },
    Spec {
        sql: &["RESUME DDL id"],
        ctl: "RESUME DDL id",
        method: Method::Post,
        path: "/api/v1/definitions/{id}/resume",
        arguments: &[DEFINITION],
        shape: Shape::Done,
        about: "Go on with a definition on the shards that don't have it",
        build: |arguments| Ok(Command::ResumeDefinition(arguments.integer(DEFINITION.name)?)),
    },
    Spec {
        sql: &["CANCEL DDL id"],
        ctl: "CANCEL DDL id",
        method: Method::Delete,
        path: "/api/v1/definitions/{id}",
        arguments: &[DEFINITION],
        shape: Shape::Done,
        about: "Forget a definition, and leave the shards as they are: undo it by hand first where it was done",
        build: |arguments| Ok(Command::CancelDefinition(arguments.integer(DEFINITION.name)?)),
    },
    Spec {
        sql: &["SHOW TABLES [LIKE 'pattern']"],
        ctl: "TABLES ['pattern']",
        method: Method::Get,
        path: "/api/v1/tables",
        arguments: &[PATTERN],
        shape: Shape::Rows(columns::TABLES),
        about: "The tables of sharded databases, by name, and where their rows are",
        build: |arguments| Ok(Command::ShowTables(arguments.pattern())),
    },
    Spec {
        sql: &["CATALOG CHECK"],
        ctl: "CATALOG CHECK",
        method: Method::Get,
        path: "/api/v1/catalog/differences",
        arguments: &[],
        shape: Shape::Rows(columns::DIFFERENCES),
        about: "Compare the catalog with what the servers have: no rows if they agree",
        build: |_| Ok(Command::CheckCatalog),
    },
    Spec {
        sql: &["ATTACH DATABASE database"],
        ctl: "ATTACH database",
        method: Method::Put,
        path: "/api/v1/databases/{database}",
        arguments: &[DATABASE],
        shape: Shape::Done,
        about: "Adopt a database that is on the servers as it is: each of its tables is SINGLE on its shard",
        build: |arguments| Ok(Command::Attach(arguments.text(DATABASE.name)?)),
    },
    Spec {
        sql: &["DETACH DATABASE database"],
        ctl: "DETACH database",
        method: Method::Delete,
        path: "/api/v1/databases/{database}",
        arguments: &[DATABASE],
        shape: Shape::Done,
        about: "Forget a database whose tables are SINGLE; they stay where they are",
        build: |arguments| Ok(Command::Detach(arguments.text(DATABASE.name)?)),
    },
    Spec {
        sql: &["HELP [command …]"],
        ctl: "HELP [command …]",
        method: Method::Get,
        path: "/api/v1/help",
        arguments: &[Argument {
            name: "command",
            kind: ArgumentKind::Text,
            about: "Only the commands that begin with these words",
        }],
        shape: Shape::Rows(columns::HELP),
        about: "The commands",
        build: |arguments| Ok(Command::Help(arguments.get("command").map(str::to_owned))),
    },
];

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
