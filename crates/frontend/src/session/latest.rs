//! What the latest statement has left for the next one: counts, the insert id, its warnings and errors.
//!
//! What must always hold: each value is either known here or on the connection that the session still keeps. What a statement leaves is a
//! pure function of what it is, of its reply, and of what was left before.

use weir_sql::{Class, Diagnostics as Asked, Effects, Pins, TextKind};
use weir_wire::StatusFlags;

use super::condition::Condition;
use super::outcome::ReplyOutcome;

/// A value of the latest statement: known, or to be asked of the connection that ran it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Left<T> {
    Known(T),
    OnConnection,
}

/// The diagnostics of the latest statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Diagnostics {
    /// None, and none on the connection that the session has.
    Empty,
    /// On the connection that ran it.
    OnConnection,
    /// Read before the connection was given back, or of an error that Weir itself has sent; or none, though the connection may have those of
    /// a statement before.
    Learnt(Vec<Condition>),
}

/// See the module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LatestStatement {
    pub(crate) warnings: u16,
    pub(crate) row_count: i64,
    pub(crate) found_rows: Left<u64>,
    pub(crate) last_insert_id: Left<u64>,
    /// The connection may have the insert id that was there before: it matters while `last_insert_id` is there.
    pub(crate) doubt: Option<Doubt>,
    pub(crate) diagnostics: Diagnostics,
    /// Code and SQLSTATE of the latest error of a server.
    pub(crate) error: Option<(u16, [u8; 5])>,
    /// What a server has told with the error that the statement at hand ends with, that error among it.
    pub(crate) told: Vec<Condition>,
}

impl Default for LatestStatement {
    fn default() -> LatestStatement {
        LatestStatement {
            warnings: 0,
            row_count: 0,
            found_rows: Left::Known(0),
            last_insert_id: Left::Known(0),
            doubt: None,
            diagnostics: Diagnostics::Empty,
            error: None,
            told: Vec::new(),
        }
    }
}

/// What the id in a statement's OK says of `LAST_INSERT_ID()`, where that is certain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ToldId {
    /// It was generated: this is the value now.
    Generated(u64),
    /// The statement has given it: the value is the one from before.
    Given,
}

/// A statement that may have generated an insert id ran where `LAST_INSERT_ID()` was another session's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Doubt {
    /// The session's own value until then.
    pub(crate) before: u64,
    /// The connection's.
    pub(crate) there: u64,
    /// That was the id in the OK of a statement since.
    pub(crate) told_there: bool,
}

impl Doubt {
    /// The session's value, as the connection has this one now.
    pub(crate) fn settle(self, now: u64) -> u64 {
        // An id that is generated may be what another session's was.
        if now == self.there && !self.told_there { self.before } else { now }
    }
}

/// What a statement has left on its connection.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct OnConnection {
    /// `FOUND_ROWS()` there is the session's.
    pub(crate) found_rows: bool,
    /// `LAST_INSERT_ID()` there is another one than before.
    pub(crate) insert_id: bool,
}

impl LatestStatement {
    /// Whether something of it is on the connection only.
    pub(crate) fn is_on_connection(&self) -> bool {
        self.diagnostics == Diagnostics::OnConnection
            || self.last_insert_id == Left::OnConnection
            || self.found_rows == Left::OnConnection
    }

    /// A statement has run elsewhere than on the session's connection, and has left no diagnostics.
    pub(crate) fn leaves_none_elsewhere(&mut self) {
        if self.diagnostics != Diagnostics::Empty {
            self.diagnostics = Diagnostics::Learnt(Vec::new());
        }
    }

    /// `LAST_INSERT_ID()` of the connection may be another session's.
    pub(crate) fn is_doubtful(&self) -> bool {
        self.last_insert_id == Left::OnConnection && self.doubt.is_some()
    }

    /// A statement has left what may be its insert id on its connection, where this one was `there`; the session's was `before`.
    pub(crate) fn doubt(&mut self, before: Left<u64>, there: Option<u64>, told: u64) {
        self.doubt = match before {
            // A connection of which nothing is known has got the session's before the statement.
            Left::Known(before) => {
                there.filter(|there| *there != before).map(|there| Doubt { before, there, told_there: told == there })
            }
            // It was the session's own, or as doubtful.
            Left::OnConnection => {
                self.doubt.map(|doubt| Doubt { told_there: doubt.told_there || told == doubt.there, ..doubt })
            }
        };
    }

    /// The connection has said what `LAST_INSERT_ID()` is there.
    pub(crate) fn learn_insert_id(&mut self, there: u64) {
        if self.last_insert_id == Left::OnConnection {
            self.last_insert_id = Left::Known(self.doubt.take().map_or(there, |doubt| doubt.settle(there)));
        }
    }

    /// A statement has ended with this reply. `told`: what its insert id says. Returns what it has left on its connection.
    pub(crate) fn take(
        &mut self,
        class: &Class,
        reply: &ReplyOutcome,
        told: Option<ToldId>,
        mariadb: bool,
    ) -> OnConnection {
        if reply.prepared.is_some() {
            self.take_preparation(class, reply, mariadb);
            return OnConnection::default();
        }
        self.error = reply.error.or(self.error);
        self.row_count = reply.row_count;
        let found_rows = self.take_found_rows(class, reply);
        let generated = reply.insert_id != 0 || generates_untold(class, reply);
        let doubtful = generated || class.effects.contains(Effects::SETS_LAST_INSERT_ID);
        let insert_id = doubtful && told != Some(ToldId::Given);
        if insert_id {
            self.last_insert_id = match told {
                Some(ToldId::Generated(id)) => Left::Known(id),
                _ => Left::OnConnection,
            };
        }
        self.take_diagnostics(class, reply, mariadb);
        OnConnection { found_rows, insert_id }
    }

    /// Preparing is no statement: the counts stay those of the latest one.
    fn take_preparation(&mut self, class: &Class, reply: &ReplyOutcome, mariadb: bool) {
        let stays = class.effects.contains(Effects::USES_WARNINGS) || mariadb;
        if reply.warnings > 0 {
            self.diagnostics = Diagnostics::OnConnection;
        } else if !stays {
            self.diagnostics = Diagnostics::Empty;
        }
    }

    /// Returns whether `FOUND_ROWS()` is on the connection.
    fn take_found_rows(&mut self, class: &Class, reply: &ReplyOutcome) -> bool {
        // Servers count no rows of these.
        if matches!(class.kind, TextKind::ShowWarnings(Asked::Warnings { .. } | Asked::Errors { .. })) {
            return false;
        }
        // Rows that a cursor keeps, and those that a routine read, are not those that were sent.
        let cursor = reply.status.is_some_and(|status| status.contains(StatusFlags::CURSOR_EXISTS));
        // A statement that failed has counted nothing, unless it ran others before.
        let counted = class.effects.contains(Effects::CALC_FOUND_ROWS) && reply.error.is_none();
        let handler = class.pins.contains(Pins::HANDLER) && class.kind != TextKind::Multiple;
        let not_run = reply.error.is_some_and(|(code, _)| handler || NOTHING_WAS_RUN.contains(&code));
        let out_of_sight = class.pins.intersects(READ_OUT_OF_SIGHT) || class.effects.contains(Effects::RUNS_OTHERS);
        let opaque = counted || out_of_sight && !not_run;
        let rows = reply.found_rows.filter(|_| !returns_rows(class));
        if opaque || cursor {
            self.found_rows = Left::OnConnection;
        } else if let Some(rows) = rows {
            self.found_rows = Left::Known(rows);
        }
        opaque || cursor || rows.is_some()
    }

    fn take_diagnostics(&mut self, class: &Class, reply: &ReplyOutcome, mariadb: bool) {
        // What asks for the diagnostics, or is prepared to ask for them, leaves them as they are.
        let asks = matches!(class.kind, TextKind::ShowWarnings(_)) || class.effects.contains(Effects::USES_WARNINGS);
        if asks && reply.error.is_none() && class.kind != TextKind::Multiple {
            // GET DIAGNOSTICS of a condition that is not there leaves one that says so, and succeeds.
            if class.kind == TextKind::Other && self.diagnostics == Diagnostics::Empty {
                self.diagnostics = Diagnostics::OnConnection;
            }
            return;
        }
        // An error is a condition too.
        self.warnings = if reply.error.is_some() { reply.warnings.max(1) } else { reply.warnings };
        // In a text of several statements, MariaDB's COMMIT and the like leave those of the statement before.
        let earlier = mariadb && class.kind == TextKind::Multiple && reply.warned;
        let left = reply.warnings > 0 || earlier || reply.error.is_some();
        // MariaDB clears them only for statements that name tables, and does not say so: its connection is asked, and of what Weir has
        // learnt it is told by the class.
        let may_stay = mariadb && self.diagnostics == Diagnostics::OnConnection;
        let tables = Effects::READS | Effects::WRITES | Effects::IMPLICIT_COMMIT | Effects::RUNS_OTHERS;
        let stays = mariadb && class.kind != TextKind::Multiple && !class.effects.intersects(tables);
        if left || may_stay {
            self.diagnostics = Diagnostics::OnConnection;
        } else if !stays {
            self.diagnostics = Diagnostics::Empty;
        }
    }
}

/// Whether rows that a statement sends are those that it has written (RETURNING): `FOUND_ROWS()` does not count them.
fn returns_rows(class: &Class) -> bool {
    let others = Effects::IMPLICIT_COMMIT | Effects::RUNS_OTHERS | Effects::LOCKING_READ;
    class.kind == TextKind::Other && class.effects.contains(Effects::WRITES) && !class.effects.intersects(others)
}

/// Whether the statement may have generated a value of which its reply tells nothing: a failed one may have, for the rows before the one
/// that failed.
fn generates_untold(class: &Class, reply: &ReplyOutcome) -> bool {
    let hidden = reply.error.is_some()
        || class.effects.intersects(Effects::INSERT_ID_UNTOLD | Effects::RUNS_OTHERS)
        || class.pins.intersects(READ_OUT_OF_SIGHT);
    hidden && class.effects.contains(Effects::GENERATES_INSERT_ID)
}

/// What runs statements that the text does not show.
const READ_OUT_OF_SIGHT: Pins = Pins::CALL
    .union(Pins::UNKNOWN_FUNCTION)
    .union(Pins::UNKNOWN_STATEMENT)
    .union(Pins::TEXT_PREPARE)
    .union(Pins::HANDLER);

/// Errors of a CALL or EXECUTE that ran nothing: a syntax error, wrong arguments, an unknown statement or routine, a routine that
/// the user may not run.
const NOTHING_WAS_RUN: [u16; 7] = [1064, 1210, 1243, 1305, 1318, 1370, 1630];

#[cfg(test)]
mod tests {
    use weir_sql::{Dialect, LexMode, classify};

    use super::*;

    fn rows(found: u64) -> ReplyOutcome {
        ReplyOutcome {
            row_count: -1,
            found_rows: Some(found),
            status: Some(StatusFlags::AUTOCOMMIT),
            ..ReplyOutcome::default()
        }
    }

    fn ok(rows: i64) -> ReplyOutcome {
        ReplyOutcome { row_count: rows, status: Some(StatusFlags::AUTOCOMMIT), ..ReplyOutcome::default() }
    }

    fn error(code: u16) -> ReplyOutcome {
        ReplyOutcome { row_count: -1, error: Some((code, *b"42S02")), ..ReplyOutcome::default() }
    }

    /// What is left after a statement with this reply, and where.
    fn after(
        before: LatestStatement,
        text: &str,
        reply: &ReplyOutcome,
        mariadb: bool,
    ) -> (LatestStatement, OnConnection) {
        let dialect = if mariadb { Dialect::MariaDb } else { Dialect::MySql };
        let class = classify(text.as_bytes(), LexMode { dialect, ..LexMode::default() });
        let mut latest = before;
        let on_connection = latest.take(&class, reply, None, mariadb);
        (latest, on_connection)
    }

    #[test]
    fn counts_are_those_of_the_latest_statement() {
        let cases = [
            ("SELECT * FROM t", rows(3), -1, Left::Known(3), true),
            ("UPDATE t SET a = 1", ok(2), 2, Left::Known(0), false),
            ("SELECT SQL_CALC_FOUND_ROWS * FROM t LIMIT 1", rows(1), -1, Left::OnConnection, true),
            // Nobody but the server knows what it has read.
            ("CALL p()", ok(0), 0, Left::OnConnection, true),
            // It was not run.
            ("CALL p()", error(1305), -1, Left::Known(0), false),
            ("SELECT * FROM none", error(1146), -1, Left::Known(0), false),
            ("SHOW WARNINGS", rows(3), -1, Left::Known(0), false),
            ("SHOW COUNT(*) WARNINGS", rows(1), -1, Left::Known(1), true),
        ];
        for (text, reply, row_count, found_rows, on_connection) in cases {
            let (latest, left) = after(LatestStatement::default(), text, &reply, false);
            assert_eq!((latest.row_count, latest.found_rows), (row_count, found_rows), "{text}");
            assert_eq!(left.found_rows, on_connection, "{text}");
        }
    }

    #[test]
    fn generated_ids_are_on_the_connection() {
        let generated = ReplyOutcome { insert_id: 5, ..ok(1) };
        let cases = [
            ("INSERT INTO t VALUES (NULL)", generated, true),
            ("INSERT INTO t VALUES (7)", ok(1), false),
            ("SELECT LAST_INSERT_ID(7)", rows(1), true),
        ];
        for (text, reply, on_connection) in cases {
            let (latest, left) = after(LatestStatement::default(), text, &reply, false);
            assert_eq!(left.insert_id, on_connection, "{text}");
            assert_eq!(latest.last_insert_id == Left::OnConnection, on_connection, "{text}");
        }
    }

    #[test]
    fn an_earlier_statement_of_a_text_may_have_left_its_warnings() {
        for (mariadb, diagnostics) in [(true, Diagnostics::OnConnection), (false, Diagnostics::Empty)] {
            let reply = ReplyOutcome { warned: true, ..ok(0) };
            let (latest, _) = after(LatestStatement::default(), "UPDATE t SET a = 'x'; COMMIT", &reply, mariadb);
            assert_eq!((latest.diagnostics, latest.warnings), (diagnostics, 0), "{mariadb}");
        }
    }

    #[test]
    fn an_id_that_tells_what_it_is_leaves_nothing() {
        let class = classify(b"INSERT INTO t (id) VALUES (0)", LexMode::default());
        let reply = ReplyOutcome { insert_id: 5, ..ok(1) };
        let cases = [
            (Some(ToldId::Generated(5)), Left::Known(5), true),
            (Some(ToldId::Given), Left::Known(3), false),
            (None, Left::OnConnection, true),
        ];
        for (told, last_insert_id, changed) in cases {
            let mut latest = LatestStatement { last_insert_id: Left::Known(3), ..LatestStatement::default() };
            let left = latest.take(&class, &reply, told, false);
            assert_eq!((latest.last_insert_id, left.insert_id), (last_insert_id, changed), "{told:?}");
            assert_eq!(latest.is_on_connection(), told.is_none(), "{told:?}");
        }
    }

    #[test]
    fn what_another_session_left_is_not_taken_for_ones_own() {
        let known =
            |id| (Left::Known(id), LatestStatement { last_insert_id: Left::OnConnection, ..Default::default() });
        // The session's value, the connection's, the id of the OK, the connection's afterwards, and the session's then.
        let cases = [
            (7, Some(7), 9, 7, 7),
            (7, Some(7), 9, 9, 9),
            (7, Some(40), 9, 40, 7),
            (7, Some(40), 9, 9, 9),
            (7, Some(9), 9, 9, 9),
        ];
        for (before, there, told, now, expected) in cases {
            let (before, mut latest) = known(before);
            latest.doubt(before, there, told);
            latest.learn_insert_id(now);
            assert_eq!(latest.last_insert_id, Left::Known(expected), "{before:?} {there:?} {told} {now}");
        }
        // A second one on the same connection.
        let (before, mut latest) = known(7);
        latest.doubt(before, Some(40), 9);
        latest.doubt(Left::OnConnection, None, 10);
        assert!(latest.is_doubtful());
        latest.learn_insert_id(40);
        assert_eq!(latest.last_insert_id, Left::Known(7));
        // Of two that are generated, the second one is what another session's was.
        for second in [40, 41] {
            let (before, mut latest) = known(7);
            latest.doubt(before, Some(40), 39);
            latest.doubt(Left::OnConnection, None, second);
            latest.learn_insert_id(second);
            assert_eq!(latest.last_insert_id, Left::Known(second));
        }
    }

    #[test]
    fn diagnostics_stay_as_long_as_on_each_kind_of_server() {
        let warned = ReplyOutcome { warnings: 1, ..ok(1) };
        let learnt = || LatestStatement { diagnostics: Diagnostics::Learnt(Vec::new()), ..LatestStatement::default() };
        let there = || LatestStatement { diagnostics: Diagnostics::OnConnection, ..LatestStatement::default() };
        let cases = [
            (learnt(), "INSERT INTO t VALUES (1)", warned, false, Diagnostics::OnConnection),
            (learnt(), "SELECT * FROM none", error(1146), false, Diagnostics::OnConnection),
            (there(), "SELECT * FROM t", rows(1), false, Diagnostics::Empty),
            (there(), "SHOW WARNINGS", rows(1), false, Diagnostics::OnConnection),
            // MariaDB keeps them through what names no table.
            (learnt(), "SET @a = 1", ok(0), true, Diagnostics::Learnt(Vec::new())),
            (learnt(), "SET @a = 1", ok(0), false, Diagnostics::Empty),
            (learnt(), "SELECT * FROM t", rows(1), true, Diagnostics::Empty),
        ];
        for (before, text, reply, mariadb, diagnostics) in cases {
            let (latest, _) = after(before, text, &reply, mariadb);
            assert_eq!(latest.diagnostics, diagnostics, "{text} {mariadb}");
        }
    }
}
