//! Where a statement runs: on the writer, or, for a read that may, on a reader (design, section 8).
//!
//! What must always hold: only a plain read of a session that is bound to nothing leaves the writer, or the first read of a
//! READ ONLY transaction, which then stays where it began; what it must find there is waited for or known to be there.

pub(super) mod multi_shard;

use std::sync::Arc;
use std::time::Instant;

use weir_backend::Position;
use weir_sql::{Class, Effects, Pins, RoutingHint, TextKind, is_servers_schema};
use weir_topology::{Choice, Level, choose};
use weir_wire::StatusFlags;

use super::Session;
use super::latest::{Diagnostics, Left};
use super::outcome::ReplyOutcome;
use super::seen::NOTHING_SEEN;
use super::state::SessionState;
use super::statement::place::{self, Place, PlaceFacts, ReadPlace};
use super::stopped::Stopped;
use crate::backends::{Backends, HOME, ReadInProgress, ServerId};

/// Where the statement at hand runs.
#[derive(Debug, Default)]
pub(super) struct Target {
    /// The shard.
    pub(super) shard: usize,
    /// Something says that it runs on this shard: else it runs where the session's connection is.
    pub(super) named: bool,
    /// The server's index in the shard's group.
    pub(super) index: usize,
    /// Which of its lives, if it is a reader.
    pub(super) life: u64,
    /// The position that it has to have reached.
    pub(super) wait: Option<Arc<Position>>,
    /// The server is asked to wait for it already.
    pub(super) waits: bool,
    /// It reads, and must not miss what the session has seen: a writer has to finish the commits that it is busy with.
    pub(super) exact: bool,
    /// The wait that was queued is for the writer to finish its commits (see `exact`).
    pub(super) catches_up: bool,
    /// The statement may run on a reader, at this level.
    pub(super) level: Option<Level>,
    /// It asks for one.
    wanted: bool,
    /// It reads nothing that a server could be behind with.
    timeless: bool,
    /// The server was a reader when it was chosen.
    pub(super) on_reader: bool,
    /// A bit for each server that has failed the statement.
    failed: u64,
    reading: Option<ReadInProgress>,
}

/// What a read asks of its server.
#[derive(Debug, Clone, Copy)]
struct Wish {
    level: Level,
    wanted: bool,
    timeless: bool,
    /// A bit for each server that has failed it.
    failed: u64,
}

/// What was chosen for it.
struct Chosen {
    choice: Choice,
    /// The writer's index when it was.
    writer: usize,
    /// In which of its lives the reader is.
    life: u64,
}

impl Target {
    /// A server, of which nothing more is asked.
    fn at(place: ServerId) -> Target {
        Target { shard: place.shard, index: place.index, ..Target::default() }
    }

    /// A shard's writer, of which nothing more is asked.
    pub(super) fn writer_of(shards: &[Backends], shard: usize) -> Target {
        Target::at(ServerId { shard, index: shards[shard].writer() })
    }

    /// The server.
    pub(super) fn place(&self) -> ServerId {
        ServerId { shard: self.shard, index: self.index }
    }

    /// The session's connection is there.
    pub(super) fn follow(&mut self, place: ServerId) {
        (self.shard, self.index) = (place.shard, place.index);
    }

    /// The session's connection is there now, and the statement stays on it.
    pub(super) fn stay_at(&mut self, place: ServerId) {
        self.follow(place);
        (self.wait, self.level, self.on_reader) = (None, None, false);
        (self.waits, self.catches_up) = (false, false);
    }

    /// The statement is on a reader, where nothing but its being a read has brought it.
    pub(super) fn is_read_on_reader(&self) -> bool {
        self.on_reader && self.level.is_some()
    }

    /// The statement has ended.
    pub(super) fn end_read(&mut self) {
        self.reading = None;
    }
}

impl Session {
    /// The ways to the shard of the statement at hand.
    pub(super) fn backends(&self) -> &Backends {
        &self.shared.shards[self.target.shard]
    }

    /// A command begins: it runs where the session is bound to, else on the writer unless [`Session::route`] finds another
    /// place.
    pub(super) fn target_writer(&mut self) {
        if !self.shared.routes {
            return;
        }
        if self.current.lease.is_some() && self.state.is_bound() {
            self.target = Target::at(self.current.server);
            if let Some(shard) = self.chosen_shard.filter(|_| self.may_change_shard()) {
                self.set_shard(shard);
            }
            return;
        }
        self.target = Target::writer_of(&self.shared.shards, HOME);
        if let Some(shard) = self.chosen_shard {
            self.set_shard(shard);
        }
    }

    /// The writer may be another one by now.
    pub(super) fn target_writer_again(&mut self) {
        self.target.index = self.backends().writer();
        (self.target.wait, self.target.on_reader) = (None, false);
        self.ask_anew();
    }

    /// Another connection is asked what this one was.
    pub(super) fn ask_anew(&mut self) {
        (self.target.waits, self.target.catches_up) = (false, false);
    }

    /// The session has seen more of a shard on a replica than its writer may show, and must not see less.
    pub(super) fn must_catch_up_on(&self, shard: usize) -> bool {
        let exact = !matches!(self.level, Level::Eventual | Level::Primary) && !self.identity.mariadb;
        exact && self.seen.of(shard).ahead
    }

    /// Whether the writer is to be asked to finish its commits before the statement at hand.
    pub(super) fn must_catch_up(&self) -> bool {
        self.target.exact
            && self.seen.of(self.target.shard).ahead
            && !self.target.on_reader
            && self.current.reader_life.is_none()
    }

    /// Decides where a statement runs, and takes the session there.
    pub(super) async fn route(&mut self, class: &Class, hint: Option<RoutingHint>) -> Result<(), Stopped> {
        if !self.shared.routes {
            return Ok(());
        }
        let facts = self.place_facts();
        self.target.exact = place::must_be_exact(class, &facts);
        match place::place(class, hint, &facts) {
            Place::Target => Ok(()),
            Place::Join(joins) => Box::pin(self.enter_shard(self.target.shard, joins)).await,
            Place::Connection => {
                self.target.follow(self.current.server);
                Ok(())
            }
            Place::Diagnostics => {
                self.target.follow(self.current.server);
                self.target.on_reader = self.current.server.index != self.backends().writer();
                self.target.timeless = true;
                Ok(())
            }
            Place::Read(read) => self.route_read(read).await,
            Place::Elsewhere => self.stay_on_shard().map_err(Stopped::from),
            Place::Refused(failure) => Err(failure.into()),
        }
    }

    fn place_facts(&self) -> PlaceFacts {
        let connection = self.current.lease.as_ref().map(|_| self.current.server.shard);
        PlaceFacts {
            mariadb: self.identity.mariadb,
            wanted_shard: self.target.named.then_some(self.target.shard),
            connection,
            bound: self.state.is_bound(),
            may_change_shard: connection.is_some() && self.may_change_shard(),
            on_replica: self.current.reader_life.is_some(),
            splits: self.backends().splits,
            level: self.level,
            begun_here: self.state.begin.is_some(),
            announced: self.transaction.unsent(),
            may_leave_writer: may_leave_writer(&self.state),
            in_servers_schema: self.state.profile.database.as_deref().is_some_and(is_servers_schema),
        }
    }

    /// Chooses the server for a read.
    async fn route_read(&mut self, read: ReadPlace) -> Result<(), Stopped> {
        let ReadPlace { level, wanted, timeless } = read;
        if level == Level::Strong && !timeless {
            let position = Box::pin(self.position_of_writer()).await?;
            self.seen.of_mut(self.target.shard).covered_by(position);
        }
        self.target.level = Some(level);
        self.target.wanted = wanted;
        self.target.timeless = timeless;
        if self.choose() == Choice::Ask
            && let Ok(position) = Box::pin(self.backends().positions.clone().of_writer()).await
        {
            self.seen.of_mut(self.target.shard).covered_by(position);
            self.choose();
        }
        Ok(())
    }

    /// Chooses a server for the read at hand, among those that have not failed it.
    fn choose(&mut self) -> Choice {
        let Some(level) = self.target.level else { return Choice::Writer };
        let Target { shard, wanted, timeless, failed, .. } = self.target;
        let Chosen { choice, writer, life } = self.choose_on(shard, Wish { level, wanted, timeless, failed });
        let backends = &self.shared.shards[shard];
        let (index, wait) = match &choice {
            Choice::Reader { index, wait } => (*index, wait.clone()),
            _ => (writer, None),
        };
        let reading = Some(backends.at(index).reading());
        let on_reader = index != writer;
        self.target = Target { index, life, wait, reading, on_reader, ..std::mem::take(&mut self.target) };
        self.ask_anew();
        choice
    }

    /// Chooses a server of a shard for a read.
    fn choose_on(&mut self, shard: usize, wish: Wish) -> Chosen {
        let now = Instant::now();
        let backends = &self.shared.shards[shard];
        let seen = if wish.timeless { &NOTHING_SEEN } else { self.seen.of(shard) };
        let readers = backends.readers(wish.failed, wish.wanted);
        let chosen = backends.group.with_view(|view| {
            let choice = choose(view, seen, wish.level, &readers, now);
            let life = match &choice {
                Choice::Reader { index, .. } => view.members[*index].life,
                _ => 0,
            };
            Chosen { choice, writer: view.writer, life }
        });
        if !matches!(chosen.choice, Choice::Reader { .. }) {
            self.seen.of_mut(shard).uncovered_since.get_or_insert(now);
        }
        chosen
    }

    /// The server at hand has failed the statement: another one is chosen. False if there is none but the writer, which it was.
    pub(super) fn choose_another(&mut self) -> bool {
        let failed = self.target.index;
        let writer = self.backends().writer();
        if failed == writer {
            return false;
        }
        match self.target.level {
            Some(_) => {
                self.target.failed |= 1 << failed;
                self.choose();
                self.endpoint.metrics.reads_rerouted.inc();
            }
            // What only the writer runs was meant for an earlier one.
            None => self.target_writer_again(),
        }
        true
    }

    /// The server at hand has not reached the position in time: nobody waits there for a while, and another one is chosen.
    pub(super) fn choose_one_in_time(&mut self) {
        self.endpoint.metrics.reads_late.inc();
        self.shared.at(self.target.place()).was_late();
        self.choose_another();
    }

    /// The writer's position. While there is none it is waited for, up to the bound.
    async fn position_of_writer(&mut self) -> Result<Arc<Position>, Stopped> {
        let mut deadline = None;
        loop {
            let positions = self.backends().positions.clone();
            match positions.of_writer().await {
                Ok(position) => return Ok(position),
                Err(failure) => self.wait_for_writer(self.target.shard, failure, &mut deadline).await?,
            }
        }
    }

    /// Another transaction begins: as on one server, that ends the one before.
    pub(super) async fn end_transaction_on_reader(&mut self) -> Result<(), Stopped> {
        let ended = self.connection().query("COMMIT").await;
        self.state.status -= StatusFlags::IN_TRANS | StatusFlags::IN_TRANS_READONLY;
        self.current.reader_life = None;
        ended?;
        self.give_way().await;
        self.target_writer_again();
        Ok(())
    }

    /// Takes down what a statement has let the session see, and what it has written.
    pub(super) fn note_position(&mut self, class: &Class, outcome: &ReplyOutcome) {
        let shard = self.target.shard;
        let backends = &self.shared.shards[shard];
        if !backends.splits {
            return;
        }
        let seen = self.seen.of_mut(shard);
        let now = Instant::now();
        let reads = class.effects.contains(Effects::READS);
        if let Some(life) = self.current.reader_life.filter(|_| !self.transaction.begun_with_statement) {
            self.endpoint.metrics.reads_on_readers.inc();
            let own = seen.reader.is_some_and(|last| (last.index, last.life) == (self.target.index, life));
            match own {
                _ if !reads => {}
                true => seen.read_on(self.target.index, life, now),
                false => seen.saw_writer(now),
            }
            return;
        }
        if self.target.on_reader {
            self.note_read_on_reader(reads, now);
            return;
        }
        if self.target.catches_up {
            seen.ahead = false;
        }
        let opaque = class.kind == TextKind::Multiple
            || class.pins.intersects(Pins::CALL | Pins::TEXT_PREPARE)
            || class.effects.contains(Effects::RUNS_OTHERS);
        if let Some(gtids) = &outcome.gtids
            && let Ok(position) = Position::parse(self.identity.mariadb, gtids)
        {
            let (position, whole) = backends.group.with_view(|view| {
                let watched = view.writer_position.as_ref().map(|writer| &*writer.position);
                let whole = position.spans(watched);
                (position.up_to(watched), whole)
            });
            seen.wrote(position, whole);
            if !opaque {
                return;
            }
        }
        if class.effects.intersects(Effects::READS | Effects::WRITES) || opaque {
            seen.saw_writer(now);
        }
    }

    fn note_read_on_reader(&mut self, reads: bool, now: Instant) {
        let Target { index, life, level, timeless, .. } = self.target;
        let waited = self.target.wait.take().filter(|_| self.target.waits);
        if let Some(position) = waited {
            self.shared.at(self.target.place()).has_reached(life, &position);
        }
        self.endpoint.metrics.reads_on_readers.inc();
        let seen = self.seen.of_mut(self.target.shard);
        match level {
            // What nothing was asked of shows nothing that counts; what it was not asked to have, it may lack.
            _ if timeless || !reads => {}
            None | Some(Level::Eventual) => seen.saw_writer(now),
            Some(_) => seen.read_on(index, life, now),
        }
    }
}

/// Whether a session's next read needs nothing that is on its connection or in its transaction.
fn may_leave_writer(state: &SessionState) -> bool {
    let free = match &state.begin {
        Some(begin) => begin.read_only,
        None => state.status.contains(StatusFlags::AUTOCOMMIT),
    };
    // A replica may not have heard yet of a role that was granted.
    free && !state.collation_unknown
        && !state.profile.has_role()
        && state.latest.diagnostics != Diagnostics::OnConnection
        && state.latest.found_rows != Left::OnConnection
}
