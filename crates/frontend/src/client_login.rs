//! The connection phase with a client: PROXY header, greeting, TLS, authentication; and COM_CHANGE_USER's part of it.
//!
//! Until a client is authenticated a packet may be at most 64 KiB, and all of this has one time limit, which the
//! caller keeps.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use tokio::io::AsyncReadExt;
use tokio::time::Instant;
use tokio_rustls::TlsAcceptor;
use weir_admin::logs::{Event, Who};
use weir_admin::network::allows;
use weir_admin::sessions::SessionHandle;
use weir_backend::{Identity, Stream};
use weir_wire::auth::{AuthError, Greeted, Offer, Password, Scramble, ServerAuth, ServerStep};
use weir_wire::compress::Algorithm;
use weir_wire::error::codes;
use weir_wire::handshake::{Greeting, HandshakeResponse, MAX_HANDSHAKE, is_ssl_request};
use weir_wire::proxy_protocol::{Decoded, decode};
use weir_wire::{Capabilities, Failure, StatusFlags};

use crate::client::{Client, ClientError, SharedContexts};
use crate::endpoint::Endpoint;
use crate::incoming::Peer;

/// What Weir offers if the server has it: a statement that uses it is forwarded as it is.
pub(crate) const PASSED: Capabilities = Capabilities::FOUND_ROWS
    .union(Capabilities::NO_SCHEMA)
    .union(Capabilities::ODBC)
    .union(Capabilities::LOCAL_FILES)
    .union(Capabilities::INTERACTIVE)
    .union(Capabilities::MULTI_STATEMENTS)
    .union(Capabilities::MULTI_RESULTS)
    .union(Capabilities::PS_MULTI_RESULTS)
    .union(Capabilities::DEPRECATE_EOF)
    .union(Capabilities::QUERY_ATTRIBUTES)
    .union(Capabilities::CAN_HANDLE_EXPIRED_PASSWORDS)
    .union(Capabilities::MARIADB_EXTENDED_METADATA);

/// What Weir does itself, whatever the server can do.
const OWN: Capabilities = Capabilities::LONG_FLAG
    .union(Capabilities::IGNORE_SPACE)
    .union(Capabilities::CONNECT_WITH_DB)
    .union(Capabilities::PROTOCOL_41)
    .union(Capabilities::TRANSACTIONS)
    .union(Capabilities::RESERVED)
    .union(Capabilities::SECURE_CONNECTION)
    .union(Capabilities::PLUGIN_AUTH)
    .union(Capabilities::CONNECT_ATTRS)
    .union(Capabilities::PLUGIN_AUTH_LENENC_DATA)
    .union(Capabilities::SESSION_TRACK);

/// Between two looks whether the home shard's writer has answered for the first time.
const FIRST_LOOK: Duration = Duration::from_millis(10);

/// Why a login did not come to be.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LoginError {
    /// Nothing can be said to the client any more.
    #[error("{0}")]
    Client(#[from] ClientError),
    /// The client is told.
    #[error("{0}")]
    Refused(#[from] Failure),
}

impl From<std::io::Error> for LoginError {
    fn from(error: std::io::Error) -> Self {
        LoginError::Client(error.into())
    }
}

/// A client that has proved who it is, or whose password a server must prove.
pub(crate) struct LoggedIn {
    pub(crate) user: String,
    pub(crate) database: Option<Vec<u8>>,
    pub(crate) collation: u16,
    /// A password that the client told and nothing has proved yet.
    pub(crate) unproved: Option<Password>,
    /// For COM_CHANGE_USER.
    pub(crate) nonce: Scramble,
}

fn refused(code: u16, message: impl Into<String>) -> LoginError {
    LoginError::Refused(Failure::client(code, message))
}

/// Reads the PROXY header that the connection must begin with, and returns the client's address in it.
pub(crate) async fn read_proxy_header(stream: &mut Stream) -> Result<Option<SocketAddr>, LoginError> {
    let mut header = BytesMut::with_capacity(256);
    let mut byte = [0];
    loop {
        // Byte by byte: what follows the header is the client's, and must stay in the socket.
        if stream.read(&mut byte).await? == 0 {
            return Err(ClientError::Gone.into());
        }
        header.extend_from_slice(&byte);
        match decode(&header).map_err(std::io::Error::other)? {
            Decoded::Incomplete => {}
            Decoded::Header { source, .. } => return Ok(source),
            Decoded::NotProxy => return Err(std::io::Error::other("no PROXY protocol header").into()),
        }
    }
}

/// Greets the client and authenticates it. Compression waits: [`start_compression`] is called after the OK.
pub(crate) async fn log_in(
    endpoint: &Endpoint,
    client: &mut Client,
    handle: &SessionHandle,
    peer: &Peer,
) -> Result<(LoggedIn, HandshakeResponse), LoginError> {
    let origin = Origin { session: handle.id, peer };
    check_host(endpoint, origin)?;
    let identity = known_server(endpoint).await?;
    let nonce = Scramble::generate().map_err(auth_failure)?;
    let offered = offer(endpoint, &identity);
    let greeting = Greeting {
        version: identity.version.clone(),
        connection_id: handle.id,
        nonce: nonce.0,
        capabilities: offered,
        collation: identity.collation,
        status: StatusFlags::AUTOCOMMIT,
        auth_plugin: endpoint.accounts.greeting_plugin(identity.mariadb).name().into(),
    };
    client.put(&greeting.encode());
    client.flush().await?;
    let mut payload = client.packet_alone(MAX_HANDSHAKE).await?;
    if is_ssl_request(&payload) {
        let Some(config) = endpoint.tls.load_full() else {
            return Err(std::io::Error::other("the client asks for TLS, which was not offered").into());
        };
        client.start_tls(&TlsAcceptor::from(config)).await?;
        payload = client.packet(MAX_HANDSHAKE).await?;
    }
    let mut response = HandshakeResponse::parse(&payload, identity.mariadb)
        .map_err(|e| refused(codes::ER_HANDSHAKE_ERROR, format!("Bad handshake: {e}")))?;
    response.capabilities &= offered | Capabilities::LONG_PASSWORD;
    client.capabilities = response.capabilities;
    client.note_library(&response.attributes);
    if endpoint.settings.load().require_tls && !client.stream().channel().is_secure() {
        return Err(refused(
            codes::ER_SECURE_TRANSPORT_REQUIRED,
            "Connections using insecure transport are prohibited: use TLS",
        ));
    }
    if endpoint.settings.load().require_compression
        && !client.capabilities.intersects(Capabilities::COMPRESS | Capabilities::ZSTD_COMPRESSION)
    {
        return Err(refused(
            codes::ER_WRONG_COMPRESSION_ALGORITHM_CLIENT,
            "Uncompressed connections are not in clients.compression: use zlib or zstd",
        ));
    }
    let plugin = client.capabilities.contains(Capabilities::PLUGIN_AUTH).then_some(&response.auth_plugin[..]);
    let offer = Offer { plugin, response: &response.auth };
    let greeted = Greeted { nonce, plugin: Some(endpoint.accounts.greeting_plugin(identity.mariadb)) };
    let (user, unproved) = prove(endpoint, client, origin, &response.user, greeted, offer).await?;
    let (database, collation) = (response.database.clone(), response.collation);
    Ok((LoggedIn { user, database, collation, unproved, nonce }, response))
}

/// What clients are told of the server. Weir may have just started: then its first answer is waited for, unless there will be none.
async fn known_server(endpoint: &Endpoint) -> Result<Arc<Identity>, LoginError> {
    // Half of what the whole login may take, so that the client hears what it lacks.
    let until = Instant::now() + endpoint.settings.load().handshake_timeout / 2;
    loop {
        if let Some(identity) = endpoint.identity() {
            return Ok(identity);
        }
        let writer = endpoint.home().writer();
        if let Some(failure) = writer.refusal() {
            return Err(failure.into());
        }
        if Instant::now() >= until {
            return Err(writer.unreachable("it has not answered yet").into());
        }
        tokio::time::sleep(FIRST_LOOK).await;
    }
}

fn offer(endpoint: &Endpoint, identity: &Identity) -> Capabilities {
    let mut offered = OWN | (identity.capabilities & (PASSED | Capabilities::IGNORE_SIGPIPE));
    // A MariaDB server is known by this bit being clear.
    offered.set(Capabilities::LONG_PASSWORD, !identity.mariadb);
    offered.set(Capabilities::SSL, endpoint.tls.load().is_some());
    offered.set(Capabilities::COMPRESS, endpoint.settings.load().compression.zlib);
    offered.set(Capabilities::ZSTD_COMPRESSION, endpoint.settings.load().compression.zstd);
    offered
}

/// Whose login it is, as far as that needs no proof.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Origin<'a> {
    /// The session's id.
    pub(crate) session: u32,
    /// Where the client comes from.
    pub(crate) peer: &'a Peer,
}

/// Runs the exchange that proves a user's password. Returns the user, and the password if a server must prove it.
pub(crate) async fn prove(
    endpoint: &Endpoint,
    client: &mut Client,
    origin: Origin<'_>,
    user: &[u8],
    greeted: Greeted,
    offer: Offer<'_>,
) -> Result<(String, Option<Password>), LoginError> {
    let user = String::from_utf8(user.to_vec())
        .map_err(|_| refused(codes::ER_HANDSHAKE_ERROR, "Bad handshake: the user name is not UTF-8"))?;
    let mariadb = endpoint.identity().is_some_and(|identity| identity.mariadb);
    let account = endpoint.accounts.lookup(&user, mariadb, offer.plugin);
    let channel = client.stream().channel();
    // Making the key takes time: only a client that may need it waits for it.
    let rsa = if channel.is_secure() { None } else { endpoint.rsa_key() };
    let (mut exchange, mut step) = ServerAuth::begin(account, greeted, channel, rsa, offer).map_err(auth_failure)?;
    loop {
        match step {
            ServerStep::Send(payload) => {
                client.put(&payload);
                client.flush().await?;
                let answer = client.packet(MAX_HANDSHAKE).await?;
                step = exchange.on_packet(&answer);
            }
            ServerStep::Accept { .. } if !may_come_from(endpoint, &user, origin.peer) => {
                return Err(denied(endpoint, origin, &user, true));
            }
            ServerStep::Accept { send_first, password, verified } => {
                if let Some(payload) = send_first {
                    client.put(&payload);
                }
                let unproved = if verified { None } else { password };
                return Ok((user, unproved));
            }
            ServerStep::Reject { using_password } => {
                return Err(denied(endpoint, origin, &user, using_password));
            }
        }
    }
}

fn may_come_from(endpoint: &Endpoint, user: &str, peer: &Peer) -> bool {
    endpoint.accounts.configured(user).is_none_or(|user| allows(&user.allow, peer.ip()))
}

fn denied(endpoint: &Endpoint, origin: Origin<'_>, user: &str, using_password: bool) -> LoginError {
    endpoint.metrics.denied.inc();
    let failure = access_denied(user, origin.peer, using_password);
    audit_refusal(endpoint, origin, user, &failure);
    LoginError::Refused(failure)
}

/// MySQL's error 1130, for a client that may not connect from where it is.
fn check_host(endpoint: &Endpoint, origin: Origin<'_>) -> Result<(), LoginError> {
    let peer = origin.peer;
    if allows(&endpoint.settings.load().allow, peer.ip()) {
        return Ok(());
    }
    endpoint.metrics.denied.inc();
    let host = peer.ip().map_or_else(|| peer.host(), |ip| ip.to_string());
    let message = format!("Host '{host}' is not allowed to connect to this MySQL server");
    let failure = Failure::client(codes::ER_HOST_NOT_PRIVILEGED, message);
    audit_refusal(endpoint, origin, "", &failure);
    Err(LoginError::Refused(failure))
}

/// Takes down in the audit log that a login was refused.
pub(crate) fn audit_refusal(endpoint: &Endpoint, origin: Origin<'_>, user: &str, failure: &Failure) {
    if let Some(audit) = &endpoint.oversight.logs.audit {
        let Origin { session, peer } = origin;
        let who = || Who { session, user: user.to_owned(), host: peer.shown(), db: None };
        audit.event(Event::FailedLogin, who, |line| line.with_error(Some(failure.code)));
    }
}

/// MySQL's error 1045.
pub(crate) fn access_denied(user: &str, peer: &Peer, using_password: bool) -> Failure {
    let using = if using_password { "YES" } else { "NO" };
    let message = format!("Access denied for user '{user}'@'{}' (using password: {using})", peer.host());
    Failure::client(codes::ER_ACCESS_DENIED_ERROR, message)
}

fn auth_failure(error: AuthError) -> LoginError {
    let code = match error {
        AuthError::ClientTooOld(_) => codes::ER_NOT_SUPPORTED_AUTH_MODE,
        AuthError::InsecureChannel(_) => codes::ER_SECURE_TRANSPORT_REQUIRED,
        _ => codes::ER_HANDSHAKE_ERROR,
    };
    refused(code, error.to_string())
}

/// Starts the compression that the client has chosen, right after the OK that ends the login.
pub(crate) fn start_compression(
    client: &mut Client,
    response: &HandshakeResponse,
    contexts: &SharedContexts,
) -> Result<(), ClientError> {
    if client.capabilities.contains(Capabilities::COMPRESS) {
        client.compress(Algorithm::Zlib, Algorithm::Zlib.default_level(), contexts)
    } else if client.capabilities.contains(Capabilities::ZSTD_COMPRESSION) {
        let level = response.zstd_level.clamp(1, Algorithm::Zstd.highest_level());
        client.compress(Algorithm::Zstd, level, contexts)
    } else {
        Ok(())
    }
}
