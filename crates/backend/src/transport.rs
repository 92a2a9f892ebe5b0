//! The byte streams of both sides: TCP, unix sockets, TLS over either.

mod low_water;
mod silence;

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use rustls::pki_types::ServerName;
use socket2::{SockRef, TcpKeepalive};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::{TlsAcceptor, TlsConnector, TlsStream};
use weir_wire::auth::Channel;

/// How often the system probes an idle TCP connection, to clients and to servers: a peer that vanished without a word (its host, or a NAT
/// gateway's entry, is gone) is found out after two minutes, instead of the system's two hours.
pub const KEEPALIVE: TcpKeepalive =
    TcpKeepalive::new().with_time(Duration::from_secs(60)).with_interval(Duration::from_secs(15)).with_retries(4);

/// How long the system waits for a peer to acknowledge what was sent, before it gives the connection up: as long as [`KEEPALIVE`] takes,
/// which does not probe while something is on its way. The system's own bound is a quarter of an hour.
pub const UNACKNOWLEDGED: Duration = Duration::from_secs(120);

/// A connected stream.
#[derive(Debug)]
pub enum Stream {
    /// Plain TCP.
    Tcp(TcpStream),
    /// A unix socket.
    Unix(UnixStream),
    /// TLS over TCP.
    Tls(Box<TlsStream<TcpStream>>),
    /// TLS over a unix socket.
    TlsUnix(Box<TlsStream<UnixStream>>),
    /// Nothing: a placeholder for a stream while TLS is put around it.
    Closed,
}

impl Stream {
    /// Whether others can read what is sent.
    pub fn channel(&self) -> Channel {
        match self {
            Stream::Tcp(_) => Channel::Insecure,
            Stream::Unix(_) => Channel::UnixSocket,
            Stream::Tls(_) | Stream::TlsUnix(_) => Channel::Secure,
            Stream::Closed => Channel::Insecure,
        }
    }

    /// The cipher suite and the version of its TLS, by their names in OpenSSL, if it has any.
    pub fn tls(&self) -> Option<(String, &'static str)> {
        let state = match self {
            Stream::Tls(s) => s.get_ref().1,
            Stream::TlsUnix(s) => s.get_ref().1,
            Stream::Tcp(_) | Stream::Unix(_) | Stream::Closed => return None,
        };
        let version = match state.protocol_version()? {
            rustls::ProtocolVersion::TLSv1_2 => "TLSv1.2",
            _ => "TLSv1.3",
        };
        let suite = format!("{:?}", state.negotiated_cipher_suite()?.suite());
        Some((openssl_name(&suite), version))
    }

    /// Puts TLS around the stream, as its client.
    ///
    /// # Errors
    /// When the handshake fails; the stream is closed then.
    pub async fn connect_tls(&mut self, connector: &TlsConnector, name: ServerName<'static>) -> io::Result<()> {
        *self = match std::mem::replace(self, Stream::Closed) {
            Stream::Tcp(s) => Stream::Tls(Box::new(connector.connect(name, s).await?.into())),
            Stream::Unix(s) => Stream::TlsUnix(Box::new(connector.connect(name, s).await?.into())),
            other => other,
        };
        Ok(())
    }

    /// Puts TLS around the stream, as its server.
    ///
    /// # Errors
    /// When the handshake fails; the stream is closed then.
    pub async fn accept_tls(&mut self, acceptor: &TlsAcceptor) -> io::Result<()> {
        *self = match std::mem::replace(self, Stream::Closed) {
            Stream::Tcp(s) => Stream::Tls(Box::new(acceptor.accept(s).await?.into())),
            Stream::Unix(s) => Stream::TlsUnix(Box::new(acceptor.accept(s).await?.into())),
            other => other,
        };
        Ok(())
    }

    /// Whether an idle stream has been closed by its peer, or holds bytes that nobody asked for. Looks without
    /// waiting, and takes nothing off a live stream.
    pub fn is_stale(&self) -> bool {
        let mut byte = [0];
        let outcome = match self {
            Stream::Tcp(s) => s.try_read(&mut byte),
            Stream::Unix(s) => s.try_read(&mut byte),
            Stream::Tls(s) => s.get_ref().0.try_read(&mut byte),
            Stream::TlsUnix(s) => s.get_ref().0.try_read(&mut byte),
            Stream::Closed => return true,
        };
        !matches!(outcome, Err(e) if e.kind() == io::ErrorKind::WouldBlock)
    }
}

/// The name that OpenSSL gives a cipher suite, of the standard's, or of rustls' for TLS 1.3.
fn openssl_name(suite: &str) -> String {
    if let Some(rest) = suite.strip_prefix("TLS13_") {
        return format!("TLS_{rest}");
    }
    let name = suite.strip_prefix("TLS_").unwrap_or(suite).replace("_WITH_", "_").replace("AES_", "AES");
    let name = name.replace('_', "-");
    match name.strip_suffix("-SHA256") {
        Some(short) if short.ends_with("POLY1305") => short.to_owned(),
        _ => name,
    }
}

impl Stream {
    /// Has a TCP socket report itself readable only when `bytes` have come (SO_RCVLOWAT, socket(7)); 1 is the system's
    /// default. Of no effect on others.
    pub fn set_receive_low_water(&self, bytes: usize) {
        match self {
            Stream::Tcp(s) => low_water::set(s, bytes),
            Stream::Tls(s) => low_water::set(s.get_ref().0, bytes),
            Stream::Unix(_) | Stream::TlsUnix(_) | Stream::Closed => {}
        }
    }
}

impl Stream {
    /// For how long a TCP peer has acknowledged nothing, if the system waits for it to. `None` for others.
    pub fn silent_for(&self) -> Option<Duration> {
        match self {
            Stream::Tcp(s) => silence::of(s),
            Stream::Tls(s) => silence::of(s.get_ref().0),
            Stream::Unix(_) | Stream::TlsUnix(_) | Stream::Closed => None,
        }
    }

    /// Whether a TCP connection is given up when its peer takes nothing for [`UNACKNOWLEDGED`]. The system counts a peer whose window is
    /// closed, which is alive, as one that acknowledges nothing. Of no effect on others.
    pub fn give_up_unacknowledged(&self, on: bool) {
        let socket = match self {
            Stream::Tcp(s) => s,
            Stream::Tls(s) => s.get_ref().0,
            Stream::Unix(_) | Stream::TlsUnix(_) | Stream::Closed => return,
        };
        // Without it, the system's own bound holds.
        let _ = SockRef::from(socket).set_tcp_user_timeout(on.then_some(UNACKNOWLEDGED));
    }
}

macro_rules! each {
    ($self:expr, $s:ident => $call:expr) => {
        match $self.get_mut() {
            Stream::Closed => Poll::Ready(Err(io::ErrorKind::NotConnected.into())),
            Stream::Tcp($s) => $call,
            Stream::Unix($s) => $call,
            Stream::Tls($s) => $call,
            Stream::TlsUnix($s) => $call,
        }
    };
}

impl AsyncRead for Stream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match each!(self, s => Pin::new(s).poll_read(cx, buf)) {
            // A peer that ends without TLS's own farewell, as servers do on KILL, ends as one without TLS: packets say how long they are.
            Poll::Ready(Err(error)) if error.kind() == io::ErrorKind::UnexpectedEof => Poll::Ready(Ok(())),
            read => read,
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        each!(self, s => Pin::new(s).poll_write(cx, buf))
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        each!(self, s => Pin::new(s).poll_flush(cx))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        each!(self, s => Pin::new(s).poll_shutdown(cx))
    }
}

#[cfg(test)]
mod tests {
    use super::openssl_name;

    #[test]
    fn cipher_suites_have_the_names_of_openssl() {
        let cases = [
            ("TLS13_AES_256_GCM_SHA384", "TLS_AES_256_GCM_SHA384"),
            ("TLS13_CHACHA20_POLY1305_SHA256", "TLS_CHACHA20_POLY1305_SHA256"),
            ("TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "ECDHE-RSA-AES128-GCM-SHA256"),
            ("TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", "ECDHE-ECDSA-AES256-GCM-SHA384"),
            ("TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-RSA-CHACHA20-POLY1305"),
        ];
        for (suite, name) in cases {
            assert_eq!(openssl_name(suite), name);
        }
    }
}
