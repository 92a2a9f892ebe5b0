//! Listening, and dealing accepted clients to the workers.

use std::future::Future;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::BytesMut;
use socket2::{Domain, Protocol, SockRef, Socket as RawSocket, Type};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use weir_backend::transport::send_unpaced;
use weir_frontend::worker::{Peer, Socket};
use weir_frontend::{Door, Endpoint, Incoming, Worker};
use weir_wire::error::codes;
use weir_wire::frame::put_packet;
use weir_wire::packets::encode_failure;
use weir_wire::{Failure, Fault};

use super::ServeError;
use crate::config::address::Network;
use crate::config::checked::{Listen, ListenSocket};

/// After an error of accept that is the process's own (no free files, say): a pause instead of a busy loop.
const PAUSE: Duration = Duration::from_millis(50);

/// What Weir listens on.
pub(super) struct Listeners {
    tcp: Vec<TcpListener>,
    unix: Option<(std::os::unix::net::UnixListener, PathBuf)>,
    proxied: Arc<Vec<Network>>,
}

impl Drop for Listeners {
    fn drop(&mut self) {
        if let Some((_, path)) = &self.unix {
            let _ = std::fs::remove_file(path);
        }
    }
}

impl Listeners {
    /// Binds all addresses and the socket.
    pub(super) fn bind(listen: &Listen) -> Result<Listeners, ServeError> {
        let at = |address: String| move |source| ServeError::Listen { address, source };
        let mut tcp = Vec::new();
        for address in &listen.addresses {
            tcp.push(bind_tcp(*address, listen.backlog).map_err(at(address.to_string()))?);
        }
        let unix = match &listen.socket {
            Some(socket) => {
                let listener = bind_unix(socket).map_err(at(socket.path.display().to_string()))?;
                Some((listener, socket.path.clone()))
            }
            None => None,
        };
        Ok(Listeners { tcp, unix, proxied: Arc::new(listen.proxy_protocol_networks.clone()) })
    }

    /// The bound addresses, for people.
    pub(super) fn addresses(&self) -> Vec<String> {
        let mut all: Vec<_> = self.tcp.iter().filter_map(|l| l.local_addr().ok()).map(|a| a.to_string()).collect();
        all.extend(self.unix.iter().map(|(_, path)| path.display().to_string()));
        all
    }

    /// Accepts clients and deals them to the workers in turn, until `stop` resolves.
    pub(super) async fn accept_until(
        &mut self,
        stop: impl Future<Output = ()>,
        endpoint: &Arc<Endpoint>,
        workers: &[Worker],
    ) {
        let dealer = Dealer {
            endpoint: endpoint.clone(),
            doors: workers.iter().map(|worker| worker.door().clone()).collect(),
            proxied: self.proxied.clone(),
            turn: AtomicUsize::new(0),
        };
        let dealer = Arc::new(dealer);
        let mut accepting = tokio::task::JoinSet::new();
        for listener in self.tcp.drain(..) {
            accepting.spawn(accept(listener, dealer.clone(), accept_tcp));
        }
        if let Some((listener, _)) = &self.unix
            && let Ok(listener) = listener.try_clone()
        {
            accepting.spawn(accept(listener, dealer.clone(), accept_unix));
        }
        stop.await;
    }
}

/// Deals clients to workers in turn.
struct Dealer {
    endpoint: Arc<Endpoint>,
    doors: Vec<Door>,
    proxied: Arc<Vec<Network>>,
    turn: AtomicUsize,
}

impl Dealer {
    /// Enters a client in the registry and hands it over; tells it when there are too many.
    fn deal(&self, client: Incoming) {
        let Ok(handle) = self.endpoint.registry.enter(client.peer.shown()) else { return self.refuse(&client) };
        self.endpoint.metrics.accepted.inc();
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        if !self.doors[turn % self.doors.len()].deal(client, handle.clone()) {
            self.endpoint.registry.leave(&handle);
        }
    }

    fn refuse(&self, client: &Incoming) {
        self.endpoint.metrics.refused.inc();
        let failure = Failure::new(Fault::Client, codes::ER_CON_COUNT_ERROR, b"08004", "Too many connections");
        let mut packet = BytesMut::new();
        put_packet(&mut packet, 0, &encode_failure(&failure));
        // It fits into a new socket's buffer: the write does not wait.
        let _ = match &client.socket {
            Socket::Tcp(socket) => SockRef::from(socket).send(&packet),
            Socket::Unix(socket) => SockRef::from(socket).send(&packet),
        };
    }
}

/// Accepts clients for as long as it is polled. The sockets are registered with a runtime by their worker, not here.
async fn accept<L: AsRawFd + Send + Sync>(
    listener: L,
    dealer: Arc<Dealer>,
    accept_one: fn(&L, &Dealer) -> io::Result<Incoming>,
) {
    #[expect(
        deprecated,
        reason = "what takes its place is unsafe, and the standard library's listeners own their descriptor"
    )]
    let listener = match AsyncFd::with_interest(listener, Interest::READABLE) {
        Ok(listener) => listener,
        Err(error) => return tracing::error!(%error, "a listener can't be watched"),
    };
    loop {
        match listener.async_io(Interest::READABLE, |listener| accept_one(listener, &dealer)).await {
            Ok(client) => dealer.deal(client),
            Err(error) => pause(&error).await,
        }
    }
}

fn accept_tcp(listener: &TcpListener, dealer: &Dealer) -> io::Result<Incoming> {
    let (socket, address) = listener.accept()?;
    socket.set_nonblocking(true)?;
    let proxied = dealer.proxied.iter().any(|network| network.contains(address.ip()));
    Ok(Incoming { socket: Socket::Tcp(socket), peer: Peer::Tcp(address.ip(), address.port()), proxied })
}

fn accept_unix(listener: &std::os::unix::net::UnixListener, _: &Dealer) -> io::Result<Incoming> {
    let (socket, _) = listener.accept()?;
    socket.set_nonblocking(true)?;
    Ok(Incoming { socket: Socket::Unix(socket), peer: Peer::Local, proxied: false })
}

async fn pause(error: &io::Error) {
    tracing::warn!(%error, "a connection could not be accepted");
    tokio::time::sleep(PAUSE).await;
}

fn bind_tcp(address: SocketAddr, backlog: u32) -> io::Result<TcpListener> {
    let socket = RawSocket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    // A port whose last connections still linger is free to its next owner.
    socket.set_reuse_address(true)?;
    // Accepted sockets inherit both.
    socket.set_tcp_nodelay(true)?;
    if address.ip().is_loopback() {
        send_unpaced(&SockRef::from(&socket));
    }
    socket.bind(&address.into())?;
    socket.listen(i32::try_from(backlog).unwrap_or(i32::MAX))?;
    socket.set_nonblocking(true)?;
    Ok(socket.into())
}

/// Binds the HTTP address of the metrics.
pub(super) fn bind_http(address: SocketAddr) -> Result<TcpListener, ServeError> {
    bind_tcp(address, 64).map_err(|source| ServeError::Listen { address: address.to_string(), source })
}

fn bind_unix(socket: &ListenSocket) -> io::Result<std::os::unix::net::UnixListener> {
    remove_dead_socket(&socket.path)?;
    let listener = std::os::unix::net::UnixListener::bind(&socket.path)?;
    std::fs::set_permissions(&socket.path, std::fs::Permissions::from_mode(socket.mode))?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Removes a socket that nobody listens on any more; one in use is an error.
fn remove_dead_socket(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::FileTypeExt;
    let is_socket = std::fs::symlink_metadata(path).is_ok_and(|meta| meta.file_type().is_socket());
    if !is_socket {
        return Ok(());
    }
    match std::os::unix::net::UnixStream::connect(path) {
        Ok(_) => Err(io::Error::new(io::ErrorKind::AddrInUse, "another process listens on this socket")),
        Err(_) => std::fs::remove_file(path),
    }
}
