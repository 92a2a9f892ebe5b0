//! Savepoints, and what SET TRANSACTION says of the next transaction: the same on all participants.
//!
//! What must always hold: a part that joins late has the savepoints that the others have, in their order.

use weir_sql::{Class, Effects, First, LexMode, Pins, TextKind, first_statement};
use weir_txn::everywhere;

use super::super::Session;
use super::super::statement::Statement;
use super::super::stopped::{SessionEnd, Stopped};
use super::kind::TransactionStatement;
use super::{Savepoint, works};

/// What SET TRANSACTION has said: the statements, and READ ONLY or not, if one of them says so.
#[derive(Debug, Default)]
pub(in super::super) struct Said {
    characteristics: Vec<String>,
    read_only: Option<bool>,
}

impl Session {
    /// SAVEPOINT, ROLLBACK TO, RELEASE: on all parts alike. `unheard`: the transaction has not begun on any server.
    pub(super) async fn savepoint(
        &mut self,
        kind: &TransactionStatement,
        unheard: bool,
        text: &[u8],
    ) -> Result<(), Stopped> {
        if !unheard {
            self.run_on_participants(&String::from_utf8_lossy(text)).await?;
        }
        self.transaction.unsent |= unheard;
        let savepoints = &mut self.transaction.savepoints;
        let at = |savepoints: &[Savepoint], name: &[u8]| savepoints.iter().position(|one| one.name == name);
        match kind {
            TransactionStatement::Savepoint(name, statement) => {
                if let Some(at) = at(savepoints, name) {
                    savepoints.remove(at);
                }
                savepoints.push(Savepoint { name: name.clone(), text: statement.clone() });
            }
            TransactionStatement::RollbackTo(name) => {
                savepoints.truncate(at(savepoints, name).map_or(savepoints.len(), |at| at + 1))
            }
            TransactionStatement::Release(name) => {
                savepoints.truncate(at(savepoints, name).unwrap_or(savepoints.len()))
            }
            _ => {}
        }
        self.done_here();
        Ok(())
    }

    /// Runs a statement on each part. One that is lost takes the transaction with it.
    async fn run_on_participants(&mut self, text: &str) -> Result<(), Stopped> {
        let parked = self.transaction.parked.iter_mut().filter_map(|part| part.participant.lease.as_deref_mut());
        let all = self.current.lease.as_deref_mut().into_iter().chain(parked);
        let Err(failure) = everywhere(all, text).await else { return Ok(()) };
        let lost = self
            .transaction
            .parked
            .iter()
            .any(|part| part.participant.lease.as_ref().is_none_or(|lease| !lease.is_clean()));
        if lost || self.current.lease.as_ref().is_none_or(|lease| !lease.is_clean()) {
            return Err(Stopped::Ended(SessionEnd::Told(failure)));
        }
        Err(failure.into())
    }

    /// SET TRANSACTION for the next transaction, of a session without a connection: kept until that begins, wherever it does.
    pub(super) async fn set_transaction(
        &mut self,
        read_only: Option<bool>,
        statement: &Statement<'_>,
    ) -> Result<(), Stopped> {
        if self.held {
            self.give_way().await;
        }
        self.keep_characteristics(read_only, statement);
        self.transaction.unsent = true;
        self.done_here();
        Ok(())
    }

    /// Shards that join the next transaction have to hear of its characteristics.
    pub(super) fn keep_characteristics(&mut self, read_only: Option<bool>, statement: &Statement<'_>) {
        self.transaction.characteristics.push(only_statement(statement.text, statement.mode()));
        self.state.said_read_only = read_only.or(self.state.said_read_only);
    }

    /// What SET TRANSACTION has said of the transaction, or of the next.
    pub(in super::super) fn said_of_transaction(&self) -> Said {
        Said { characteristics: self.transaction.characteristics.clone(), read_only: self.state.said_read_only }
    }

    /// The same is said of the next transaction, of which no server has heard.
    pub(in super::super) fn say_again(&mut self, said: Said) {
        if !said.characteristics.is_empty() {
            self.transaction.unsent = true;
            self.transaction.characteristics = said.characteristics;
            self.state.said_read_only = said.read_only;
        }
    }

    /// A server has heard of what is said of the next transaction, to prepare a statement by it. That is for whoever begins one, which may be
    /// another server: where none has begun, COMMIT ends it.
    pub(in super::super) async fn take_back_said(&mut self, said: Said) {
        if said.characteristics.is_empty() {
            return;
        }
        self.say_again(said);
        self.state.pins -= Pins::SET_TRANSACTION;
        if !self.current.lease.as_ref().is_some_and(|lease| lease.is_clean()) {
            return;
        }
        let ended = match self.learn_what_was_left(true).await {
            Ok(()) => {
                let connection = self.connection();
                connection.has_found_rows = false;
                connection.query("COMMIT AND NO CHAIN NO RELEASE").await.map(drop)
            }
            Err(failure) => Err(failure),
        };
        if ended.is_err() {
            self.connection().retired = true;
        }
    }

    /// Whether the server has to hear of more than BEGIN before the statement at hand, which begins a transaction.
    pub(in super::super) fn take_unsent(&mut self, class: &Class, begins: bool) -> (Vec<String>, Vec<String>) {
        let ends = matches!(class.kind, TextKind::Commit | TextKind::Rollback)
            || class.effects.contains(Effects::STARTS_TRANSACTION_OTHER);
        if !(begins || ends || works(class)) || !std::mem::take(&mut self.transaction.unsent) {
            return Default::default();
        }
        let savepoints = self.transaction.savepoints.iter().map(|savepoint| savepoint.text.clone()).collect();
        let characteristics = self.transaction.characteristics.clone();
        if !characteristics.is_empty() {
            self.state.pins |= Pins::SET_TRANSACTION;
        }
        (characteristics, savepoints)
    }
}

/// The statement of a text, without what else may stand behind it.
fn only_statement(text: &[u8], lex: LexMode) -> String {
    let end = match first_statement(text, lex) {
        First::Ends(end) => end,
        First::Unknown => text.len(),
    };
    String::from_utf8_lossy(&text[..end]).into_owned()
}
