//! An open transaction that is lost with its server, in a group where another one takes the writes.
//!
//! What must always hold: the client is told that its transaction was rolled back (1213, which drivers answer by running it again) only if that is
//! so: the server had neither begun to commit it nor been sent anything that may. What else the session loses with the connection, temporary
//! tables or locks, nothing can give back: then it ends, as it would on a direct connection.

use weir_sql::{Class, Effects, Pins, TextKind};
use weir_topology::GroupKind;
use weir_wire::error::codes;
use weir_wire::{Command, Failure, Fault, StatusFlags};

use super::Session;
use super::stopped::{SessionEnd, Stopped};

impl Session {
    /// The server was lost with the statement at hand, or before it was sent. If all that is lost is an open transaction, the session goes on
    /// without it.
    pub(super) fn lost_with(&mut self, stopped: Stopped, class: &Class) -> Stopped {
        let lost = match &stopped {
            Stopped::Refused(failure) | Stopped::Ended(SessionEnd::Told(failure))
                if failure.code == codes::CR_SERVER_LOST =>
            {
                failure
            }
            _ => return stopped,
        };
        let broken = self.current.lease.as_ref().is_none_or(|lease| !lease.is_clean());
        if !broken || !leaves_open(class) || self.replay.is_playing() {
            return stopped;
        }
        if self.can_be_replayed() {
            let failure = rolled_back(lost);
            self.lose_for_replay();
            return Stopped::Lost(failure);
        }
        if !self.loses_only_a_transaction() {
            return stopped;
        }
        let failure = self.tells_rolled_back(lost);
        self.give_up_transaction();
        Stopped::Refused(failure)
    }

    /// The transaction's server has closed the connection before the statement at hand was sent: whatever that is, the server has not got it.
    ///
    /// # Errors
    /// That it was so, and the transaction is to be run again.
    pub(super) fn is_lost_before_sending(&mut self) -> Result<(), Stopped> {
        let open = self.has_open_transaction() && !self.replay.is_playing();
        if !open || !self.can_be_replayed() || !self.connection().is_stale() {
            return Ok(());
        }
        let lost = self.connection().server.lost("it has closed the connection");
        self.lose_for_replay();
        Err(Stopped::Lost(rolled_back(&lost)))
    }

    /// Whether the session's open transaction, or the one that begins with the statement at hand, can be run again as far as is known yet.
    fn can_be_replayed(&self) -> bool {
        let kind = || self.shared.shards[self.current.server.shard].group.with_view(|view| view.kind);
        self.replay.is_alive()
            && self.state.pins.is_empty()
            && !self.state.has_busy_statements()
            && self.transaction.is_plain()
            && kind() != GroupKind::Static
    }

    /// Gives up the connection, and keeps what is known of its transaction.
    fn lose_for_replay(&mut self) {
        let recording = self.replay.take_lost(self.current.server);
        self.give_up_transaction();
        self.replay.keep_lost(recording);
    }

    /// What the client is told of a transaction that is not run again, with the reason if it was to be.
    fn tells_rolled_back(&self, lost: &Failure) -> Failure {
        match self.replay.why_not() {
            Some(reason) => self.tells_not_replayed(&rolled_back(lost), reason),
            None => rolled_back(lost),
        }
    }

    /// The server of an idle session was lost. If that costs no more than an open transaction, the next statement is told so.
    pub(super) fn lost_while_idle(&mut self, failure: Failure) -> Result<(), SessionEnd> {
        if !self.state.is_bound() {
            self.lose_lease();
            return Ok(());
        }
        self.transaction.begun_with_statement = false;
        if self.can_be_replayed() {
            self.note_before_command();
            self.rolled_back = Some(rolled_back(&failure));
            self.lose_for_replay();
            self.replay.wait_for_statement();
            self.show_bindings();
            self.show_idle();
            return Ok(());
        }
        if !self.loses_only_a_transaction() {
            self.lose_lease();
            return Err(SessionEnd::Told(failure));
        }
        self.rolled_back = Some(self.tells_rolled_back(&failure));
        self.give_up_transaction();
        self.show_bindings();
        self.show_idle();
        Ok(())
    }

    /// What a command is answered in place of being run: that the session's transaction is gone. A new session's state has none.
    pub(super) fn is_told_of_rollback(&mut self, command: Command) -> Option<Failure> {
        match command {
            Command::Query | Command::StmtPrepare | Command::StmtExecute => self.rolled_back.take(),
            Command::ResetConnection | Command::ChangeUser => {
                self.rolled_back = None;
                self.replay.forget();
                None
            }
            _ => None,
        }
    }

    /// Whether the session has lost a transaction of one server, and nothing else; and another server may take it.
    fn loses_only_a_transaction(&self) -> bool {
        let kind = self.shared.shards[self.current.server.shard].group.with_view(|view| view.kind);
        kind != GroupKind::Static
            && self.has_open_transaction()
            && self.state.pins.is_empty()
            && !self.state.has_busy_statements()
            && self.transaction.is_plain()
            // If its start was refused, the statement behind it has run by itself.
            && !self.transaction.begun_with_statement
    }

    pub(super) fn give_up_transaction(&mut self) {
        self.lose_lease();
        self.state.status -= StatusFlags::IN_TRANS | StatusFlags::IN_TRANS_READONLY;
        self.current.reader_life = None;
        self.forget_transaction();
    }
}

/// Whether the statement, if it ran, has left the transaction open.
pub(super) fn leaves_open(class: &Class) -> bool {
    const MAY_END: Effects =
        Effects::IMPLICIT_COMMIT.union(Effects::STARTS_TRANSACTION_OTHER).union(Effects::RUNS_OTHERS);
    const MAY_RUN_OTHERS: Pins = Pins::CALL.union(Pins::TEXT_PREPARE).union(Pins::UNKNOWN_STATEMENT).union(Pins::XA);
    let works = matches!(class.kind, TextKind::Select | TextKind::SetUserVariables(_) | TextKind::Other);
    works && !class.effects.intersects(MAY_END) && !class.pins.intersects(MAY_RUN_OTHERS)
}

fn rolled_back(lost: &Failure) -> Failure {
    let message = format!(
        "The transaction was rolled back, because its server was lost; try restarting transaction ({})",
        lost.message
    );
    Failure::new(Fault::Server, codes::ER_LOCK_DEADLOCK, b"40001", message)
}

/// The same of a transaction that was to be run again, with the reason why it was not.
pub(super) fn not_replayed(rolled_back: &Failure, reason: &str) -> Failure {
    Failure { message: format!("{}; it was not replayed: {reason}", rolled_back.message), ..rolled_back.clone() }
}

#[cfg(test)]
mod tests {
    use weir_sql::{LexMode, classify};

    use super::leaves_open;

    #[test]
    fn only_what_can_not_end_a_transaction_leaves_it_open() {
        let cases = [
            ("SELECT 1", true),
            ("SELECT * FROM t FOR UPDATE", true),
            ("UPDATE t SET a = 1", true),
            ("INSERT INTO t VALUES (1)", true),
            ("SAVEPOINT s", true),
            ("COMMIT", false),
            ("COMMIT AND CHAIN", false),
            ("COMMIT RELEASE", false),
            ("ROLLBACK", false),
            ("BEGIN", false),
            ("SET autocommit = 1", false),
            ("CREATE TABLE t (a INT)", false),
            ("CALL p()", false),
            ("EXECUTE s", false),
            ("XA START 'x'", false),
            ("UPDATE t SET a = 1; COMMIT", false),
            ("NONSENSE", false),
        ];
        for (text, open) in cases {
            let class = classify(text.as_bytes(), LexMode::default());
            assert_eq!(leaves_open(&class), open, "{text}");
        }
    }
}
