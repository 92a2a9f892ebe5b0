//! Ending a transaction on the connections of its parts.
//!
//! What must always hold: a connection whose branch may be left prepared is closed, never lent again; once the deciding COMMIT is sent,
//! nobody stops the rest: neither the client's end nor a kill.

use std::time::Duration;

use weir_backend::connection::OwnReply;
use weir_backend::{Connection, Server};
use weir_catalog::ShardId;
use weir_wire::error::codes;
use weir_wire::{Failure, StatusFlags};

use super::crash::Point;
use super::decision::Decision;
use super::machine::{self, CommitStep, Participation, Role, StepResult, Verdict};
use super::{Coordinator, Holder, TransactionId, schema};
use futures_util::future::join_all;

/// How often it is looked whether a server that does not answer has been found to hang.
const LOOK: Duration = Duration::from_millis(100);

/// How far a part has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Active,
    /// XA END.
    Idle,
    /// Prepared, or perhaps.
    Prepared,
    Done,
}

/// A part of a transaction that ends.
#[derive(Debug)]
pub struct CommitParticipant<'a> {
    /// Its shard.
    pub shard: ShardId,
    /// How it has taken part.
    pub taken: Participation,
    /// The connection.
    pub connection: &'a mut Connection,
    /// The GTIDs of what it committed, if the server has told them.
    pub gtids: Option<String>,
    phase: Phase,
}

impl<'a> CommitParticipant<'a> {
    /// A part that is active.
    pub fn new(shard: ShardId, taken: Participation, connection: &'a mut Connection) -> CommitParticipant<'a> {
        CommitParticipant { shard, taken, connection, gtids: None, phase: Phase::Active }
    }

    fn is_first(&self) -> bool {
        self.taken.role == Role::First
    }
}

/// What came of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Ended {
    /// Committed or not.
    pub verdict: Verdict,
    /// The client's error, unless it is committed.
    pub failure: Option<Failure>,
    /// It is committed, but a branch may still be prepared: until recovery has ended it, nobody sees what it wrote. When the connections of
    /// the parts are closed, [`Coordinator::until_ended`] waits for that.
    pub unseen: Option<TransactionId>,
}

/// The texts that make a branch join: characteristics of the transaction, its start, and the savepoints that are open.
pub fn join_texts(
    id: &TransactionId,
    shard: ShardId,
    characteristics: impl IntoIterator<Item = String>,
    savepoints: impl IntoIterator<Item = String>,
) -> Vec<String> {
    let start = format!("XA START {}", id.branch(shard));
    characteristics.into_iter().chain([start]).chain(savepoints).collect()
}

/// Whether a connection is there, and in a transaction. Diagnostics and counts stay.
pub async fn is_in_transaction(connection: &mut Connection) -> bool {
    let server = connection.server.clone();
    let answer = unless_gone(&server, connection.ping()).await;
    judge(connection, answer).is_ok_and(|reply| reply.status.contains(StatusFlags::IN_TRANS))
}

/// Runs a text on several connections at once: as soon as one fails, its error is the answer.
///
/// # Errors
/// The first of the servers'.
pub async fn everywhere<'a>(
    connections: impl IntoIterator<Item = &'a mut Connection>,
    text: &str,
) -> Result<(), Failure> {
    let text = [text.to_owned()];
    let all = join_all(connections.into_iter().map(|connection| run(connection, &text))).await;
    all.into_iter().collect::<Result<Vec<_>, _>>().map(drop).map_err(|(_, failure)| failure)
}

impl Coordinator {
    /// Commits on all parts, or on none. `id`: the transaction's name, if it has branches.
    pub async fn commit(&self, id: Option<TransactionId>, parties: &mut [CommitParticipant<'_>]) -> Ended {
        let taken: Vec<Participation> = parties.iter().map(|party| party.taken).collect();
        let decided = machine::needs_decision(taken.iter().copied());
        let mut failure = None;
        let mut unseen = None;
        let mut step = machine::begin(&taken);
        if decided {
            self.crash.here(Point::BeforePrepare);
        }
        loop {
            let went = match (step, id) {
                (CommitStep::Over(verdict), _) => {
                    self.count(verdict, decided);
                    // What is not ended may be open, or prepared.
                    for party in parties.iter_mut().filter(|party| party.phase != Phase::Done) {
                        party.connection.retired = true;
                    }
                    let failure = failure.filter(|_| verdict != Verdict::Committed);
                    return Ended { verdict, failure, unseen };
                }
                (CommitStep::RollBack, id) => {
                    self.roll_back(id, parties).await;
                    StepResult::Well
                }
                (CommitStep::Prepare, Some(id)) => went(self.prepare(&id, parties).await, &mut failure),
                (CommitStep::Decide, Some(_)) => went(self.decide(parties).await, &mut failure),
                (CommitStep::LookUp, Some(id)) => self.settle(&id, parties, &mut failure).await,
                (CommitStep::Check, id) => went(check(id, parties).await, &mut failure),
                (CommitStep::CommitOnly, id) => went(commit_only(id, parties).await, &mut failure),
                (CommitStep::Finish, id) => {
                    unseen = self.finish(id, parties).await;
                    StepResult::Well
                }
                (CommitStep::Prepare | CommitStep::Decide | CommitStep::LookUp, None) => {
                    failure.get_or_insert_with(without_first);
                    StepResult::Refused
                }
            };
            step = machine::next(step, went);
        }
    }

    /// Rolls back on all parts. What can't be is recovery's, or ends with its connection.
    pub async fn roll_back(&self, id: Option<TransactionId>, parties: &mut [CommitParticipant<'_>]) {
        let ends = parties.iter_mut().filter(|party| party.phase != Phase::Done).map(|party| async move {
            let texts = match (party.taken.role, id, party.phase) {
                (Role::First, ..) => vec!["ROLLBACK".to_owned()],
                (Role::Branch, Some(id), Phase::Active) => {
                    let branch = id.branch(party.shard);
                    vec![format!("XA END {branch}"), format!("XA ROLLBACK {branch}")]
                }
                (Role::Branch, Some(id), _) => vec![format!("XA ROLLBACK {}", id.branch(party.shard))],
                (Role::Branch, None, _) => vec!["ROLLBACK".to_owned()],
            };
            let was_prepared = party.phase == Phase::Prepared;
            // XA END is refused where a deadlock has ended the branch: it is the last answer that counts.
            let done = run_each(party.connection, &texts).await;
            party.phase = Phase::Done;
            if done.is_err() {
                party.connection.retired = true;
            }
            (done.is_err() && was_prepared).then(|| (party.shard, Holder::of(party.connection)))
        });
        let left = join_all(ends).await;
        if let Some(id) = id {
            self.leave(id, left.into_iter().flatten());
        }
    }

    async fn prepare(
        &self,
        id: &TransactionId,
        parties: &mut [CommitParticipant<'_>],
    ) -> Result<(), (StepResult, Failure)> {
        let prepared = join_all(parties.iter_mut().map(|party| async move {
            if party.is_first() {
                let done = self.write_decision(id, party.connection).await;
                self.crash.here(Point::AfterDecisionRow);
                return done;
            }
            let branch = id.branch(party.shard);
            let mut texts = vec![format!("XA END {branch}")];
            if party.taken.wrote {
                texts.push(format!("XA PREPARE {branch}"));
            }
            let done = run(party.connection, &texts).await.map(drop);
            match &done {
                Ok(()) if party.taken.wrote => {
                    party.phase = Phase::Prepared;
                    self.crash.here(Point::MidPrepare);
                }
                Ok(()) => party.phase = Phase::Idle,
                Err((StepResult::Lost, _)) if party.taken.wrote => party.phase = Phase::Prepared,
                Err(_) => {}
            }
            done
        }))
        .await;
        prepared.into_iter().collect::<Result<(), _>>()?;
        self.crash.here(Point::AfterPrepare);
        Ok(())
    }

    /// Writes the decision into the first part's transaction. Where an account gets the right to when it first needs it, that is now.
    async fn write_decision(
        &self,
        id: &TransactionId,
        connection: &mut Connection,
    ) -> Result<(), (StepResult, Failure)> {
        let text = [schema::decide(id)];
        let refused = match run(connection, &text).await {
            Err((StepResult::Refused, failure)) if failure.code == codes::ER_PROCACCESS_DENIED_ERROR => failure,
            Err((StepResult::Refused, failure)) if failure.code == codes::ER_DUP_ENTRY => {
                return Err((StepResult::Refused, too_late()));
            }
            done => return done.map(drop),
        };
        let user = run(connection, &["SELECT CURRENT_USER() LIMIT 1".to_owned()])
            .await?
            .rows
            .into_iter()
            .flatten()
            .next()
            .flatten();
        let user = String::from_utf8_lossy(&user.unwrap_or_default()).into_owned();
        if let Err(error) = self.allow_to_decide(id, &user).await {
            tracing::warn!(user, %error, "a user may not write decisions, and could not be given the right to");
            return Err((StepResult::Refused, refused));
        }
        run(connection, &text).await.map(drop)
    }

    /// The commit of the first part, which has the decision in it.
    async fn decide(&self, parties: &mut [CommitParticipant<'_>]) -> Result<(), (StepResult, Failure)> {
        let Some(first) = parties.iter_mut().find(|party| party.is_first()) else {
            return Err((StepResult::Refused, without_first()));
        };
        let done = run(first.connection, &["COMMIT".to_owned()]).await;
        first.phase = Phase::Done;
        match done {
            Ok(reply) => {
                first.gtids = reply.gtids;
                self.crash.here(Point::AfterDecision);
                Ok(())
            }
            Err(refused) => {
                // Nothing of it may stay open: who looks up the decision waits for it.
                first.connection.retired = true;
                if refused.0 == StepResult::Refused {
                    let _ = run(first.connection, &["ROLLBACK".to_owned()]).await;
                }
                Err(refused)
            }
        }
    }

    async fn settle(
        &self,
        id: &TransactionId,
        parties: &[CommitParticipant<'_>],
        failure: &mut Option<Failure>,
    ) -> StepResult {
        match self.look_up(id).await {
            Ok(Decision::Commit) => StepResult::FoundCommitted,
            Ok(Decision::Abort) => StepResult::FoundAborted,
            Err(error) => {
                let prepared = parties.iter().filter(|party| party.phase == Phase::Prepared);
                self.leave(*id, prepared.map(|party| (party.shard, Holder::of(party.connection))));
                *failure = Some(outcome_unknown(id, &error));
                StepResult::NotFound
            }
        }
    }

    /// Commits the prepared branches, and ends the parts that only read. Returns the transaction's name if it leaves
    /// a branch with changes to recovery.
    async fn finish(&self, id: Option<TransactionId>, parties: &mut [CommitParticipant<'_>]) -> Option<TransactionId> {
        let ends = parties.iter_mut().filter(|party| party.phase != Phase::Done).map(|party| async move {
            let was_prepared = party.phase == Phase::Prepared;
            let texts = match (party.taken.role, id, party.phase) {
                (Role::Branch, Some(id), Phase::Active) => one_phase(&id.branch(party.shard)).to_vec(),
                (Role::Branch, Some(id), Phase::Idle) => {
                    vec![format!("XA COMMIT {} ONE PHASE", id.branch(party.shard))]
                }
                (Role::Branch, Some(id), _) => vec![format!("XA COMMIT {}", id.branch(party.shard))],
                _ => vec!["COMMIT".to_owned()],
            };
            let done = run(party.connection, &texts).await;
            party.phase = Phase::Done;
            match done {
                Ok(reply) => {
                    party.gtids = reply.gtids;
                    if was_prepared {
                        self.crash.here(Point::MidFinish);
                    }
                    None
                }
                // A branch that has changed nothing is gone: MariaDB answers its commit so.
                Err((_, failure)) if failure.code == codes::ER_XA_RBROLLBACK && was_prepared => {
                    party.connection.retired = true;
                    Some((party.shard, Holder::of(party.connection), false))
                }
                Err((_, error)) => {
                    tracing::warn!(shard = party.shard.0, %error, "a part of a committed transaction was not ended");
                    party.connection.retired = true;
                    was_prepared.then(|| (party.shard, Holder::of(party.connection), true))
                }
            }
        });
        let left: Vec<(ShardId, Holder, bool)> = join_all(ends).await.into_iter().flatten().collect();
        let unseen = id.filter(|_| left.iter().any(|(.., has_changes)| *has_changes));
        if let Some(id) = id {
            self.leave(id, left.into_iter().map(|(shard, holder, _)| (shard, holder)));
        }
        self.crash.here(Point::AfterFinish);
        unseen
    }

    fn count(&self, verdict: Verdict, decided: bool) {
        match verdict {
            Verdict::Committed if decided => self.metrics.decided.inc(),
            Verdict::Committed => 0,
            Verdict::RolledBack => self.metrics.failed.inc(),
            Verdict::Unknown => self.metrics.unknown.inc(),
        };
    }
}

/// Whether the parts that only read are still there; their branches are ended.
async fn check(id: Option<TransactionId>, parties: &mut [CommitParticipant<'_>]) -> Result<(), (StepResult, Failure)> {
    let checks = parties.iter_mut().filter(|party| !party.taken.wrote).map(|party| async move {
        match (party.taken.role, id) {
            (Role::Branch, Some(id)) => {
                run(party.connection, &[format!("XA END {}", id.branch(party.shard))]).await?;
                party.phase = Phase::Idle;
            }
            _ => is_there(party.connection).await?,
        }
        Ok(())
    });
    join_all(checks).await.into_iter().collect()
}

async fn commit_only(
    id: Option<TransactionId>,
    parties: &mut [CommitParticipant<'_>],
) -> Result<(), (StepResult, Failure)> {
    let Some(party) = parties.iter_mut().find(|party| party.taken.wrote) else { return Ok(()) };
    let texts = match (party.taken.role, id) {
        (Role::Branch, Some(id)) => one_phase(&id.branch(party.shard)).to_vec(),
        _ => vec!["COMMIT".to_owned()],
    };
    let reply = run(party.connection, &texts).await?;
    party.gtids = reply.gtids;
    party.phase = Phase::Done;
    Ok(())
}

fn one_phase(branch: &str) -> [String; 2] {
    [format!("XA END {branch}"), format!("XA COMMIT {branch} ONE PHASE")]
}

fn went(done: Result<(), (StepResult, Failure)>, failure: &mut Option<Failure>) -> StepResult {
    match done {
        Ok(()) => StepResult::Well,
        Err((went, error)) => {
            // What began the trouble is what the client hears of.
            failure.get_or_insert(error);
            went
        }
    }
}

/// Runs texts in one write. An error says whether the server has refused one or is gone.
async fn run(connection: &mut Connection, texts: &[String]) -> Result<OwnReply, (StepResult, Failure)> {
    let server = connection.server.clone();
    let answer = unless_gone(&server, connection.queries(texts)).await;
    judge(connection, answer)
}

/// The same, where only the last of several counts.
async fn run_each(connection: &mut Connection, texts: &[String]) -> Result<(), (StepResult, Failure)> {
    let (last, before) = texts.split_last().ok_or_else(|| (StepResult::Refused, without_first()))?;
    if !before.is_empty()
        && let Err((StepResult::Lost, failure)) = run(connection, before).await
    {
        return Err((StepResult::Lost, failure));
    }
    run(connection, std::slice::from_ref(last)).await.map(drop)
}

/// Asks for a sign of life.
async fn is_there(connection: &mut Connection) -> Result<(), (StepResult, Failure)> {
    let server = connection.server.clone();
    let answer = unless_gone(&server, connection.ping()).await;
    judge(connection, answer).map(drop)
}

/// Waits for an answer as long as its server is not found to be gone. What is not waited for is never read: its connection is closed.
async fn unless_gone(
    server: &Server,
    answer: impl Future<Output = Result<OwnReply, Failure>>,
) -> Option<Result<OwnReply, Failure>> {
    tokio::select! {
        biased;
        answer = answer => Some(answer),
        () = gone(server) => None,
    }
}

fn judge(
    connection: &mut Connection,
    answer: Option<Result<OwnReply, Failure>>,
) -> Result<OwnReply, (StepResult, Failure)> {
    let lost = |failure| (StepResult::Lost, failure);
    let failed = match answer {
        Some(Ok(reply)) => return Ok(reply),
        Some(Err(failure)) if connection.is_clean() => return Err((StepResult::Refused, failure)),
        Some(Err(failure)) => lost(failure),
        None => lost(connection.server.lost("it has stopped answering")),
    };
    connection.retired = true;
    Err(failed)
}

/// Ends when the server is found to be gone or to hang.
async fn gone(server: &Server) {
    loop {
        tokio::time::sleep(LOOK).await;
        if server.refusal().is_some() {
            return;
        }
    }
}

/// A transaction with branches has a first part: where it has none, nothing was sent.
fn without_first() -> Failure {
    Failure::weir(codes::ER_UNKNOWN_ERROR, "the transaction has no deciding part")
}

/// Recovery was before it.
fn too_late() -> Failure {
    let message = "The transaction was rolled back on all shards: its commit took longer than transactions.recovery_grace; try \
                   restarting transaction";
    Failure::weir(codes::ER_LOCK_DEADLOCK, message)
}

fn outcome_unknown(id: &TransactionId, why: &Failure) -> Failure {
    let message = format!(
        "The outcome of the transaction is unknown: the answer to COMMIT was lost, and the deciding shard could not be asked ({}). \
         It is committed or rolled back on all shards: weir.decisions of shard number {} has it under '{id}'",
        why.message, id.decider.0
    );
    Failure::server(codes::ER_ERROR_DURING_COMMIT, message).maybe_done()
}
