//! Sharing a server's connections: what a session keeps softly, and what a worker gives to statements that wait on others.
//!
//! What must always hold: a statement that waits gets what nobody uses. A worker that owes a connection gives it at once, another one
//! after a while: its own next statement would have to make a new one.

use std::rc::{Rc, Weak};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use super::Pool;

/// A worker that owes nothing gives others what it has not used for so long.
const SPARE_AFTER: Duration = Duration::from_millis(50);

/// The pause between two connections that are given to other workers: whoever takes the first has heard of it by then.
const BETWEEN_GIVING: Duration = Duration::from_millis(1);

/// Rung when a session that keeps a connection only for what its last statement left should let it go.
pub type HoldBell = Rc<Notify>;

/// A session that keeps a connection softly.
#[derive(Debug)]
pub(super) struct Holder {
    session: u64,
    bell: HoldBell,
    since: Instant,
}

/// What a worker does for those of another that wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Spared {
    /// It has given a connection up, or has asked for one.
    One,
    /// It has some, but has just used them.
    Later,
    /// It has nothing.
    Nothing,
}

/// A user of connections that it could give up at once.
pub trait GivesWay {
    /// Gives one up, if there is one to spare.
    fn give_way(&self) -> bool;
}

impl Pool {
    /// A statement waits on another worker.
    pub(super) fn is_waited_for_elsewhere(&self) -> bool {
        self.server.limits.waiting_elsewhere(self.worker) > 0
    }

    /// A session keeps its connection softly: `bell` rings when somebody waits for one.
    pub fn hold(&self, session: u64, bell: HoldBell) {
        let mut state = self.state.borrow_mut();
        let elsewhere = self.is_waited_for_elsewhere();
        if !state.waiters.is_empty() || elsewhere && self.server.limits.owes(self.worker, true) {
            bell.notify_one();
            return;
        }
        state.holders.push_back(Holder { session, bell, since: Instant::now() });
        if elsewhere {
            self.server.limits.has_spare(self.worker);
        }
    }

    /// The session uses its connection again, or has given it back.
    pub fn end_hold(&self, session: u64) {
        self.state.borrow_mut().holders.retain(|holder| holder.session != session);
    }

    /// From now on, these give way before sessions do.
    pub fn set_lanes(&self, lanes: Weak<dyn GivesWay>) {
        *self.lanes.borrow_mut() = Some(lanes);
    }

    /// Somebody waits: an idle lane is given up, or else a connection that is held softly.
    pub(super) fn ask_to_give_way(&self) {
        if !self.lanes_give_way() {
            self.ring_a_holder();
        }
    }

    fn lanes_give_way(&self) -> bool {
        let lanes = self.lanes.borrow().as_ref().and_then(Weak::upgrade);
        lanes.is_some_and(|lanes| lanes.give_way())
    }

    fn ring_a_holder(&self) {
        if let Some(holder) = self.state.borrow_mut().holders.pop_front() {
            holder.bell.notify_one();
        }
    }

    /// Gives up what other workers wait for: an idle connection, or else one that is held softly. More than one each time only while all
    /// connections are out: else it is a user's limit that is waited for.
    pub async fn serve_other_workers(self: Rc<Self>) {
        let limits = &self.server.limits;
        loop {
            limits.wanted(self.worker).await;
            let mut given = false;
            while self.is_waited_for_elsewhere() && (!given || limits.open() >= limits.max()) {
                match self.spare_one() {
                    Spared::One => {
                        given = true;
                        tokio::time::sleep(BETWEEN_GIVING).await;
                    }
                    Spared::Later => tokio::time::sleep(SPARE_AFTER).await,
                    Spared::Nothing => break,
                }
            }
        }
    }

    /// What a worker has used in the last moments is about to be used again.
    fn spare_one(&self) -> Spared {
        let at_once = self.server.limits.owes(self.worker, true);
        let is_spare = |since: Instant| at_once || since.elapsed() >= SPARE_AFTER;
        let (idle, held) = {
            let state = self.state.borrow();
            let idle =
                state.idle.values().filter_map(|list| list.first()).map(|connection| connection.idle_since).min();
            (idle, state.holders.front().map(|holder| holder.since))
        };
        if idle.is_some_and(is_spare) {
            self.close_an_idle_one();
        } else if idle.is_some() {
            return Spared::Later;
        } else if self.lanes_give_way() {
            // It has closed one.
        } else if held.is_some_and(is_spare) {
            self.ring_a_holder();
        } else {
            return if held.is_some() { Spared::Later } else { Spared::Nothing };
        }
        Spared::One
    }
}
