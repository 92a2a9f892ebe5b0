//! What Weir puts before a session's statement, so that the connection is in the session's state: queued with it, and confirmed by the replies.
//!
//! What must always hold: the connection's profile becomes the session's only when the server has said OK to each step. A refused step retires the
//! connection, as a statement may follow already; a default database that it may not enter leaves it in none, never in another.

use std::rc::Rc;
use std::sync::Arc;

use weir_wire::error::codes;
use weir_wire::stmt::query_payload;
use weir_wire::{Command, Failure, Fault};

use super::{Connection, Tracking};
use crate::profile::{CLIENT_TRACKS, Profile, Role, SharedProfile, set_texts};

/// The maximum size of Weir's own SET statements in bytes, unless one value is larger. Servers accept texts of at least 16 MiB by default.
const MOST_SET: usize = 1024 * 1024;
/// The same on a server that takes little: the least `max_allowed_packet` is 1,024.
const MOST_SET_OF_LITTLE: usize = 900;

/// A command that Weir has put before a session's statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PreludeStep {
    Reset,
    Role(Arc<Role>),
    Database,
    Set,
    Begin,
    /// A transaction's start that the server may refuse.
    DoubtfulBegin,
    /// Waiting for a replication position.
    Wait,
}

impl Connection {
    /// Queues what brings the connection to `wanted`. `tracking`: whether the server tells Weir of every change of a
    /// session variable; without, the variables of the tracking itself have the values that a session expects.
    ///
    /// # Errors
    /// When there is no way from the connection's profile to `wanted`: the caller takes another connection.
    pub fn queue_state(&mut self, wanted: &SharedProfile, tracking: impl Into<Tracking>) -> Result<(), Failure> {
        let tracking = tracking.into();
        let difference = self.profile.difference(wanted, &self.after_reset);
        if difference.impossible {
            return Err(Failure::new(
                Fault::Weir,
                1105,
                b"HY000",
                "the connection can't leave its database or its roles",
            ));
        }
        if std::mem::take(&mut self.ends_told) && !difference.reset {
            let end = query_payload(b"COMMIT AND NO CHAIN NO RELEASE", self.capabilities);
            self.queue_step(PreludeStep::Set, &end);
        }
        if difference.reset {
            self.queue_step(PreludeStep::Reset, &[Command::ResetConnection as u8]);
            // Here, and not when it is confirmed: another may be queued behind it.
            self.insert_id = Some(0);
            self.temporary_made = 0;
        }
        if let Some(role) = &difference.role {
            self.queue_role(role);
        }
        if let Some(database) = difference.database {
            self.queue_step(PreludeStep::Database, &[&[Command::InitDb as u8], database.as_ref()].concat());
            if self.lacks_database || wanted.is_denied_database() {
                // What it says if it still refuses is not the next statement's: on MariaDB, only one that has tables clears it away.
                self.queue_step(
                    PreludeStep::Set,
                    &query_payload(b"DO (SELECT 1 FROM (SELECT 1) AS t)", self.capabilities),
                );
            }
        }
        if let Some(role) = &difference.last_role {
            self.queue_role(role);
        }
        let tracked = if difference.reset { Tracking::Clients } else { self.tracking };
        let from = if difference.reset { &self.after_reset } else { &*self.profile };
        let others = tracking == Tracking::Clients && from.variable(CLIENT_TRACKS) != wanted.variable(CLIENT_TRACKS);
        let variables =
            (tracked != tracking || others).then(|| self.tracking_variables(tracking, wanted, from.introducer()));
        let mut items = difference.set;
        items.extend(variables);
        let most = if self.server.takes_little() { MOST_SET_OF_LITTLE } else { MOST_SET };
        for text in set_texts(&items, most) {
            self.queue_step(PreludeStep::Set, &query_payload(text.as_bytes(), self.capabilities));
        }
        if !self.steps.is_empty() {
            self.goal = Some(wanted.clone());
            self.goal_tracking = tracking;
        } else {
            self.profile = wanted.clone();
        }
        Ok(())
    }

    /// `introducer`: what strings need before them.
    fn tracking_variables(&self, tracking: Tracking, wanted: &Profile, introducer: &str) -> String {
        let identity = self.server.facts().identity.clone();
        // MariaDB tells its last GTID among the variables.
        let gtids = self.server.settings.track_gtids && identity.as_ref().is_some_and(|identity| !identity.mariadb);
        let (names, flag, own_gtid) = match tracking {
            Tracking::All | Tracking::AllButGtid => {
                let listed = identity.filter(|_| !self.server.takes_little());
                let names = listed.map(|identity| match &identity.tracked_but_gtid {
                    Some(names) if tracking == Tracking::AllButGtid => names.clone(),
                    _ => identity.tracked_variables.clone(),
                });
                (format!("{introducer}'{}'", names.as_deref().unwrap_or("*")), "ON", "OWN_GTID")
            }
            Tracking::Clients => {
                let clients = wanted.variable(CLIENT_TRACKS).map(|names| format!("{introducer}'{names}'"));
                (clients.unwrap_or_else(|| "DEFAULT".to_owned()), "DEFAULT", "DEFAULT")
            }
        };
        // By a server's own default it may not tell of another database.
        let items = [("system_variables", &*names), ("state_change", flag), ("schema", flag), ("gtids", own_gtid)];
        let items = items[..if gtids { 4 } else { 3 }].iter();
        items.map(|(what, value)| format!("@@SESSION.session_track_{what}={value}")).collect::<Vec<_>>().join(",")
    }

    /// Queues the question whether a position is reached ([`crate::Position::wait_query`]), to be confirmed with the rest of
    /// the state. If it is not, [`Connection::late`] is set and the confirmation fails.
    pub fn queue_wait(&mut self, question: &str) {
        self.queue_step(PreludeStep::Wait, &query_payload(question.as_bytes(), self.capabilities));
    }

    /// Queues a transaction's start, to be confirmed with the rest of the state, or by the next command of Weir's own.
    /// `may_be_refused`: by a server in whose present state it is not allowed.
    pub fn queue_begin(&mut self, text: &[u8], may_be_refused: bool) {
        let step = if may_be_refused { PreludeStep::DoubtfulBegin } else { PreludeStep::Begin };
        self.queue_step(step, &query_payload(text, self.capabilities));
    }

    /// Queues what makes `LAST_INSERT_ID()` on this connection `id`, to be confirmed with the rest of the state.
    pub fn queue_insert_id(&mut self, id: u64) {
        let payload = query_payload(format!("DO LAST_INSERT_ID({id})").as_bytes(), self.capabilities);
        self.queue_step(PreludeStep::Set, &payload);
        self.insert_id = Some(id);
    }

    fn queue_role(&mut self, role: &Arc<Role>) {
        let payload = query_payload(role.statement().as_bytes(), self.capabilities);
        self.queue_step(PreludeStep::Role(role.clone()), &payload);
    }

    fn queue_step(&mut self, step: PreludeStep, payload: &[u8]) {
        self.queue(payload, true);
        self.steps.push_back(step);
    }

    /// Whether something was queued that the server may refuse, and that has to be confirmed.
    pub fn state_changes(&self) -> bool {
        self.steps.iter().any(|step| !matches!(step, PreludeStep::Begin | PreludeStep::Wait))
    }

    /// Whether all that is queued before the session's statement is a transaction's start that no server refuses.
    pub fn only_begins(&self) -> bool {
        self.steps.len() == 1 && self.steps.front() == Some(&PreludeStep::Begin)
    }

    /// Whether something that is queued before a statement is to be confirmed.
    pub fn awaits_state(&self) -> bool {
        !self.steps.is_empty()
    }

    /// Whether what was queued before a statement is to be confirmed, and nothing else: no statement has followed.
    pub fn only_awaits_state(&self) -> bool {
        !self.steps.is_empty() && self.steps.len() == self.unanswered && !self.retired
    }

    /// Reads the replies of what [`Connection::queue_state`] and [`Connection::queue_begin`] queued.
    ///
    /// # Errors
    /// The server's own error; the connection is then retired, because a statement may already follow.
    pub async fn confirm_state(&mut self) -> Result<(), Failure> {
        while !self.confirm_arrived()? {
            self.fill_unless_hung().await?;
        }
        Ok(())
    }

    /// As [`Connection::confirm_state`], without waiting: whether all replies had arrived.
    ///
    /// # Errors
    /// As [`Connection::confirm_state`].
    pub fn confirm_arrived(&mut self) -> Result<bool, Failure> {
        while let Some(step) = self.steps.front().cloned() {
            let reply = if step == PreludeStep::Wait { self.reached() } else { self.single_reply() };
            let is = |codes: &[u16]| reply.as_ref().err().filter(|failure| codes.contains(&failure.code));
            let denied = is(&[codes::ER_DBACCESS_DENIED_ERROR]);
            let lacks = denied.or(is(&[codes::ER_BAD_DB_ERROR])).is_some();
            match (&step, &self.goal) {
                (PreludeStep::Role(role), _) if is(&Role::NOT_GRANTED).is_some() => role.note_refused(),
                (PreludeStep::Database, Some(goal)) if !matches!(reply, Ok(false)) => goal.note_entrance(denied),
                _ => {}
            }
            let confirmed = match reply {
                Err(failure) if step == PreludeStep::Database && lacks => self.has_no_database(failure).map(|()| true),
                reply => reply,
            };
            if !confirmed.inspect_err(|_| self.retired = true)? {
                return Ok(false);
            }
            self.steps.pop_front();
            self.lacks_database &= step != PreludeStep::Database || lacks;
            if step == PreludeStep::Reset {
                self.forget();
            }
        }
        if let Some(goal) = self.goal.take() {
            self.profile = goal;
            self.tracking = self.goal_tracking;
        }
        Ok(true)
    }

    /// The database that it was to enter is not there, or not for this user any more. Without one before, it has none still, and what follows
    /// runs as it would on a server whose default database was dropped. It can't leave another one.
    fn has_no_database(&mut self, failure: Failure) -> Result<(), Failure> {
        self.lacks_database = true;
        if self.profile.database.is_some() {
            return Err(failure);
        }
        self.goal = self.goal.take().map(|goal| Rc::new(goal.with_database(None)));
        Ok(())
    }
}
