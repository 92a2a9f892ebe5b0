//! The old process: it offers its listening sockets, and gives them up when the new one is ready.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::net::sockopt::socket_peercred;
use tokio::sync::mpsc;

use super::wire::{receive, send, send_with, unexpected};
use super::{Message, Name, PROTOCOL};
use crate::serve::listen::remove_dead_socket;

/// How long a step of the new process may take that needs nothing but itself.
const STEP: Duration = Duration::from_secs(10);
/// How long the new process may take until it is ready.
const START: Duration = Duration::from_secs(120);

/// The listening sockets, while this process has them to offer. They are closed when the last clone is emptied.
#[derive(Debug, Clone, Default)]
pub(in crate::serve) struct Offer(Arc<Mutex<Vec<(Name, OwnedFd)>>>);

impl Offer {
    /// Offers a listening socket.
    pub(in crate::serve) fn add(&self, name: Name, socket: &impl AsFd) -> io::Result<()> {
        let socket = socket.as_fd().try_clone_to_owned()?;
        self.sockets().push((name, socket));
        Ok(())
    }

    /// Nothing is offered any more.
    pub(in crate::serve) fn withdraw(&self) {
        self.sockets().clear();
    }

    fn sockets(&self) -> std::sync::MutexGuard<'_, Vec<(Name, OwnedFd)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn send(&self, stream: &mut UnixStream) -> io::Result<()> {
        let sockets = self.sockets();
        if sockets.is_empty() {
            let reason = "this Weir is stopping".to_owned();
            send(stream, &Message::Refused { reason })?;
            return Err(io::Error::other("the request came too late"));
        }
        let names = sockets.iter().map(|(name, _)| name.clone()).collect();
        let fds: Vec<_> = sockets.iter().map(|(_, socket)| socket.as_fd()).collect();
        let message = Message::Sockets { pid: std::process::id(), version: env!("CARGO_PKG_VERSION").into(), names };
        send_with(stream, &message, &fds)
    }
}

/// Where a new process asks for the sockets. Its file is removed on drop, if it is still this process's.
#[derive(Debug)]
pub(in crate::serve) struct ControlSocket {
    listener: Option<UnixListener>,
    path: PathBuf,
    /// Where it was bound, until it takes its place.
    bound_at: PathBuf,
    owned: bool,
}

impl ControlSocket {
    /// Binds the socket: at its place, or beside it while the predecessor still has the place.
    pub(in crate::serve) fn bind(path: &Path, has_predecessor: bool) -> io::Result<ControlSocket> {
        let mut bound_at = path.to_owned();
        if has_predecessor {
            bound_at.as_mut_os_string().push(".new");
        }
        remove_dead_socket(&bound_at)?;
        let listener = UnixListener::bind(&bound_at)?;
        let socket = ControlSocket { listener: Some(listener), path: path.to_owned(), bound_at, owned: true };
        std::fs::set_permissions(&socket.bound_at, std::fs::Permissions::from_mode(0o600))?;
        Ok(socket)
    }

    /// Takes the place from the predecessor.
    pub(in crate::serve) fn take_place(&mut self) -> io::Result<()> {
        if self.bound_at != self.path {
            std::fs::rename(&self.bound_at, &self.path)?;
            self.bound_at.clone_from(&self.path);
        }
        Ok(())
    }

    /// A successor has the place.
    pub(in crate::serve) fn give_up_place(&mut self) {
        self.owned = false;
    }

    /// Waits for successors on a thread of its own, which ends with the process. Those that are ready come out here.
    pub(in crate::serve) fn watch(&mut self, offer: Offer) -> io::Result<mpsc::Receiver<Successor>> {
        let (found, successors) = mpsc::channel(1);
        let Some(listener) = self.listener.take() else { return Ok(successors) };
        let wait = move || {
            for stream in listener.incoming() {
                match stream.and_then(|stream| negotiate(stream, &offer)) {
                    Ok(successor) => match found.blocking_send(successor) {
                        Ok(()) => {}
                        Err(_) => return,
                    },
                    Err(error) => tracing::warn!(%error, "a takeover failed: this process continues"),
                }
            }
        };
        std::thread::Builder::new().name("weir-takeover".to_owned()).spawn(wait)?;
        Ok(successors)
    }
}

impl Drop for ControlSocket {
    fn drop(&mut self) {
        if self.owned {
            let _ = std::fs::remove_file(&self.bound_at);
        }
    }
}

/// Goes on until the new process is ready.
fn negotiate(mut stream: UnixStream, offer: &Offer) -> io::Result<Successor> {
    check_peer(&stream)?;
    stream.set_read_timeout(Some(STEP))?;
    stream.set_write_timeout(Some(STEP))?;
    let (pid, version) = match receive(&mut stream)?.0 {
        Message::Hello { protocol: PROTOCOL, pid, version } => (pid, version),
        Message::Hello { version, .. } => {
            let own = env!("CARGO_PKG_VERSION");
            let reason = format!("Weir {version} can't take over from Weir {own}: stop it and start the new one");
            send(&mut stream, &Message::Refused { reason: reason.clone() })?;
            return Err(io::Error::other(reason));
        }
        other => return Err(unexpected(&other)),
    };
    tracing::info!(pid, version, "another process is about to take over");
    offer.send(&mut stream)?;
    stream.set_read_timeout(Some(START))?;
    match receive(&mut stream)?.0 {
        Message::Ready => Ok(Successor { stream, pid }),
        other => Err(unexpected(&other)),
    }
}

/// Refuses other users than this process's own and root.
fn check_peer(stream: &UnixStream) -> io::Result<()> {
    let peer = socket_peercred(stream)?.uid.as_raw();
    let own = nix::unistd::geteuid().as_raw();
    if peer == own || peer == 0 {
        return Ok(());
    }
    let message = format!("user {peer} may not take over from user {own}");
    Err(io::Error::new(io::ErrorKind::PermissionDenied, message))
}

/// A new process that is ready to serve.
#[derive(Debug)]
pub(in crate::serve) struct Successor {
    stream: UnixStream,
    /// Its process id.
    pub(in crate::serve) pid: u32,
}

impl Successor {
    /// Lets it serve, from this connection id on; this process has stopped accepting. An error: it does not, and this
    /// process has to go on. Blocks, within a bound.
    pub(in crate::serve) fn hand_over(mut self, next_id: u32) -> io::Result<()> {
        self.stream.set_read_timeout(Some(STEP))?;
        send(&mut self.stream, &Message::Yours { next_id })?;
        match receive(&mut self.stream)?.0 {
            Message::Serving => Ok(()),
            other => Err(unexpected(&other)),
        }
    }
}
