//! Connections to several shards at once, for statements that need them.
//!
//! What must always hold: a part is a connection that is clean and in the session's profile when it is lent; it goes back to its
//! pool when it is dropped clean, and is closed when it is dropped in the middle of a reply. Whoever has one
//! and wants another has a place for several shards first ([`super::places`]): then nobody waits for one who waits for him.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use weir_admin::sessions::{Interrupt, SessionHandle};
use weir_backend::profile::SharedProfile;
use weir_backend::{Lease, Server};
use weir_sql::Pins;
use weir_wire::error::codes;

use super::Session;
use super::server::{Stopped, Woken};
use super::sharded::shard_id;
use crate::backends::ServerPlace;

/// A connection to a shard's writer, for one statement.
pub(super) struct Part {
    /// The shard.
    pub(super) shard: usize,
    /// The server's index in the shard's group.
    pub(super) index: usize,
    /// The connection.
    pub(super) lease: Lease,
    pub(super) _shown: Shown,
}

impl Part {
    /// For plans: the connection, and that the session has it.
    pub(super) fn apart(self) -> (weir_exec::Part, Shown) {
        let Part { shard, index, lease, _shown } = self;
        (weir_exec::Part { shard: shard_id(shard), index, lease }, _shown)
    }
}

/// That the session has the connection, as others see it: whoever watches servers rings the session when this one hangs.
pub(super) struct Shown {
    handle: Arc<SessionHandle>,
    server: Arc<Server>,
    thread: u32,
}

impl Shown {
    pub(super) fn new(handle: &Arc<SessionHandle>, lease: &Lease) -> Shown {
        let (handle, server, thread) = (handle.clone(), lease.server.clone(), lease.thread_id);
        handle.info().parts.push((server.clone(), thread));
        Shown { handle, server, thread }
    }
}

impl Drop for Shown {
    fn drop(&mut self) {
        let is_this =
            |(server, thread): &(Arc<Server>, u32)| Arc::ptr_eq(server, &self.server) && *thread == self.thread;
        self.handle.info().parts.retain(|part| !is_this(part));
    }
}

impl Session {
    /// A connection to a shard's writer beside the session's own, under its user and in its profile. A writer that is gone is
    /// waited for, up to the bound; a kill and the client's end end all waits.
    ///
    /// What the session's latest statement has left on its own connection is read first, and that connection given back, unless it is
    /// bound. What the statement leaves on the connection (warnings, an insert id) is not the session's: whoever needs it reads it
    /// before the part is dropped.
    pub(super) async fn lend_part(&mut self, shard: usize) -> Result<Part, Stopped> {
        let profile = self.state.profile.clone();
        self.lend_part_in(shard, &profile).await
    }

    /// The same for what runs outside of transactions, which `autocommit = 0` would begin.
    pub(super) async fn lend_part_alone(&mut self, shard: usize) -> Result<Part, Stopped> {
        let profile = match self.state.profile.variable("autocommit") {
            None => self.state.profile.clone(),
            Some(_) => Rc::new(self.state.profile.with_variables([("autocommit", "ON")])),
        };
        self.lend_part_in(shard, &profile).await
    }

    async fn lend_part_in(&mut self, shard: usize, profile: &SharedProfile) -> Result<Part, Stopped> {
        if self.held {
            // Nobody else can have it meanwhile, and the part may be the one that it keeps from its pool.
            self.give_way().await;
        }
        let mut deadline = None;
        // A connection may have been closed by its server while it was idle.
        let mut stale = true;
        loop {
            let mut part = self.lend_writer(shard, &mut deadline).await?;
            match self.bring_into_profile(&mut part.lease, profile).await {
                Err(Stopped::Refused(failure)) if failure.code == codes::CR_SERVER_LOST && stale => stale = false,
                brought => return brought.map(|()| part),
            }
        }
    }

    async fn lend_writer(&mut self, shard: usize, deadline: &mut Option<Instant>) -> Result<Part, Stopped> {
        loop {
            let index = self.shared.shards[shard].writer();
            match self.lend(ServerPlace { shard, index }).await? {
                // While it was waited for, the writer has become another one.
                Ok(_) if index != self.shared.shards[shard].writer() => {}
                Ok(mut lease) => {
                    lease.has_found_rows = false;
                    let _shown = Shown::new(&self.handle, &lease);
                    return Ok(Part { shard, index, lease, _shown });
                }
                Err(failure) if failure.code == codes::CR_CONN_HOST_ERROR => {
                    self.wait_for_writer(shard, failure, deadline).await?;
                }
                Err(failure) => return Err(failure.into()),
            }
        }
    }

    /// Brings a connection into a profile, and waits until the server has said that it is.
    pub(super) async fn bring_into_profile(
        &mut self,
        lease: &mut Lease,
        profile: &SharedProfile,
    ) -> Result<(), Stopped> {
        let tracking = !self.state.pins.contains(Pins::SESSION_TRACKING);
        lease.queue_state(profile, tracking)?;
        if !lease.state_changes() {
            return Ok(());
        }
        self.endpoint.backend_metrics.profile_changes.inc();
        self.confirm_on(lease).await
    }

    /// Sends what is queued for the state of a connection, and waits until the server has confirmed it.
    pub(super) async fn confirm_on(&mut self, lease: &mut Lease) -> Result<(), Stopped> {
        lease.flush().await?;
        while !lease.confirm_arrived()? {
            match Woken::by(lease, &self.handle, &mut self.client).await? {
                Woken::Filled => {}
                Woken::Rung => self.stops_on(lease)?,
                Woken::Gone(error) => return Err(Stopped::Ended(error.into())),
            }
        }
        Ok(())
    }

    /// The bell has rung while a part's server is waited for.
    pub(super) fn stops_on(&self, lease: &Lease) -> Result<(), Stopped> {
        if self.handle.has(Interrupt::ServerLost) && lease.server.refusal().is_some() {
            return Err(lease.server.lost("it has stopped answering").into());
        }
        self.stops_waiting()
    }
}
