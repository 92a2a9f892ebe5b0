//! The PROXY protocol, versions 1 and 2: the line or block with which a load balancer says who its client is.
//!
//! Decoding is for connections from addresses that are configured to send it; a header from anyone else could name any
//! source address. What must always hold: no more than [`LONGEST_HEADER`] bytes are ever waited for, and what isn't
//! exactly as the specification says is an error, never a guess.
//!
//! Source: HAProxy's `proxy-protocol.txt`, sections 2.1 and 2.2.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

#[cfg(test)]
mod tests;

/// The longest version 1 header, CR LF included, in bytes.
pub const LONGEST_V1: usize = 107;
/// The longest header of any version that is accepted, in bytes. Version 2 allows 64 KB of extensions; what balancers
/// send is a few hundred bytes.
pub const LONGEST_HEADER: usize = 4096;

const V1_START: &[u8] = b"PROXY ";
const V2_SIGNATURE: &[u8; 12] = b"\r\n\r\n\0\r\nQUIT\n";
const V2_FIXED: usize = 16;
const UNIX_ADDRESSES: usize = 216;

/// What the start of a connection says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decoded {
    /// It may become a header: read on.
    Incomplete,
    /// A whole header, to be cut off.
    Header {
        /// Its length in bytes.
        len: usize,
        /// The client's address; `None` when the balancer speaks for itself (a health check) or doesn't know.
        source: Option<SocketAddr>,
        /// The address that the client connected to.
        destination: Option<SocketAddr>,
    },
    /// There is no header.
    NotProxy,
}

/// A header that breaks the specification.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ProxyError {
    /// A version 1 line without its end in the first 107 bytes.
    #[error("PROXY protocol: the line is longer than {LONGEST_V1} bytes")]
    LineTooLong,
    /// A version 1 line with wrong fields.
    #[error("PROXY protocol: malformed version 1 line")]
    MalformedLine,
    /// A version 2 header with an unknown version, command, family or transport, or made for datagrams.
    #[error("PROXY protocol: unsupported version, command, address family or transport")]
    Unsupported,
    /// A version 2 header that is too short for its addresses.
    #[error("PROXY protocol: the header is too short for its addresses")]
    TooShort,
    /// A version 2 header that is longer than [`LONGEST_HEADER`].
    #[error("PROXY protocol: the header is longer than {LONGEST_HEADER} bytes")]
    TooLong,
    /// An extension of a version 2 header goes past the header's end.
    #[error("PROXY protocol: an extension goes past the header's end")]
    MalformedExtension,
}

/// Looks for a header at the start of what a connection has sent so far.
///
/// # Errors
/// See [`ProxyError`]: close the connection without an answer.
pub fn decode(received: &[u8]) -> Result<Decoded, ProxyError> {
    if starts_like(received, V2_SIGNATURE) {
        return decode_v2(received);
    }
    if starts_like(received, V1_START) {
        return decode_v1(received);
    }
    Ok(Decoded::NotProxy)
}

/// Whether `received` starts with `start`, or may do so when more arrives.
fn starts_like(received: &[u8], start: &[u8]) -> bool {
    let common = received.len().min(start.len());
    received[..common] == start[..common]
}

fn decode_v1(received: &[u8]) -> Result<Decoded, ProxyError> {
    let window = &received[..received.len().min(LONGEST_V1)];
    let Some(line_end) = memchr::memmem::find(window, b"\r\n") else {
        return match window.len() == LONGEST_V1 {
            true => Err(ProxyError::LineTooLong),
            false => Ok(Decoded::Incomplete),
        };
    };
    let line = std::str::from_utf8(&window[V1_START.len()..line_end]).map_err(|_| ProxyError::MalformedLine)?;
    let mut fields = line.split(' ');
    let addresses = match fields.next() {
        Some("UNKNOWN") => None,
        Some("TCP4") => Some(v1_addresses::<Ipv4Addr>(fields)?),
        Some("TCP6") => Some(v1_addresses::<Ipv6Addr>(fields)?),
        _ => return Err(ProxyError::MalformedLine),
    };
    Ok(header(line_end + 2, addresses))
}

fn v1_addresses<'a, Ip: std::str::FromStr + Into<IpAddr>>(
    mut fields: impl Iterator<Item = &'a str>,
) -> Result<(SocketAddr, SocketAddr), ProxyError> {
    let mut next = || fields.next().ok_or(ProxyError::MalformedLine);
    let (source_ip, destination_ip) = (v1_ip::<Ip>(next()?)?, v1_ip::<Ip>(next()?)?);
    let (source_port, destination_port) = (v1_port(next()?)?, v1_port(next()?)?);
    match fields.next() {
        Some(_) => Err(ProxyError::MalformedLine),
        None => Ok((SocketAddr::new(source_ip, source_port), SocketAddr::new(destination_ip, destination_port))),
    }
}

fn v1_ip<Ip: std::str::FromStr + Into<IpAddr>>(field: &str) -> Result<IpAddr, ProxyError> {
    field.parse::<Ip>().map(Into::into).map_err(|_| ProxyError::MalformedLine)
}

/// Decimal digits only, without leading zeros.
fn v1_port(field: &str) -> Result<u16, ProxyError> {
    let plain = field.bytes().all(|byte| byte.is_ascii_digit()) && (field == "0" || !field.starts_with('0'));
    match field.parse() {
        Ok(port) if plain => Ok(port),
        _ => Err(ProxyError::MalformedLine),
    }
}

fn decode_v2(received: &[u8]) -> Result<Decoded, ProxyError> {
    let Some((fixed, _)) = received.split_first_chunk::<V2_FIXED>() else {
        return Ok(Decoded::Incomplete);
    };
    let [.., version_command, family_transport, len_high, len_low] = *fixed;
    let len = V2_FIXED + usize::from(u16::from_be_bytes([len_high, len_low]));
    let is_local = match version_command {
        0x20 => true,
        0x21 => false,
        _ => return Err(ProxyError::Unsupported),
    };
    if len > LONGEST_HEADER {
        return Err(ProxyError::TooLong);
    }
    let Some(body) = received.get(V2_FIXED..len) else {
        return Ok(Decoded::Incomplete);
    };
    // A health check of the balancer's own: family, addresses and extensions mean nothing.
    if is_local {
        return Ok(header(len, None));
    }
    let (addresses, extensions) = match family_transport {
        0x00 => return Ok(header(len, None)),
        0x11 => {
            let (source, rest) = take_v4(body)?;
            let (destination, rest) = take_v4(rest)?;
            v2_addresses(source, destination, rest)?
        }
        0x21 => {
            let (source, rest) = take_v6(body)?;
            let (destination, rest) = take_v6(rest)?;
            v2_addresses(source, destination, rest)?
        }
        0x31 => {
            let rest = body.get(UNIX_ADDRESSES..).ok_or(ProxyError::TooShort)?;
            (None, rest)
        }
        _ => return Err(ProxyError::Unsupported),
    };
    check_extensions(extensions)?;
    Ok(header(len, addresses))
}

fn take_v4(bytes: &[u8]) -> Result<(IpAddr, &[u8]), ProxyError> {
    let (ip, rest) = bytes.split_first_chunk::<4>().ok_or(ProxyError::TooShort)?;
    Ok((IpAddr::from(*ip), rest))
}

fn take_v6(bytes: &[u8]) -> Result<(IpAddr, &[u8]), ProxyError> {
    let (ip, rest) = bytes.split_first_chunk::<16>().ok_or(ProxyError::TooShort)?;
    Ok((IpAddr::from(*ip), rest))
}

type Addresses = Option<(SocketAddr, SocketAddr)>;

/// The two ports follow the two addresses.
fn v2_addresses(source: IpAddr, destination: IpAddr, rest: &[u8]) -> Result<(Addresses, &[u8]), ProxyError> {
    let (&[a, b, c, d], extensions) = rest.split_first_chunk().ok_or(ProxyError::TooShort)?;
    let source = SocketAddr::new(source, u16::from_be_bytes([a, b]));
    let destination = SocketAddr::new(destination, u16::from_be_bytes([c, d]));
    Ok((Some((source, destination)), extensions))
}

/// Extensions (type, 2-byte length, value) are skipped; they must fill the header exactly.
fn check_extensions(mut rest: &[u8]) -> Result<(), ProxyError> {
    while !rest.is_empty() {
        let (&[_, len_high, len_low], values) = rest.split_first_chunk().ok_or(ProxyError::MalformedExtension)?;
        let len = usize::from(u16::from_be_bytes([len_high, len_low]));
        rest = values.get(len..).ok_or(ProxyError::MalformedExtension)?;
    }
    Ok(())
}

fn header(len: usize, addresses: Addresses) -> Decoded {
    let (source, destination) = addresses.unzip();
    Decoded::Header { len, source, destination }
}

/// The version 1 line for a connection; addresses of different families are announced as UNKNOWN.
pub fn encode_v1(source: SocketAddr, destination: SocketAddr) -> Vec<u8> {
    let family = match (source, destination) {
        (SocketAddr::V4(_), SocketAddr::V4(_)) => "TCP4",
        (SocketAddr::V6(_), SocketAddr::V6(_)) => "TCP6",
        _ => return b"PROXY UNKNOWN\r\n".to_vec(),
    };
    format!("PROXY {family} {} {} {} {}\r\n", source.ip(), destination.ip(), source.port(), destination.port())
        .into_bytes()
}

/// The version 2 header for a connection, without extensions; `None` makes the LOCAL header of a health check.
/// Addresses of different families are both written as IPv6.
pub fn encode_v2(addresses: Option<(SocketAddr, SocketAddr)>) -> Vec<u8> {
    let mut encoded = V2_SIGNATURE.to_vec();
    let Some((source, destination)) = addresses else {
        encoded.extend_from_slice(&[0x20, 0x00, 0, 0]);
        return encoded;
    };
    match (source.ip(), destination.ip()) {
        (IpAddr::V4(source_ip), IpAddr::V4(destination_ip)) => {
            encoded.extend_from_slice(&[0x21, 0x11, 0, 12]);
            encoded.extend_from_slice(&source_ip.octets());
            encoded.extend_from_slice(&destination_ip.octets());
        }
        (source_ip, destination_ip) => {
            encoded.extend_from_slice(&[0x21, 0x21, 0, 36]);
            encoded.extend_from_slice(&as_v6(source_ip).octets());
            encoded.extend_from_slice(&as_v6(destination_ip).octets());
        }
    }
    encoded.extend_from_slice(&source.port().to_be_bytes());
    encoded.extend_from_slice(&destination.port().to_be_bytes());
    encoded
}

fn as_v6(ip: IpAddr) -> Ipv6Addr {
    match ip {
        IpAddr::V4(ip) => ip.to_ipv6_mapped(),
        IpAddr::V6(ip) => ip,
    }
}
