//! Addresses as the configuration writes them: a server's `host:port` or socket path, and networks in CIDR notation.
//!
//! Must always hold: reading an address looks nothing up. A host name is checked for its syntax only; whether it
//! resolves is known when a connection is made, so a configuration can be checked on a machine without a network.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::PathBuf;
use std::str::FromStr;

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
    /// Not `address/prefix`.
    #[error("`{0}` is not a network: write an IP address and a prefix length, such as \"10.0.0.0/8\"")]
    NotANetwork(String),
    /// The address has bits set behind its prefix.
    #[error("`{0}` has bits set behind its prefix: did you mean `{1}`?")]
    HostBits(String, Network),
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

/// An IP network in CIDR notation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Network {
    address: IpAddr,
    prefix_length: u8,
}

impl Network {
    /// True when `address` lies in this network. An IPv4 address mapped into IPv6, as a dual-stack socket reports it,
    /// counts as the IPv4 address that it is.
    pub(crate) fn contains(&self, address: IpAddr) -> bool {
        first_address(address.to_canonical(), self.prefix_length) == Some(self.address)
    }
}

impl FromStr for Network {
    type Err = AddressError;

    /// Reads `address/prefix`, or an address alone for a network of that address only.
    fn from_str(text: &str) -> Result<Self, AddressError> {
        let invalid = || AddressError::NotANetwork(text.to_owned());
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| invalid())?;
        let prefix_length = match prefix {
            Some(prefix) => prefix.parse().map_err(|_| invalid())?,
            None => address_bits(address),
        };
        let first = first_address(address, prefix_length).ok_or_else(invalid)?;
        let network = Self { address: first, prefix_length };
        if first != address {
            return Err(AddressError::HostBits(text.to_owned(), network));
        }
        Ok(network)
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix_length)
    }
}

fn address_bits(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

/// The first address of the network of `address` with the given prefix; None when the prefix is longer than the address.
fn first_address(address: IpAddr, prefix_length: u8) -> Option<IpAddr> {
    let host_bits = u32::from(address_bits(address).checked_sub(prefix_length)?);
    Some(match address {
        IpAddr::V4(v4) => Ipv4Addr::from_bits(v4.to_bits() & u32::MAX.checked_shl(host_bits).unwrap_or(0)).into(),
        IpAddr::V6(v6) => Ipv6Addr::from_bits(v6.to_bits() & u128::MAX.checked_shl(host_bits).unwrap_or(0)).into(),
    })
}
