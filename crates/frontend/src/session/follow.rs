//! Following what a statement did to the session: its status, its state, and what it left for the next one.

use std::collections::BTreeSet;
use std::rc::Rc;

use weir_backend::profile::{CLIENT_TRACKS, is_replayable};
use weir_sql::{Class, Effects, LexMode, Lexer, Pins, TextKind, Token, TokenKind};
use weir_wire::error::codes;
use weir_wire::{Capabilities, Failure, StatusFlags};

use super::Session;
use super::latest::{Diagnostics, Left, ToldId};
use super::outcome::ReplyOutcome;
use super::state::{changes_with_rows, pins_left_by_failure, runs_others};
use super::stopped::{SessionEnd, Stopped};

impl Session {
    /// Follows what a statement did to the session.
    pub(super) fn note(&mut self, class: &Class, outcome: &ReplyOutcome) {
        self.note_told(class, outcome, None);
    }

    /// The same. `told`: what the insert id of its OK says.
    pub(super) fn note_told(&mut self, class: &Class, outcome: &ReplyOutcome, told: Option<ToldId>) {
        self.ran.note(self.target.place(), outcome);
        let failed = outcome.error.is_some();
        self.transaction.forget_failure();
        match outcome.status {
            Some(status) => self.state.status = status,
            // Without autocommit, a statement that failed may have opened a transaction.
            None if failed && !self.state.status.contains(StatusFlags::AUTOCOMMIT) => {
                self.transaction.suppose_begun(self.state.status.contains(StatusFlags::IN_TRANS), outcome);
                self.state.status |= StatusFlags::IN_TRANS;
            }
            // The reply to a PREPARE, which begins none.
            None => {}
        }
        if let Some(lease) = &mut self.current.lease {
            let begun = outcome.status.is_some_and(|status| status.contains(StatusFlags::IN_TRANS));
            lease.told_of_next |= class.effects.contains(Effects::SET_TRANSACTION_ONCE);
            lease.told_of_next &= !begun;
        }
        self.note_metadata_locks(class, failed);
        self.note_residue(class, outcome, told);
        self.note_profile(class, outcome);
        self.note_reading(class, outcome);
        let mut pins = class.pins - (Pins::FOUND_ROWS | Pins::ROW_COUNT);
        if let Some((code, _)) = outcome.error {
            pins = pins_left_by_failure(pins, code, runs_others(class));
        } else {
            self.state.pins &= !class.releases;
        }
        self.state.pins |= pins;
        // Those of several statements, and those that failed, are not told apart: the server counts more then, as if one were out of sight.
        let made = class.kind == TextKind::Other && class.pins.contains(Pins::TEMPORARY_TABLE);
        if made && !failed && outcome.status.is_some() {
            self.current.lease.iter_mut().for_each(|lease| lease.temporary_made += 1);
        }
        self.note_next_transaction(outcome);
        if class.effects.contains(Effects::CHANGES_GLOBALS) && !failed {
            self.shared.at(self.target.place()).pool.server.retire_connections();
        }
        if class.effects.contains(Effects::IMPLICIT_COMMIT) {
            self.shared.hot_rows.tables.forget();
        }
        self.note_position(class, outcome);
        self.note_branches(class, outcome);
        if self.current.reader_life.is_some() && !self.state.status.contains(StatusFlags::IN_TRANS) {
            self.current.reader_life = None;
        }
    }

    /// See `release_metadata_locks`.
    fn note_metadata_locks(&mut self, class: &Class, failed: bool) {
        let status = self.state.status;
        let ends = matches!(class.kind, TextKind::Commit | TextKind::Rollback)
            || class.effects.contains(Effects::IMPLICIT_COMMIT);
        if ends && !failed {
            self.current.metadata_locks = false;
        } else if class.effects.contains(Effects::READS) && !status.contains(StatusFlags::AUTOCOMMIT) {
            self.current.metadata_locks |= failed || !status.contains(StatusFlags::IN_TRANS);
        }
    }

    /// What a read may have assigned out of sight on a reader is taken along: bound there, the session would send its writes to the reader.
    ///
    /// # Errors
    /// The session ends if the reader has what can't be taken along, such as a temporary table.
    pub(super) async fn leave_reader(&mut self) -> Result<(), Stopped> {
        let unseen = self.state.assigned_unseen && self.state.pins == Pins::COMPUTED_USER_VARIABLE;
        let at_reader = self.current.lease.is_some() && self.current.server.index != self.backends().writer();
        if !unseen || !at_reader || !self.identity.mariadb || self.target.level.is_none() {
            return Ok(());
        }
        let learnt = self.learn_user_variables(b"", BTreeSet::new()).await;
        if learnt.is_ok() && self.state.pins.is_empty() {
            return Ok(());
        }
        self.lose_lease();
        let message = "A read on a replica has made a temporary table there, or assigned a long variable, out of sight: \
                       SET weir_consistency = 'primary' before it";
        Err(Stopped::Ended(SessionEnd::Told(Failure::client(codes::ER_NOT_SUPPORTED_YET, message))))
    }

    /// What a SET has changed and the server has not reported is asked for, and kept like the rest. `bound`: the pins before it.
    ///
    /// Only variables of which the value that a server tells is all that there is to them; and, but for what the client tracks, only where
    /// several shards want the session elsewhere: else the pin costs less than the question.
    pub(super) async fn learn_unreported(&mut self, class: &Class, outcome: &ReplyOutcome, bound: Pins) {
        let new = self.state.pins - bound;
        let tracks = new.contains(Pins::SESSION_TRACKING);
        let pinned = tracks || self.endpoint.sharding.is_some() && new.contains(Pins::SPECIAL_VARIABLE);
        let only_assigns = class.kind == TextKind::Set
            && (class.pins - (Pins::COMPUTED_USER_VARIABLE | Pins::SESSION_TRACKING)).is_empty()
            && !bound.intersects(Pins::SPECIAL_VARIABLE | Pins::SESSION_TRACKING);
        let quiet =
            self.state.latest.diagnostics == Diagnostics::Empty && self.state.latest.found_rows != Left::OnConnection;
        if !pinned || !only_assigns || !quiet || outcome.error.is_some() {
            return;
        }
        let has = |wanted: &str| outcome.variables.iter().any(|(name, _)| name == wanted);
        let names: Vec<&str> =
            class.assigned.iter().map(|name| &**name).filter(|name| !is_reported(name, &has)).collect();
        let told = outcome
            .variables
            .iter()
            .all(|(name, value)| is_derived(name) || is_replayable(name, value) && !has_effect_once(name, value));
        // While the client's own tracking is on the connection, hardly any variable is reported.
        let can_be_asked = |name: &&str| match tracks {
            true => *name == CLIENT_TRACKS || !name.starts_with("session_track_"),
            false => is_plain_setting(name),
        };
        if !told || !names.iter().all(can_be_asked) || tracks && !names.contains(&CLIENT_TRACKS) {
            return;
        }
        let Some(lease) = &mut self.current.lease else { return };
        let items: Vec<String> = names.iter().map(|name| format!("@@SESSION.{name}")).collect();
        lease.has_found_rows = false;
        let Ok(reply) = lease.ask(&format!("SELECT {} LIMIT 1", items.join(","))).await else { return };
        let cells: Option<Vec<String>> =
            reply.rows.into_iter().flatten().map(|cell| String::from_utf8(cell?).ok()).collect();
        let Some(values) = cells.filter(|values| values.len() == names.len()) else { return };
        let known = names.iter().copied().zip(values.iter().map(String::as_str));
        if known.clone().all(|(name, value)| is_replayable(name, value)) {
            let profile = Rc::new(self.state.profile.with_variables(known));
            lease.set_profile(profile.clone());
            self.state.profile = profile;
            self.state.pins -= Pins::SPECIAL_VARIABLE;
            if tracks {
                self.track_for_client().await;
            }
        }
    }

    /// What the client tracks is known: the connection tells Weir of all changes again, and the client of those that it has named.
    async fn track_for_client(&mut self) {
        self.state.pins -= Pins::SESSION_TRACKING;
        self.state.learn_lex_mode(&self.identity);
        let Some(lease) = &mut self.current.lease else { return };
        let again = match lease.queue_state(&self.state.profile, true) {
            Ok(()) => lease.flush().await,
            Err(failure) => Err(failure),
        };
        if again.is_err() || lease.confirm_state().await.is_err() {
            lease.retired = true;
        }
    }

    /// While the client's own choice of session tracking is in force, the server may not report another database: it is asked.
    /// Else statements would be planned for the database before, and the connection lent to others with this one.
    ///
    /// # Errors
    /// The loss of the connection.
    pub(super) async fn learn_database(&mut self, class: &Class, outcome: &ReplyOutcome) -> Result<(), Failure> {
        let unreported = class.effects.contains(Effects::CHANGES_DATABASE) && outcome.schema.is_none();
        if !unreported || !self.state.pins.contains(Pins::SESSION_TRACKING) || self.current.lease.is_none() {
            return Ok(());
        }
        self.learn_what_was_left(true).await?;
        let Some(lease) = &mut self.current.lease else { return Ok(()) };
        let reply = lease.ask("SELECT DATABASE() LIMIT 1").await?;
        let name = reply.rows.into_iter().flatten().next().flatten().unwrap_or_default();
        let schema = ReplyOutcome { schema: Some(name), ..ReplyOutcome::default() };
        self.note_profile(&Class::default(), &schema);
        Ok(())
    }

    /// Whether the reply to a statement that changes rows has room for no more than a flag that something of the session has changed.
    pub(super) fn is_told_by_flag(&self, class: &Class) -> bool {
        self.identity.mariadb && !self.client_has(Capabilities::DEPRECATE_EOF) && changes_with_rows(class)
    }

    /// Before a statement for which the server is asked to track less than before: it forgets then what it has not told.
    pub(super) async fn hear_untold_before(&mut self, class: &Class) -> Result<(), Stopped> {
        let untold = self.current.lease.as_ref().is_some_and(|lease| lease.untold_changes_of == Some(self.handle.id));
        if untold && self.is_told_by_flag(class) {
            self.learn_what_was_left(true).await?;
            self.hear_untold().await?;
        }
        Ok(())
    }

    /// The server tells what it had no room for: it does with the next change that it has room to tell of, which this SET is.
    ///
    /// # Errors
    /// The loss of the connection.
    pub(super) async fn hear_untold(&mut self) -> Result<(), Failure> {
        let id = self.handle.id;
        let Some(lease) = self.current.lease.as_mut().filter(|lease| lease.untold_changes_of == Some(id)) else {
            return Ok(());
        };
        let told = lease.query("SET @@SESSION.autocommit = @@SESSION.autocommit").await?;
        lease.untold_changes_of = None;
        let outcome = ReplyOutcome { variables: told.variables, ..ReplyOutcome::default() };
        self.note_profile(&Class::default(), &outcome);
        Ok(())
    }

    /// A text has let the session's clock go on: what the server reports then is the time at which it did.
    pub(super) fn note_clock(&mut self, class: &Class, text: &[u8]) {
        if self.state.profile.variable("timestamp").is_none()
            || !class.assigned.iter().any(|name| &**name == "timestamp")
        {
            return;
        }
        if lets_clock_go_on(text, self.state.lex) {
            let profile = Rc::new(self.state.profile.without_variable("timestamp"));
            self.state.profile = profile.clone();
            if let Some(lease) = &mut self.current.lease {
                lease.set_profile(profile);
            }
        }
    }

    /// The characteristics of the next transaction end with it.
    fn note_next_transaction(&mut self, outcome: &ReplyOutcome) {
        if !self.state.pins.contains(Pins::SET_TRANSACTION) || outcome.error.is_some() {
            return;
        }
        let open = self.state.status.contains(StatusFlags::IN_TRANS);
        if self.state.set_transaction_used && !open {
            self.state.pins -= Pins::SET_TRANSACTION;
        }
        self.state.set_transaction_used = open;
    }

    fn note_residue(&mut self, class: &Class, outcome: &ReplyOutcome, told: Option<ToldId>) {
        let latest = &mut self.state.latest;
        let before = latest.last_insert_id;
        let on_connection = latest.take(class, outcome, told, self.identity.mariadb);
        let Some(lease) = &mut self.current.lease else { return };
        lease.has_found_rows |= on_connection.found_rows;
        if on_connection.insert_id {
            latest.doubt(before, lease.insert_id, outcome.insert_id);
            lease.insert_id = match told {
                Some(ToldId::Generated(id)) => Some(id),
                _ => None,
            };
        }
    }

    /// Takes over the session variables and the database that the server says have changed. What can't be set again
    /// elsewhere pins.
    fn note_profile(&mut self, class: &Class, outcome: &ReplyOutcome) {
        let mut profile = None;
        if let Some(schema) = &outcome.schema {
            let database = Some(&schema[..]).filter(|name| !name.is_empty());
            profile = Some(self.state.profile.with_database(database));
            self.handle.info().database = database.map(|name| String::from_utf8_lossy(name).into_owned());
        }
        // What holds for one statement is reported as if it stayed.
        let scoped = class.effects.contains(Effects::SETS_FOR_STATEMENT);
        let bounds_wait = self.identity.mariadb && may_bound_lock_wait(class);
        let is_scoped = |name: &str| scoped || bounds_wait && is_lock_wait(name);
        let tracked = outcome.variables.iter().filter(|(name, _)| !is_scoped(name) && !is_derived(name));
        let changes: Vec<_> = tracked.map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let doubtful =
            bounds_wait && may_run_routines(class) && outcome.variables.iter().any(|(name, _)| is_lock_wait(name));
        if doubtful || !changes.iter().all(|(name, value)| is_replayable(name, value) && !has_effect_once(name, value))
        {
            self.state.pins |= Pins::SPECIAL_VARIABLE;
        } else if !changes.is_empty() {
            profile = Some(profile.as_ref().unwrap_or(&self.state.profile).with_variables(changes.iter().copied()));
        }
        if has_begun_record(class, outcome, self.state.pins.contains(Pins::SESSION_TRACKING)) {
            self.state.recorded = true;
            self.state.pins |= Pins::SPECIAL_VARIABLE;
        }
        let has = |wanted: &str| changes.iter().any(|(name, _)| *name == wanted);
        let named = class.assigned.iter().any(|name| &**name == PSEUDO_THREAD_ID) && outcome.error.is_none() && !scoped;
        if named || has(PSEUDO_THREAD_ID) {
            let told = changes.iter().rfind(|(name, _)| *name == PSEUDO_THREAD_ID);
            self.state.pseudo_thread_id = Some(told.and_then(|(_, value)| value.parse().ok()));
        }
        if has("character_set_connection") && !has("collation_connection") {
            self.state.collation_unknown = true;
        }
        if outcome.error.is_none() && !class.assigned.iter().all(|name| is_reported(name, &has)) {
            self.state.pins |= Pins::SPECIAL_VARIABLE;
        }
        if let Some(profile) = profile {
            let profile = Rc::new(profile);
            self.state.profile = profile.clone();
            let connection = self.connection();
            connection.lacks_database &= outcome.schema.is_none();
            connection.set_profile(profile);
            self.state.learn_lex_mode(&self.identity);
        }
        // A routine out of sight that has set one of the server's variables may have set one of the user's as well. Of the default database
        // MariaDB tells when it comes back from another one's programs.
        let runs_routines = class.kind == TextKind::Select || class.effects.contains(Effects::WRITES);
        let by_variables = !runs_routines && !changes.is_empty();
        let explained = by_variables
            || outcome.schema.is_some() && (!runs_routines || changes.is_empty())
            || !class.pins.is_empty()
            || !class.releases.is_empty()
            || matches!(class.kind, TextKind::SetUserVariables(_) | TextKind::Set)
            // MariaDB changes its own state, and changes it back, while it looks at views for information_schema, for ANALYZE TABLE, for
            // SET STATEMENT and for NOWAIT.
            || self.identity.mariadb
                && class.kind == TextKind::Select
                && (scoped || bounds_wait || class.effects.contains(Effects::SERVER_STATE))
            // And MySQL tells of temporary tables that are dropped or altered.
            || class.effects.contains(Effects::IMPLICIT_COMMIT);
        if outcome.state_changed && !explained {
            self.state.pins |= Pins::COMPUTED_USER_VARIABLE;
            self.state.assigned_unseen = true;
        }
    }
}

/// Whether a text may have NOWAIT or `WAIT n`, for which MariaDB sets its lock wait timeouts as SET STATEMENT does. Routines can't.
fn may_bound_lock_wait(class: &Class) -> bool {
    class.effects.intersects(Effects::LOCKING_READ | Effects::IMPLICIT_COMMIT)
        && !class.effects.contains(Effects::RUNS_OTHERS)
}

/// Whether a text that may bound its wait for locks may also run a function or a trigger, which may set a variable to stay.
fn may_run_routines(class: &Class) -> bool {
    let is_definition = class.effects.contains(Effects::IMPLICIT_COMMIT) && class.kind == TextKind::Other;
    !(class.kind == TextKind::Select || is_definition) || class.pins.contains(Pins::UNKNOWN_FUNCTION)
}

/// The variables that bound how long a statement waits for locks.
fn is_lock_wait(name: &str) -> bool {
    matches!(name, "lock_wait_timeout" | "innodb_lock_wait_timeout")
}

/// The variable that names a session in the binary log's temporary tables.
const PSEUDO_THREAD_ID: &str = "pseudo_thread_id";

/// Whether a SET that has `timestamp` among its variables gives it DEFAULT or 0.
fn lets_clock_go_on(text: &[u8], lex: LexMode) -> bool {
    let name = |token: &Token| {
        let word = token.text(text);
        word.strip_prefix(b"@@").unwrap_or(word).eq_ignore_ascii_case(b"timestamp")
    };
    let mut tokens = Lexer::new(text, lex).skip_while(|token| !name(token));
    tokens.next();
    let is_sign =
        |token: &Token| matches!(token.kind, TokenKind::Punct(b'=') | TokenKind::Operator | TokenKind::Assign);
    let value = tokens.find(|token| !is_sign(token));
    value.is_some_and(|token| matches!(token.text(text), b"0") || token.text(text).eq_ignore_ascii_case(b"DEFAULT"))
}

/// Variables that are reported and are not part of what a session has set: they follow from the default database or
/// from the latest statement, or are Weir's own.
fn is_derived(name: &str) -> bool {
    const DERIVED: [&str; 6] =
        ["character_set_database", "collation_database", "statement_id", "last_insert_id", "identity", "last_gtid"];
    DERIVED.contains(&name) || name.starts_with("session_track_")
}

/// Variables that the next statement uses up, or that have no DEFAULT to go back to: a connection that is given their value again
/// would do again what they did. And those that have a connection keep what is asked for later.
fn has_effect_once(name: &str, value: &str) -> bool {
    matches!(name, "insert_id" | "rand_seed1" | "rand_seed2" | "gtid_next" | "gtid_seq_no")
        || is_record(name) && is_on(value)
        || name.starts_with("pseudo_")
}

/// The variables that have a connection keep the texts of statements: for `information_schema.optimizer_trace`, and for SHOW PROFILES.
fn is_record(name: &str) -> bool {
    matches!(name, "optimizer_trace" | "profiling")
}

fn is_on(value: &str) -> bool {
    value == "ON" || value == "1" || value.contains("enabled=on")
}

/// Whether a statement has had its connection keep texts. `untold`: what it has set may not be among what the server tells.
fn has_begun_record(class: &Class, outcome: &ReplyOutcome, untold: bool) -> bool {
    outcome.variables.iter().any(|(name, value)| is_record(name) && is_on(value))
        || untold && class.assigned.iter().any(|name| is_record(name))
        || class.effects.contains(Effects::SETS_FOR_STATEMENT) && class.pins.contains(Pins::SPECIAL_VARIABLE)
}

/// A storage engine's variable, which MySQL does not report.
fn is_plain_setting(name: &str) -> bool {
    name.starts_with("innodb_")
}

/// Whether the server has reported a variable that the text assigns, by whichever of its names.
fn is_reported(name: &str, has: &dyn Fn(&str) -> bool) -> bool {
    let other = match name {
        "transaction_isolation" => "tx_isolation",
        "transaction_read_only" => "tx_read_only",
        // Followed by a question of Weir's own where the server does not report it.
        "collation_connection" if has("character_set_connection") => return true,
        _ => name,
    };
    has(name) || has(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_goes_on_is_told_from_one_that_stands() {
        let cases = [
            ("SET timestamp = DEFAULT", true),
            ("set @@session.timestamp := 0", true),
            ("SET sql_mode = '', @@timestamp=default", true),
            ("SET timestamp = 1700000000", false),
            ("SET timestamp = @old", false),
        ];
        for (text, goes_on) in cases {
            assert_eq!(lets_clock_go_on(text.as_bytes(), LexMode::default()), goes_on, "{text}");
        }
    }
}
