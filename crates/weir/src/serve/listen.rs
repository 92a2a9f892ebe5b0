//! Listening, and dealing accepted clients to the workers.

use std::future::Future;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use rustix::net::{SocketFlags, acceptfrom_with};
use socket2::{Domain, Protocol, SockRef, Socket as RawSocket, Type};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::sync::watch;
use weir_admin::network::Network;
use weir_backend::transport::KEEPALIVE;
use weir_frontend::{Door, Endpoint, Incoming, Worker};
use weir_frontend::{Peer, Socket};
use weir_wire::Failure;
use weir_wire::error::codes;
use weir_wire::frame::put_packet;
use weir_wire::packets::encode_failure;

use super::ServeError;
use super::takeover::{Inherited, Name, Offer};
use crate::config::checked::{Listen, ListenSocket};

/// After an error of accept that is the process's own (no free files, say): a pause instead of a busy loop.
const PAUSE: Duration = Duration::from_millis(50);
/// Connections to an HTTP address that may wait to be accepted.
const HTTP_BACKLOG: u32 = 64;
/// Workers that accept clients, if there are as many. All of them are woken for each client.
const ACCEPTING: usize = 2;

/// What Weir listens on for clients.
pub(super) struct Listeners {
    tcp: Vec<Arc<TcpListener>>,
    unix: Option<(Arc<UnixListener>, PathBuf)>,
    proxied: Arc<Vec<Network>>,
    /// The file of the Unix socket belongs to another process now.
    given_up: bool,
}

impl Drop for Listeners {
    fn drop(&mut self) {
        if let Some((_, path)) = &self.unix
            && !self.given_up
        {
            let _ = std::fs::remove_file(path);
        }
    }
}

impl Listeners {
    /// Takes what was inherited, binds what was not, and offers all of it to a successor.
    pub(super) fn bind(listen: &Listen, inherited: &mut Inherited, offer: &Offer) -> Result<Listeners, ServeError> {
        let at = |address: String| move |source| ServeError::Listen { address, source };
        let mut tcp = Vec::new();
        for address in &listen.addresses {
            let name = Name::Clients(address.to_string());
            let listener = tcp_listener(*address, listen.backlog, name, inherited, offer);
            tcp.push(Arc::new(listener.map_err(at(address.to_string()))?));
        }
        let unix = match &listen.socket {
            Some(socket) => {
                let listener = unix_listener(socket, inherited, offer);
                let listener = listener.map_err(at(socket.path.display().to_string()))?;
                Some((Arc::new(listener), socket.path.clone()))
            }
            None => None,
        };
        let proxied = Arc::new(listen.proxy_protocol_networks.clone());
        Ok(Listeners { tcp, unix, proxied, given_up: false })
    }

    /// A successor has the sockets: they are closed here, and their files are left.
    pub(super) fn give_up(mut self) {
        self.given_up = true;
    }

    /// The bound addresses, for people.
    pub(super) fn addresses(&self) -> Vec<String> {
        let mut all: Vec<_> = self.tcp.iter().filter_map(|l| l.local_addr().ok()).map(|a| a.to_string()).collect();
        all.extend(self.unix.iter().map(|(_, path)| path.display().to_string()));
        all
    }

    /// Accepts clients and deals them to the workers, until `stop` resolves. Then nobody accepts, and those who come wait
    /// in the kernel's queue for as long as this lives.
    pub(super) async fn accept_until<T>(
        &self,
        stop: impl Future<Output = T>,
        endpoint: &Arc<Endpoint>,
        workers: &[Worker],
    ) -> T {
        let dealer = Arc::new(Dealer {
            endpoint: endpoint.clone(),
            doors: workers.iter().map(|worker| worker.door().clone()).collect(),
            proxied: self.proxied.clone(),
        });
        let (stopping, stopped) = watch::channel(());
        for listener in &self.tcp {
            dealer.listen(listener.clone(), accept_tcp, &stopped);
        }
        if let Some((listener, _)) = &self.unix {
            dealer.listen(listener.clone(), accept_unix, &stopped);
        }
        drop(stopped);
        let why = stop.await;
        let _ = stopping.send(());
        stopping.closed().await;
        why
    }
}

/// Deals clients to workers.
struct Dealer {
    endpoint: Arc<Endpoint>,
    doors: Vec<Door>,
    proxied: Arc<Vec<Network>>,
}

impl Dealer {
    /// Has workers accept a listener's clients until the sender of `stopped` says so; all receivers are gone then.
    fn listen<L>(self: &Arc<Self>, listener: Arc<L>, accept_one: AcceptOne<L>, stopped: &watch::Receiver<()>)
    where
        L: AsRawFd + Send + Sync + 'static,
    {
        for (own, door) in self.doors.iter().enumerate().take(ACCEPTING) {
            let (dealer, listener, mut stopped) = (self.clone(), listener.clone(), stopped.clone());
            door.run(Box::new(move || {
                Box::pin(async move {
                    tokio::select! {
                        _ = stopped.changed() => {}
                        () = accept(listener, dealer, own, accept_one) => {}
                    }
                })
            }));
        }
    }

    /// Enters a client in the registry and hands it to a worker; tells it when there are too many. The worker that has
    /// accepted it keeps it unless another has clearly fewer: handing over costs as much as a query.
    fn deal(&self, client: Incoming, own: usize) {
        let Ok(handle) = self.endpoint.registry.enter(client.peer.shown()) else { return self.refuse(&client) };
        self.endpoint.metrics.accepted.inc();
        let own = &self.doors[own];
        let least = self.doors.iter().min_by_key(|door| door.sessions()).unwrap_or(own);
        let enough = least.sessions() + least.sessions() / 8;
        let door = if own.sessions() <= enough { own } else { least };
        if !door.deal(client, handle.clone()) {
            self.endpoint.registry.leave(&handle);
        }
    }

    fn refuse(&self, client: &Incoming) {
        self.endpoint.metrics.refused.inc();
        let failure = Failure::client(codes::ER_CON_COUNT_ERROR, "Too many connections");
        let mut packet = BytesMut::new();
        put_packet(&mut packet, 0, &encode_failure(&failure));
        // It fits into a new socket's buffer: the write does not wait.
        let _ = match &client.socket {
            Socket::Tcp(socket) => SockRef::from(socket).send(&packet),
            Socket::Unix(socket) => SockRef::from(socket).send(&packet),
        };
    }
}

type AcceptOne<L> = fn(&L, &Dealer) -> io::Result<Incoming>;

/// Accepts clients for as long as it is polled, on the worker `own`. The sockets are registered with a runtime by their
/// worker, not here.
async fn accept<L: AsRawFd>(listener: Arc<L>, dealer: Arc<Dealer>, own: usize, accept_one: AcceptOne<L>) {
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
            Ok(client) => dealer.deal(client, own),
            Err(error) => pause(&error).await,
        }
    }
}

fn accept_tcp(listener: &TcpListener, dealer: &Dealer) -> io::Result<Incoming> {
    // With both flags at once, which the standard library does in two system calls.
    let (socket, address) = acceptfrom_with(listener, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK)?;
    let address = address.and_then(|address| SocketAddr::try_from(address).ok());
    let address = address.ok_or_else(|| io::Error::other("a TCP client without an address"))?;
    let proxied = dealer.proxied.iter().any(|network| network.contains(address.ip()));
    Ok(Incoming { socket: Socket::Tcp(socket.into()), peer: Peer::Tcp(address.ip(), address.port()), proxied })
}

fn accept_unix(listener: &UnixListener, _: &Dealer) -> io::Result<Incoming> {
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
    // Accepted sockets inherit it.
    socket.set_tcp_nodelay(true)?;
    socket.bind(&address.into())?;
    socket.listen(i32::try_from(backlog).unwrap_or(i32::MAX))?;
    socket.set_nonblocking(true)?;
    Ok(socket.into())
}

/// The inherited listener of this name, or a new one; it is offered to a successor.
fn tcp_listener(
    address: SocketAddr,
    backlog: u32,
    name: Name,
    inherited: &mut Inherited,
    offer: &Offer,
) -> io::Result<TcpListener> {
    let listener = match inherited.take_tcp(&name)? {
        Some(listener) => listener,
        None => bind_tcp(address, backlog)?,
    };
    // Accepted sockets inherit it.
    SockRef::from(&listener).set_tcp_keepalive(&KEEPALIVE)?;
    offer.add(name, &listener)?;
    Ok(listener)
}

/// The HTTP listener of this name, if there is an address for it.
pub(super) fn http_listener(
    address: Option<SocketAddr>,
    name: fn(String) -> Name,
    inherited: &mut Inherited,
    offer: &Offer,
) -> Result<Option<TcpListener>, ServeError> {
    let Some(address) = address else { return Ok(None) };
    let listener = tcp_listener(address, HTTP_BACKLOG, name(address.to_string()), inherited, offer);
    listener.map(Some).map_err(|source| ServeError::Listen { address: address.to_string(), source })
}

fn unix_listener(socket: &ListenSocket, inherited: &mut Inherited, offer: &Offer) -> io::Result<UnixListener> {
    let name = Name::clients_at(&socket.path);
    let listener = match inherited.take(&name) {
        Some(fd) => UnixListener::from(fd),
        None => bind_unix(socket)?,
    };
    offer.add(name, &listener)?;
    Ok(listener)
}

fn bind_unix(socket: &ListenSocket) -> io::Result<UnixListener> {
    remove_dead_socket(&socket.path)?;
    let listener = UnixListener::bind(&socket.path)?;
    std::fs::set_permissions(&socket.path, std::fs::Permissions::from_mode(socket.mode))?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Removes a socket that nobody listens on any more; one in use is an error.
pub(super) fn remove_dead_socket(path: &Path) -> io::Result<()> {
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
