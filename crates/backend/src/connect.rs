//! Making a connection to a server: socket, TLS, handshake, login.
//!
//! A password goes in clear over TLS or a unix socket only; the authentication machine of `wire` sees to that.

use std::io;
use std::sync::Arc;

use bytes::BytesMut;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use socket2::SockRef;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::TlsConnector;
use weir_wire::auth::{ClientAuth, ClientStep, Password};
use weir_wire::error::codes;
use weir_wire::frame::{PacketReader, put_packet};
use weir_wire::handshake::{Attributes, Greeting, HandshakeResponse, MAX_HANDSHAKE};
use weir_wire::packets::ErrPacket;
use weir_wire::{Capabilities, Failure, Fault};

use crate::address::Address;
use crate::patience::within;
use crate::server::{Server, Tls};
use crate::transport::{KEEPALIVE, Stream};

/// The collation of all handshakes with servers, utf8mb4_general_ci: the sessions' own are set afterwards.
pub const HANDSHAKE_COLLATION: u16 = 45;

/// What Weir always asks of a server, if the server has it.
const ALWAYS: Capabilities = Capabilities::LONG_PASSWORD
    .union(Capabilities::LONG_FLAG)
    .union(Capabilities::PROTOCOL_41)
    .union(Capabilities::TRANSACTIONS)
    .union(Capabilities::SECURE_CONNECTION)
    .union(Capabilities::PLUGIN_AUTH)
    .union(Capabilities::PLUGIN_AUTH_LENENC_DATA)
    .union(Capabilities::CONNECT_ATTRS)
    .union(Capabilities::SESSION_TRACK);

/// A connection just made.
#[derive(Debug)]
pub struct Connected {
    /// The stream.
    pub stream: Stream,
    /// The server's greeting.
    pub greeting: Greeting,
    /// What was negotiated.
    pub capabilities: Capabilities,
}

/// Whom to log in as.
#[derive(Debug, Clone)]
pub struct Login {
    /// The user's name.
    pub user: Arc<[u8]>,
    /// The password.
    pub password: Password,
    /// The default database, if it has one from the beginning: `init_connect` runs in it.
    pub database: Option<Box<[u8]>>,
    /// The capabilities that the session needs beyond [`ALWAYS`].
    pub capabilities: Capabilities,
}

/// Connects and logs in, within the server's bound.
///
/// # Errors
/// 2003 when the server can't be reached; the server's own error when it refuses the login.
pub async fn connect(server: &Server, login: &Login) -> Result<Connected, Failure> {
    let bound = server.reach().connect_timeout;
    let outcome = within(bound, Box::pin(connect_unbounded(server, login))).await;
    outcome.unwrap_or_else(|| Err(server.unreachable(&format!("no answer within {bound:?}"))))
}

async fn connect_unbounded(server: &Server, login: &Login) -> Result<Connected, Failure> {
    let down = |e: io::Error| server.unreachable(&e.to_string());
    let mut link = Link::new(open(&server.settings.address).await.map_err(down)?);
    let payload = link.read().await.map_err(down)?;
    refuse_error(&payload)?;
    let greeting = Greeting::parse(&payload).map_err(|e| server.unreachable(&e.to_string()))?;
    let mut capabilities = (ALWAYS | login.capabilities) & greeting.capabilities;
    if greeting.is_mariadb() {
        // Clear tells MariaDB that the extended capabilities are meant.
        capabilities.remove(Capabilities::LONG_PASSWORD);
    }
    if login.database.is_some() {
        capabilities.insert(Capabilities::CONNECT_WITH_DB);
    }
    let mut response = HandshakeResponse {
        capabilities,
        database: login.database.as_deref().map(<[u8]>::to_vec),
        max_packet: 1 << 30,
        collation: HANDSHAKE_COLLATION,
        user: login.user.to_vec(),
        attributes: Attributes::from_iter([("_client_name", "weir"), ("_client_version", env!("CARGO_PKG_VERSION"))]),
        ..HandshakeResponse::default()
    };
    if let Some(config) = tls_config(server, &greeting)? {
        response.capabilities |= Capabilities::SSL;
        link.write(&response.encode_ssl_request()).await.map_err(down)?;
        link.start_tls(config, &server.settings.address).await.map_err(down)?;
    }
    log_in(server, &mut link, &greeting, login, response).await?;
    Ok(Connected { stream: link.stream, greeting, capabilities })
}

async fn open(address: &Address) -> io::Result<Stream> {
    Ok(match address {
        Address::Tcp { host, port } => {
            let stream = TcpStream::connect((host.as_str(), *port)).await?;
            stream.set_nodelay(true)?;
            SockRef::from(&stream).set_tcp_keepalive(&KEEPALIVE)?;
            let stream = Stream::Tcp(stream);
            stream.give_up_unacknowledged(true);
            stream
        }
        Address::Unix(path) => Stream::Unix(UnixStream::connect(path).await?),
    })
}

fn tls_config(server: &Server, greeting: &Greeting) -> Result<Option<Arc<ClientConfig>>, Failure> {
    let offered = greeting.capabilities.contains(Capabilities::SSL);
    match &server.reach().tls {
        Tls::Off => Ok(None),
        Tls::Preferred(config) => Ok(offered.then(|| config.clone())),
        Tls::Required(config) if offered => Ok(Some(config.clone())),
        Tls::Required(_) => Err(server.unreachable("TLS is required, and the server does not offer it")),
    }
}

async fn log_in(
    server: &Server,
    link: &mut Link,
    greeting: &Greeting,
    login: &Login,
    mut response: HandshakeResponse,
) -> Result<(), Failure> {
    let down = |e: io::Error| server.unreachable(&e.to_string());
    let refused = |e: weir_wire::auth::AuthError| server.unreachable(&format!("login: {e}"));
    let channel = link.stream.channel();
    let mut auth =
        ClientAuth::new(&greeting.auth_plugin, &greeting.nonce, login.password.clone(), channel).map_err(refused)?;
    let (plugin, bytes) = auth.initial_response();
    response.auth_plugin = plugin.into();
    response.auth = bytes;
    link.write(&response.encode()).await.map_err(down)?;
    loop {
        let payload = link.read().await.map_err(down)?;
        match auth.on_packet(&payload).map_err(refused)? {
            ClientStep::Send(answer) => link.write(&answer).await.map_err(down)?,
            ClientStep::Wait => {}
            ClientStep::Done => return refuse_error(&payload),
        }
    }
}

/// A server's ERR packet becomes the client's error.
fn refuse_error(payload: &[u8]) -> Result<(), Failure> {
    if payload.first() != Some(&0xff) {
        return Ok(());
    }
    match ErrPacket::parse(payload) {
        Ok(err) => Err(server_failure(&err)),
        Err(e) => Err(Failure::server(codes::ER_UNKNOWN_ERROR, e.to_string())),
    }
}

/// The failure that a server's ERR packet tells.
pub fn server_failure(err: &ErrPacket<'_>) -> Failure {
    Failure::new(Fault::Server, err.code, &err.sqlstate, String::from_utf8_lossy(err.message))
}

/// A stream on which packets alternate, as in the handshake.
struct Link {
    stream: Stream,
    input: BytesMut,
    packets: PacketReader,
}

impl Link {
    fn new(stream: Stream) -> Link {
        Link { stream, input: BytesMut::new(), packets: PacketReader::new() }
    }

    async fn read(&mut self) -> io::Result<BytesMut> {
        loop {
            if let Some(payload) = self.packets.next(&mut self.input, MAX_HANDSHAKE).map_err(io::Error::other)? {
                return Ok(payload);
            }
            if self.stream.read_buf(&mut self.input).await? == 0 {
                return Err(io::Error::new(
                    io::ErrorKind::UnexpectedEof,
                    "the server closed the connection during login",
                ));
            }
        }
    }

    async fn write(&mut self, payload: &[u8]) -> io::Result<()> {
        let mut out = BytesMut::new();
        let seq = put_packet(&mut out, self.packets.next_seq(), payload);
        self.packets.set_next_seq(seq);
        self.stream.write_all(&out).await?;
        self.stream.flush().await
    }

    async fn start_tls(&mut self, config: Arc<ClientConfig>, address: &Address) -> io::Result<()> {
        let host = match address {
            Address::Tcp { host, .. } => host.clone(),
            Address::Unix(_) => "localhost".to_owned(),
        };
        let name = ServerName::try_from(host).map_err(io::Error::other)?;
        self.stream.connect_tls(&TlsConnector::from(config), name).await
    }
}
