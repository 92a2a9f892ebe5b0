//! What to do about a group whose servers follow one writer: a pure function of facts and times.
//!
//! What must always hold: a writer is replaced only if Weir cannot reach it *and* every replica that can be asked has lost it too: a broken link
//! of one observer is no failover. At most one thing is done at a time.

use std::sync::Arc;
use std::time::{Duration, Instant};

use weir_backend::Position;
use weir_backend::standing::{MemberState, Source};

use super::member;
use crate::follows::Follows;
use crate::kind::GroupKind;
use crate::roles::{Fact, takes_writes};
use crate::settings::GroupSettings;

/// A replica that has heard nothing for so many heartbeat periods has lost its source.
const SILENT: Duration = Duration::from_millis(2500);
/// After an action on a server has failed, it is left alone for so long.
pub(super) const RETRY: Duration = Duration::from_secs(10);

/// What is known when a decision is made.
#[derive(Debug)]
pub(super) struct Sight<'a> {
    /// The servers, in the configuration's order.
    pub facts: &'a [Fact],
    /// Those that have what the group lacks.
    pub quarantined: Vec<bool>,
    /// The present writer.
    pub writer: usize,
    /// What the group is.
    pub kind: GroupKind,
    /// The choices.
    pub settings: &'a GroupSettings,
    /// The time.
    pub now: Instant,
}

/// What a replica heard last.
#[derive(Debug, Clone)]
struct Heard {
    heartbeats: u64,
    received: Arc<Position>,
    since: Instant,
}

/// What is remembered from one decision to the next.
#[derive(Debug, Clone)]
pub(super) struct Memory {
    heard: Vec<Option<Heard>>,
    /// After which of its starts each was last seen to take writes.
    wrote_in: Vec<Option<u64>>,
    /// When the last failover ended that nobody had asked for.
    pub(super) last_failover: Option<Instant>,
    /// Until when a server is left alone.
    pub(super) rests_until: Vec<Option<Instant>>,
    /// Since when a member of Group Replication says that it has failed, or was expelled.
    pub(super) failed_since: Vec<Option<Instant>>,
    /// Why a member that was told to join has not.
    pub(super) not_joined: Vec<Option<String>>,
    /// Who was the writer when an earlier process of this Weir looked last.
    pub(super) recalled: Option<usize>,
    /// Who was taken for the writer because it has all that any has.
    pub(super) appointed: Option<usize>,
    /// When something was last done: what servers had said before is out of date.
    pub(super) acted: Option<Instant>,
}

impl Memory {
    /// Of a group of so many servers.
    pub(super) fn new(servers: usize) -> Memory {
        Memory {
            heard: vec![None; servers],
            wrote_in: vec![None; servers],
            last_failover: None,
            rests_until: vec![None; servers],
            failed_since: vec![None; servers],
            not_joined: vec![None; servers],
            recalled: None,
            appointed: None,
            acted: None,
        }
    }

    /// A server was made the writer.
    pub(super) fn promoted(&mut self, server: usize) {
        // After a start that has not been seen yet, perhaps.
        self.wrote_in[server].get_or_insert(u64::MAX);
    }
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Next {
    /// Nothing.
    Nothing,
    /// Nothing yet, and why: the writer is not as it should be.
    Watch(String),
    /// The writer is replaced.
    Failover,
    /// The server is the writer: the one that was taken for it follows it, and nobody takes writes.
    Appoint(usize),
    /// The writer takes writes again: it came back read-only, and nobody else writes.
    Resume,
    /// The writer takes writes already, and is made to follow nobody.
    Detach,
    /// The server is made read-only: it takes writes beside the writer.
    Fence(usize),
    /// The server is made to follow the writer.
    Rejoin(usize),
    /// The server is told to join its group, which elects the writer, again.
    Join(usize),
}

/// Decides.
pub(super) fn decide(sight: &Sight<'_>, memory: &mut Memory) -> Next {
    remember(sight, memory);
    if sight.kind == GroupKind::GroupReplication {
        return member::decide(sight, memory);
    }
    if sight.kind != GroupKind::Async || sight.facts.len() < 2 {
        return Next::Nothing;
    }
    let writer = &sight.facts[sight.writer];
    if !writer.known {
        return Next::Nothing;
    }
    if !writer.up {
        return match obstacle(sight, memory) {
            Some(why) => Next::Watch(why),
            None => Next::Failover,
        };
    }
    if !takes_writes(writer) {
        return resume(sight, memory);
    }
    if !sight.settings.automatic_failover {
        return Next::Nothing;
    }
    if !said_since(sight, memory) {
        return Next::Nothing;
    }
    let idle = |server: &usize| memory.rests_until[*server].is_none_or(|until| sight.now >= until);
    if memory.appointed == Some(sight.writer) && still_replicates(sight) && idle(&sight.writer) {
        return Next::Detach;
    }
    let others = || (0..sight.facts.len()).filter(|server| *server != sight.writer).filter(idle);
    if let Some(server) = others().find(|server| writes_beside(sight, *server)) {
        return Next::Fence(server);
    }
    others().find(|server| strays(sight, *server)).map_or(Next::Nothing, Next::Rejoin)
}

fn source<'a>(sight: &'a Sight<'_>, server: usize) -> Option<&'a Source> {
    sight.facts[server].standing.as_ref()?.source.as_ref()
}

/// Takes down what is heard, and who writes.
fn remember(sight: &Sight<'_>, memory: &mut Memory) {
    for (server, fact) in sight.facts.iter().enumerate() {
        if let Some(observation) = fact.observation.as_ref().filter(|_| takes_writes(fact)) {
            memory.wrote_in[server] = Some(observation.start);
        }
        let Some(standing) = fact.standing.as_ref() else { continue };
        match standing.own_member().map(|own| own.state) {
            Some(MemberState::Error) => {
                memory.failed_since[server].get_or_insert(standing.asked);
            }
            Some(MemberState::Online) => (memory.failed_since[server], memory.not_joined[server]) = (None, None),
            _ => memory.failed_since[server] = None,
        }
        let Some(source) = &standing.source else {
            memory.heard[server] = None;
            continue;
        };
        let same = |heard: &&Heard| heard.heartbeats == source.heartbeats && heard.received == source.received;
        if memory.heard[server].as_ref().filter(same).is_none() {
            let (heartbeats, received) = (source.heartbeats, source.received.clone());
            memory.heard[server] = Some(Heard { heartbeats, received, since: standing.asked });
        }
    }
}

/// How many replicas must be reached before the writer is replaced. Half of them, so that a Weir that is cut off itself replaces nobody. If commits
/// wait for `k` of `n` replicas: `n - k + 1`, for then each acknowledged commit is on one of those, and nothing more can be acknowledged
/// without them.
pub(super) fn needed(sight: &Sight<'_>) -> usize {
    let semi_sync = |server: usize| sight.facts[server].standing.as_ref().map(|standing| standing.semi_sync);
    let replicas = || (0..sight.facts.len()).filter(|server| *server != sight.writer);
    let half = replicas().count().div_ceil(2).max(1);
    // What the writer last said may be from before it was one.
    let mut known = (0..sight.facts.len()).filter_map(semi_sync);
    if !known.any(|semi_sync| semi_sync.enabled || semi_sync.acknowledges) {
        return half;
    }
    let wait_count = semi_sync(sight.writer).filter(|writer| writer.enabled).map_or(1, |writer| writer.wait_count);
    let wait_count = usize::try_from(wait_count).unwrap_or(usize::MAX).max(1);
    // One of which nothing is known may acknowledge, and so may one that was the writer.
    let may = |replica: &usize| semi_sync(*replica).is_none_or(|s| s.acknowledges || s.enabled);
    half.max((replicas().filter(may).count() + 1).saturating_sub(wait_count))
}

/// Why the writer, which can't be reached, is not replaced now.
fn obstacle(sight: &Sight<'_>, memory: &Memory) -> Option<String> {
    let settings = sight.settings;
    let writer = &sight.facts[sight.writer];
    let gone_since = sight.now.checked_sub(writer.down_for).unwrap_or(sight.now);
    if !settings.automatic_failover {
        return Some("it is replaced by WEIR FAILOVER only: failover is \"manual\"".to_owned());
    }
    if writer.down_for < settings.failover_after {
        return Some(format!("it is replaced if it stays away for {:?}", settings.failover_after));
    }
    if let Some(last) = memory.last_failover
        && sight.now.saturating_duration_since(last) < settings.failover_interval
    {
        return Some(format!(
            "the last failover was less than {:?} ago (failover_interval)",
            settings.failover_interval
        ));
    }
    if memory.rests_until[sight.writer].is_some_and(|until| sight.now < until) {
        return Some("replacing it has just failed: WEIR SHOW FAILOVERS tells why; it is tried again".to_owned());
    }
    let replicas = || (0..sight.facts.len()).filter(|server| *server != sight.writer);
    let reached: Vec<_> = replicas().filter(|server| sight.facts[*server].up).collect();
    let needed = needed(sight);
    if reached.len() < needed {
        let (reached, all) = (reached.len(), replicas().count());
        return Some(format!(
            "{reached} of {all} replicas can be reached, and {needed} are needed to be sure of what was acknowledged; WEIR FAILOVER does \
             without them"
        ));
    }
    let followers: Vec<_> = reached
        .iter()
        .copied()
        .filter(|server| sight.facts[*server].follows == Follows::Member(sight.writer))
        .collect();
    if followers.is_empty() {
        return Some("no replica that can be reached follows it; WEIR FAILOVER replaces it".to_owned());
    }
    for server in followers {
        let asked = sight.facts[server].standing.as_ref().map(|standing| standing.asked);
        if asked.is_none_or(|asked| asked <= gone_since) {
            return Some("the replicas have not been asked yet".to_owned());
        }
        let Some(source) = source(sight, server) else { continue };
        if !source.by_gtid {
            return Some("a replica does not follow it by GTIDs".to_owned());
        }
        let silent = memory.heard[server]
            .as_ref()
            .is_some_and(|heard| asked.is_some_and(|asked| asked.saturating_duration_since(heard.since) >= SILENT));
        if source.receives && !silent {
            return Some("a replica still hears of it: the link from Weir may be broken".to_owned());
        }
    }
    None
}

/// The writer is there and read-only. If it restarted so, and everybody follows it, it takes writes again; if it was made read-only, somebody
/// wants it to be.
fn resume(sight: &Sight<'_>, memory: &mut Memory) -> Next {
    let writer = sight.writer;
    if let Some(head) = head(sight) {
        return Next::Appoint(head);
    }
    let start = sight.facts[writer].observation.as_ref().map(|observation| observation.start);
    let made_so = memory.wrote_in[writer].is_some() && memory.wrote_in[writer] == start;
    if made_so || sight.facts[writer].follows != Follows::Nobody && !has_most(sight, writer) {
        return Next::Watch("it refuses writes (read_only)".to_owned());
    }
    if !sight.settings.automatic_failover {
        return Next::Watch("it refuses writes since it came back; SET GLOBAL read_only = 0 there".to_owned());
    }
    if memory.rests_until[writer].is_some_and(|until| sight.now < until) {
        return Next::Watch("it refuses writes, and could not be made to take them".to_owned());
    }
    let others = || (0..sight.facts.len()).filter(|server| *server != writer);
    let mut writable = others().filter(|server| takes_writes(&sight.facts[*server]));
    if let Some(other) = writable.find(|server| !is_replica(sight, *server)) {
        let rests = memory.rests_until[other].is_some_and(|until| sight.now < until);
        // One that has all that the writer has may have been promoted by hand, and so may any while this Weir was not there.
        let knows = memory.wrote_in[writer].is_some() && sight.settings.is_only_weir;
        let loses_nothing = knows || covers(sight, writer, other);
        return match loses_nothing && writes_beside(sight, other) && !covers(sight, other, writer) && !rests {
            true => Next::Fence(other),
            false => Next::Watch(
                "it refuses writes, and another server takes them; WEIR FAILOVER TO server says which one is to"
                    .to_owned(),
            ),
        };
    }
    let knows = (memory.wrote_in[writer].is_some() || memory.recalled == Some(writer)) && sight.settings.is_only_weir;
    if let Some(best) = best(sight, knows) {
        memory.appointed = Some(best);
        return Next::Appoint(best);
    }
    // Who has nothing that the writer lacks may follow it already now; another one only if this Weir knows who wrote last.
    let idle = |server: &usize| memory.rests_until[*server].is_none_or(|until| sight.now >= until);
    let may_follow = |server: &usize| knows || covers(sight, writer, *server);
    let stray = others().filter(idle).filter(may_follow).find(|server| strays(sight, *server));
    if let Some(stray) = stray.filter(|_| said_since(sight, memory)) {
        return Next::Rejoin(stray);
    }
    let settled = |server: usize| {
        let follows = sight.facts[server].up && sight.facts[server].follows == Follows::Member(writer);
        follows || (knows && sight.quarantined[server])
    };
    let count = others().filter(|server| settled(*server)).count();
    if count * 2 < others().count() || count == 0 {
        return Next::Watch("it refuses writes since it came back, and too few replicas follow it yet".to_owned());
    }
    let unjudged = |server: &usize| sight.facts[*server].up && !(knows && sight.quarantined[*server]);
    if !others().filter(unjudged).all(|server| covers(sight, writer, server)) {
        return Next::Watch("it refuses writes since it came back, and another server has more than it".to_owned());
    }
    Next::Resume
}

/// Whether a server has all that another one has.
fn covers(sight: &Sight<'_>, server: usize, other: usize) -> bool {
    sight.facts[server].covers(&sight.facts[other])
}

/// The server that has all that any has, if the writer has not, and all can be asked: nothing is lost if it writes.
fn best(sight: &Sight<'_>, knows: bool) -> Option<usize> {
    let may = |server: &usize| {
        let judged = knows && sight.quarantined[*server];
        has_most(sight, *server) && sight.facts[*server].promotion.allows() && !judged
    };
    if has_most(sight, sight.writer) { None } else { (0..sight.facts.len()).find(may) }
}

/// Whether all can be asked, and a server has all that any has.
fn has_most(sight: &Sight<'_>, server: usize) -> bool {
    let mut all = 0..sight.facts.len();
    all.all(|other| sight.facts[other].up && (other == server || covers(sight, server, other)))
}

/// Whether a server follows one of the group. It may take writes all the same, and is nobody's writer.
fn is_replica(sight: &Sight<'_>, server: usize) -> bool {
    matches!(sight.facts[server].follows, Follows::Member(_))
}

/// Whether all that is known was said after something was last done.
fn said_since(sight: &Sight<'_>, memory: &Memory) -> bool {
    let since = |fact: &Fact| {
        let asked = [fact.observation.as_ref().map(|o| o.asked), fact.standing.as_ref().map(|standing| standing.asked)];
        memory.acted.is_none_or(|acted| asked.iter().all(|asked| asked.is_some_and(|asked| asked > acted)))
    };
    sight.facts.iter().filter(|fact| fact.up).all(since)
}

/// Whom the writer follows, if that one follows nobody, and no server takes writes: all of them restarted, and were read-only before.
fn head(sight: &Sight<'_>) -> Option<usize> {
    let Follows::Member(head) = sight.facts[sight.writer].follows else { return None };
    let writes = (0..sight.facts.len()).any(|server| takes_writes(&sight.facts[server]) && !is_replica(sight, server));
    let is_head =
        sight.facts[head].follows == Follows::Nobody && sight.facts[head].up && covers(sight, head, sight.writer);
    (is_head && !writes).then_some(head)
}

/// A server that takes writes though another is the writer, follows nobody, and lets others follow the writer: one that was replaced.
fn writes_beside(sight: &Sight<'_>, server: usize) -> bool {
    let others = (0..sight.facts.len()).filter(|other| *other != server && *other != sight.writer);
    let mut followed = others.map(|other| sight.facts[other].follows);
    let writer_is_followed = followed.any(|follows| follows == Follows::Member(sight.writer));
    let alone = sight.facts.len() == 2;
    takes_writes(&sight.facts[server])
        && sight.facts[server].follows == Follows::Nobody
        && (writer_is_followed || alone)
}

/// The writer takes writes, and is a replica yet of one that does not: it was one that did not refuse writes when it became the writer.
fn still_replicates(sight: &Sight<'_>) -> bool {
    let Follows::Member(source) = sight.facts[sight.writer].follows else { return false };
    let source = &sight.facts[source];
    source.up && !takes_writes(source) && source.follows != Follows::Member(sight.writer)
}

/// A read-only server that follows nobody, or another one of the group.
fn strays(sight: &Sight<'_>, server: usize) -> bool {
    let fact = &sight.facts[server];
    let read_only = fact.observation.as_ref().is_some_and(|observation| observation.read_only);
    let elsewhere = match sight.facts[server].follows {
        Follows::Nobody => true,
        Follows::Member(other) => other != sight.writer,
        Follows::Stranger | Follows::Unknown => false,
    };
    fact.up && fact.same_kind && read_only && elsewhere
}

#[cfg(test)]
mod tests;
