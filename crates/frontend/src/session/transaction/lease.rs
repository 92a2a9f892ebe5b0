//! Connections to several shards at once, for statements that need them.
//!
//! What must always hold: a part is a connection that is clean and in the session's profile when it is leased; it goes back to its
//! pool when it is dropped clean, and is closed when it is dropped in the middle of a reply. Whoever has one
//! and wants another has a place for several shards first ([`super::admission`]): then nobody waits for one who waits for him.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use futures_util::future::join_all;
use weir_admin::sessions::{Interrupt, SessionHandle};
use weir_backend::pool::Request;
use weir_backend::profile::SharedProfile;
use weir_backend::{Lease, Position, Server};
use weir_sql::Pins;
use weir_wire::error::codes;
use weir_wire::{Failure, Fault};

use super::super::Session;
use super::super::again::may_come_of_lag;
use super::super::connection::Woken;
use super::super::route::multi_shard::{Reader, ShardServer};
use super::super::stopped::Stopped;
use crate::backends::{ServerId, shard_id};

/// A connection to a shard's writer, or to a replica for a read, for one statement.
pub(in crate::session) struct StatementLease {
    /// The shard.
    pub(in crate::session) shard: usize,
    /// The server's index in the shard's group.
    pub(in crate::session) index: usize,
    /// The replica that it is.
    pub(in crate::session) reader: Option<Reader>,
    /// The connection.
    pub(in crate::session) lease: Lease,
    pub(in crate::session) _shown: Shown,
}

impl StatementLease {
    /// For plans: the connection, that the session has it, and the replica that it is.
    pub(in crate::session) fn apart(self) -> (weir_exec::ShardLease, Shown, Option<Reader>) {
        let StatementLease { shard, index, reader, lease, _shown } = self;
        (weir_exec::ShardLease { shard: shard_id(shard), index, lease }, _shown, reader)
    }
}

/// That the session has the connection, as others see it: whoever watches servers rings the session when this one hangs.
pub(in crate::session) struct Shown {
    handle: Arc<SessionHandle>,
    server: Arc<Server>,
    thread: u32,
}

impl Shown {
    pub(in crate::session) fn new(handle: &Arc<SessionHandle>, lease: &Lease) -> Shown {
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
    pub(in crate::session) async fn lease_shard(&mut self, shard: usize) -> Result<StatementLease, Stopped> {
        let profile = self.state.profile.clone();
        self.lease_shard_in(shard, &profile).await
    }

    /// The same for several shards, all at the same time.
    pub(in crate::session) async fn lease_shards(&mut self, shards: &[usize]) -> Result<Vec<StatementLease>, Stopped> {
        let profile = self.state.profile.clone();
        self.lease_shards_in(shards.iter().copied().map(ShardServer::writer).collect(), &profile).await
    }

    /// The same for what runs outside of transactions, which `autocommit = 0` would begin; a read may have replicas. Where one is late or
    /// gone, it gets its shard's writer.
    pub(in crate::session) async fn lease_shards_outside(
        &mut self,
        servers: Vec<ShardServer>,
    ) -> Result<Vec<StatementLease>, Stopped> {
        let profile = match self.state.profile.variable("autocommit") {
            None => self.state.profile.clone(),
            Some(_) => Rc::new(self.state.profile.with_variables([("autocommit", "ON")])),
        };
        self.lease_shards_in(servers, &profile).await
    }

    async fn lease_shards_in(
        &mut self,
        servers: Vec<ShardServer>,
        profile: &SharedProfile,
    ) -> Result<Vec<StatementLease>, Stopped> {
        if let [ShardServer { shard, reader: None }] = servers[..] {
            return Ok(vec![self.lease_shard_in(shard, profile).await?]);
        }
        if self.held {
            self.give_way().await;
        }
        let shards: Vec<usize> = servers.iter().map(|server| server.shard).collect();
        let mut ready = self.lease_servers(servers).await?;
        let tracking = !self.state.pins.contains(Pins::SESSION_TRACKING);
        for part in ready.iter_mut().flatten() {
            self.queue_wait_for_position(part);
            part.lease.queue_state(profile, tracking)?;
            if part.lease.state_changes() {
                self.endpoint.backend_metrics.profile_changes.inc();
            }
        }
        let confirmed = self.confirm_on_all(ready.iter_mut().flatten().map(|part| &mut part.lease).collect()).await?;
        let mut confirmed = confirmed.into_iter();
        let mut parts = Vec::with_capacity(shards.len());
        for (shard, part) in shards.into_iter().zip(ready) {
            let usable = match part.and_then(|part| Some((part, confirmed.next()?))) {
                Some((part, confirmed)) => self.usable(part, confirmed)?,
                None => None,
            };
            parts.push(match usable {
                Some(part) => part,
                None => self.lease_shard_in(shard, profile).await?,
            });
        }
        Ok(parts)
    }

    /// The connection, if it can be used; none if its shard's writer is to be asked for another one.
    fn usable(
        &mut self,
        part: StatementLease,
        confirmed: Result<(), Failure>,
    ) -> Result<Option<StatementLease>, Stopped> {
        match (confirmed, &part.reader) {
            (Ok(()), None) => {
                self.has_caught_up_on(part.shard);
                Ok(Some(part))
            }
            (Ok(()), Some(_)) if part.lease.lacks_database && !self.may_lack_database(part.shard) => Ok(None),
            (Ok(()), Some(_)) => Ok(Some(part)),
            (Err(_), Some(reader)) if part.lease.late => {
                self.reader_was_late(part.shard, reader);
                Ok(None)
            }
            (Err(_), None) if part.lease.late => Err(self.behind().into()),
            // Its server had closed it while it was idle.
            (Err(failure), _) if failure.code == codes::CR_SERVER_LOST => Ok(None),
            (Err(failure), Some(_)) if may_come_of_lag(failure.code) => Ok(None),
            (Err(_), _) if self.learn_lack(part.shard, &part.lease) => Ok(None),
            (Err(failure), _) => Err(failure.into()),
        }
    }

    /// A replica has to have reached what the session has seen, and the writer what a replica has shown to it.
    fn queue_wait_for_position(&self, part: &mut StatementLease) {
        let Some(reader) = &part.reader else { return self.queue_commits(part) };
        if let Some(position) = &reader.wait {
            let bound = self.shared.shards[part.shard].group.settings().read_wait;
            part.lease.queue_wait(&position.wait_query(bound.as_secs_f64()));
        }
    }

    /// What a replica has shown to the session, the writer shows too: first it has to finish the commits that it is busy with.
    fn queue_commits(&self, part: &mut StatementLease) {
        if self.must_catch_up_on(part.shard) {
            let bound = self.shared.shards[part.shard].group.settings().writer_wait;
            part.lease.queue_wait(&Position::wait_for_commits_query(bound.as_secs_f64()));
        }
    }

    async fn catch_up(&mut self, part: &mut StatementLease) -> Result<(), Stopped> {
        if !self.must_catch_up_on(part.shard) {
            return Ok(());
        }
        self.queue_commits(part);
        match self.confirm_on(&mut part.lease).await {
            Err(_) if part.lease.late => Err(self.behind().into()),
            Ok(()) => {
                self.has_caught_up_on(part.shard);
                Ok(())
            }
            stopped => stopped,
        }
    }

    /// The writer has finished what it was asked to finish, if it was.
    fn has_caught_up_on(&mut self, shard: usize) {
        if self.must_catch_up_on(shard) {
            self.seen.of_mut(shard).ahead = false;
        }
    }

    /// Connections to servers of several shards, asked for at the same time; none for a shard whose server can't be reached now.
    async fn lease_servers(&mut self, servers: Vec<ShardServer>) -> Result<Vec<Option<StatementLease>>, Stopped> {
        let profile = self.state.profile.clone();
        let request = |shard| Request {
            key: &self.key,
            password: &self.password,
            profile: &profile,
            patient: false,
            may_lack_database: self.may_lack_database(shard),
        };
        let idle = |server: ShardServer| {
            let writer = || self.shared.shards[server.shard].writer();
            let index = server.reader.as_ref().map_or_else(writer, |reader| reader.index);
            let place = ServerId { shard: server.shard, index };
            let lease = self.shared.at(place).pool.lend_idle(&request(place.shard));
            (server, place, lease)
        };
        let leased: Vec<(ShardServer, ServerId, Option<Lease>)> = servers.into_iter().map(idle).collect();
        let missing: Vec<ServerId> =
            leased.iter().filter(|(_, _, lease)| lease.is_none()).map(|(_, place, _)| *place).collect();
        let mut lent = match missing[..] {
            [] => Vec::new(),
            _ => self.lend_all(&missing, &profile).await?,
        }
        .into_iter();
        let mut of = |lease: Option<Lease>| lease.map(Ok).or_else(|| lent.next());
        let all = leased.into_iter().filter_map(|(server, place, lease)| Some((server, place, of(lease)?)));
        all.map(|(server, place, lease)| self.leased_server(server, place, lease)).collect()
    }

    /// Connections to several servers; a kill or the client's end ends the wait for them.
    async fn lend_all(
        &mut self,
        places: &[ServerId],
        profile: &SharedProfile,
    ) -> Result<Vec<Result<Lease, Failure>>, Stopped> {
        self.handle.set_state("Waiting for a server connection");
        let lacking: Vec<bool> = places.iter().map(|place| self.may_lack_database(place.shard)).collect();
        let (key, password, shared) = (&self.key, &self.password, &self.shared);
        let lend = |(place, may_lack_database): (&ServerId, bool)| {
            let request = Request { key, password, profile, patient: false, may_lack_database };
            shared.at(*place).pool.lend(request)
        };
        let mut lending = join_all(places.iter().zip(lacking).map(lend));
        let lent = loop {
            // Cancel-safe: a dropped `lend` gives up its place, `gone` keeps what was read, a bell keeps its ring.
            tokio::select! {
                biased;
                lent = &mut lending => break lent,
                () = self.handle.bell.rung() => self.stops_waiting()?,
                error = self.client.gone() => return Err(Stopped::Ended(error.into())),
            }
        };
        drop(lending);
        self.handle.set_state("");
        Ok(lent)
    }

    fn leased_server(
        &self,
        server: ShardServer,
        place: ServerId,
        leased: Result<Lease, Failure>,
    ) -> Result<Option<StatementLease>, Stopped> {
        let ShardServer { shard, reader } = server;
        match leased {
            // While it was waited for, the writer has become another one.
            Ok(_) if reader.is_none() && place.index != self.shared.shards[shard].writer() => Ok(None),
            Ok(mut lease) => {
                lease.has_found_rows = false;
                let _shown = Shown::new(&self.handle, &lease);
                Ok(Some(StatementLease { shard, index: place.index, reader, lease, _shown }))
            }
            // A pool that is full says so itself: the writer's need not be filled up too.
            Err(failure) if reader.is_some() && failure.fault != Fault::Weir => {
                self.endpoint.metrics.reads_rerouted.inc();
                Ok(None)
            }
            Err(failure) if failure.code == codes::CR_CONN_HOST_ERROR => Ok(None),
            Err(failure) => Err(failure.into()),
        }
    }

    async fn lease_shard_in(&mut self, shard: usize, profile: &SharedProfile) -> Result<StatementLease, Stopped> {
        if self.held {
            // Nobody else can have it meanwhile, and the part may be the one that it keeps from its pool.
            self.give_way().await;
        }
        let mut deadline = None;
        // A connection may have been closed by its server while it was idle.
        let mut stale = true;
        loop {
            let mut part = self.lease_writer(shard, &mut deadline).await?;
            let brought = match self.catch_up(&mut part).await {
                Ok(()) => self.bring_into_profile(&mut part.lease, profile).await,
                stopped => stopped,
            };
            match brought {
                Err(Stopped::Refused(failure)) if failure.code == codes::CR_SERVER_LOST && stale => stale = false,
                Err(Stopped::Refused(_)) if self.learn_lack(part.shard, &part.lease) => {}
                brought => return brought.map(|()| part),
            }
        }
    }

    async fn lease_writer(&mut self, shard: usize, deadline: &mut Option<Instant>) -> Result<StatementLease, Stopped> {
        loop {
            let index = self.shared.shards[shard].writer();
            match self.lend(ServerId { shard, index }).await? {
                // While it was waited for, the writer has become another one.
                Ok(_) if index != self.shared.shards[shard].writer() => {}
                Ok(mut lease) => {
                    lease.has_found_rows = false;
                    let _shown = Shown::new(&self.handle, &lease);
                    return Ok(StatementLease { shard, index, reader: None, lease, _shown });
                }
                Err(failure) if failure.code == codes::CR_CONN_HOST_ERROR => {
                    self.wait_for_writer(shard, failure, deadline).await?;
                }
                Err(failure) => return Err(failure.into()),
            }
        }
    }

    /// Brings a connection into a profile, and waits until the server has said that it is.
    pub(in crate::session) async fn bring_into_profile(
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
    pub(in crate::session) async fn confirm_on(&mut self, lease: &mut Lease) -> Result<(), Stopped> {
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

    /// The same on several connections, at the same time. Returns what each server has said.
    pub(in crate::session) async fn confirm_on_all(
        &mut self,
        leases: Vec<&mut Lease>,
    ) -> Result<Vec<Result<(), Failure>>, Stopped> {
        if !leases.iter().any(|lease| lease.awaits_state()) {
            return Ok(leases.iter().map(|_| Ok(())).collect());
        }
        let servers: Vec<Arc<Server>> = leases.iter().map(|lease| lease.server.clone()).collect();
        let mut confirming = join_all(leases.into_iter().map(confirm));
        loop {
            // Cancel-safe: what has come stays with its connection, `gone` keeps what was read, a bell keeps its ring.
            tokio::select! {
                biased;
                confirmed = &mut confirming => return Ok(confirmed),
                () = self.handle.bell.rung() => servers.iter().try_for_each(|server| self.stops_with(server))?,
                error = self.client.gone() => return Err(Stopped::Ended(error.into())),
            }
        }
    }

    /// The bell has rung while a part's server is waited for.
    pub(in crate::session) fn stops_on(&self, lease: &Lease) -> Result<(), Stopped> {
        self.stops_with(&lease.server)
    }

    fn stops_with(&self, server: &Server) -> Result<(), Stopped> {
        if self.handle.has(Interrupt::ServerLost) && server.refusal().is_some() {
            return Err(server.lost("it has stopped answering").into());
        }
        self.stops_waiting()
    }
}

/// Sends what is queued for the state of a connection, and waits until its server has confirmed it.
///
/// # Errors
/// The server's, and the loss of the connection.
pub(in crate::session) async fn confirm(lease: &mut Lease) -> Result<(), Failure> {
    lease.flush().await?;
    lease.confirm_state().await
}
