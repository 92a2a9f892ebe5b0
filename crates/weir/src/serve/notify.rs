//! Telling systemd what this process does (`Type=notify`), by the socket that it names in the environment.
//!
//! Without the variable nothing is told. The protocol is a datagram of `KEY=value` lines: see sd_notify(3).

use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// The variable that names the socket.
const SOCKET_VARIABLE: &str = "NOTIFY_SOCKET";

/// This process serves, and is the service's main process.
pub(super) fn ready() {
    tell(&format!("READY=1\nMAINPID={}\nSTATUS=Serving clients", std::process::id()));
}

/// It stops.
pub(super) fn stopping() {
    tell("STOPPING=1\nSTATUS=Letting open transactions end");
}

fn tell(state: &str) {
    let Ok(name) = std::env::var(SOCKET_VARIABLE) else { return };
    if let Err(error) = send(&name, state) {
        tracing::warn!(%error, "the service manager could not be notified");
    }
}

fn send(name: &str, state: &str) -> std::io::Result<()> {
    let address = match name.strip_prefix('@') {
        Some(name) => SocketAddr::from_abstract_name(name)?,
        None => SocketAddr::from_pathname(name)?,
    };
    UnixDatagram::unbound()?.send_to_addr(state.as_bytes(), &address).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_reaches_a_socket_with_a_path_and_an_abstract_one() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("notify");
        let abstract_name = format!("weir-notify-{}", std::process::id());
        let address = SocketAddr::from_abstract_name(&abstract_name).expect("a name");
        let sockets = [
            (path.display().to_string(), UnixDatagram::bind(&path).expect("bound")),
            (format!("@{abstract_name}"), UnixDatagram::bind_addr(&address).expect("bound")),
        ];
        for (name, socket) in sockets {
            send(&name, "READY=1").expect("sent");
            let mut state = [0; 16];
            let length = socket.recv(&mut state).expect("received");
            assert_eq!(&state[..length], b"READY=1");
        }
    }
}
