//! Members that a group knows of itself, and that nobody has named in the configuration.
//!
//! What must always hold: a server is a member only if it was reached at the address that the group tells and says of itself that it belongs to the
//! group: an address may lead to another server, and a server may have moved to another group.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use weir_backend::monitor::peers::{Peer, Peers};
use weir_backend::monitor::{MonitorSettings, Probe};
use weir_backend::patience::within;
use weir_backend::{Address, Server};

/// Bound on reaching a server and its answer.
const BOUND: Duration = Duration::from_secs(2);
/// The most servers that are asked at one time.
const MOST: usize = 64;

/// What a group says of its members.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Findings {
    /// Addresses of members that nobody has named.
    pub found: Vec<Address>,
    /// Addresses that the group tells and that are not used, with the reason.
    pub unused: Vec<(String, String)>,
    /// What is to be said of each server that was named: that the group does not know it.
    pub notices: Vec<Option<String>>,
}

/// A server that answers.
struct Reached {
    /// Its place among those that were named.
    named: Option<usize>,
    peers: Peers,
}

/// A survey that is under way. `S`: to reach a server at an address.
struct Survey<'a, S> {
    account: &'a MonitorSettings,
    server: S,
    reached: Vec<Reached>,
    /// Those of them that are the group.
    ours: Vec<usize>,
    /// Addresses that need no further look.
    tried: HashSet<String>,
    findings: Findings,
}

/// Asks the named servers, those whom they know, and so on. `server`: to reach one at an address.
pub async fn survey(named: &[Arc<Server>], account: &MonitorSettings, server: impl Fn(Address) -> Server) -> Findings {
    let mut findings = Findings { notices: vec![None; named.len()], ..Findings::default() };
    let mut reached = Vec::new();
    for (index, server) in named.iter().enumerate() {
        match ask(server, account).await {
            Ok(peers) => reached.push(Reached { named: Some(index), peers }),
            Err(why) => findings.notices[index] = Some(why),
        }
    }
    let ours = main_part(&reached);
    let tried = named.iter().map(|server| server.settings.address.to_string()).collect();
    let mut survey = Survey { account, server, reached, ours, tried, findings };
    let mut at = 0;
    while at < survey.ours.len() {
        survey.follow(survey.ours[at]).await;
        at += 1;
    }
    survey.end()
}

impl<S: Fn(Address) -> Server> Survey<'_, S> {
    /// Looks at all whom a server of the group knows.
    async fn follow(&mut self, index: usize) {
        let here = self.reached[index].peers.clone();
        for peer in here.listed.iter().chain(&here.follows) {
            if self.ours.len() < MOST {
                self.look_at(peer, &here).await;
            }
        }
        // A named server may belong to the group by one that was found.
        let joined = (0..self.reached.len()).filter(|other| {
            let is_new = !self.ours.contains(other);
            is_new && self.reached[*other].peers.is_with(&here)
        });
        let joined: Vec<usize> = joined.collect();
        self.ours.extend(joined);
    }

    /// Looks at one of them, unless it is known.
    async fn look_at(&mut self, peer: &Peer, by: &Peers) {
        let address = Address::Tcp { host: peer.host.clone(), port: peer.port };
        let shown = match peer.host.is_empty() {
            true => peer.id.clone().unwrap_or_else(|| "AUTO".to_owned()),
            false => address.to_string(),
        };
        let is_known = |known: &Reached| peer.id.as_ref() == Some(&known.peers.identity);
        if self.reached.iter().any(is_known) || !self.tried.insert(shown.clone()) {
            return;
        }
        match reach(peer, &address, self.account, &self.server).await {
            Ok(found) if self.reached.iter().any(|known| known.peers.identity == found.identity) => {}
            Ok(found) if is_meant(peer, &found) && found.is_with(by) => {
                self.findings.found.push(address);
                self.ours.push(self.reached.len());
                self.reached.push(Reached { named: None, peers: found });
            }
            refused => {
                let other = "another server, or one of another group, answers there".to_owned();
                self.findings.unused.push((shown, refused.err().unwrap_or(other)));
            }
        }
    }

    fn end(mut self) -> Findings {
        notice(&mut self.findings, &self.reached, &self.ours);
        self.findings.found.sort_by_key(ToString::to_string);
        self.findings
    }
}

/// The largest part of the servers that belong together; of several that with the first server.
fn main_part(reached: &[Reached]) -> Vec<usize> {
    let mut parts: Vec<Vec<usize>> = Vec::new();
    for start in 0..reached.len() {
        if parts.iter().any(|part| part.contains(&start)) {
            continue;
        }
        let (mut part, mut at) = (vec![start], 0);
        while at < part.len() {
            let here = &reached[part[at]].peers;
            let next = (0..reached.len()).filter(|other| !part.contains(other) && reached[*other].peers.is_with(here));
            let next: Vec<usize> = next.collect();
            part.extend(next);
            at += 1;
        }
        parts.push(part);
    }
    parts.into_iter().rev().max_by_key(Vec::len).unwrap_or_default()
}

/// Says which named servers the group does not know.
fn notice(findings: &mut Findings, reached: &[Reached], ours: &[usize]) {
    let named = |index: &usize| reached[*index].named;
    let members: HashSet<usize> = ours.iter().filter_map(named).collect();
    let answered: HashSet<usize> = reached.iter().filter_map(|server| server.named).collect();
    // One server alone is no group that could know others.
    let is_group = ours.len() > 1 || ours.first().is_some_and(|only| reached[*only].peers.cluster.is_some());
    for (index, notice) in findings.notices.iter_mut().enumerate() {
        let elsewhere = "the other servers of the group do not know it: it is in none, or in another one";
        *notice = match notice.take() {
            Some(why) if reached.is_empty() => Some(format!("it can't be asked for its group: {why}")),
            _ if members.contains(&index) || !is_group => None,
            _ if answered.contains(&index) => Some(elsewhere.to_owned()),
            // It may be one of those that the group tells.
            Some(_) if !findings.unused.is_empty() => None,
            Some(why) => Some(format!("the other servers of the group do not list it, and it can't be asked: {why}")),
            None => None,
        };
    }
}

/// Whether a server that answers is the one that was meant.
fn is_meant(peer: &Peer, found: &Peers) -> bool {
    peer.id.as_ref().is_none_or(|id| *id == found.id)
}

async fn reach(
    peer: &Peer,
    address: &Address,
    account: &MonitorSettings,
    server: impl Fn(Address) -> Server,
) -> Result<Peers, String> {
    if peer.host.is_empty() || peer.port == 0 {
        let (what, option) = match &peer.id {
            Some(id) => (format!("server {id} does not"), "report_host"),
            None => ("nodes do not".to_owned(), "wsrep_node_incoming_address"),
        };
        return Err(format!("{what} tell the group an address: set {option} there"));
    }
    ask(&server(address.clone()), account).await
}

async fn ask(server: &Server, account: &MonitorSettings) -> Result<Peers, String> {
    let asked = async {
        let mut probe = Probe::open(server, account).await?;
        let peers = probe.peers().await;
        probe.close().await;
        peers
    };
    match within(BOUND, asked).await {
        Some(Ok(peers)) => Ok(peers),
        Some(Err(failure)) => Err(failure.message),
        None => Err(format!("no answer within {BOUND:?}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reached(id: &str, follows: Option<&str>) -> Reached {
        let follows = follows.map(|id| Peer { id: Some(id.to_owned()), ..Peer::default() });
        Reached {
            named: None,
            peers: Peers { identity: id.to_owned(), id: id.to_owned(), follows, ..Peers::default() },
        }
    }

    #[test]
    fn the_largest_part_is_the_group() {
        let servers = [reached("x", None), reached("a", None), reached("c", Some("b")), reached("b", Some("a"))];
        assert_eq!(main_part(&servers), [1, 3, 2]);
        assert_eq!(main_part(&servers[..2]), [0]);
        assert_eq!(main_part(&[]), Vec::<usize>::new());
    }

    #[test]
    fn only_a_group_says_who_is_not_in_it() {
        let named = |index, server: Reached| Reached { named: Some(index), ..server };
        let servers = [named(0, reached("a", None)), named(1, reached("b", Some("a"))), named(2, reached("x", None))];
        let mut findings =
            Findings { notices: vec![None, None, None, Some("refused".to_owned())], ..Findings::default() };
        notice(&mut findings, &servers, &main_part(&servers));
        let told: Vec<bool> = findings.notices.iter().map(Option::is_some).collect();
        assert_eq!(told, [false, false, true, true]);
        let mut alone = Findings { notices: vec![None, Some("refused".to_owned())], ..Findings::default() };
        notice(&mut alone, &servers[..1], &[0]);
        assert_eq!(alone.notices, [None, None]);
        let mut nobody = Findings { notices: vec![Some("refused".to_owned())], ..Findings::default() };
        notice(&mut nobody, &[], &[]);
        assert_eq!(nobody.notices, [Some("it can't be asked for its group: refused".to_owned())]);
    }
}
