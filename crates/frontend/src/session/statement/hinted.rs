//! Statements whose hints end their transaction: `COMMIT_ON_SUCCESS`, `ROLLBACK_ON_FAIL`, `TARGET_AFFECT_ROW(n)`.
//!
//! What must always hold: the client is answered when the transaction has ended as its hints say, with what the statement itself has
//! said; what a statement has done that affects other rows than it should is undone.

use weir_sql::hot_row::{TransactionHints, transaction_hints};
use weir_sql::{Bump, Class, Effects, TextKind};
use weir_wire::error::{codes, not_supported};
use weir_wire::frame::HEADER;
use weir_wire::packets::{ErrPacket, OkPacket};
use weir_wire::{Failure, Fault, StatusFlags};

use super::super::Session;
use super::super::state::Begin;
use super::super::stopped::Stopped;
use super::{Form, Statement, Text};

/// The savepoint before a statement that must affect so many rows. It has a space, so that it is none of the client's.
const SAVEPOINT: &str = "`weir target`";

/// The transaction of a hinted statement.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Around {
    /// There is none: it is the statement's own.
    Own,
    /// It has begun, and no server has heard of it.
    Fresh,
    /// It is open.
    Open,
}

impl Session {
    /// Runs a text with hints. `head`: what stands before the text in its command.
    pub(super) async fn run_hinted_text(&mut self, head: &[u8], text: &[u8]) -> Result<(), Stopped> {
        let (hints, plain) = match transaction_hints(text, self.state.lex) {
            Some(Ok(read)) => read,
            Some(Err(_)) | None => return Err(malformed_hint().into()),
        };
        let read = self.shared.read(&plain, self.state.lex);
        if !may_be_hinted(&read.class) {
            return Err(not_hinted().into());
        }
        let arena = Bump::new();
        let hot = self.shared.hot_text(&read, &plain, self.state.lex);
        let form = Form::Text(Text { head, command: None, rides: None, hot: hot.as_deref() });
        let statement = Statement::new(&arena, &plain, &read.class, self.state.lex, form);
        self.run_hinted(&statement, hints).await
    }

    /// Runs a statement as its hints say.
    pub(in crate::session) async fn run_hinted(
        &mut self,
        statement: &Statement<'_>,
        hints: TransactionHints,
    ) -> Result<(), Stopped> {
        let around = match (self.state.begin.is_some(), self.state.in_transaction()) {
            (true, _) => Around::Fresh,
            (false, true) => Around::Open,
            (false, false) => Around::Own,
        };
        if self.ride_hinted(statement, hints, around).await? {
            return Ok(());
        }
        // What affects other rows than it should is undone with a transaction of its own.
        let begun = self.state.begin.clone();
        let autocommit = self.state.status.contains(StatusFlags::AUTOCOMMIT);
        let begins = around == Around::Own && autocommit && hints.target_affect_row.is_some();
        if begins {
            self.state.begin = Some(Begin::plain(None));
        }
        let savepoint = around == Around::Open && hints.target_affect_row.is_some() && !hints.rollback_on_fail;
        if savepoint {
            self.run_quietly(&format!("SAVEPOINT {SAVEPOINT}")).await?;
        }
        let mark = self.client.mark();
        let failed = match Box::pin(self.run_statement(statement)).await {
            Err(stopped @ Stopped::Ended(_)) => return Err(stopped),
            Err(stopped) => {
                self.stopped(stopped).map_err(Stopped::Ended)?;
                true
            }
            Ok(()) => self.ran.error.is_some(),
        };
        let wrong = if failed { None } else { self.wrong_rows(hints) };
        if !failed && wrong.is_none() {
            if hints.commit_on_success || begins {
                self.commit_quietly(mark).await?;
                self.transaction.ended_by_hint = around != Around::Own;
            }
            return Ok(());
        }
        if wrong.is_some() {
            self.client.take_back(mark);
        }
        let undone = wrong.is_some();
        if hints.rollback_on_fail || begins || undone && around != Around::Open {
            self.end_failed("ROLLBACK").await?;
            self.transaction.ended_by_hint = around != Around::Own && hints.rollback_on_fail;
            if around == Around::Fresh && !hints.rollback_on_fail {
                self.state.begin = begun;
            }
        } else if undone {
            self.end_failed(&format!("ROLLBACK TO SAVEPOINT {SAVEPOINT}")).await?;
        }
        match wrong {
            Some(failure) => Err(failure.into()),
            None => Ok(()),
        }
    }

    /// A statement that is committed if it succeeds, and has no other before it in its transaction, may ride in a batch.
    async fn ride_hinted(
        &mut self,
        statement: &Statement<'_>,
        hints: TransactionHints,
        around: Around,
    ) -> Result<bool, Stopped> {
        let alone = match around {
            Around::Own => self.state.status.contains(StatusFlags::AUTOCOMMIT),
            Around::Fresh => {
                let plain = self.state.begin.as_ref().is_some_and(|begin| !begin.read_only && !begin.may_be_refused);
                hints.commit_on_success && plain && !self.transaction.unsent()
            }
            Around::Open => false,
        };
        let row = if alone { self.hot_row(statement) } else { None };
        if !row.is_some_and(|row| self.is_hot(row)) {
            return Ok(false);
        }
        let begun = self.state.begin.take();
        let mark = self.client.mark();
        let rode = Box::pin(self.run_in_batch(statement, hints.target_affect_row)).await;
        if !matches!(rode, Ok(true)) {
            self.state.begin = begun;
            return rode;
        }
        let failed = self.ran.error.is_some();
        let wrong = if failed { None } else { self.wrong_rows(hints) };
        let ends = !failed && wrong.is_none() || hints.rollback_on_fail;
        self.transaction.ended_by_hint = begun.is_some() && ends;
        self.state.begin = begun.filter(|_| !ends);
        if let Some(failure) = wrong {
            // It has affected none: else it would have been undone, and would not have come back as done.
            self.client.take_back(mark);
            return Err(failure.into());
        }
        Ok(true)
    }

    /// What is wrong with the rows that the latest statement has affected, if something is.
    fn wrong_rows(&self, hints: TransactionHints) -> Option<Failure> {
        let wanted = hints.target_affect_row?;
        let affected = self.state.latest.row_count;
        (u64::try_from(affected) != Ok(wanted)).then(|| {
            let message = format!(
                "The statement has affected {affected} rows, not the {wanted} that TARGET_AFFECT_ROW asks for: it was undone"
            );
            Failure::client(codes::ER_UNKNOWN_ERROR, message)
        })
    }

    /// Commits behind a statement whose OK stands behind `mark`, and puts one OK for both.
    async fn commit_quietly(&mut self, mark: crate::client::Mark) -> Result<(), Stopped> {
        // Until the COMMIT has succeeded: whatever fails first, the client must not have this OK.
        let said = self.client.output.split_off(mark.length);
        self.client.awaits_answer();
        // MySQL's COMMIT clears the diagnostics.
        let learnt = self.learn_what_was_left(false).await;
        let latest = self.state.latest.clone();
        let committed = match learnt {
            Ok(()) => self.run_quietly("COMMIT").await,
            Err(failure) => Err(failure.into()),
        };
        self.client.take_back(mark);
        let committed = committed?;
        let capabilities = self.client.capabilities;
        let parse = |bytes: &'_ [u8]| {
            bytes.get(HEADER..).and_then(|payload| {
                OkPacket::parse(payload, capabilities).ok().map(|ok| (ok.status, ok.changes.to_vec()))
            })
        };
        let (status, changes) = parse(&committed).unwrap_or((self.state.own_status(), Vec::new()));
        match said.get(HEADER..).and_then(|payload| OkPacket::parse(payload, capabilities).ok()) {
            Some(ok) => {
                let of_session = StatusFlags::IN_TRANS | StatusFlags::AUTOCOMMIT;
                let status = (ok.status - of_session) | (status & of_session);
                let payload = OkPacket { status, changes: &changes, ..ok }.encode(capabilities);
                self.client.put(&payload);
            }
            None => self.client.output.extend_from_slice(&said),
        }
        // COMMIT is Weir's: what the client asks for is its own statement's.
        self.state.latest = latest;
        Ok(())
    }

    /// Ends or undoes what a failed statement was in; what the statement has left stays the session's.
    async fn end_failed(&mut self, text: &str) -> Result<(), Stopped> {
        let learnt = self.learn_what_was_left(true).await;
        let latest = self.state.latest.clone();
        let said = self.client.output.split_off(0);
        learnt?;
        let ended = self.run_quietly(text).await;
        self.client.output.unsplit(said);
        self.state.latest = latest;
        ended.map(drop)
    }

    /// Runs a statement of Weir's own for the session, of which the client hears nothing. Returns what it would have heard.
    async fn run_quietly(&mut self, text: &str) -> Result<Vec<u8>, Stopped> {
        let (mark, ran) = (self.client.begin_beside(), self.ran);
        let read = self.shared.read(text.as_bytes(), self.state.lex);
        let arena = Bump::new();
        let statement = Statement::new(&arena, text.as_bytes(), &read.class, self.state.lex, Form::Resolved);
        let done = Box::pin(self.run_statement(&statement)).await;
        let said = self.client.output[mark.length.min(self.client.output.len())..].to_vec();
        self.client.take_back(mark);
        self.ran = ran;
        done?;
        match said.get(HEADER..).filter(|payload| payload.first() == Some(&0xff)).map(ErrPacket::parse) {
            Some(Ok(error)) => {
                let message = String::from_utf8_lossy(error.message);
                Err(Failure::new(Fault::Server, error.code, &error.sqlstate, message).into())
            }
            _ => Ok(said),
        }
    }
}

/// Whether a statement of this class changes rows and nothing else.
pub(super) fn may_be_hinted(class: &Class) -> bool {
    class.kind == TextKind::Other
        && class.effects.contains(Effects::WRITES)
        && !class.effects.intersects(Effects::IMPLICIT_COMMIT | Effects::RUNS_OTHERS | Effects::RETURNING)
        && class.pins.is_empty()
}

pub(super) fn malformed_hint() -> Failure {
    let message =
        "Incorrect arguments to TARGET_AFFECT_ROW: it takes a number in parentheses, as in TARGET_AFFECT_ROW(1)";
    Failure::client(codes::ER_WRONG_ARGUMENTS, message)
}

pub(super) fn not_hinted() -> Failure {
    not_supported(
        "COMMIT_ON_SUCCESS, ROLLBACK_ON_FAIL and TARGET_AFFECT_ROW are for one INSERT, REPLACE, UPDATE or DELETE without RETURNING: \
         leave them out, and send COMMIT or ROLLBACK",
    )
}
