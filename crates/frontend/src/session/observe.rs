//! What is told of a statement when it has ended: how long it took, what it gave, where it ran; and what must be so before it
//! may begin.
//!
//! What must always hold: every statement that the client has sent is counted once, however it ends; what a statement costs
//! to count does not depend on what is logged of others.

use std::rc::Rc;
use std::time::Instant;

use weir_admin::AnsweredBy;
use weir_admin::digests::{Digested, Run};
use weir_admin::logs::{Ended, Event, LogLine, Who, text_of};
use weir_exec::workbench::Gathered;
use weir_wire::Failure;
use weir_wire::error::codes;

use super::Session;
use super::outcome::ReplyOutcome;
use super::stopped::SessionEnd;
use crate::backends::ServerId;

/// What is known so far of the statement at hand.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Ran {
    rows_sent: u64,
    rows_affected: u64,
    bytes: u64,
    /// The code of the error that the client was told.
    pub(super) error: Option<u16>,
    /// The place of the server that ran it.
    at: Option<ServerId>,
    pub(super) on_lane: bool,
    /// It was one of so many in a batch.
    pub(super) batch: usize,
    /// What it has gathered on a workbench.
    gathered: Option<Gathered>,
}

impl Ran {
    /// A server has answered.
    pub(super) fn note(&mut self, at: ServerId, outcome: &ReplyOutcome) {
        self.rows_sent += outcome.rows_sent;
        self.rows_affected += outcome.rows_affected;
        self.bytes += outcome.bytes;
        self.error = outcome.error.map(|(code, _)| code);
        self.at = Some(at);
    }

    /// It has gathered rows on a workbench. A write may do so twice.
    pub(super) fn note_gathered(&mut self, more: Gathered) {
        let so_far = self.gathered.unwrap_or_default();
        self.gathered = Some(Gathered { rows: so_far.rows + more.rows, bytes: so_far.bytes + more.bytes });
    }
}

impl Session {
    /// A statement has arrived. Returns when.
    pub(super) fn statement_begins(&mut self) -> Instant {
        self.ran = Ran::default();
        self.deadline = Default::default();
        Instant::now()
    }

    /// Whether a statement may run, as far as it does not depend on a rule.
    pub(super) fn may_run(&mut self, entry: &Digested) -> Result<(), Failure> {
        if entry.changes_data && self.endpoint.oversight.is_read_only() {
            let message = "The MySQL server is running with the --read-only option so it cannot execute this statement";
            return Err(Failure::client(codes::ER_OPTION_PREVENTS_STATEMENT, message));
        }
        if self.audited
            && let Some(audit) = &self.endpoint.oversight.logs.audit
            && audit.takes_kind(entry.kind)
        {
            self.audit_slot = audit.place()?;
        }
        Ok(())
    }

    /// It has ended, with the session or without.
    pub(super) fn statement_ends(
        &mut self,
        begun: Instant,
        entry: &Rc<Digested>,
        text: &[u8],
        ended: &Result<(), SessionEnd>,
    ) {
        let now = Instant::now();
        if let Err(end) = ended {
            self.ran.error = self.ran.error.or(error_of(end));
        }
        let Ran { rows_sent, rows_affected, bytes, error, at, on_lane, .. } = self.ran;
        let place = match at {
            None => AnsweredBy::Weir,
            Some(at) if at.index == self.shared.shards[at.shard].writer() => AnsweredBy::Writer,
            Some(_) => AnsweredBy::Replica,
        };
        let run = Run {
            ended: now,
            time: now.saturating_duration_since(begun),
            rows_sent,
            rows_affected,
            bytes,
            failed: error.is_some(),
            on_replica: place == AnsweredBy::Replica,
            on_lane,
        };
        let statistics = &self.shared.statistics;
        statistics.note(entry, &run, place);
        if let Some(code) = error {
            statistics.note_error(code);
        }
        let is_slow = self.slow_time.is_some_and(|slow| run.time >= slow);
        if is_slow || self.audited {
            self.log_statement(entry, text, &run, place, is_slow);
        }
    }

    #[cold]
    fn log_statement(&mut self, entry: &Digested, text: &[u8], run: &Run, place: AnsweredBy, is_slow: bool) {
        let endpoint = self.endpoint.clone();
        let server = self.ran.at.map(|at| &self.shared.at(at).pool.server.settings.name);
        let ended = Ended {
            time: run.time,
            rows_sent: run.rows_sent,
            rows_affected: run.rows_affected,
            error: self.ran.error,
            server: server.map(String::as_str),
            place: place.name(),
            lane: run.on_lane,
            gathered: self.ran.gathered.map(|gathered| (gathered.rows, gathered.bytes)),
            batch: (self.ran.batch > 0).then_some(self.ran.batch),
        };
        let line = |literals| LogLine::statement(self.who(), entry, text_of(entry, text, literals), &ended);
        if let Some(slow) = endpoint.oversight.logs.slow.as_ref().filter(|_| is_slow) {
            slow.writer.log(line(slow.literals));
        }
        if let Some(audit) = endpoint.oversight.logs.audit.as_ref().filter(|audit| audit.takes_kind(entry.kind))
            && self.audited
        {
            let line = line(audit.settings.literals);
            match self.audit_slot.take() {
                Some(slot) => audit.writer.fill(slot, line),
                None => audit.writer.log(line),
            }
        }
    }

    /// Whose session this is, for logs.
    pub(super) fn who(&self) -> Who {
        let db = self.state.profile.database.as_deref().map(|name| String::from_utf8_lossy(name).into_owned());
        Who { session: self.handle.id, user: self.user.clone(), host: self.peer.shown(), db }
    }

    /// Takes down in the audit log what has happened to the session.
    pub(super) fn audit(&self, event: Event) {
        if let Some(audit) = &self.endpoint.oversight.logs.audit {
            audit.event(event, || self.who(), |line| line);
        }
    }

    /// The user is another one: what is logged of it?
    pub(super) fn learn_audited(&mut self) {
        let audit = self.endpoint.oversight.logs.audit.as_ref();
        self.audited = audit.is_some_and(|audit| audit.takes_statements_of(&self.user));
    }
}

/// The error that a client hears of, or would, when a statement ends its session.
fn error_of(end: &SessionEnd) -> Option<u16> {
    match end {
        SessionEnd::Told(failure) => Some(failure.code),
        SessionEnd::Killed => Some(codes::ER_QUERY_INTERRUPTED),
        SessionEnd::Client(_) => Some(codes::ER_NET_READ_ERROR),
        SessionEnd::Quit | SessionEnd::Said => None,
    }
}
