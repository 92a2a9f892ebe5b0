//! Whom a server follows: told from the address that it replicates from.

use std::sync::Arc;

use weir_backend::standing::Source;
use weir_backend::{Address, Server};

/// Whom a server follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Follows {
    /// Nobody.
    Nobody,
    /// A server of the group, by its place in it.
    Member(usize),
    /// A server that is not in the group.
    Stranger,
    /// It can't be told.
    Unknown,
}

/// Whom `server`, one of the group's, follows by what it last said.
pub(crate) fn of(server: &Server, group: &[Arc<Server>]) -> Follows {
    let Some(standing) = server.standing() else { return Follows::Unknown };
    match &standing.source {
        _ if standing.source_unknown.is_some() => Follows::Unknown,
        None => Follows::Nobody,
        Some(source) => match group.iter().position(|member| is_at(member, source, group)) {
            Some(member) => Follows::Member(member),
            None => Follows::Stranger,
        },
    }
}

/// Whether a replica that follows `source` follows this server. Replicas may know a server by another name than Weir does: the port decides,
/// if only one server of the group has it.
fn is_at(server: &Server, source: &Source, all: &[Arc<Server>]) -> bool {
    let has_port = |server: &Server| ports_of(server).contains(&Some(source.port));
    if !has_port(server) {
        return false;
    }
    let report_host = server.standing().and_then(|standing| standing.report_host.clone());
    let host = match &server.settings.address {
        Address::Tcp { host, .. } => Some(host.as_str()),
        Address::Unix(_) => None,
    };
    let is_only = all.iter().filter(|other| has_port(other)).count() == 1;
    is_only || [host, report_host.as_deref()].contains(&Some(source.host.as_str()))
}

/// The port that Weir connects to, and the one that the server listens on: between the two there may be a forwarder.
fn ports_of(server: &Server) -> [Option<u16>; 2] {
    let address = match &server.settings.address {
        Address::Tcp { port, .. } => Some(*port),
        Address::Unix(_) => None,
    };
    [address, server.standing().map(|standing| standing.port)]
}
