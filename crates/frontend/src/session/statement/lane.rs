//! Statements that ride lanes: which of a session's may, and how they come back.
//!
//! What must always hold: only a plain read of a session that is bound to nothing and has nothing left on a connection
//! rides; what comes back from a lane is as if it had run on a connection of the session's own. Everything that would
//! leave something behind (an error, a warning) does not come back: the statement is run again on a connection of its
//! own, where what it leaves is kept for the session.

use std::rc::Rc;
use std::time::Duration;

use weir_admin::sessions::Interrupt;
use weir_backend::lanes::learn::Run;
use weir_backend::lanes::{Arrived, Elsewhere, Group, Lane, Lanes, MAX_COMMAND, Ride, SharedLearnt};
use weir_backend::profile::SharedProfile;
use weir_sql::Class;
use weir_wire::{Failure, StatusFlags};

use super::super::Session;
use super::super::latest::Diagnostics;
use super::super::outcome::ReplyOutcome;
use super::super::stopped::{SessionEnd, Stopped};
use super::{Execution, Form, Statement, Text};

/// What a session keeps for its rides.
#[derive(Debug, Default)]
pub(in crate::session) struct Riding {
    ride: Rc<Ride>,
    /// For each server of all shards, the lanes of the profile that the session had when it last looked.
    groups: Vec<Option<(SharedProfile, Rc<Group>)>>,
}

impl Riding {
    /// Frees memory: the session has been idle for a while.
    pub(in crate::session) fn rest(&self) {
        self.ride.rest();
    }

    /// The session's user or capabilities have changed.
    pub(in crate::session) fn forget_lanes(&mut self) {
        self.groups.clear();
    }

    /// The session no longer waits for its statement: the lane drops the reply.
    fn let_go(&mut self) {
        self.ride = Rc::default();
    }
}

/// How a ride ended, for the session.
pub(super) enum Rode {
    /// The reply is in the client's output.
    Done(ReplyOutcome),
    /// The statement is to be run on a connection of its own. The failure: what the client hears of if the server turns
    /// out to be gone.
    NotYet(Option<Failure>),
}

impl Session {
    /// The lanes that a statement may ride, and what is known of statements like it, if it may.
    pub(super) fn lanes_for(&mut self, statement: &Statement<'_>) -> Option<(Rc<Group>, SharedLearnt)> {
        let (digest, group) = match &statement.form {
            Form::Text(text) => (text.rides?.0, self.lanes()?),
            Form::Prepared(execution) => (execution.rides?, self.lanes_for_execution(execution)?),
            Form::SqlPrepared(_) | Form::Resolved => return None,
        };
        let learnt = group.learnt(digest);
        Some((group, learnt))
    }

    /// The lanes that an execution may ride now, if their settings read the text as it was prepared.
    fn lanes_for_execution(&mut self, execution: &Execution<'_>) -> Option<Rc<Group>> {
        let group = self.lanes()?;
        let prepared = self.prepared_statement(execution.id, "mysqld_stmt_execute").ok()?;
        if prepared.lanes.as_ptr() != Rc::as_ptr(&group) {
            if group.parsing != execution.key.parsing {
                return None;
            }
            prepared.lanes = Rc::downgrade(&group);
        }
        self.handle_statement(execution.key);
        Some(group)
    }

    /// Records how a statement ran on a connection of its own.
    pub(super) fn note_run(&self, learnt: &SharedLearnt, outcome: Option<&ReplyOutcome>) {
        let time = self.sent_at.map_or(Duration::MAX, |sent| sent.elapsed());
        let run = match outcome {
            Some(outcome) => Run { time, bytes: outcome.bytes, clean: outcome.left_nothing() },
            None => Run { time, bytes: 0, clean: false },
        };
        self.lanes_at_hand().note_run(learnt, run);
    }

    /// The lanes that the session's statements may ride now, if any.
    pub(super) fn lanes(&mut self) -> Option<Rc<Group>> {
        let (state, place) = (&self.state, self.target.place());
        // What is kept on another server's connection is not touched by a read.
        let free = (self.current.lease.is_none() || self.current.server != place)
            && state.begin.is_none()
            && state.status.contains(StatusFlags::AUTOCOMMIT)
            && !state.is_bound()
            && !self.transaction.unsent()
            && state.latest.diagnostics == Diagnostics::Empty
            && !state.collation_unknown;
        let backends = &self.shared.shards[place.shard];
        let lanes = &backends.at(place.index).lanes;
        if !free || self.target.wait.is_some() || self.must_catch_up() || !lanes.enabled() {
            return None;
        }
        let number = backends.before + place.index;
        if self.riding.groups.len() <= number {
            self.riding.groups.resize(number + 1, None);
        }
        let known = &mut self.riding.groups[number];
        match known {
            Some((profile, group)) if Rc::ptr_eq(profile, &state.profile) => Some(group.clone()),
            _ => {
                let group = lanes.group(&self.key, &state.profile);
                *known = Some((state.profile.clone(), group.clone()));
                Some(group)
            }
        }
    }

    /// Lets a statement ride, if statements like it do, and there is a lane for it.
    pub(super) async fn ride(
        &mut self,
        statement: &Statement<'_>,
        group: &Rc<Group>,
        learnt: &SharedLearnt,
    ) -> Result<Rode, Stopped> {
        if !learnt.get().rides() {
            return Ok(Rode::NotYet(None));
        }
        let query = |lane: &Lane, ride: &Rc<Ride>, command: &[u8]| {
            let fits = command.len() <= MAX_COMMAND;
            if fits {
                lane.query(ride, learnt, command);
            }
            fits
        };
        let put = |lane: &Lane, ride: &Rc<Ride>| match &statement.form {
            Form::Text(Text { command: Some(command), .. }) => query(lane, ride, command),
            Form::Text(text) => query(lane, ride, &[text.head, statement.text].concat()),
            Form::Prepared(execution) => {
                lane.execute(ride, learnt, &execution.on_server(false), !self.identity.mariadb)
            }
            Form::SqlPrepared(_) | Form::Resolved => false,
        };
        let Some(lane) = group.lane(&self.password) else { return Ok(Rode::NotYet(None)) };
        match put(&lane, &self.riding.ride) {
            true => self.end_of_ride(learnt).await,
            false => Ok(Rode::NotYet(None)),
        }
    }

    /// Waits for a statement that is on a lane.
    async fn end_of_ride(&mut self, learnt: &SharedLearnt) -> Result<Rode, Stopped> {
        self.endpoint.backend_metrics.lane_rides.inc();
        let ride = self.riding.ride.clone();
        let ended = loop {
            // Cancel-safe: a ride only tells its state, a bell keeps its ring, `gone` keeps what was read.
            tokio::select! {
                biased;
                ended = std::future::poll_fn(|cx| ride.poll_end(cx)) => break ended,
                () = self.handle.bell.rung() => {
                    if let Some(stopped) = self.stops_ride() {
                        self.riding.let_go();
                        return Err(stopped);
                    }
                }
                error = self.client.gone() => {
                    self.riding.let_go();
                    return Err(Stopped::Ended(error.into()));
                }
            }
        };
        drop(ride);
        match ended {
            Ok(arrived) => Ok(Rode::Done(self.arrived(learnt, arrived))),
            Err(why) => {
                // The lane may still have it in its line: what comes for it must not be taken for the next statement's reply.
                self.riding.let_go();
                Ok(Rode::NotYet(self.sent_elsewhere(learnt, why)))
            }
        }
    }

    fn stops_ride(&self) -> Option<Stopped> {
        if self.handle.has(Interrupt::Connection) || self.handle.has(Interrupt::ShutdownNow) {
            return Some(Stopped::Ended(SessionEnd::Told(Self::interrupted_failure())));
        }
        self.handle.has(Interrupt::Query).then(|| Stopped::Refused(Self::interrupted_failure()))
    }

    fn arrived(&mut self, learnt: &SharedLearnt, arrived: Arrived) -> ReplyOutcome {
        let before = self.client.output.len();
        self.riding.ride.take_reply(&mut self.client.output);
        let bytes = (self.client.output.len() - before) as u64;
        self.lanes_at_hand().note_ride(learnt, &arrived, bytes);
        ReplyOutcome {
            status: Some(arrived.status),
            row_count: -1,
            found_rows: Some(arrived.rows),
            rows_sent: arrived.rows,
            bytes,
            ..ReplyOutcome::default()
        }
    }

    fn lanes_at_hand(&self) -> &Lanes {
        &self.shared.at(self.target.place()).lanes
    }

    /// A statement has ridden: what is kept of earlier ones on a connection is not its own.
    pub(super) fn note_ride(&mut self, class: &Class, outcome: &ReplyOutcome) {
        self.note(class, outcome);
        self.ran.on_lane = true;
        if let Some(lease) = &mut self.current.lease {
            lease.has_found_rows = false;
        }
    }

    fn sent_elsewhere(&mut self, learnt: &SharedLearnt, why: Elsewhere) -> Option<Failure> {
        let metrics = &self.endpoint.backend_metrics;
        match why {
            Elsewhere::Unfit(why) => {
                metrics.lane_unfit.inc();
                self.lanes_at_hand().note_unfit(learnt, why);
            }
            Elsewhere::HeldUp => self.lanes_at_hand().count_stall(),
            Elsewhere::Lost => {
                metrics.lane_losses.inc();
                let server = &self.shared.at(self.target.place()).pool.server;
                return Some(server.lost("the server closed the connection"));
            }
        }
        None
    }
}
