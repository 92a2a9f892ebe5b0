//! Clients that were accepted, on their way to a worker.

use std::net::IpAddr;

/// A client just accepted.
#[derive(Debug)]
pub struct Incoming {
    /// Its socket, set not to block.
    pub socket: Socket,
    /// Its address.
    pub peer: Peer,
    /// It must begin with a PROXY protocol header.
    pub proxied: bool,
}

/// A socket that no runtime has yet.
#[derive(Debug)]
pub enum Socket {
    /// TCP.
    Tcp(std::net::TcpStream),
    /// A unix socket.
    Unix(std::os::unix::net::UnixStream),
}

/// Where a client comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peer {
    /// An IP address and port.
    Tcp(IpAddr, u16),
    /// A unix socket.
    Local,
}

impl Peer {
    /// The IP address, if there is one.
    pub fn ip(&self) -> Option<IpAddr> {
        match self {
            Peer::Tcp(ip, _) => Some(*ip),
            Peer::Local => None,
        }
    }

    /// The host as error 1045 names it.
    pub fn host(&self) -> String {
        match self {
            Peer::Tcp(ip, _) if ip.is_loopback() => "localhost".to_owned(),
            Peer::Tcp(ip, _) => ip.to_string(),
            Peer::Local => "localhost".to_owned(),
        }
    }

    /// The address as the process list shows it.
    pub fn shown(&self) -> String {
        match self {
            Peer::Tcp(ip, port) => format!("{ip}:{port}"),
            Peer::Local => "localhost".to_owned(),
        }
    }
}
