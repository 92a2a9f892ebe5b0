//! Savepoints, and what SET TRANSACTION says of the next transaction: the same on all participants.
//!
//! What must always hold: a part that joins late has the savepoints that the others have, in their order.

use weir_sql::{Class, Effects, First, LexMode, Pins, first_statement};
use weir_txn::everywhere;

use super::super::Session;
use super::super::statement::Statement;
use super::super::stopped::{SessionEnd, Stopped};
use super::Savepoint;
use super::kind::TransactionStatement;

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
    pub(super) async fn set_transaction(&mut self, statement: &Statement<'_>) -> Result<(), Stopped> {
        if self.held {
            self.give_way().await;
        }
        self.keep_characteristics(statement);
        self.transaction.unsent = true;
        self.state.pins |= Pins::SET_TRANSACTION;
        self.done_here();
        Ok(())
    }

    /// Shards that join the next transaction have to hear of its characteristics.
    pub(super) fn keep_characteristics(&mut self, statement: &Statement<'_>) {
        self.transaction.characteristics.push(only_statement(statement.text, statement.mode()));
    }

    /// Whether the server has to hear of more than BEGIN before the statement at hand, which begins a transaction.
    pub(in super::super) fn take_unsent(&mut self, class: &Class, begins: bool) -> (Vec<String>, Vec<String>) {
        let works = begins || class.effects.intersects(Effects::READS | Effects::WRITES);
        if !works || !std::mem::take(&mut self.transaction.unsent) {
            return Default::default();
        }
        let savepoints = self.transaction.savepoints.iter().map(|savepoint| savepoint.text.clone()).collect();
        (self.transaction.characteristics.clone(), savepoints)
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
