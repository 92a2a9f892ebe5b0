//! From an accepted socket to a session: login, limits, the first database.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;
use weir_admin::logs::Event;
use weir_admin::sessions::{SessionHandle, UserEntry};
use weir_backend::pool::Request;
use weir_backend::{Lease, PoolKey, Profile, Stream, patience};
use weir_wire::auth::Password;
use weir_wire::error::codes;
use weir_wire::handshake::HandshakeResponse;
use weir_wire::packets::{OkPacket, SessionChange, put_session_change};
use weir_wire::{Capabilities, Failure};

use super::Session;
use super::connection::AGAIN;
use super::state::SessionState;
use super::statement::lane::Riding;
use crate::client::Client;
use crate::client_login::{self, LoggedIn, LoginError, Origin, PASSED};
use crate::endpoint::Endpoint;
use crate::incoming::{Incoming, Peer, Socket};
use crate::shared::Shared;

/// Serves a client to its end.
pub(crate) async fn serve(shared: Rc<Shared>, incoming: Incoming, handle: Arc<SessionHandle>) {
    let Some(mut session) = begin(shared, incoming, handle).await else { return };
    let end = session.run().await;
    session.finish(end).await;
}

/// Greets and authenticates a client. `None`: it was refused or has gone, and was told so if it could be.
async fn begin(shared: Rc<Shared>, incoming: Incoming, handle: Arc<SessionHandle>) -> Option<Session> {
    let endpoint = shared.endpoint.clone();
    let bound = endpoint.settings.load().handshake_timeout;
    let arriving = async {
        let (mut client, peer) = arrive(&shared, incoming, &handle).await?;
        let outcome = client_login::log_in(&endpoint, &mut client, &handle, &peer).await;
        Some((client, peer, outcome))
    };
    let Ok(arrived) = tokio::time::timeout(bound, Box::pin(arriving)).await else {
        endpoint.metrics.dropped.inc();
        return None;
    };
    let (client, peer, outcome) = arrived?;
    match Box::pin(admit(&shared, client, &handle, peer, outcome, bound)).await {
        Ok(session) => Some(session),
        Err(refused) => {
            let (mut client, error) = *refused;
            match error {
                LoginError::Refused(failure) => client.put_failure(&failure),
                LoginError::Client(error) => {
                    endpoint.metrics.dropped.inc();
                    tracing::debug!(session = handle.id, %error, "login broken off");
                }
            }
            shared.endpoint.registry.leave(&handle);
            client.close().await;
            None
        }
    }
}

/// The client has done its part in time, and the servers have not.
fn servers_late() -> Failure {
    let message =
        "No server has confirmed the login within clients.handshake_timeout; try again, and see WEIR SHOW SERVERS";
    Failure::weir(codes::CR_CONN_HOST_ERROR, message)
}

/// The client on its stream, behind its PROXY header if it must have one.
async fn arrive(shared: &Shared, incoming: Incoming, handle: &SessionHandle) -> Option<(Client, Peer)> {
    let Incoming { socket, mut peer, proxied } = incoming;
    let mut stream = match socket {
        Socket::Tcp(socket) => Stream::Tcp(tokio::net::TcpStream::from_std(socket).ok()?),
        Socket::Unix(socket) => Stream::Unix(tokio::net::UnixStream::from_std(socket).ok()?),
    };
    if proxied {
        match client_login::read_proxy_header(&mut stream).await {
            Ok(Some(source)) => {
                peer = Peer::Tcp(source.ip(), source.port());
                handle.info().host = peer.shown();
            }
            Ok(None) => {}
            Err(error) => {
                tracing::debug!(session = handle.id, %error, "connection without a valid PROXY header");
                return None;
            }
        }
    }
    Some((Client::new(stream, shared.endpoint.settings.load().write_timeout), peer))
}

/// On the way out there is only the client, and what it is told.
type Admission = Result<Session, Box<(Client, LoginError)>>;

/// What an authenticated client still needs: a place, a proof by a server, its database.
async fn admit(
    shared: &Rc<Shared>,
    client: Client,
    handle: &Arc<SessionHandle>,
    peer: Peer,
    outcome: Result<(LoggedIn, HandshakeResponse), LoginError>,
    bound: Duration,
) -> Admission {
    let (logged_in, response) = match outcome {
        Ok(logged_in) => logged_in,
        Err(error) => return Err(Box::new((client, error))),
    };
    let mut session = match open(shared, handle, peer, &logged_in, client) {
        Ok(session) => session,
        Err(error) => return Err(error),
    };
    // The servers' time is their own: a client may have needed almost all of its part, and a busy machine is no reason to refuse it.
    let entered = patience::within(bound, session.enter(&logged_in)).await;
    if let Err(failure) = entered.unwrap_or_else(|| Err(servers_late())) {
        client_login::audit_refusal(
            &session.endpoint,
            Origin { session: handle.id, peer: &peer },
            &logged_in.user,
            &failure,
        );
        return Err(Box::new((session.client, failure.into())));
    }
    session.login_ok();
    let said = match session.client.flush().await {
        Ok(()) => client_login::start_compression(&mut session.client, &response, &shared.contexts),
        Err(error) => Err(error),
    };
    match said {
        Ok(()) => {
            session.learn_audited();
            session.audit(Event::Connect);
            session.handle.end(session.shared.idle.now(), session.current.lease.is_some());
            Ok(session)
        }
        Err(error) => Err(Box::new((session.client, error.into()))),
    }
}

/// Counts a session as its user's.
///
/// # Errors
/// When the user has as many as may be.
fn enter_user(endpoint: &Endpoint, origin: Origin<'_>, user: &str) -> Result<UserEntry, Failure> {
    let limit = endpoint.accounts.configured(user).map_or(0, |user| user.max_connections);
    endpoint.registry.enter_user(user, limit).map_err(|_| {
        endpoint.metrics.refused.inc();
        let message = format!("User {user} already has more than 'max_user_connections' active connections");
        let failure = Failure::client(codes::ER_TOO_MANY_USER_CONNECTIONS, message);
        client_login::audit_refusal(endpoint, origin, user, &failure);
        failure
    })
}

fn open(
    shared: &Rc<Shared>,
    handle: &Arc<SessionHandle>,
    peer: Peer,
    logged_in: &LoggedIn,
    client: Client,
) -> Admission {
    let endpoint = shared.endpoint.clone();
    let user = logged_in.user.clone();
    let identity = endpoint.identity();
    let password = logged_in.unproved.clone().or_else(|| endpoint.accounts.password(&user));
    let (Some(identity), Some(password)) = (identity, password) else {
        return Err(Box::new((client, client_login::access_denied(&user, &peer, true).into())));
    };
    let user_entry = match enter_user(&endpoint, Origin { session: handle.id, peer: &peer }, &user) {
        Ok(entry) => entry,
        Err(failure) => return Err(Box::new((client, failure.into()))),
    };
    let state = SessionState::new(shared.beginnings.of(&identity, client.capabilities, logged_in.collation));
    let key = PoolKey { user: user.as_bytes().into(), capabilities: client.capabilities & PASSED };
    let level = endpoint.level_of(&user);
    let own_replay = endpoint.accounts.configured(&user).and_then(|user| user.transaction_replay);
    {
        let mut info = handle.info();
        info.user.clone_from(&user);
        info.consistency = level.name();
    }
    let pass = endpoint.sharding.as_ref().map(|sharding| sharding.gate.pass());
    Ok(Session {
        shared: shared.clone(),
        identity,
        client,
        handle: handle.clone(),
        peer,
        nonce: logged_in.nonce,
        user,
        password,
        key,
        collation: logged_in.collation,
        state,
        current: Default::default(),
        aside: None,
        running: Vec::new(),
        lacking: Default::default(),
        chosen_shard: None,
        temporary_catalog: None,
        lifted_limit: None,
        ignores_locks: false,
        prepares_for_accounts: false,
        transaction: Default::default(),
        rolled_back: None,
        replay: Default::default(),
        own_replay,
        table_locks: Default::default(),
        target: Default::default(),
        kill_on_its_way: false,
        level,
        seen: Default::default(),
        pass,
        batch_profile: None,
        riding: Riding::default(),
        admitted: None,
        circumstances: None,
        idle: shared.idle.enter(handle),
        timeouts: None,
        let_go: Rc::new(Notify::new()),
        held: false,
        defining: None,
        counted_as_pinned: false,
        shown_bindings: Default::default(),
        last_prepared: 0,
        ran: Default::default(),
        audited: false,
        audit_slot: None,
        deadline: Default::default(),
        slow_time: endpoint.oversight.logs.slow.as_ref().map(|log| log.min_time),
        sent_at: None,
        scratch: Vec::new(),
        _user_entry: user_entry,
        endpoint,
    })
}

impl Session {
    /// Has a server say that the user may log in, and enters the database. While no server can be asked, it waits for another writer as a
    /// statement does.
    pub(super) async fn enter(&mut self, logged_in: &LoggedIn) -> Result<(), Failure> {
        let end = Instant::now() + self.shared.home().group.settings().writer_wait;
        while let Err(failure) = self.verify(logged_in.unproved.is_some()).await {
            self.wait_for_entrance(failure, end).await?;
        }
        if let Some(database) = &logged_in.database {
            while let Err(failure) = self.enter_database(database).await {
                self.wait_for_entrance(failure, end).await?;
            }
        }
        Ok(())
    }

    /// Waits until a server may be there that was not when a login failed.
    ///
    /// # Errors
    /// The failure, if it is for another reason, if no other server can take the writer's place, or if it has lasted until `end`.
    async fn wait_for_entrance(&mut self, failure: Failure, end: Instant) -> Result<(), Failure> {
        let gone = [codes::CR_CONN_HOST_ERROR, codes::CR_SERVER_LOST].contains(&failure.code);
        let may_change = self.shared.shards.iter().any(|shard| shard.group.may_split());
        let next = (Instant::now() + AGAIN).min(end);
        if !gone || !may_change || next >= end {
            return Err(failure);
        }
        self.handle.set_state("Waiting for the writer");
        // Cancel-safe: nothing is taken from any of them but the fact that it is ready.
        tokio::select! {
            biased;
            () = tokio::time::sleep_until(next) => {}
            () = self.handle.bell.rung() => return Err(failure),
            _ = self.client.gone() => return Err(failure),
        }
        self.handle.set_state("");
        Ok(())
    }

    /// The OK that ends a login: it tells the database to clients that track it.
    pub(super) fn login_ok(&mut self) {
        let mut changes = Vec::new();
        if let Some(database) = &self.state.profile.database {
            put_session_change(&mut changes, &SessionChange::Schema(database));
        }
        self.client.put_ok(&OkPacket { changes: &changes, ..OkPacket::plain(self.state.own_status()) });
    }

    /// A connection to whichever server of the home shard is there to be asked: the writer, or while it is gone a reader.
    pub(super) async fn lend_at_login(&self, profile: &Profile, password: &Password) -> Result<Lease, Failure> {
        let mut refusal = None;
        for backend in self.shared.home().entrances() {
            let request = Request { key: &self.key, password, profile, patient: false, may_lack_database: false };
            match backend.pool.lend(request).await {
                Err(failure) if failure.code == codes::CR_CONN_HOST_ERROR => refusal = refusal.or(Some(failure)),
                leased => return leased,
            }
        }
        Err(refusal.unwrap_or_else(|| self.endpoint.home().writer().unreachable("there is no server")))
    }

    /// Whether the client negotiated this.
    pub(super) fn client_has(&self, capability: Capabilities) -> bool {
        self.client.capabilities.contains(capability)
    }
}
