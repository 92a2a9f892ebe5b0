//! Choosing TCP ports on 127.0.0.1.
//!
//! Ports stay below 32768, where Linux begins to hand out ports for outgoing connections: one of those may occupy a
//! port at any moment. A port that was found free can still be lost before the server binds it; whoever starts a
//! server on a chosen port tries again with another.

use std::net::{Ipv4Addr, TcpListener};

use crate::LocalError;

const LOWEST: u16 = 12_000;
const HIGHEST: u16 = 32_767;
/// Where members of a group listen for each other: nobody tries again with other ports there, so they are away from those that
/// servers of other clusters take for their clients at the same time.
const PEERS: std::ops::RangeInclusive<u16> = 7_000..=11_999;
/// How many ports after the first one are tried when the caller names where to begin.
const SPAN: u16 = 2_000;

/// Which port a server gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PortChoice {
    /// Any free one, at random, so that test processes seldom meet.
    #[default]
    Any,
    /// The first free one from here on.
    From(u16),
    /// This one; the start fails if it is taken.
    Exactly(u16),
}

/// Whether nothing listens on this port of 127.0.0.1 (or of all addresses) now.
pub fn is_port_free(port: u16) -> bool {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok()
}

/// So many ports that are free now, all different, for what the members of a group say to each other. Away from a port that is named for
/// clients: theirs are chosen later.
pub(crate) fn peer_ports(choice: PortChoice, count: usize) -> Result<Vec<u16>, LocalError> {
    let mut ports = Vec::with_capacity(count);
    let mut next = match choice {
        PortChoice::Exactly(port) | PortChoice::From(port) => PortChoice::From(port.saturating_add(1_000)),
        PortChoice::Any => PortChoice::Any,
    };
    while ports.len() < count {
        let port = match next {
            PortChoice::Any => free_port_of(PEERS, true)?,
            next => free_port(next)?,
        };
        if let PortChoice::From(_) = next {
            next = PortChoice::From(port.saturating_add(1));
        }
        if !ports.contains(&port) {
            ports.push(port);
        }
    }
    Ok(ports)
}

/// A port that is free now.
pub fn free_port(choice: PortChoice) -> Result<u16, LocalError> {
    let candidates = match choice {
        PortChoice::Exactly(port) => return Ok(port),
        PortChoice::From(port) => port..=port.saturating_add(SPAN).min(HIGHEST.max(port)),
        PortChoice::Any => LOWEST..=HIGHEST,
    };
    free_port_of(candidates, choice == PortChoice::Any)
}

fn free_port_of(candidates: std::ops::RangeInclusive<u16>, at_random: bool) -> Result<u16, LocalError> {
    let (from, to) = (*candidates.start(), *candidates.end());
    let count = usize::from(to - from) + 1;
    let skipped = if at_random { rand::random_range(0..count) } else { 0 };
    let mut in_turn = candidates.clone().skip(skipped).chain(candidates.take(skipped));
    in_turn.find(|port| is_port_free(*port)).ok_or(LocalError::NoFreePort { from, to })
}
