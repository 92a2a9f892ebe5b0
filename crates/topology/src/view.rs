//! What workers know of a group: an immutable snapshot.

use std::sync::Arc;
use std::time::{Duration, Instant};

use weir_backend::Position;

use crate::kind::GroupKind;

/// What a server of a group is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// It takes writes.
    Writer,
    /// It follows the writer.
    Replica,
}

impl Role {
    /// The word of the configuration and of `WEIR SHOW SERVERS`.
    pub fn name(self) -> &'static str {
        match self {
            Role::Writer => "writer",
            Role::Replica => "replica",
        }
    }
}

/// The current state of a server of a group.
#[derive(Debug, Clone, PartialEq)]
pub struct Member {
    /// Its share of the reads; 0 for none.
    pub weight: u32,
    /// Why it takes no reads now, if it takes none.
    pub unusable: Option<String>,
    /// Which of its lives this is.
    pub life: u64,
    /// What it had applied when it was last asked.
    pub applied: Option<Arc<Position>>,
    /// It has every commit that was acknowledged before this time.
    pub as_of: Option<Instant>,
}

/// Where the writer was when it was last asked.
#[derive(Debug, Clone, PartialEq)]
pub struct WriterPosition {
    /// When that was.
    pub asked: Instant,
    /// Nothing beyond this had been visible to anybody.
    pub position: Arc<Position>,
}

/// See the module.
#[derive(Debug, Clone, PartialEq)]
pub struct View {
    /// The writer's place among the members.
    pub writer: usize,
    /// Why it can't write now, if it can't.
    pub writer_unusable: Option<String>,
    /// Where it was.
    pub writer_position: Option<WriterPosition>,
    /// All servers, in the configuration's order.
    pub members: Vec<Member>,
    /// Whether any member but the writer takes reads now.
    pub has_readers: bool,
    /// How old what a reader shows may be at most.
    pub max_lag: Duration,
    /// Since when the writer is gone: nothing has been committed since.
    pub writer_gone: Option<Instant>,
    /// What the group is, as far as is known.
    pub kind: GroupKind,
}

impl View {
    /// What a member is now.
    pub fn role(&self, index: usize) -> Role {
        if index == self.writer { Role::Writer } else { Role::Replica }
    }

    /// How old what a member shows can be at most.
    pub fn age(&self, index: usize, now: Instant) -> Option<Duration> {
        let as_of = self.members.get(index)?.as_of?;
        Some(self.writer_gone.unwrap_or(now).saturating_duration_since(as_of))
    }

    /// Whether a member takes reads now.
    pub fn takes_reads(&self, index: usize) -> bool {
        self.members.get(index).is_some_and(|member| member.weight > 0 && member.unusable.is_none())
    }
}
