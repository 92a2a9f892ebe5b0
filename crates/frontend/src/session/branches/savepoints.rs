//! Savepoints, and what SET TRANSACTION says of the next transaction: on all parts alike.
//!
//! What must always hold: a part that joins late has the savepoints that the others have, in their order.

use weir_sql::{Class, Effects, First, LexMode, Pins, first_statement};
use weir_txn::everywhere;
use weir_wire::StatusFlags;

use super::super::server::Stopped;
use super::super::{End, Session};
use super::Savepoint;
use super::wording::Wording;

impl Session {
    /// SAVEPOINT, ROLLBACK TO, RELEASE: on all parts alike.
    pub(super) async fn savepoint(&mut self, wording: &Wording, text: &[u8]) -> Result<bool, Stopped> {
        let waits = self.state.begin.is_some()
            || !self.has_open_transaction() && !self.state.status.contains(StatusFlags::AUTOCOMMIT);
        let known = |name: &Vec<u8>| self.branches.savepoints.iter().any(|savepoint| savepoint.name == *name);
        let heard_here = match wording {
            Wording::Savepoint(..) => waits,
            Wording::RollbackTo(name) | Wording::Release(name) => waits && known(name),
            _ => false,
        };
        if !heard_here {
            if !self.has_open_transaction() || self.lease.is_none() {
                return Ok(false);
            }
            self.run_on_all_parts(&String::from_utf8_lossy(text)).await?;
        }
        self.branches.unsent |= heard_here;
        let savepoints = &mut self.branches.savepoints;
        let at = |savepoints: &[Savepoint], name: &[u8]| savepoints.iter().position(|one| one.name == name);
        match wording {
            Wording::Savepoint(name, statement) => {
                if let Some(at) = at(savepoints, name) {
                    savepoints.remove(at);
                }
                savepoints.push(Savepoint { name: name.clone(), text: statement.clone() });
            }
            Wording::RollbackTo(name) => {
                savepoints.truncate(at(savepoints, name).map_or(savepoints.len(), |at| at + 1))
            }
            Wording::Release(name) => savepoints.truncate(at(savepoints, name).unwrap_or(savepoints.len())),
            _ => {}
        }
        self.done_here();
        Ok(true)
    }

    /// Runs a statement on each part. One that is lost takes the transaction with it.
    async fn run_on_all_parts(&mut self, text: &str) -> Result<(), Stopped> {
        let parked = self.branches.parked.iter_mut().filter_map(|part| part.lease.as_deref_mut());
        let all = self.lease.as_deref_mut().into_iter().chain(parked);
        let Err(failure) = everywhere(all, text).await else { return Ok(()) };
        let lost = self.branches.parked.iter().any(|part| part.lease.as_ref().is_none_or(|lease| !lease.is_clean()));
        if lost || self.lease.as_ref().is_none_or(|lease| !lease.is_clean()) {
            return Err(Stopped::Ended(End::Told(failure)));
        }
        Err(failure.into())
    }

    /// SET TRANSACTION for the next transaction: kept until that begins, wherever it does.
    pub(super) async fn set_transaction(&mut self, text: &[u8]) -> Result<bool, Stopped> {
        if self.has_open_transaction() || self.state.begin.is_some() {
            // The server says that it is too late.
            return Ok(false);
        }
        if self.held {
            self.give_way().await;
        }
        let bound = self.lease.is_some();
        self.branches.characteristics.push(only_statement(text, self.state.lex));
        if bound {
            return Ok(false);
        }
        self.branches.unsent = true;
        self.state.pins |= Pins::SET_TRANSACTION;
        self.done_here();
        Ok(true)
    }

    /// Whether the server has to hear of more than BEGIN before the statement at hand, which begins a transaction.
    pub(in super::super) fn take_unsent(&mut self, class: &Class, begins: bool) -> (Vec<String>, Vec<String>) {
        let works = begins || class.effects.intersects(Effects::READS | Effects::WRITES);
        if !works || !std::mem::take(&mut self.branches.unsent) {
            return Default::default();
        }
        let savepoints = self.branches.savepoints.iter().map(|savepoint| savepoint.text.clone()).collect();
        (self.branches.characteristics.clone(), savepoints)
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
