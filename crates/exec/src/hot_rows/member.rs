//! A statement that waits for its batch.
//!
//! What must always hold: its session may take it away until a batch takes it; from then on it ends as its batch does. It ends once, and
//! whoever had it ends it: a runner that goes away ends the members that it has.

use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use super::merged::CounterStep;
use weir_wire::{Capabilities, Failure, StatusFlags};

/// What is sent for a member.
#[derive(Debug)]
pub enum Order {
    /// A text.
    Text(Vec<u8>),
    /// An execution of a prepared statement.
    Execute(Execution),
}

/// An execution of a statement that was prepared under the settings of the batch's profile.
#[derive(Debug)]
pub struct Execution {
    /// The text.
    pub text: Box<[u8]>,
    /// The client's packet, COM_STMT_EXECUTE.
    pub packet: Vec<u8>,
    /// What was negotiated with the client: how the packet is to be read.
    pub capabilities: Capabilities,
    /// How many parameters it has.
    pub params: u16,
    /// Their types, two bytes each.
    pub types: Option<Box<[u8]>>,
    /// The client's session.
    pub session: u32,
    /// When the client has prepared it.
    pub since: Instant,
}

/// An OK or an error that a server has sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    /// OK.
    Ok {
        /// Rows that were affected.
        affected: u64,
        /// The insert id that it tells.
        insert_id: u64,
        /// Status flags.
        status: StatusFlags,
        /// How many warnings there are.
        warnings: u16,
        /// `Rows matched: …`.
        info: Vec<u8>,
        /// Session state changes, undecoded.
        changes: Vec<u8>,
    },
    /// An error.
    Error {
        /// Its code.
        code: u16,
        /// Its SQLSTATE.
        sqlstate: [u8; 5],
        /// Its text.
        message: Vec<u8>,
    },
}

/// A member that was rolled back more often runs by itself.
const MOST_REPLAYS: u32 = 3;

/// A row of SHOW WARNINGS.
pub type WarningRow = Vec<Option<Vec<u8>>>;

/// What came of a member.
#[derive(Debug, Clone)]
pub struct Done {
    /// What the server said to its statement.
    pub said: Said,
    /// The session state changes that came with the commit, undecoded.
    pub committed: Arc<[u8]>,
    /// What SHOW WARNINGS showed behind it; `None`: there was nothing to show.
    pub warnings: Option<Vec<WarningRow>>,
    /// The session's LAST_INSERT_ID() after it, if it was asked for.
    pub last_insert_id: Option<u64>,
    /// How many members its batch had.
    pub batch: usize,
}

/// How a member has ended.
#[derive(Debug, Clone)]
pub enum Verdict {
    /// It was run, and what it changed is durable.
    Done(Box<Done>),
    /// It has done nothing: its session runs it by itself.
    Alone,
    /// The batch was not committed, for this reason.
    Failed(Failure),
    /// Nobody knows whether it was committed.
    Unknown(Failure),
}

#[derive(Debug)]
enum MemberState {
    Waiting,
    /// A batch has it.
    Taken,
    Left,
    Ended(Verdict),
}

/// See the module.
#[derive(Debug)]
pub struct Member {
    /// What is sent.
    pub order: Order,
    /// Its session's LAST_INSERT_ID().
    pub insert_id: u64,
    /// It calls `LAST_INSERT_ID(expr)`.
    pub sets_insert_id: bool,
    /// The move of a counter that it is, if its table's counters may be moved by one statement for several.
    pub counter: Option<CounterStep>,
    /// So many rows must be affected, else it is undone: its session runs it by itself then.
    pub must_affect: Option<u64>,
    state: Mutex<(MemberState, Option<Waker>)>,
    replays: std::sync::atomic::AtomicU32,
}

impl Member {
    /// A member that waits.
    pub fn new(
        order: Order,
        insert_id: u64,
        sets_insert_id: bool,
        counter: Option<CounterStep>,
        must_affect: Option<u64>,
    ) -> Arc<Member> {
        let state = Mutex::new((MemberState::Waiting, None));
        Arc::new(Member { order, insert_id, sets_insert_id, counter, must_affect, state, replays: 0.into() })
    }

    fn state(&self) -> std::sync::MutexGuard<'_, (MemberState, Option<Waker>)> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A batch takes it. False: its session has taken it away.
    pub(super) fn take(&self) -> bool {
        let mut state = self.state();
        let waits = matches!(state.0, MemberState::Waiting);
        if waits {
            state.0 = MemberState::Taken;
        }
        waits
    }

    /// Its batch was rolled back: it waits again. False: it has been rolled back too often, and is to run by itself.
    pub(super) fn wait_again(&self) -> bool {
        let replays = self.replays.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        if replays < MOST_REPLAYS {
            self.state().0 = MemberState::Waiting;
        }
        replays < MOST_REPLAYS
    }

    /// Its session takes it away, if no batch has it yet.
    pub fn leave(&self) -> bool {
        let mut state = self.state();
        let waits = matches!(state.0, MemberState::Waiting);
        if waits {
            state.0 = MemberState::Left;
        }
        waits
    }

    /// It ends.
    pub(super) fn end(&self, verdict: Verdict) {
        let waker = {
            let mut state = self.state();
            if matches!(state.0, MemberState::Left | MemberState::Ended(_)) {
                return;
            }
            state.0 = MemberState::Ended(verdict);
            state.1.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Waits for its end, which is told once. Cancel-safe: nothing is lost before that when it is asked again.
    pub fn poll_end(&self, cx: &mut Context<'_>) -> Poll<Verdict> {
        let mut state = self.state();
        match std::mem::replace(&mut state.0, MemberState::Left) {
            MemberState::Ended(verdict) => return Poll::Ready(verdict),
            other => state.0 = other,
        }
        match &mut state.1 {
            Some(waker) => waker.clone_from(cx.waker()),
            none => *none = Some(cx.waker().clone()),
        }
        Poll::Pending
    }
}
