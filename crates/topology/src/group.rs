//! A group: its servers, its settings, and what is known of it now.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use arc_swap::{ArcSwap, Guard};
use tokio::sync::{Notify, watch};
use weir_backend::server::Health;
use weir_backend::{Position, Server};

use crate::discover::Findings;
use crate::follows::{self, Follows};
use crate::history::History;
use crate::kind::GroupKind;
use crate::roles::{Fact, State, decide, takes_writes};
use crate::settings::{GroupSettings, MemberSettings, Promotion};
use crate::view::{Member, Role, View};

/// Why a server was not made the writer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SetWriterError {
    /// No such server.
    #[error("there is no server '{0}'; WEIR SHOW SERVERS lists the servers")]
    Unknown(String),
    /// It can't take writes.
    #[error("server '{server}' can't be the writer: {why}")]
    Unfit {
        /// The server.
        server: String,
        /// Why, and what to do.
        why: String,
    },
}

/// See the module. Shared by all workers.
#[derive(Debug)]
pub struct Group {
    /// Its servers, in the configuration's order.
    pub servers: Vec<Arc<Server>>,
    settings: ArcSwap<GroupSettings>,
    members: ArcSwap<Vec<MemberSettings>>,
    view: ArcSwap<View>,
    state: Mutex<(State, History)>,
    /// What the group says of its members, if it is asked.
    findings: ArcSwap<Findings>,
    /// What a reader must have, whoever reads.
    floor: Mutex<Option<Position>>,
    observed: Notify,
    changed: watch::Sender<u64>,
}

impl Group {
    /// A group of which nothing is known yet. There is one writer among `members`.
    pub fn new(settings: GroupSettings, servers: Vec<Arc<Server>>, members: Vec<MemberSettings>) -> Group {
        let writer = members.iter().position(|member| member.role == Role::Writer).unwrap_or(0);
        let unknown = |settings: &MemberSettings| Member {
            weight: settings.weight.unwrap_or_default(),
            unusable: Some("it has not been asked yet".to_owned()),
            life: 0,
            applied: None,
            as_of: None,
        };
        let view = View {
            writer,
            writer_unusable: None,
            writer_position: None,
            members: members.iter().map(unknown).collect(),
            has_readers: false,
            max_lag: settings.max_lag,
            writer_gone: None,
            kind: settings.kind.unwrap_or_default(),
        };
        Group {
            settings: ArcSwap::from_pointee(settings),
            servers,
            view: ArcSwap::from_pointee(view),
            state: Mutex::new((State::new(writer, members.len()), History::default())),
            members: ArcSwap::from_pointee(members),
            findings: ArcSwap::default(),
            floor: Mutex::default(),
            observed: Notify::new(),
            changed: watch::Sender::new(0),
        }
    }

    /// This server was the writer, and this the group's kind, when an earlier process of this Weir looked last. For a group of which nothing is
    /// known yet.
    pub fn recall(&self, writer: usize, kind: GroupKind) {
        let mut guard = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        guard.0 = State::remembering(writer, kind, self.servers.len());
        let view = View::clone(&self.view.load());
        self.view.store(Arc::new(View { writer, kind, ..view }));
    }

    /// Whether it is known who writes, as far as it can be: looks at the facts.
    pub fn is_settled(&self, now: Instant) -> bool {
        self.look(now);
        let guard = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        guard.0.is_settled(&self.facts(&guard.1, now))
    }

    /// The writer that was recalled, if it is the writer still.
    pub(crate) fn recalled(&self) -> Option<usize> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).0.recalled()
    }

    /// Its choices.
    pub fn settings(&self) -> Guard<Arc<GroupSettings>> {
        self.settings.load()
    }

    /// Other choices, and other shares of the reads. What the servers are stays as it has become.
    pub fn configure(&self, settings: GroupSettings, members: Vec<MemberSettings>) {
        self.settings.store(Arc::new(settings));
        self.members.store(Arc::new(members));
        self.look(Instant::now());
    }

    /// What the group says of its members.
    pub fn findings(&self) -> Arc<Findings> {
        self.findings.load_full()
    }

    /// The group has been asked for its members.
    pub fn note_findings(&self, findings: Findings) {
        self.findings.store(Arc::new(findings));
    }

    /// What is known now.
    pub fn view(&self) -> Arc<View> {
        self.view.load_full()
    }

    /// Reads what is known now, without counting a reference.
    pub fn with_view<T>(&self, read: impl FnOnce(&View) -> T) -> T {
        read(&self.view.load())
    }

    /// The server that takes writes.
    pub fn writer(&self) -> Arc<Server> {
        self.servers[self.view.load().writer].clone()
    }

    /// Whether a server of this name is one of its own.
    pub fn has(&self, server: &str) -> bool {
        self.index_of(server).is_some()
    }

    /// The place of the server of this name.
    pub fn index_of(&self, server: &str) -> Option<usize> {
        self.servers.iter().position(|s| s.settings.name.eq_ignore_ascii_case(server))
    }

    /// Whether any server of it is meant for reads besides the writer.
    pub fn may_split(&self) -> bool {
        self.servers.len() > 1
    }

    /// A server has been asked: its facts may have changed.
    pub fn observed(&self) {
        self.observed.notify_one();
    }

    /// Told whenever the writer, or whether it can be used, has changed.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    /// Makes a server the writer.
    ///
    /// # Errors
    /// When it is unknown, not there, refuses writes, or lacks what the present writer has; or while the present writer takes writes:
    /// what it has can't be compared before its last one is known.
    pub fn set_writer(&self, name: &str) -> Result<(), SetWriterError> {
        let unknown = || SetWriterError::Unknown(name.to_owned());
        let index = self.index_of(name).ok_or_else(unknown)?;
        let now = Instant::now();
        let present = self.view.load().writer;
        let mut facts = self.facts(&History::default(), now);
        let writes_on = index != present && takes_writes(&facts[present]);
        let fact = facts.swap_remove(index);
        let why = match fact.observation {
            _ if !fact.up => Some("it does not answer".to_owned()),
            None => Some("it has not been asked yet".to_owned()),
            Some(observation) if observation.read_only => {
                let promote =
                    "it is read-only. Let it catch up with the current writer, then SET GLOBAL read_only = 0 there";
                Some(promote.to_owned())
            }
            Some(_) if writes_on => {
                let old = &self.servers[present].settings.name;
                Some(format!("the current writer, '{old}', still takes writes; SET GLOBAL read_only = 1 there first"))
            }
            Some(observation) => self.lacks(&observation.visible),
        };
        if let Some(why) = why {
            return Err(SetWriterError::Unfit { server: self.servers[index].settings.name.clone(), why });
        }
        self.state.lock().unwrap_or_else(PoisonError::into_inner).0.set_writer(index);
        self.look(now);
        Ok(())
    }

    /// A server has been made the writer: clients are told at once.
    pub(crate) fn install_writer(&self, index: usize) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).0.set_writer(index);
        self.look(Instant::now());
    }

    /// Why servers take no reads although they are there: they have what the group lacks.
    pub fn quarantined(&self) -> Vec<Option<String>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).0.quarantined.clone()
    }

    /// A server has what the group lacks, or no longer.
    pub(crate) fn quarantine(&self, index: usize, why: Option<String>) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).0.quarantined[index] = why;
    }

    /// Whether a server may become the writer.
    pub fn promotion(&self, index: usize) -> Promotion {
        self.members.load().get(index).map(|member| member.promotion).unwrap_or_default()
    }

    /// Whom a server follows.
    pub(crate) fn follows(&self, index: usize) -> Follows {
        follows::of(&self.servers[index], &self.servers)
    }

    /// What is known of the servers now.
    pub(crate) fn present_facts(&self, now: Instant) -> Vec<Fact> {
        let guard = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        self.facts(&guard.1, now)
    }

    /// What a server at a position lacks of the present writer, as far as is known.
    fn lacks(&self, has: &weir_backend::Position) -> Option<String> {
        let view = self.view.load();
        let position = view.writer_position.as_ref().map(|writer| &writer.position)?;
        (!has.covers(position))
            .then(|| format!("it has not applied all of the current writer's transactions ({position})"))
    }

    fn facts(&self, history: &History, now: Instant) -> Vec<Fact> {
        let writer = self.view.load().writer;
        let kind = self.servers[writer].facts().identity.as_ref().map(|identity| identity.mariadb);
        let fact = |(server, member): (&Arc<Server>, &MemberSettings)| {
            let facts = server.facts();
            let observation = server.observation();
            let as_of = observation.as_ref().and_then(|observation| history.as_of(&observation.applied));
            let own = facts.identity.as_ref().map(|identity| identity.mariadb);
            let since = |since: Instant| now.saturating_duration_since(since);
            let down_for = if facts.health == Health::Up { Duration::ZERO } else { since(facts.since) };
            let silent_for = match &observation {
                Some(last) if facts.health == Health::Hung => down_for.max(since(last.asked)),
                _ => down_for,
            };
            Fact {
                weight: member.weight,
                up: facts.health == Health::Up,
                known: facts.health != Health::Unknown,
                why_down: match &facts.health {
                    Health::Down(why) => why.clone(),
                    other => other.name().to_owned(),
                },
                down_for,
                silent_for,
                same_kind: own.is_none() || kind.is_none() || own == kind,
                observation,
                as_of,
                standing: server.standing(),
                promotion: member.promotion,
                follows: follows::of(server, &self.servers),
            }
        };
        self.servers.iter().zip(self.members.load().iter()).map(fact).collect()
    }

    /// Looks at the facts once, and publishes what follows from them.
    pub fn look(&self, now: Instant) {
        let mut guard = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let (state, history) = &mut *guard;
        let before = self.view.load_full();
        if let Some(observation) = self.servers[before.writer].observation() {
            history.record(observation.asked, &observation.visible);
        }
        let facts = self.facts(history, now);
        let mut view = decide(&facts, state, &self.settings(), now);
        self.keep_to_floor(&mut view);
        let moved = view.writer != before.writer;
        if moved {
            history.clear();
        }
        self.tell(&before, &view);
        // A member of a minority would keep whoever writes there waiting, without an answer.
        if view.kind.elects() {
            for (index, server) in self.servers.iter().enumerate() {
                let alone = index == view.writer && facts[index].up && view.writer_unusable.is_some();
                server.fence(view.writer_unusable.clone().filter(|_| alone));
            }
        }
        let changed = moved || view.writer_unusable != before.writer_unusable;
        self.view.store(Arc::new(view));
        drop(guard);
        if changed {
            self.changed.send_modify(|n| *n += 1);
        }
    }

    /// From now on no reader takes reads before it has all of this: a table there may have no longer, or not yet, the rows that statements
    /// look for.
    pub fn raise_floor(&self, position: &Position) {
        {
            let mut floor = self.floor.lock().unwrap_or_else(PoisonError::into_inner);
            match &mut *floor {
                Some(floor) => floor.add(position),
                None => *floor = Some(position.clone()),
            }
        }
        self.look(Instant::now());
    }

    /// Takes readers that are below the floor out of rotation. When none is, the floor is forgotten.
    fn keep_to_floor(&self, view: &mut View) {
        let mut guard = self.floor.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(floor) = &*guard else { return };
        let mut all = true;
        for (_, member) in view.members.iter_mut().enumerate().filter(|(index, _)| *index != view.writer) {
            if member.applied.as_ref().is_some_and(|applied| applied.covers(floor)) {
                continue;
            }
            all = false;
            member.unusable.get_or_insert_with(|| "it has not applied the latest cutover of a move yet".to_owned());
        }
        if all {
            *guard = None;
        }
        let writer = view.writer;
        view.has_readers = (0..view.members.len()).any(|index| index != writer && view.takes_reads(index));
    }

    fn tell(&self, before: &View, after: &View) {
        let settings = self.settings();
        let group = settings.name.as_str();
        let name = |index: usize| &self.servers[index].settings.name;
        if before.writer != after.writer {
            tracing::warn!(group, from = %name(before.writer), to = %name(after.writer), "the writer has changed");
        }
        for (index, (was, is)) in before.members.iter().zip(&after.members).enumerate() {
            if index == after.writer || was.unusable.is_some() == is.unusable.is_some() {
                continue;
            }
            match &is.unusable {
                None => tracing::info!(group, server = %name(index), "the server takes reads"),
                Some(why) => tracing::warn!(group, server = %name(index), why, "the server takes no reads"),
            }
        }
    }

    /// Looks at the facts whenever a server has been asked, for as long as it is polled.
    pub async fn watch(self: Arc<Self>) {
        loop {
            self.observed.notified().await;
            self.look(Instant::now());
        }
    }
}
