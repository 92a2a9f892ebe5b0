//! What a client is told of a statement that has ridden in a batch, and what the statement leaves in its session.
//!
//! What must always hold: the packets are those that a connection of the session's own would have sent.

use weir_exec::hot_rows::member::{Done, Member, Said};
use weir_sql::hot_row::{Framing, HotText};
use weir_wire::packets::{ErrPacket, OkPacket, SessionChange, put_session_change};
use weir_wire::{Malformed, StatusFlags};

use super::super::super::Session;
use super::super::super::condition::Condition;
use super::super::super::latest::{Diagnostics, Left};
use super::super::super::outcome::ReplyOutcome;
use super::super::super::relay::Told;
use super::super::super::state::Begin;
use super::super::super::stopped::{Stopped, malformed};
use super::Statement;

/// The flags of an OK that tell of the session's transaction and of what follows, and not of the statement.
const OF_THE_SESSION: StatusFlags = StatusFlags::IN_TRANS
    .union(StatusFlags::AUTOCOMMIT)
    .union(StatusFlags::MORE_RESULTS_EXISTS)
    .union(StatusFlags::SESSION_STATE_CHANGED);

impl Session {
    /// Answers the client, and takes over what its statement has left.
    pub(super) fn take_batch_reply(
        &mut self,
        statement: &Statement<'_>,
        hot: &HotText,
        member: &Member,
        done: Done,
    ) -> Result<(), Stopped> {
        let before = self.client.output.len();
        let mut outcome = self.put_batch_reply(hot.framing, &done).map_err(malformed)?;
        outcome.bytes = self.client.output.len().saturating_sub(before) as u64;
        self.ran.batch = done.batch;
        self.note(statement.class, &outcome);
        let told = match &done.said {
            Said::Ok { insert_id, .. } if *insert_id != 0 => *insert_id,
            _ => member.insert_id,
        };
        self.state.latest.last_insert_id = Left::Known(done.last_insert_id.unwrap_or(told));
        // What MySQL's COMMIT clears, MariaDB's leaves.
        let cleared = hot.framing != Framing::Alone && outcome.error.is_none() && !self.identity.mariadb;
        let shown = done.warnings.filter(|_| !cleared);
        self.state.latest.diagnostics = match shown {
            Some(rows) => {
                let conditions = rows.into_iter().filter_map(Condition::of_row).collect();
                Diagnostics::Learnt(Condition::with_error(conditions, outcome.error))
            }
            None => Diagnostics::Empty,
        };
        if hot.framing == Framing::Transaction && outcome.error.is_some() {
            // The text has ended in its transaction, in which nothing was done.
            let read_only = self.state.next_is_read_only();
            self.state.begin = Some(Begin { read_only, ..Begin::plain(None) });
        }
        Ok(())
    }

    /// Puts the packets that a connection of the session's own would have sent.
    fn put_batch_reply(&mut self, framing: Framing, done: &Done) -> Result<ReplyOutcome, Malformed> {
        let begun = framing == Framing::Transaction;
        let in_transaction = framing != Framing::Alone;
        let own = self.state.own_status();
        let more = StatusFlags::MORE_RESULTS_EXISTS;
        let mut outcome = ReplyOutcome::default();
        if begun {
            self.put_batch_ok(&OkPacket::plain(own | StatusFlags::IN_TRANS | more), b"T_______", &mut outcome)?;
        }
        match &done.said {
            Said::Error { code, sqlstate, message } => {
                let payload = ErrPacket { code: *code, sqlstate: *sqlstate, message }.encode();
                self.client.put(&payload);
                outcome.note_error(*code, *sqlstate);
                outcome.message = message[..].into();
            }
            Said::Ok { affected, insert_id, status, warnings, info, .. } => {
                let inside = if in_transaction { StatusFlags::IN_TRANS | more } else { StatusFlags::empty() };
                let ok = OkPacket {
                    header: 0,
                    affected_rows: *affected,
                    last_insert_id: *insert_id,
                    status: (*status - OF_THE_SESSION) | (own & OF_THE_SESSION) | inside,
                    warnings: *warnings,
                    info,
                    changes: if in_transaction { b"" } else { &done.committed },
                };
                self.put_batch_ok(&ok, b"", &mut outcome)?;
                if in_transaction {
                    let ok = OkPacket { changes: &done.committed, ..OkPacket::plain(own) };
                    self.put_batch_ok(&ok, b"", &mut outcome)?;
                }
            }
        }
        outcome.status = Some(self.state.status - StatusFlags::IN_TRANS);
        Ok(outcome)
    }

    /// Puts an OK, with those of its changes that the client is to be told. `transaction`: the state of the transaction, of which MySQL
    /// tells clients that track their session.
    fn put_batch_ok(
        &mut self,
        ok: &OkPacket<'_>,
        transaction: &[u8],
        outcome: &mut ReplyOutcome,
    ) -> Result<(), Malformed> {
        outcome.note_ok(ok, 0)?;
        let named = self.state.profile.variable(weir_backend::profile::CLIENT_TRACKS);
        let told = Told { identity: &self.identity, all: false, named, not_schema: None };
        let mut changes = told.select(ok.changes)?;
        if !transaction.is_empty() && !self.identity.mariadb {
            let data = [&[8][..], transaction].concat();
            put_session_change(&mut changes, &SessionChange::Other { kind: 5, data: &data });
        }
        let payload = OkPacket { changes: &changes, ..*ok }.encode(self.client.capabilities);
        self.client.put(&payload);
        Ok(())
    }
}
