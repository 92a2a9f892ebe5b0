//! Addresses as the configuration writes them: a server's `host:port` or socket path.
//!
//! Must always hold: reading an address looks nothing up. A host name is checked for its syntax only; whether it
//! resolves is known when a connection is made, so a configuration can be checked on a machine without a network.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;

use weir_backend::Address;

/// The port of a MySQL server when an address names none.
const MYSQL_PORT: u16 = 3306;

/// Why a text is no address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum AddressError {
    /// Neither `host:port` nor an absolute path.
    #[error("`{0}` is not an address: write \"host:port\", or the absolute path of a Unix socket")]
    NotAnAddress(String),
    /// Not a number from 1 to 65535 behind the colon.
    #[error("`{0}` is not a port: write a number from 1 to 65535")]
    NotAPort(String),
}

/// Reads a server's address: `/path/to.sock`, `host:port`, `host` (port 3306), `[v6]:port` or a bare
/// IPv6 address.
pub(crate) fn parse_server_address(text: &str) -> Result<Address, AddressError> {
    if text.starts_with('/') {
        return Ok(Address::Unix(PathBuf::from(text)));
    }
    let invalid = || AddressError::NotAnAddress(text.to_owned());
    let (host, port) = split_port(text).ok_or_else(invalid)?;
    let is_ipv6 = host.contains(':');
    if !is_ipv6 && !is_host_name(host) {
        return Err(invalid());
    }
    Ok(Address::Tcp { host: host.to_owned(), port: port.map_or(Ok(MYSQL_PORT), parse_port)? })
}

/// Splits the host from the port behind it, if there is one. A host with colons is an IPv6 address.
fn split_port(text: &str) -> Option<(&str, Option<&str>)> {
    if text.parse::<Ipv6Addr>().is_ok() {
        return Some((text, None));
    }
    let Some(bracketed) = text.strip_prefix('[') else {
        let split = text.split_once(':');
        return Some(split.map_or((text, None), |(host, port)| (host, Some(port))));
    };
    let (host, behind) = bracketed.split_once(']')?;
    host.parse::<Ipv6Addr>().ok()?;
    match behind.strip_prefix(':') {
        Some(port) => Some((host, Some(port))),
        None => behind.is_empty().then_some((host, None)),
    }
}

fn parse_port(text: &str) -> Result<u16, AddressError> {
    text.parse::<u16>().ok().filter(|port| *port != 0).ok_or_else(|| AddressError::NotAPort(text.to_owned()))
}

/// True for the syntax of a host name (RFC 1123, underscores allowed as container names have them) or IPv4 address.
fn is_host_name(text: &str) -> bool {
    let is_label = |label: &str| {
        !label.is_empty()
            && label.len() <= 63
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
    };
    text.len() <= 253 && text.strip_suffix('.').unwrap_or(text).split('.').all(is_label)
}

/// The address at which a client on this machine reaches a listener at `address`.
pub(crate) fn connectable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}
