//! One batch on one connection.
//!
//! All statements go out in one write, and the COMMIT in a second one when all replies have been read: what a server rolls back in the
//! middle of a batch must not be committed as if it were there. A batch of one member needs no transaction of Weir's.
//!
//! What must always hold: when a batch has ended, no transaction is open on its connection, or the connection is closed.

use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use weir_backend::Lease;
use weir_backend::prepared::{self, StatementKey};
use weir_backend::profile::SharedProfile;
use weir_wire::error::codes;
use weir_wire::packets::{SessionChange, SessionChanges};
use weir_wire::stmt::{Execute, query_payload};
use weir_wire::{Failure, Fault, Malformed, StatusFlags};

use super::judge::{Fate, Heard, judge};
use super::member::{Done, Execution, Member, Order, Said, Verdict, WarningRow};
use super::merged::Merging;
use super::reply;

/// Errors of a server that takes no writes: they are the servers' to tell, not the batch's.
const READ_ONLY: [u16; 2] = [codes::ER_OPTION_PREVENTS_STATEMENT, codes::ER_READ_ONLY_MODE];

/// What is asked behind each member.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Probes {
    /// What it warns of.
    pub(super) warnings: bool,
    /// What becomes of its session's LAST_INSERT_ID().
    pub(super) insert_id: bool,
}

/// What becomes of a member.
#[derive(Debug)]
pub(super) enum End {
    /// It has ended.
    Ended(Verdict),
    /// It has done nothing, and runs again.
    Again,
}

/// How a batch has ended.
#[derive(Debug)]
pub(super) struct Ran {
    /// What becomes of each member.
    pub(super) ends: Vec<End>,
    /// How many members have taken how long, without the wait for the row, which nobody who waits for them sees.
    pub(super) pace: Option<(usize, Duration)>,
    /// Its rollback has left something behind.
    pub(super) lasting: bool,
    /// It was rolled back, as more must be asked.
    pub(super) wants: Option<Probes>,
    /// Its members' changes were made by one statement.
    pub(super) merged: bool,
    /// It was committed, or has run without a transaction.
    pub(super) committed: bool,
    /// The last statement may have left warnings on the connection.
    pub(super) soiled: bool,
}

impl Ran {
    /// Members that end like this, on a connection of which nothing is known.
    fn of(ends: Vec<End>) -> Ran {
        Ran { ends, pace: None, lasting: false, wants: None, merged: false, committed: false, soiled: true }
    }
}

/// What was heard of a member.
pub(super) struct Answer {
    pub(super) said: Said,
    pub(super) warnings: Option<Vec<WarningRow>>,
    pub(super) last_insert_id: Option<u64>,
}

/// A batch that is run.
pub(super) struct Batch<'a> {
    pub(super) members: &'a [Arc<Member>],
    pub(super) probes: Probes,
    pub(super) parsing: &'a SharedProfile,
    pub(super) merging: &'a Merging,
}

impl Batch<'_> {
    fn begins(&self) -> bool {
        self.members.len() > 1 || self.members.iter().any(|member| member.must_affect.is_some())
    }

    /// Runs it to its end.
    pub(super) async fn run(mut self, lease: &mut Lease) -> Ran {
        // A single one can't be run again once it has shown that it should have been asked.
        let sets = self.members.iter().any(|member| member.sets_insert_id);
        self.probes.insert_id |= !self.begins() && sets;
        if let Some(merges) = self.merges() {
            match self.merge(lease, merges).await {
                Some(answers) => {
                    let (ends, wants, committed) = self.commit(lease, answers).await;
                    return Ran { wants, merged: true, committed, soiled: false, ..Ran::of(ends) };
                }
                None if lease.retired => {
                    let ends = self.members.iter().map(|_| End::Again).collect();
                    return Ran::of(ends);
                }
                None => {}
            }
        }
        if let Err(failure) = self.queue_all(lease).await {
            tracing::debug!(%failure, "a batch could not be sent");
            let ends = self.members.iter().map(|_| End::Ended(Verdict::Alone)).collect();
            lease.retired = true;
            return Ran::of(ends);
        }
        let mut answers = Vec::with_capacity(self.members.len());
        let mut first = None;
        let lost = self.read_all(lease, &mut answers, &mut first).await.err();
        let pace = first.map(|first: Instant| (answers.len() - 1, first.elapsed())).filter(|(members, _)| *members > 0);
        let mut lasting = false;
        let (ends, wants, committed) = match lost {
            Some(failure) => (self.ends_of_lost(&answers, &failure), None, false),
            None if self.begins() => self.finish(lease, answers, &mut lasting).await,
            None => (self.ends_of_single(lease, answers).await, None, true),
        };
        let soiled = !self.probes.warnings || wants.is_some() || !committed;
        Ran { pace, lasting, wants, committed, soiled, ..Ran::of(ends) }
    }

    /// Queues the whole batch, and prepares before that what its members execute.
    async fn queue_all(&self, lease: &mut Lease) -> Result<(), Failure> {
        let key = |execution: &Execution| StatementKey::new(execution.text.clone(), self.parsing.clone());
        let executions = || {
            self.members.iter().filter_map(|member| match &member.order {
                Order::Execute(execution) => Some(execution),
                Order::Text(_) => None,
            })
        };
        let mut keys: Vec<Rc<StatementKey>> = Vec::new();
        for execution in executions() {
            if keys.iter().any(|key| key.text == execution.text) {
                continue;
            }
            let key = Rc::new(key(execution));
            let types = execution.types.as_deref().map(Rc::from);
            let execute = parse(execution)?;
            let mariadb = lease.is_mariadb();
            lease.close_if_unfit(&as_execution(&key, &execute, types.as_ref(), execution), mariadb);
            if lease.statements.get(&key).is_none() {
                let prepared = lease.prepare(&execution.text).await?;
                lease.remember(key.clone(), prepared);
            }
            keys.push(key);
        }
        if self.begins() {
            queue_text(lease, b"BEGIN");
        }
        let mut payload = Vec::new();
        for member in self.members {
            if self.probes.insert_id {
                queue_text(lease, format!("DO LAST_INSERT_ID({})", member.insert_id).as_bytes());
            }
            match &member.order {
                Order::Text(text) => queue_text(lease, text),
                Order::Execute(execution) => {
                    let key = keys.iter().find(|key| key.text == execution.text).expect("it was prepared above");
                    let id = lease.statements.peek(key).map_or(0, |prepared| prepared.id);
                    let types = execution.types.as_deref().map(Rc::from);
                    let execute = parse(execution)?;
                    payload.clear();
                    lease.encode_execution(&as_execution(key, &execute, types.as_ref(), execution), id, &mut payload);
                    lease.queue(&payload, true);
                }
            }
            if self.probes.warnings {
                queue_text(lease, b"SHOW WARNINGS");
            }
            if self.probes.insert_id {
                queue_text(lease, b"SELECT LAST_INSERT_ID()");
            }
        }
        Ok(())
    }

    /// Sends the batch, and reads what comes back. `first`: when the first member has been answered.
    async fn read_all(
        &self,
        lease: &mut Lease,
        answers: &mut Vec<Answer>,
        first: &mut Option<Instant>,
    ) -> Result<(), Failure> {
        // What has arrived is read also if not all could be sent.
        let sent = reply::send(lease).await;
        if self.begins() {
            reply::read(lease).await?;
        }
        for _ in self.members {
            if self.probes.insert_id {
                reply::read(lease).await?;
            }
            let said = reply::read(lease).await?.said;
            first.get_or_insert_with(Instant::now);
            answers.push(Answer { said, warnings: None, last_insert_id: None });
            let answer = answers.last_mut().expect("it was pushed");
            if self.probes.warnings {
                answer.warnings = Some(reply::read(lease).await?.rows).filter(|rows| !rows.is_empty());
            }
            if self.probes.insert_id {
                answer.last_insert_id = number(reply::read(lease).await?.rows);
            }
        }
        sent
    }

    /// The connection was lost before the COMMIT was sent: what was not committed by itself is rolled back.
    fn ends_of_lost(&self, answers: &[Answer], failure: &Failure) -> Vec<End> {
        let begins = self.begins();
        let end = |at: usize| match answers.get(at).map(|answer| &answer.said) {
            Some(said) if begins && said.in_transaction() != Some(false) => End::Again,
            // An OK from outside of a transaction is durable, and an error has done nothing.
            Some(said) => End::Ended(Verdict::Done(Box::new(self.done(said.clone(), None, None, None)))),
            None => End::Ended(Verdict::Unknown(failure.clone())),
        };
        (0..self.members.len()).map(end).collect()
    }

    /// A member that was alone, and has run in autocommit.
    async fn ends_of_single(&self, lease: &mut Lease, answers: Vec<Answer>) -> Vec<End> {
        let mut ends = Vec::new();
        for Answer { said, mut warnings, last_insert_id } in answers {
            if said.failure().is_some_and(|failure| READ_ONLY.contains(&failure.code)) {
                ends.push(End::Ended(Verdict::Alone));
                continue;
            }
            if said.warns() && !self.probes.warnings {
                queue_text(lease, b"SHOW WARNINGS");
                let shown = match reply::send(lease).await {
                    Ok(()) => reply::read(lease).await.map(|reply| reply.rows),
                    Err(failure) => Err(failure),
                };
                warnings = Some(shown.unwrap_or_default());
            }
            ends.push(End::Ended(Verdict::Done(Box::new(self.done(said, None, warnings, last_insert_id)))));
        }
        ends
    }

    /// All members have run in a transaction: ends it. `lasting`: whether a rollback has left something behind.
    async fn finish(
        &self,
        lease: &mut Lease,
        answers: Vec<Answer>,
        lasting: &mut bool,
    ) -> (Vec<End>, Option<Probes>, bool) {
        let heard = |answer: &Answer| match answer.said.in_transaction() {
            Some(in_transaction) => Heard::Ok { in_transaction },
            None => Heard::Error,
        };
        let heard: Vec<Heard> = answers.iter().map(heard).collect();
        let open = match answers.last().and_then(|answer| answer.said.in_transaction()) {
            Some(open) => open,
            // An error does not tell whether it has ended the transaction.
            None => match lease.ping().await {
                Ok(reply) => reply.status.contains(StatusFlags::IN_TRANS),
                Err(failure) => return (self.ends_of_lost(&answers, &failure), None, false),
            },
        };
        let fates = judge(&heard, open);
        if fates.iter().any(|fate| *fate != Fate::WithBatch) {
            lease.retired |= open;
            return (self.ends_by_fate(answers, &fates), None, false);
        }
        let wants = self.wants(&answers);
        let unfit: Vec<bool> =
            self.members.iter().zip(&answers).map(|(member, answer)| is_unfit(member, answer)).collect();
        if wants != self.probes || unfit.contains(&true) {
            queue_text(lease, b"ROLLBACK");
            let rolled_back = match reply::send(lease).await {
                Ok(()) => reply::read(lease).await,
                Err(failure) => Err(failure),
            };
            match rolled_back {
                // What is not transactional stays: 1196.
                Ok(reply) => *lasting = reply.said.warns(),
                // It is closed, and rolled back with that.
                Err(_) => lease.retired = true,
            }
            let end = |unfit: bool| if unfit { End::Ended(Verdict::Alone) } else { End::Again };
            return (unfit.into_iter().map(end).collect(), Some(wants).filter(|wants| *wants != self.probes), false);
        }
        self.commit(lease, answers).await
    }

    /// What has to be asked of these members.
    fn wants(&self, answers: &[Answer]) -> Probes {
        let mut wants = self.probes;
        for (member, Answer { said, .. }) in self.members.iter().zip(answers) {
            wants.warnings |= said.warns();
            if let Said::Ok { insert_id: 0, info, .. } = said
                && member.sets_insert_id
                && !info.starts_with(b"Rows matched: 0 ")
            {
                wants.insert_id = true;
            }
        }
        wants
    }

    async fn commit(&self, lease: &mut Lease, answers: Vec<Answer>) -> (Vec<End>, Option<Probes>, bool) {
        // Whatever completion_type is.
        queue_text(lease, b"COMMIT AND NO CHAIN NO RELEASE");
        let queued = lease.unsent();
        let committed = match reply::send(lease).await {
            Ok(()) => reply::read(lease).await,
            Err(failure) if lease.unsent() == queued => {
                // No byte of it has gone out: the server rolls back what it has.
                tracing::debug!(%failure, "a batch's connection was lost before its COMMIT");
                lease.retired = true;
                return (answers.iter().map(|_| End::Again).collect(), None, false);
            }
            Err(failure) => Err(failure),
        };
        let said = match committed {
            Ok(reply) => reply.said,
            Err(failure) => {
                lease.retired = true;
                let failure = failure.maybe_done();
                let ends = answers.iter().map(|_| End::Ended(Verdict::Unknown(failure.clone())));
                return (ends.collect(), None, false);
            }
        };
        match said {
            Said::Ok { changes, .. } => {
                let changes: Arc<[u8]> = changes.into();
                let done = |Answer { said, warnings, last_insert_id }| {
                    let done = self.done(said, Some(changes.clone()), warnings, last_insert_id);
                    End::Ended(Verdict::Done(Box::new(done)))
                };
                (answers.into_iter().map(done).collect(), None, true)
            }
            error => {
                let failure = error.failure().expect("what is not an OK is an error");
                if lease.query("ROLLBACK").await.is_err() {
                    lease.retired = true;
                }
                let end = |_| match READ_ONLY.contains(&failure.code) {
                    true => End::Ended(Verdict::Alone),
                    false => End::Ended(Verdict::Failed(failure.clone())),
                };
                (answers.iter().map(end).collect(), None, false)
            }
        }
    }

    /// The server has ended the transaction in mid-batch.
    fn ends_by_fate(&self, answers: Vec<Answer>, fates: &[Fate]) -> Vec<End> {
        let end = |(Answer { said, warnings, last_insert_id }, fate): (Answer, &Fate)| match fate {
            Fate::Undone => End::Again,
            Fate::Stands | Fate::WithBatch => {
                let warnings = match (warnings, said.warns() && !self.probes.warnings) {
                    (None, true) => Some(not_asked(&said)),
                    (warnings, _) => warnings,
                };
                End::Ended(Verdict::Done(Box::new(self.done(said, None, warnings, last_insert_id))))
            }
            Fate::Unknown => {
                let message = "The server has ended the transaction of this statement's batch without an error; whether it was \
                               committed is not known";
                End::Ended(Verdict::Unknown(Failure::new(Fault::Server, 1105, b"HY000", message).maybe_done()))
            }
        };
        answers.into_iter().zip(fates).map(end).collect()
    }

    /// `committed`: the changes that the commit told; else its own OK told them.
    fn done(
        &self,
        said: Said,
        committed: Option<Arc<[u8]>>,
        warnings: Option<Vec<WarningRow>>,
        last_insert_id: Option<u64>,
    ) -> Done {
        let own = || match &said {
            Said::Ok { changes, .. } => changes[..].into(),
            Said::Error { .. } => [][..].into(),
        };
        Done { committed: committed.unwrap_or_else(own), said, warnings, last_insert_id, batch: self.members.len() }
    }
}

/// Queues a text.
pub(super) fn queue_text(lease: &mut Lease, text: &[u8]) {
    let payload = query_payload(text, lease.capabilities);
    lease.queue(&payload, true);
}

/// Whether a member must be undone and run by itself: it has changed its connection, or other rows than it should.
fn is_unfit(member: &Member, answer: &Answer) -> bool {
    let Said::Ok { affected, changes, .. } = &answer.said else { return false };
    let is_known = |change| match change {
        Ok(SessionChange::Variable { name, .. }) => {
            matches!(name, b"last_gtid" | b"last_insert_id" | b"identity" | b"statement_id")
        }
        Ok(SessionChange::Gtids(_) | SessionChange::Other { .. }) => true,
        _ => false,
    };
    let wrong = member.must_affect.is_some_and(|wanted| wanted != *affected && *affected > 0);
    wrong || !SessionChanges::new(changes).all(is_known)
}

/// What can be shown of warnings that nobody has asked for in time.
fn not_asked(said: &Said) -> Vec<WarningRow> {
    let row = |level: &str, code: u16, message: &[u8]| {
        vec![Some(level.into()), Some(code.to_string().into_bytes()), Some(message.to_vec())]
    };
    match said {
        Said::Error { code, message, .. } => vec![row("Error", *code, message)],
        Said::Ok { .. } => {
            vec![row("Warning", 1105, b"The texts of this statement's warnings are lost: a deadlock ended its batch")]
        }
    }
}

fn number(rows: Vec<WarningRow>) -> Option<u64> {
    let cell = rows.into_iter().next()?.into_iter().next()??;
    std::str::from_utf8(&cell).ok()?.parse().ok()
}

fn parse(execution: &Execution) -> Result<Execute<'_>, Failure> {
    let malformed =
        |error: Malformed| Failure::new(Fault::Client, codes::ER_MALFORMED_PACKET, b"HY000", error.to_string());
    Execute::parse(&execution.packet, execution.params, execution.capabilities).map_err(malformed)
}

fn as_execution<'a>(
    key: &'a Rc<StatementKey>,
    execute: &'a Execute<'a>,
    types: Option<&'a Rc<[u8]>>,
    asked: &Execution,
) -> prepared::Execution<'a> {
    prepared::Execution {
        key,
        execute,
        types,
        untyped: false,
        session: asked.session,
        since: asked.since,
        retypes: false,
    }
}
