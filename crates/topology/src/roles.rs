//! Who writes and who reads, from facts: a pure function.
//!
//! What must always hold: writes go to one server at a time, and never to one that has not been the writer before only because
//! the writer is silent: that decision (a failover) is made in [`crate::failover`]. A server becomes the writer when it was told so; when
//! the present one refuses writes or is gone and exactly one other was seen to be promoted; when the majority of its group says so; or, when
//! Weir starts or the writer restarts, by whom the other servers follow ([`crate::starting`]).

use std::sync::Arc;
use std::time::{Duration, Instant};

use weir_backend::{Observation, Position, Standing};

use crate::elected::{self, Part};
use crate::follows::Follows;
use crate::kind::{self, GroupKind};
use crate::settings::{GroupSettings, Promotion};
use crate::starting;
use crate::view::{Member, View, WriterPosition};

/// For so long the readers in rotation may have other defaults than the writer.
const DEFAULTS_MAY_DIFFER: Duration = Duration::from_secs(2);

/// What is known of a server when a decision is made.
#[derive(Debug, Clone)]
pub struct Fact {
    /// Its share of the reads; `None`: 1 as a replica, none as the writer.
    pub weight: Option<u32>,
    /// It answers.
    pub up: bool,
    /// It has been asked at least once.
    pub known: bool,
    /// Why it is not up.
    pub why_down: String,
    /// Since when it is not up.
    pub down_for: Duration,
    /// Since when it has said nothing: one that hangs is found not to be up only when it has been silent for long.
    pub silent_for: Duration,
    /// It is of the writer's kind, MySQL or MariaDB.
    pub same_kind: bool,
    /// What it last said.
    pub observation: Option<Arc<Observation>>,
    /// It has every commit that was acknowledged before this time.
    pub as_of: Option<Instant>,
    /// What it last said of its part in the group.
    pub standing: Option<Arc<Standing>>,
    /// Whether it may become the writer.
    pub promotion: Promotion,
    /// Whom it follows.
    pub follows: Follows,
}

impl Fact {
    /// Which of Weir's connections has told this.
    fn life(&self) -> Option<u64> {
        self.observation.as_ref().map(|observation| observation.life)
    }

    /// After which of its starts this was told.
    fn start(&self) -> Option<u64> {
        self.observation.as_ref().map(|observation| observation.start)
    }

    /// All that it has, applied or not.
    fn has(&self) -> Option<Position> {
        let mut has = Position::clone(&self.observation.as_ref()?.visible);
        if let Some(source) = self.standing.as_ref().and_then(|standing| standing.source.as_ref()) {
            has.add(&source.received);
        }
        Some(has)
    }

    /// Whether it has all that another server has, as far as both have told.
    pub(crate) fn covers(&self, other: &Fact) -> bool {
        self.has().zip(other.has()).is_some_and(|(own, others)| own.covers(&others))
    }
}

/// What is remembered from one decision to the next.
#[derive(Debug, Clone)]
pub struct State {
    writer: usize,
    /// The writer has been seen to take writes.
    established: bool,
    /// Nothing that the other servers may still tell makes another one the writer.
    settled: bool,
    /// On which of Weir's connections to the writer that was so.
    settled_in: Option<u64>,
    /// It was the writer when another process of this Weir ended.
    remembered: bool,
    /// After which of its starts each server was last seen to refuse writes.
    refused_in: Vec<Option<u64>>,
    /// Readers that took reads after the last decision.
    in_rotation: Vec<bool>,
    /// Since when sessions begin with other values there than on the writer.
    differing_since: Vec<Option<Instant>>,
    /// What the group was last found to be.
    kind: Option<GroupKind>,
    /// Servers that must take no reads, and why: they have what the group lacks.
    pub(crate) quarantined: Vec<Option<String>>,
}

impl State {
    /// At the start, with the configured writer among `servers` servers.
    pub fn new(writer: usize, servers: usize) -> State {
        State {
            writer,
            established: false,
            settled: false,
            settled_in: None,
            remembered: false,
            refused_in: vec![None; servers],
            in_rotation: vec![false; servers],
            differing_since: vec![None; servers],
            kind: None,
            quarantined: vec![None; servers],
        }
    }

    /// At the start, with the writer that an earlier process has left, and what the group was then. A group that elects tells of that itself.
    pub fn remembering(writer: usize, kind: GroupKind, servers: usize) -> State {
        let kind = Some(kind).filter(|kind| *kind == GroupKind::Async);
        State { remembered: true, kind, ..State::new(writer, servers) }
    }

    /// The writer, if an earlier process has left it.
    pub(crate) fn recalled(&self) -> Option<usize> {
        self.remembered.then_some(self.writer)
    }

    /// Whether it is known who writes, as far as it can be.
    pub(crate) fn is_settled(&self, facts: &[Fact]) -> bool {
        self.settled || facts.iter().all(|fact| fact.known)
    }

    #[cfg(test)]
    pub(crate) fn writer(&self) -> usize {
        self.writer
    }

    /// The writer takes writes on a new connection: it may have restarted, and another Weir may have replaced it.
    fn is_back(&self, facts: &[Fact]) -> bool {
        let writer = &facts[self.writer];
        takes_writes(writer) && self.settled_in.is_some() && self.settled_in != writer.life()
    }

    /// Somebody says who the writer is.
    pub fn set_writer(&mut self, writer: usize) {
        // Both have taken writes: whoever is to count as promoted has to refuse them first.
        (self.refused_in[self.writer], self.refused_in[writer]) = (None, None);
        self.writer = writer;
        (self.established, self.remembered) = (true, false);
        (self.settled, self.settled_in) = (true, None);
    }
}

/// Whether it was seen to take writes when it was asked last.
pub(crate) fn takes_writes(fact: &Fact) -> bool {
    fact.up && fact.observation.as_ref().is_some_and(|observation| !observation.read_only)
}

fn refuses_writes(fact: &Fact) -> bool {
    fact.up && fact.observation.as_ref().is_some_and(|observation| observation.read_only)
}

/// Decides. The returned view has a member for each fact, in their order.
pub fn decide(facts: &[Fact], state: &mut State, settings: &GroupSettings, now: Instant) -> View {
    // What servers have said stays true while they are silent.
    state.kind = kind::found(facts).or(state.kind);
    let kind = settings.kind.or(state.kind).unwrap_or_default();
    let parts = elected::parts(kind, facts);
    let elects = kind.elects();
    match elects {
        true => follow_election(&parts, facts, state),
        false => follow_promotion((kind, settings), facts, state),
    }
    let writer = state.writer;
    let clock = reference(&facts[writer], now);
    let members: Vec<_> = facts
        .iter()
        .enumerate()
        .map(|(index, fact)| {
            let differs = differs_for_long(index, &facts[writer], fact, state, now);
            let lag_bound = if state.in_rotation[index] { settings.max_lag } else { settings.max_lag / 2 };
            let unusable = match state.quarantined[index].clone() {
                _ if index == writer && elects && parts[index] != Part::Primary => Some(not_primary(fact)),
                _ if index == writer => writer_unusable(fact),
                Some(why) if fact.up => Some(why),
                _ if elects && fact.up && parts[index] == Part::Out => Some(not_a_member(fact)),
                _ if kind == GroupKind::Async && follows_nobody(fact) => Some("it follows no server".to_owned()),
                _ => reader_unusable(fact, lag_bound, clock).or(differs),
            };
            let observation = fact.observation.as_ref();
            Member {
                weight: fact.weight.unwrap_or(u32::from(index != writer)),
                unusable,
                life: observation.map_or(0, |o| o.life),
                applied: observation.map(|o| o.applied.clone()),
                as_of: if index == writer { observation.map(|o| o.asked) } else { fact.as_of },
            }
        })
        .collect();
    for (index, member) in members.iter().enumerate() {
        state.in_rotation[index] = member.unusable.is_none();
    }
    let readers = members.iter().enumerate().filter(|(index, member)| *index != writer && member.weight > 0);
    let has_readers = readers.clone().any(|(_, member)| member.unusable.is_none());
    let position = |o: &Arc<Observation>| WriterPosition { asked: o.asked, position: o.visible.clone() };
    View {
        writer,
        writer_unusable: members[writer].unusable.clone(),
        writer_position: facts[writer].observation.as_ref().filter(|o| o.has_gtids).map(position),
        members,
        has_readers,
        max_lag: settings.max_lag,
        writer_gone: (!facts[writer].up && facts[writer].known).then_some(clock),
        kind,
    }
}

/// A server that follows nobody may have what the group lacks: one that was the writer, and has come back.
fn follows_nobody(fact: &Fact) -> bool {
    let standing = fact.standing.as_ref().filter(|_| fact.up);
    standing.is_some_and(|standing| standing.source.is_none() && standing.source_unknown.is_none())
}

/// The group says who writes.
fn follow_election(parts: &[Part], facts: &[Fact], state: &mut State) {
    if let Some(elected) = elected::writer(parts, state.writer, facts) {
        state.set_writer(elected);
    }
}

fn not_primary(fact: &Fact) -> String {
    match fact.up {
        true => "the group has no writer: no majority of its members is connected".to_owned(),
        false => fact.why_down.clone(),
    }
}

fn not_a_member(fact: &Fact) -> String {
    let standing = fact.standing.as_ref();
    let galera = standing.and_then(|standing| standing.galera.as_ref());
    match galera {
        Some(galera) if !galera.primary_component => "it is not in the primary component".to_owned(),
        Some(galera) => format!("its state is {}", galera.state),
        None => "it is no ONLINE member of the group".to_owned(),
    }
}

/// Another server is the writer if it was promoted: seen read-only before, and now not, while the writer takes none. At
/// the start, before the configured writer was ever seen to take writes, the only server that does is taken for it, unless Weir has reason to
/// know better: whom the others follow, or who was the writer last.
fn follow_promotion((kind, settings): (GroupKind, &GroupSettings), facts: &[Fact], state: &mut State) {
    for (index, fact) in facts.iter().enumerate().filter(|(_, fact)| refuses_writes(fact)) {
        state.refused_in[index] = fact.start();
    }
    let decides = kind == GroupKind::Async;
    // What this Weir remembers counts for more than whom servers follow that take no writes, unless another one may have changed the writer.
    let trusts = state.remembered && decides && settings.is_only_weir;
    let doubts = !(state.settled || trusts);
    if let Some(witnessed) = starting::witnessed(facts, state.writer).filter(|_| decides)
        && (doubts || (!state.settled || state.is_back(facts)) && takes_writes(&facts[witnessed]))
    {
        state.set_writer(witnessed);
        return;
    }
    let writer = &facts[state.writer];
    if takes_writes(writer) {
        state.established = true;
        if state.settled_in.is_none() || starting::confirmed(facts, state.writer) {
            state.settled |= starting::confirmed(facts, state.writer);
            state.settled_in = writer.life();
        }
        // Who took writes while the writer still did was not promoted in its place.
        let asked = |fact: &Fact| fact.observation.as_ref().map(|observation| observation.asked);
        for (index, fact) in facts.iter().enumerate() {
            if takes_writes(fact) && asked(fact) < asked(writer) {
                state.refused_in[index] = None;
            }
        }
        return;
    }
    let mut others = facts.iter().enumerate().filter(|(index, fact)| *index != state.writer && takes_writes(fact));
    let (Some((only, fact)), None) = (others.next(), others.next()) else { return };
    // A server that has restarted takes writes because its configuration says so. Other tools restart one to promote it.
    let runs_on = state.refused_in[only] == fact.start() || !(decides && settings.automatic_failover);
    let is_replica = matches!(fact.follows, Follows::Member(_));
    let changed = state.refused_in[only].is_some() && (runs_on || !is_replica && fact.covers(writer));
    let agrees = !(state.remembered && decides) || !settings.is_only_weir && fact.covers(writer);
    let at_start = !(state.established || is_replica) && agrees && facts.iter().all(|fact| fact.known);
    let promoted = changed && state.quarantined[only].is_none() || (at_start && refuses_writes(writer));
    if promoted && fact.same_kind && (refuses_writes(writer) || (writer.known && !writer.up)) {
        state.set_writer(only);
    }
}

/// The time against which lag is measured: a writer that is gone commits nothing any more.
fn reference(writer: &Fact, now: Instant) -> Instant {
    now.checked_sub(writer.silent_for).unwrap_or(now)
}

/// How the values that sessions begin with differ from the writer's: a read would have another answer there. A reader in rotation has some
/// time: SET GLOBAL comes to one server after the other, and they are asked one after the other.
fn differs_for_long(index: usize, writer: &Fact, fact: &Fact, state: &mut State, now: Instant) -> Option<String> {
    let of = |fact: &Fact| fact.standing.clone().filter(|standing| !standing.defaults.is_empty());
    let (Some(own), Some(writers)) = (of(fact), of(writer)) else { return None };
    let mut differing = own.defaults.iter().filter(|(name, value)| writers.defaults.get(*name) != Some(*value));
    let Some((name, value)) = differing.next() else {
        state.differing_since[index] = None;
        return None;
    };
    let since = *state.differing_since[index].get_or_insert(now);
    let tolerated = state.in_rotation[index] && now.saturating_duration_since(since) < DEFAULTS_MAY_DIFFER;
    let there = writers.defaults.get(name).map_or("unset", String::as_str);
    (!tolerated).then(|| format!("its sessions begin with {name} = '{value}', those of the writer with '{there}'"))
}

fn writer_unusable(fact: &Fact) -> Option<String> {
    (fact.known && !fact.up).then(|| fact.why_down.clone())
}

fn reader_unusable(fact: &Fact, lag_bound: Duration, clock: Instant) -> Option<String> {
    if !fact.up {
        return Some(fact.why_down.clone());
    }
    if !fact.same_kind {
        return Some("it is not of the writer's kind".to_owned());
    }
    if !fact.observation.as_ref().is_some_and(|observation| observation.has_gtids) {
        return Some("it has no GTIDs: gtid_mode (MySQL) or log_bin (MariaDB) is off".to_owned());
    }
    let fresh = fact.as_of.is_some_and(|as_of| clock.saturating_duration_since(as_of) <= lag_bound);
    (!fresh).then(|| match fact.as_of {
        Some(as_of) => format!("it is {:.1} s behind", clock.saturating_duration_since(as_of).as_secs_f64()),
        None => "it is further behind than is known".to_owned(),
    })
}

#[cfg(test)]
mod tests;
