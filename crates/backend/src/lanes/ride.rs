//! A session's side of a lane: one statement in flight, and its reply when it has come.
//!
//! What must always hold: a reply reaches its session whole or not at all. A session that no longer wants a reply (it was
//! killed, its client has gone) lets go of its [`Ride`], and the lane drops the reply when it comes.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use bytes::BytesMut;
use weir_wire::StatusFlags;

use super::learn::{SharedLearnt, Unfit};

/// A reply that has come whole, clean, and within the bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrived {
    /// The status flags of its end.
    pub status: StatusFlags,
    /// Its rows.
    pub rows: u64,
    /// How long it occupied the lane.
    pub time: Duration,
    /// When it came.
    pub at: Instant,
}

/// Why a statement has to be run on a connection of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Elsewhere {
    /// Its own doing.
    Unfit(Unfit),
    /// A statement before it on the lane holds it up.
    HeldUp,
    /// The lane's connection broke.
    Lost,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum RideState {
    #[default]
    Idle,
    Riding,
    Arrived(Arrived),
    Elsewhere(Elsewhere),
}

/// One statement in flight. A session has one, and uses it again for each of its statements.
#[derive(Debug, Default)]
pub struct Ride {
    state: Cell<RideState>,
    /// What is known of statements like it.
    learnt: RefCell<Option<SharedLearnt>>,
    reply: RefCell<BytesMut>,
    waker: RefCell<Option<Waker>>,
}

impl Ride {
    /// A new statement is put on a lane; `learnt` is what is known of statements like it.
    pub(super) fn begin(&self, learnt: &SharedLearnt) {
        self.state.set(RideState::Riding);
        *self.learnt.borrow_mut() = Some(learnt.clone());
        self.reply.borrow_mut().clear();
    }

    /// Whether the session has let go of it.
    pub(super) fn is_abandoned(self: &Rc<Self>) -> bool {
        Rc::strong_count(self) == 1
    }

    /// It holds its lane up: others like it do not even try, for a while.
    pub(super) fn holds_up(&self, now: Instant) {
        if let Some(learnt) = &*self.learnt.borrow() {
            let mut state = learnt.get();
            state.held_up_others(now);
            learnt.set(state);
        }
    }

    /// The reply has come.
    pub(super) fn arrive(&self, reply: &[u8], arrived: Arrived) {
        self.reply.borrow_mut().extend_from_slice(reply);
        self.end(RideState::Arrived(arrived));
    }

    /// The statement has to be run elsewhere. Says nothing to a ride that has ended already.
    pub(super) fn divert(&self, why: Elsewhere) {
        if self.state.get() == RideState::Riding {
            self.end(RideState::Elsewhere(why));
        }
    }

    /// Whether its session still waits for it.
    pub(super) fn is_riding(&self) -> bool {
        self.state.get() == RideState::Riding
    }

    fn end(&self, state: RideState) {
        self.state.set(state);
        if let Some(waker) = &*self.waker.borrow() {
            waker.wake_by_ref();
        }
    }

    /// Resolves when the statement has ended one way or the other. Cancel-safe.
    pub fn poll_end(&self, cx: &mut Context<'_>) -> Poll<Result<Arrived, Elsewhere>> {
        match self.state.get() {
            RideState::Arrived(arrived) => Poll::Ready(Ok(arrived)),
            RideState::Elsewhere(why) => Poll::Ready(Err(why)),
            RideState::Idle | RideState::Riding => {
                let mut waker = self.waker.borrow_mut();
                match &*waker {
                    Some(known) if known.will_wake(cx.waker()) => {}
                    _ => *waker = Some(cx.waker().clone()),
                }
                Poll::Pending
            }
        }
    }

    /// Moves the reply's bytes to the end of `output`, without a copy if that is empty.
    pub fn take_reply(&self, output: &mut BytesMut) {
        let mut reply = self.reply.borrow_mut();
        if output.is_empty() {
            std::mem::swap(output, &mut reply);
        } else {
            output.extend_from_slice(&reply);
        }
        reply.clear();
    }

    /// Frees its buffer: the session has been idle for a while.
    pub fn rest(&self) {
        *self.reply.borrow_mut() = BytesMut::new();
    }
}
