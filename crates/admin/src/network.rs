//! IP networks in CIDR notation, and lists of them that may connect.
//!
//! What must always hold: an IPv4 address mapped into IPv6 counts as the IPv4 address that it is.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// Why a text is no network.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NetworkError {
    /// Not `address/prefix`.
    #[error("`{0}` is not a network: write an IP address and a prefix length, such as \"10.0.0.0/8\"")]
    NotANetwork(String),
    /// The address has bits set behind its prefix.
    #[error("`{0}` has bits set behind its prefix: did you mean `{1}`?")]
    HostBits(String, Network),
}

/// Whether a client may come from here: an empty list lets all in, and a unix socket has no address to be refused.
pub fn allows(networks: &[Network], address: Option<IpAddr>) -> bool {
    networks.is_empty() || address.is_none_or(|address| networks.iter().any(|network| network.contains(address)))
}

/// An IP network in CIDR notation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    prefix_length: u8,
}

impl Network {
    /// True when `address` lies in this network. An IPv4 address mapped into IPv6, as a dual-stack socket reports it,
    /// counts as the IPv4 address that it is.
    pub fn contains(&self, address: IpAddr) -> bool {
        first_address(address.to_canonical(), self.prefix_length) == Some(self.address)
    }
}

impl FromStr for Network {
    type Err = NetworkError;

    /// Reads `address/prefix`, or an address alone for a network of that address only.
    fn from_str(text: &str) -> Result<Self, NetworkError> {
        let invalid = || NetworkError::NotANetwork(text.to_owned());
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
            return Err(NetworkError::HostBits(text.to_owned(), network));
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
