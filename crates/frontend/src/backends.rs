//! A worker's ways to the servers of a shard: a pool and lanes for each, and what the worker knows of them as readers.
//!
//! What must always hold: indices are those of the group's servers. What is known here of a reader is of one of its lives, and
//! only adds to what the group's view says.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use weir_backend::{Lanes, Pool, Position};
use weir_catalog::ShardId;
use weir_topology::choose::Readers;
use weir_topology::{Group, Positions};

/// A reader that was too late for a position is not waited for so long.
const LATE: Duration = Duration::from_millis(500);

/// The shard of statements for which nothing says another one.
pub(crate) const HOME: usize = 0;

/// A server: its shard's number, and its index in the shard's group.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ServerId {
    pub(crate) shard: usize,
    pub(crate) index: usize,
}

/// The way to one server.
pub(crate) struct Backend {
    pub(crate) pool: Rc<Pool>,
    pub(crate) lanes: Rc<Lanes>,
    /// Reads of this worker's sessions that it is busy with.
    reads: Rc<Cell<usize>>,
    late_until: Cell<Option<Instant>>,
    /// What it is known to have reached, and in which of its lives.
    reached: RefCell<Option<(u64, Position)>>,
}

/// A read that a server is busy with, for as long as this lives.
#[derive(Debug)]
pub(crate) struct ReadInProgress(Rc<Cell<usize>>);

impl Drop for ReadInProgress {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

impl Backend {
    /// The way by these.
    pub(crate) fn new(pool: Rc<Pool>, lanes: Rc<Lanes>) -> Backend {
        Backend { pool, lanes, reads: Rc::default(), late_until: Cell::default(), reached: RefCell::default() }
    }

    /// A read begins.
    pub(crate) fn reading(&self) -> ReadInProgress {
        self.reads.set(self.reads.get() + 1);
        ReadInProgress(self.reads.clone())
    }

    /// It has not reached a position in time.
    pub(crate) fn was_late(&self) {
        self.late_until.set(Some(Instant::now() + LATE));
    }

    /// It has reached a position.
    pub(crate) fn has_reached(&self, life: u64, position: &Position) {
        self.late_until.set(None);
        match &mut *self.reached.borrow_mut() {
            Some((of, reached)) if *of == life => reached.add(position),
            other => *other = Some((life, position.clone())),
        }
    }
}

/// The ways of a worker to one shard.
pub(crate) struct Backends {
    pub(crate) group: Arc<Group>,
    pub(crate) positions: Rc<Positions>,
    /// Whether reads may go elsewhere than to the writer at all.
    pub(crate) splits: bool,
    /// How many servers the shards before it have.
    pub(crate) before: usize,
    all: Vec<Backend>,
    turn: Cell<usize>,
}

impl Backends {
    /// To the servers of `group`, in its order; the shards before it have so many.
    pub(crate) fn new(group: Arc<Group>, positions: Rc<Positions>, all: Vec<Backend>, before: usize) -> Backends {
        Backends { splits: group.may_split(), group, positions, before, all, turn: Cell::default() }
    }

    /// The way to the server with this index.
    pub(crate) fn at(&self, index: usize) -> &Backend {
        &self.all[index]
    }

    /// The writer's index.
    pub(crate) fn writer(&self) -> usize {
        if self.splits { self.group.with_view(|view| view.writer) } else { 0 }
    }

    /// The ways to servers that can be asked whether a user may log in: the writer first, unless it is known to be gone, then
    /// those that take reads.
    pub(crate) fn entrances(&self) -> impl Iterator<Item = &Backend> {
        let view = self.group.view();
        let readers = (0..view.members.len()).filter(|&index| index != view.writer && view.takes_reads(index));
        let mut order: Vec<usize> = std::iter::once(view.writer).chain(readers).collect();
        if view.writer_unusable.is_some() {
            order.rotate_left(1);
        }
        order.into_iter().map(|index| self.at(index))
    }

    /// All of them.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Backend> {
        self.all.iter()
    }

    /// What a choice for one statement needs to know; `failed` has a bit for each server that has failed the statement,
    /// `wanted` says that it asks for a reader.
    pub(crate) fn readers(&self, failed: u64, wanted: bool) -> impl Readers + '_ {
        self.turn.set(self.turn.get().wrapping_add(1));
        KnownReaders { backends: self, failed, wanted, now: Instant::now() }
    }
}

struct KnownReaders<'a> {
    backends: &'a Backends,
    failed: u64,
    wanted: bool,
    now: Instant,
}

impl Readers for KnownReaders<'_> {
    fn load(&self, index: usize) -> usize {
        self.backends.at(index).reads.get()
    }

    fn is_late(&self, index: usize) -> bool {
        self.backends.at(index).late_until.get().is_some_and(|until| self.now < until)
    }

    fn is_excluded(&self, index: usize) -> bool {
        self.failed & 1 << index != 0
    }

    fn has_reached(&self, index: usize, life: u64, position: &Position) -> bool {
        let reached = self.backends.at(index).reached.borrow();
        reached.as_ref().is_some_and(|(of, reached)| *of == life && reached.covers(position))
    }

    fn is_wanted(&self) -> bool {
        self.wanted
    }

    fn turn(&self) -> usize {
        self.backends.turn.get()
    }
}

/// The places of shards.
pub(crate) fn places(shards: &[ShardId]) -> Vec<usize> {
    shards.iter().copied().map(place).collect()
}

/// A shard's place, from its id.
pub(crate) fn place(shard: ShardId) -> usize {
    usize::from(shard.0)
}

/// A shard's id, from its place.
pub(crate) fn shard_id(shard: usize) -> ShardId {
    ShardId(u16::try_from(shard).unwrap_or(u16::MAX))
}
