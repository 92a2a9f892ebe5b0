//! A session's own state: what it would be on a connection of its own.
//!
//! What must always hold: the profile is what the server has confirmed for this session; what the latest statement
//! left (warnings, counts, insert id) is either known here or on the connection that the session still keeps.

use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

use weir_backend::Identity;
use weir_backend::profile::SharedProfile;
use weir_sql::{Class, Dialect, Effects, LexMode, Pins, TextKind};
use weir_wire::error::codes;
use weir_wire::{Failure, StatusFlags};

use super::condition::Condition;
use super::latest::{Diagnostics, LatestStatement};
use super::prepared_statement::{PreparedStatement, SqlPrepared};
use crate::beginning::{Beginning, lex_mode};

/// What may assign variables that its text does not show.
pub(in crate::session) const OUT_OF_SIGHT: Pins =
    Pins::CALL.union(Pins::UNKNOWN_FUNCTION).union(Pins::UNKNOWN_STATEMENT).union(Pins::TEXT_PREPARE);

/// A table's database and name, as they are compared.
pub(crate) type TableName = (Vec<u8>, Vec<u8>);

/// The start of a transaction, in words of Weir's own: a client's may have a comment behind its semicolon, which has a reply of its own.
#[derive(Debug, Clone)]
pub(crate) struct Begin {
    pub(crate) text: &'static str,
    pub(crate) read_only: bool,
    /// It says READ WRITE, which a read-only server refuses.
    pub(crate) may_be_refused: bool,
}

impl Begin {
    /// READ ONLY or READ WRITE, if it says so.
    pub(crate) fn plain(read_only: Option<bool>) -> Begin {
        Begin::of(read_only, "START TRANSACTION", "START TRANSACTION READ ONLY", "START TRANSACTION READ WRITE")
    }

    /// The same, WITH CONSISTENT SNAPSHOT.
    pub(crate) fn with_snapshot(read_only: Option<bool>) -> Begin {
        Begin::of(
            read_only,
            "START TRANSACTION WITH CONSISTENT SNAPSHOT",
            "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY",
            "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ WRITE",
        )
    }

    fn of(read_only: Option<bool>, either: &'static str, reads: &'static str, writes: &'static str) -> Begin {
        let text = read_only.map_or(either, |reads_only| if reads_only { reads } else { writes });
        Begin { text, read_only: read_only == Some(true), may_be_refused: read_only == Some(false) }
    }
}

/// Pins, whether a transaction is open, cursors and values in pieces.
pub(crate) type BindingFlags = (Pins, bool, (bool, bool));

/// See the module.
#[derive(Debug)]
pub(crate) struct SessionState {
    pub(crate) profile: SharedProfile,
    /// What COM_RESET_CONNECTION goes back to, but for the database.
    pub(crate) initial: SharedProfile,
    pub(crate) pins: Pins,
    /// The user variables that texts have assigned on the session's connection, since their values were known last.
    pub(crate) assigned: BTreeSet<String>,
    /// Those of them that are too long, or too many, to be sent to other connections.
    pub(crate) kept: BTreeSet<String>,
    /// Others may have been assigned there out of sight.
    pub(crate) assigned_unseen: bool,
    /// `@@pseudo_thread_id`, once it was set: a value, or what the session's connection has. Until then it is the session's id.
    pub(crate) pseudo_thread_id: Option<Option<u64>>,
    /// Temporary tables of sharded databases, on the session's connection.
    pub(crate) temporary: BTreeSet<TableName>,
    pub(crate) lex: LexMode,
    /// The session's connection may read texts in another way: to be asked before the next one is read.
    pub(crate) reading_unsure: bool,
    /// What the server last said of it.
    pub(crate) told_reading: StatusFlags,
    /// As the server last said, without what belongs to one statement.
    pub(crate) status: StatusFlags,
    /// A transaction's start that the server has not heard of yet.
    pub(crate) begin: Option<Begin>,
    /// What the latest statement has left.
    pub(crate) latest: LatestStatement,
    /// The collation of the connection has changed to one that has to be asked for.
    pub(crate) collation_unknown: bool,
    /// The characteristics of the next transaction were set, and that transaction has begun.
    pub(crate) set_transaction_used: bool,
    /// Whether SET TRANSACTION has said READ ONLY or READ WRITE of the next transaction, or of that which it was said of and is open now.
    pub(crate) said_read_only: Option<bool>,
    /// The connection keeps texts of the session's statements, which no reset clears away.
    pub(crate) recorded: bool,
    pub(crate) statements: HashMap<u32, PreparedStatement>,
    pub(crate) next_statement: u32,
    /// What names of statements stand for that texts have prepared, in lower case.
    pub(crate) sql_prepared: HashMap<String, Rc<SqlPrepared>>,
    /// Whether a prepared statement has a cursor on the server, and whether one has values in pieces.
    busy_statements: (bool, bool),
}

impl SessionState {
    /// A new session's state.
    pub(crate) fn new(beginning: Beginning) -> SessionState {
        let Beginning { profile, initial, lex } = beginning;
        SessionState {
            profile,
            initial,
            pins: Pins::empty(),
            assigned: BTreeSet::new(),
            kept: BTreeSet::new(),
            assigned_unseen: false,
            pseudo_thread_id: None,
            temporary: BTreeSet::new(),
            lex,
            reading_unsure: false,
            told_reading: StatusFlags::empty(),
            status: StatusFlags::AUTOCOMMIT,
            begin: None,
            latest: LatestStatement::default(),
            collation_unknown: false,
            set_transaction_used: false,
            said_read_only: None,
            recorded: false,
            statements: HashMap::new(),
            next_statement: 0,
            sql_prepared: HashMap::new(),
            busy_statements: (false, false),
        }
    }

    /// The state after COM_RESET_CONNECTION: the database and the roles stay.
    pub(crate) fn reset(&mut self, identity: &Identity) {
        let initial = self.initial.clone();
        let profile = initial.with_database(self.profile.database.as_deref()).with_roles_of(&self.profile);
        let profile = Rc::new(profile);
        // Neither kind of server forgets it.
        let found_rows = self.latest.found_rows;
        let lex = lex_mode(&profile, identity);
        let latest = LatestStatement { found_rows, ..LatestStatement::default() };
        *self = SessionState { latest, ..SessionState::new(Beginning { profile, initial, lex }) };
    }

    /// Follows the parts of the profile that decide how a text is read.
    pub(crate) fn learn_lex_mode(&mut self, identity: &Identity) {
        self.lex = lex_mode(&self.profile, identity);
    }

    /// Whether the session's transactions are read only unless something else is said of them.
    pub(crate) fn transactions_are_read_only(&self) -> bool {
        let set = |name| matches!(self.profile.variable(name), Some("ON" | "1"));
        set("transaction_read_only") || set("tx_read_only")
    }

    /// Whether the next transaction is read only unless its beginning says otherwise.
    pub(crate) fn next_is_read_only(&self) -> bool {
        self.said_read_only.unwrap_or_else(|| self.transactions_are_read_only())
    }

    /// The flags of a transaction that begins in this way.
    pub(crate) fn status_begun(&self, begin: &Begin) -> StatusFlags {
        // READ WRITE says otherwise than what is set.
        let read_only = begin.read_only || !begin.may_be_refused && self.next_is_read_only();
        if read_only { StatusFlags::IN_TRANS | StatusFlags::IN_TRANS_READONLY } else { StatusFlags::IN_TRANS }
    }

    /// Whether a transaction is open, as the client sees it.
    pub(crate) fn in_transaction(&self) -> bool {
        self.begin.is_some() || self.status.contains(StatusFlags::IN_TRANS)
    }

    /// What keeps the session on its connection, whatever others want.
    pub(crate) fn is_bound(&self) -> bool {
        !self.pins.is_empty() || self.status.contains(StatusFlags::IN_TRANS) || self.busy_statements != (false, false)
    }

    /// Whether nothing would be lost with the session that a client goes on with: no rows wait to be fetched either.
    pub(crate) fn may_leave(&self) -> bool {
        let waiting = self.statements.values().any(|statement| statement.waiting.is_some());
        !self.is_bound() && !self.in_transaction() && !waiting
    }

    /// Whether a prepared statement has a cursor or values in pieces on the connection.
    pub(crate) fn has_busy_statements(&self) -> bool {
        self.busy_statements != (false, false)
    }

    /// A prepared statement's cursor or values in pieces have come or gone.
    pub(crate) fn learn_busy_statements(&mut self) {
        let all = || self.statements.values();
        self.busy_statements = (all().any(|s| s.cursor), all().any(|s| s.long_data));
    }

    /// What its latest statement left is on the connection only.
    pub(crate) fn left_something(&self) -> bool {
        self.latest.is_on_connection()
    }

    /// What [`SessionState::bindings`] depends on.
    pub(crate) fn binding_flags(&self) -> BindingFlags {
        (self.pins, self.in_transaction(), self.busy_statements)
    }

    /// The words for what keeps it, for display.
    pub(crate) fn bindings(&self) -> String {
        let mut names: Vec<&str> = Vec::new();
        if self.in_transaction() {
            names.push("transaction");
        }
        names.extend(self.pins.names());
        if self.busy_statements.0 {
            names.push("cursor");
        }
        if self.busy_statements.1 {
            names.push("long data");
        }
        names.join(", ")
    }

    /// The flags of an OK that Weir itself sends.
    pub(crate) fn own_status(&self) -> StatusFlags {
        let mut status =
            self.status & (StatusFlags::AUTOCOMMIT | StatusFlags::IN_TRANS | StatusFlags::IN_TRANS_READONLY);
        status.set(StatusFlags::NO_BACKSLASH_ESCAPES, self.lex.no_backslash_escapes);
        status.set(StatusFlags::ANSI_QUOTES, self.lex.ansi_quotes && self.lex.dialect == Dialect::MariaDb);
        if let Some(begin) = &self.begin {
            status |= self.status_begun(begin);
        }
        status
    }

    /// Weir itself has answered a statement: it changed no rows, and warned of nothing.
    pub(crate) fn answered_here(&mut self) {
        self.latest.row_count = 0;
        self.latest.warnings = 0;
        // MariaDB clears them for statements that read tables, which none of Weir's own does.
        if self.lex.dialect == Dialect::MySql {
            self.latest.diagnostics = Diagnostics::Empty;
        }
    }

    /// Weir itself has refused a statement.
    pub(crate) fn failed_here(&mut self, failure: &Failure) {
        self.latest.row_count = -1;
        let error = Condition::error(failure);
        let told = std::mem::take(&mut self.latest.told);
        let conditions = match told.contains(&error) {
            true => told,
            false => vec![Condition { sqlstate: Some(failure.sqlstate), ..error }],
        };
        self.latest.warnings = u16::try_from(conditions.len()).unwrap_or(u16::MAX);
        self.latest.diagnostics = Diagnostics::Learnt(conditions);
    }
}

/// Whether a statement's text must find the session's LAST_INSERT_ID() on its connection. What sets it may also leave it as it is.
pub(crate) fn needs_insert_id(class: &Class) -> bool {
    let opaque = Pins::CALL | Pins::UNKNOWN_FUNCTION | Pins::UNKNOWN_STATEMENT | Pins::TEXT_PREPARE;
    class.effects.intersects(Effects::USES_LAST_INSERT_ID | Effects::SETS_LAST_INSERT_ID)
        || class.pins.intersects(opaque)
}

/// Whether a statement changes rows and answers with a result set: RETURNING, or functions whose bodies are known.
pub(crate) fn changes_with_rows(class: &Class) -> bool {
    let by_functions = class.kind == TextKind::Select
        && class.effects.contains(Effects::WRITES)
        && !class.effects.contains(Effects::LOCKING_READ)
        && class.pins.is_empty();
    class.effects.contains(Effects::RETURNING) || by_functions
}

/// Pins that COM_RESET_CONNECTION does not undo for certain: such a connection is closed instead.
pub(crate) const OUTLAST_RESET: Pins =
    Pins::ROLE.union(Pins::XA).union(Pins::GLOBAL_READ_LOCK).union(Pins::BACKUP_LOCK).union(Pins::UNKNOWN_STATEMENT);

/// Whether an error of a text may be that of one of several statements.
pub(crate) fn runs_others(class: &Class) -> bool {
    class.kind == TextKind::Multiple || class.effects.contains(Effects::RUNS_OTHERS)
}

/// The pins that a failed text leaves: all if some of its statements may have succeeded; else not those of what it would have made, and
/// none if it was not even run, which its syntax error tells (1064, or 1630 for a function that is none).
pub(crate) fn pins_left_by_failure(pins: Pins, code: u16, runs_others: bool) -> Pins {
    match code {
        _ if runs_others => pins,
        codes::ER_PARSE_ERROR | codes::ER_FUNC_INEXISTENT_NAME_COLLISION => Pins::empty(),
        _ => pins - MADE_OR_NOT,
    }
}

/// Pins of what a statement that fails has not made.
const MADE_OR_NOT: Pins = Pins::TEMPORARY_TABLE
    .union(Pins::LOCK_TABLES)
    .union(Pins::HANDLER)
    .union(Pins::ROLE)
    .union(Pins::SESSION_TRACKING)
    .union(Pins::SPECIAL_VARIABLE)
    .union(Pins::SET_TRANSACTION)
    .union(Pins::XA)
    .union(Pins::TEXT_PREPARE);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_failed_text_leaves() {
        let table = Pins::TEMPORARY_TABLE | Pins::USER_LOCK;
        let cases = [
            (table, 1146, false, Pins::USER_LOCK),
            (table, 1064, false, Pins::empty()),
            // One of its statements has failed, and those before it may have made something.
            (table, 1146, true, table),
            (table, 1064, true, table),
            (Pins::LOCK_TABLES, 1146, false, Pins::empty()),
        ];
        for (pins, code, runs_others, left) in cases {
            assert_eq!(pins_left_by_failure(pins, code, runs_others), left, "{pins:?} {code} {runs_others}");
        }
    }
}
