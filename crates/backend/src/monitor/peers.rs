//! Asking a server whom it knows in its group.
//!
//! What must always hold: these are the server's own words, each with what the server that is meant must say of itself. Whether it does is
//! judged in `weir_topology`.

use std::collections::HashSet;

use tokio::io::AsyncWriteExt as _;
use weir_wire::{Command, Failure};

use super::standing::Record;
use super::{Probe, text};

const WSREP: &str = "SHOW GLOBAL STATUS WHERE Variable_name IN ('wsrep_cluster_state_uuid', 'wsrep_cluster_status', \
                     'wsrep_incoming_addresses', 'wsrep_cluster_size')";

/// A server of a group, as another one knows it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Peer {
    /// The host by which it is said to be reached; empty: nobody says.
    pub host: String,
    /// The port.
    pub port: u16,
    /// MySQL's `server_uuid`, MariaDB's `server_id`; Galera tells none.
    pub id: Option<String>,
}

/// What a server says of itself and of the others of its group.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Peers {
    /// What no other server has, by whichever address it is reached.
    pub identity: String,
    /// What others know it by: MySQL's `server_uuid`, MariaDB's `server_id`.
    pub id: String,
    /// The group or cluster that it takes part in, if its protocol has them.
    pub cluster: Option<String>,
    /// Those that it lists: the members of its group, or its replicas.
    pub listed: Vec<Peer>,
    /// Whom it follows.
    pub follows: Option<Peer>,
}

impl Peers {
    /// Whether both say that they belong together: by their cluster, or because one follows the other.
    pub fn is_with(&self, other: &Peers) -> bool {
        match (&self.cluster, &other.cluster) {
            (Some(own), Some(others)) => own == others,
            (None, None) => self.is_replica_of(other) || other.is_replica_of(self),
            _ => false,
        }
    }

    fn is_replica_of(&self, other: &Peers) -> bool {
        self.follows.as_ref().and_then(|source| source.id.as_ref()) == Some(&other.id)
    }
}

impl Probe {
    /// Whom the server knows in its group.
    ///
    /// # Errors
    /// What broke the connection, or that Weir's account may not ask.
    pub async fn peers(&mut self) -> Result<Peers, Failure> {
        let mariadb = self.is_mariadb();
        let sql = match mariadb {
            true => "SELECT CONCAT_WS('|', @@hostname, @@port, @@datadir, @@server_id), @@server_id",
            false => "SELECT @@server_uuid, @@server_uuid",
        };
        let mut cells = self.query(sql).await?.into_iter().flatten().map(text);
        let mut cell = || cells.next().unwrap_or_default();
        let mut peers = Peers { identity: cell(), id: cell(), ..Peers::default() };
        let (cluster, listed) = if mariadb { self.galera_peers().await? } else { self.members().await? };
        (peers.cluster, peers.listed) = (cluster, listed);
        if peers.cluster.is_none() {
            peers.listed = self.replicas(mariadb).await?;
            peers.follows = self.followed(mariadb).await?;
        }
        Ok(peers)
    }

    /// Ends the connection as a client does: servers count those that go without a word, and some log them.
    pub async fn close(mut self) {
        // Nobody waits for what comes of it.
        let _ = self.connected.stream.write_all(&[1, 0, 0, 0, Command::Quit as u8]).await;
        let _ = self.connected.stream.flush().await;
    }

    /// The members of a Group Replication group, if the server takes part in one.
    async fn members(&mut self) -> Result<(Option<String>, Vec<Peer>), Failure> {
        let sql = "SELECT MEMBER_ID, MEMBER_HOST, MEMBER_PORT, MEMBER_STATE FROM performance_schema.replication_group_members";
        let members: Vec<Vec<String>> =
            self.query(sql).await?.into_iter().map(|row| row.into_iter().map(text).collect()).collect();
        let takes_part = |row: &Vec<String>| row.get(3).is_some_and(|state| state == "ONLINE" || state == "RECOVERING");
        if !members.iter().any(takes_part) {
            return Ok((None, Vec::new()));
        }
        let name = self.query("SELECT @@GLOBAL.group_replication_group_name").await?;
        let peer = |row: Vec<String>| {
            let mut cells = row.into_iter();
            let (id, host) = (cells.next(), cells.next().unwrap_or_default());
            Peer { host, port: cells.next().and_then(|port| port.parse().ok()).unwrap_or_default(), id }
        };
        let listed = members.into_iter().map(peer).collect();
        Ok((name.into_iter().flatten().next().map(text), listed))
    }

    /// The nodes of a Galera cluster, if the server is in its primary component.
    async fn galera_peers(&mut self) -> Result<(Option<String>, Vec<Peer>), Failure> {
        let status = self.pairs(WSREP).await?;
        let word = |name: &str| status.get(name).map(String::as_str).unwrap_or_default();
        if word("wsrep_cluster_status") != "Primary" || ["", "0"].contains(&word("wsrep_cluster_size")) {
            return Ok((None, Vec::new()));
        }
        let nodes = word("wsrep_incoming_addresses").split(',').map(str::trim).filter_map(address);
        Ok((Some(word("wsrep_cluster_state_uuid").to_owned()), nodes.collect()))
    }

    async fn replicas(&mut self, mariadb: bool) -> Result<Vec<Peer>, Failure> {
        let (sql, id) = if mariadb { ("SHOW SLAVE HOSTS", "Server_id") } else { ("SHOW REPLICAS", "Replica_UUID") };
        let peer = |record: Record| Peer {
            host: record.get("Host").cloned().unwrap_or_default(),
            port: port(&record, "Port"),
            id: record.get(id).cloned(),
        };
        let all: Vec<Peer> = self.records(sql).await?.into_iter().map(peer).collect();
        // A replica with several connections is listed more than once.
        let mut seen = HashSet::new();
        Ok(all.into_iter().filter(|peer| seen.insert(peer.id.clone())).collect())
    }

    async fn followed(&mut self, mariadb: bool) -> Result<Option<Peer>, Failure> {
        let (sql, id) = match mariadb {
            true => ("SHOW ALL SLAVES STATUS", "Source_Server_Id"),
            false => ("SHOW REPLICA STATUS", "Source_UUID"),
        };
        let unnamed = |record: &Record| {
            ["Channel_Name", "Connection_name"].iter().all(|name| record.get(*name).is_none_or(String::is_empty))
        };
        let source = self.records(sql).await?.into_iter().find(unnamed);
        Ok(source.map(|record| Peer {
            host: record.get("Source_Host").cloned().unwrap_or_default(),
            port: port(&record, "Source_Port"),
            id: record.get(id).cloned().filter(|id| !id.is_empty()),
        }))
    }
}

fn port(record: &Record, name: &str) -> u16 {
    record.get(name).and_then(|port| port.parse().ok()).unwrap_or_default()
}

/// `host:port`; the host is empty for a node that does not know its own (`AUTO`).
fn address(text: &str) -> Option<Peer> {
    if text.is_empty() {
        return None;
    }
    if text == "AUTO" {
        return Some(Peer::default());
    }
    let (host, port) = text.rsplit_once(':').unwrap_or((text, "3306"));
    let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
    Some(Peer { host, port: port.parse().unwrap_or_default(), id: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_nodes_are_read() {
        let read = |text| address(text).map(|peer| (peer.host, peer.port));
        assert_eq!(read("10.0.0.1:3307"), Some(("10.0.0.1".to_owned(), 3307)));
        assert_eq!(read("[fe80::1]:3306"), Some(("fe80::1".to_owned(), 3306)));
        assert_eq!(read("db1"), Some(("db1".to_owned(), 3306)));
        assert_eq!(read("AUTO"), Some((String::new(), 0)));
        assert_eq!(read(""), None);
    }

    #[test]
    fn servers_belong_together_if_both_say_so() {
        let of = |id: &str, cluster: Option<&str>, follows: Option<&str>| Peers {
            id: id.to_owned(),
            cluster: cluster.map(str::to_owned),
            follows: follows.map(|id| Peer { id: Some(id.to_owned()), ..Peer::default() }),
            ..Peers::default()
        };
        let (source, replica) = (of("1", None, None), of("2", None, Some("1")));
        assert!(source.is_with(&replica) && replica.is_with(&source));
        assert!(!source.is_with(&of("3", None, None)) && !replica.is_with(&of("3", None, Some("1"))));
        assert!(of("1", Some("a"), None).is_with(&of("2", Some("a"), None)));
        assert!(!of("1", Some("a"), None).is_with(&of("2", Some("b"), None)));
        assert!(!of("1", Some("a"), None).is_with(&source));
    }
}
