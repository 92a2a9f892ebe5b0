//! Statements that a rule is for: waiting for their turn, running elsewhere, with another text, or for a bounded time.
//!
//! What must always hold: what a rule takes for a statement (a turn, a timer) ends with the statement; a kill or a client that
//! goes ends the wait for a turn.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::AbortHandle;
use weir_admin::digests::Digested;
use weir_admin::rules::{Action, From, Rule, Turn};
use weir_admin::sessions::Interrupt;
use weir_sql::{LexMode, RoutingHint};
use weir_wire::Failure;

use super::super::Session;
use super::super::deadline::Deadline;
use super::super::stopped::Stopped;

/// What a rule has given a statement, for as long as the statement runs.
#[derive(Debug, Default)]
pub(super) struct Admitted {
    /// Where it is to run.
    pub(super) hint: Option<RoutingHint>,
    rule: Option<Arc<Rule>>,
    _turn: Option<Turn>,
    _timer: Option<Timer>,
}

/// Does not ring any more when it is dropped.
#[derive(Debug)]
struct Timer(AbortHandle);

impl Drop for Timer {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Admitted {
    /// The text that the rule has run in place of a client's, if it wants another one.
    pub(super) fn rewritten(&self, text: &[u8], lex: LexMode) -> Result<Option<Vec<u8>>, Failure> {
        let Some(rule) = &self.rule else { return Ok(None) };
        match &rule.action {
            Action::Rewrite(rewrite) => rewrite.apply(text, lex).map(Some).map_err(|error| rule.unfit(&error)),
            _ => Ok(None),
        }
    }
}

impl Session {
    /// Lets a statement run, as read-only mode and the rules allow: now, or when it is its turn.
    pub(super) async fn admit(&mut self, entry: &Digested) -> Result<Admitted, Stopped> {
        self.may_run(entry)?;
        match self.rule_for(entry) {
            None => Ok(Admitted::default()),
            Some(rule) => Box::pin(self.allow(rule)).await,
        }
    }

    /// The rule for a statement, if there is one.
    pub(in crate::session) fn rule_for(&self, entry: &Digested) -> Option<Arc<Rule>> {
        let from = From { user: &self.user, address: self.peer.ip(), database: self.state.profile.database.as_deref() };
        entry.rule_in(&self.endpoint.oversight.rules, from)
    }

    /// The text to prepare in place of a client's, if a rule says so.
    pub(super) fn text_to_prepare(&self, entry: &Digested, text: &[u8]) -> Result<Option<Vec<u8>>, Failure> {
        let Some(rule) = self.rule_for(entry) else { return Ok(None) };
        match &rule.action {
            Action::Block => {
                rule.applied();
                Err(rule.blocked())
            }
            Action::Rewrite(rewrite) => {
                rewrite.apply(text, self.state.lex).map(Some).map_err(|error| rule.unfit(&error))
            }
            _ => Ok(None),
        }
    }

    /// What a rule gives a statement before it may run.
    async fn allow(&mut self, rule: Arc<Rule>) -> Result<Admitted, Stopped> {
        rule.applied();
        let mut admitted = Admitted::default();
        match &rule.action {
            Action::Block => return Err(Stopped::Refused(rule.blocked())),
            Action::Route(hint) => admitted.hint = Some(*hint),
            Action::Rewrite(_) => {}
            Action::Timeout(time) => admitted._timer = Some(self.start_timer(&rule, *time)),
            Action::Limit(limit) => {
                self.handle.set_state("Waiting for its turn by a rule");
                let mut turning = std::pin::pin!(limit.turn());
                let turn = loop {
                    // Cancel-safe: a turn that is not waited for is given back, `gone` keeps what was read, a bell keeps its ring.
                    tokio::select! {
                        biased;
                        turn = &mut turning => break turn,
                        () = self.handle.bell.rung() => self.stops_waiting()?,
                        error = self.client.gone() => return Err(Stopped::Ended(error.into())),
                    }
                };
                self.handle.set_state("");
                admitted._turn = Some(turn.ok_or_else(|| rule.limited())?);
            }
        }
        Ok(Admitted { rule: Some(rule), ..admitted })
    }

    /// Has the statement at hand killed after a time.
    fn start_timer(&mut self, rule: &Arc<Rule>, time: Duration) -> Timer {
        let deadline = Rc::new((rule.clone(), Cell::new(false)));
        self.deadline = Deadline::of(deadline.clone());
        let handle = self.handle.clone();
        let task = tokio::task::spawn_local(async move {
            tokio::time::sleep(time).await;
            deadline.1.set(true);
            handle.interrupt(Interrupt::Query);
        });
        Timer(task.abort_handle())
    }
}
