//! Handing the listening sockets over to a new process, so that an upgrade refuses no client.
//!
//! The old process listens on a control socket; the new one connects to it. One line of JSON per message:
//!
//! 1. new: `hello`. The old one checks the peer's user, and answers with the names of its listening sockets and, beside
//!    them (SCM_RIGHTS), the sockets.
//! 2. The new one takes those that its own configuration has, binds what is missing, starts its workers, and waits until
//!    it knows its servers. Both listen now, but only the old one accepts. New: `ready`.
//! 3. The old one stops accepting: `yours`, with the next connection id. Clients wait in the kernel's queue.
//! 4. New: `serving`, and it accepts. The old one lets its sessions leave, and ends.
//!
//! What must always hold: whatever fails before `serving` has arrived, the old process goes on (again) as if nothing had
//! been; only the same user or root may take over; at each moment at most one of both accepts.

mod new;
mod old;
mod wire;

use std::io;
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::path::Path;

use serde::{Deserialize, Serialize};

pub(super) use new::Predecessor;
pub(super) use old::{ControlSocket, Offer, Successor};

/// The version of these messages.
const PROTOCOL: u32 = 1;

/// What a listening socket is for and where, as the configuration says it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Name {
    /// Clients, at this IP address and port.
    Clients(String),
    /// Clients, at this Unix socket.
    ClientsAt(String),
    /// Metrics and health.
    Metrics(String),
    /// REST.
    Api(String),
}

impl Name {
    /// Clients at a Unix socket.
    pub(super) fn clients_at(path: &Path) -> Name {
        Name::ClientsAt(path.display().to_string())
    }
}

/// A message; the variants are the steps.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Message {
    Hello { protocol: u32, pid: u32, version: String },
    Sockets { pid: u32, version: String, names: Vec<Name> },
    Refused { reason: String },
    Ready,
    Yours { next_id: u32 },
    Serving,
}

/// Sockets that were handed over and not taken yet; the others are closed.
#[derive(Debug, Default)]
pub(super) struct Inherited(Vec<(Name, OwnedFd)>);

impl Inherited {
    /// The socket of this name, if it was handed over.
    pub(super) fn take(&mut self, name: &Name) -> Option<OwnedFd> {
        let at = self.0.iter().position(|(known, _)| known == name)?;
        Some(self.0.swap_remove(at).1)
    }

    /// The TCP listener of this name.
    pub(super) fn take_tcp(&mut self, name: &Name) -> io::Result<Option<TcpListener>> {
        let Some(fd) = self.take(name) else { return Ok(None) };
        let listener = TcpListener::from(fd);
        listener.set_nonblocking(true)?;
        Ok(Some(listener))
    }
}

#[cfg(test)]
mod tests;
