//! Watching idle sessions of a worker, and a clock that is good enough to say since when something is.
//!
//! A timer of its own for each command would cost more than many a command. Instead the worker looks at its sessions
//! several times a second, and rings for those that have been idle for too long. What must always hold: a session that
//! is idle for its `wait_timeout` hears of it within that time and two looks; one that is not idle never does.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use weir_admin::sessions::{Interrupt, SessionHandle};

/// Time between two looks, and the clock's resolution.
const LOOK: Duration = Duration::from_millis(250);
/// How long an idle client keeps its buffers.
const REST_AFTER: Duration = Duration::from_secs(2);

/// What an idle session should do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Due {
    /// Go on waiting.
    #[default]
    Nothing,
    /// Free its buffers.
    Rest,
    /// See whether its client is still there.
    LookAtClient,
    /// Leave for the process that has taken over, if nothing is left to keep.
    Leave,
    /// End.
    End,
}

/// A session, as its worker watches it.
#[derive(Debug)]
pub(crate) struct IdleState {
    handle: Arc<SessionHandle>,
    since: Cell<Option<Instant>>,
    timeout: Cell<Duration>,
    rested: Cell<bool>,
    /// How often its client is looked at, and how long it has to be idle for the next look.
    look_every: Cell<Duration>,
    next_look: Cell<Duration>,
    due: Cell<Due>,
}

impl IdleState {
    /// The session waits for a command, from `now` on for at most `timeout`. Its client is looked at each time that it has been idle for
    /// `look_every` more.
    pub(crate) fn begin(&self, now: Instant, timeout: Duration, look_every: Duration) {
        self.look_every.set(look_every);
        self.next_look.set(look_every);
        self.since.set(Some(now));
        self.timeout.set(timeout);
        self.rested.set(false);
        self.due.set(Due::Nothing);
    }

    /// A command has come.
    pub(crate) fn end(&self) {
        self.since.set(None);
    }

    /// What is due, told once.
    pub(crate) fn due(&self) -> Due {
        self.due.take()
    }

    fn look(&self, now: Instant, leave_after: Duration) {
        let Some(since) = self.since.get() else { return };
        let idle = now.saturating_duration_since(since);
        if idle >= self.timeout.get() {
            self.due.set(Due::End);
        } else if idle >= leave_after && self.handle.has(Interrupt::Leave) {
            self.due.set(Due::Leave);
        } else if idle >= REST_AFTER && !self.rested.replace(true) {
            self.due.set(Due::Rest);
        } else if idle >= self.next_look.get() {
            self.next_look.set(idle + self.look_every.get());
            self.due.set(Due::LookAtClient);
        } else {
            return;
        }
        self.handle.bell.ring();
    }
}

/// The sessions of a worker.
#[derive(Debug)]
pub(crate) struct IdleWatch {
    clock: Cell<Instant>,
    sessions: RefCell<HashMap<u32, Rc<IdleState>>>,
}

impl IdleWatch {
    /// No sessions yet.
    pub(crate) fn new() -> IdleWatch {
        IdleWatch { clock: Cell::new(Instant::now()), sessions: RefCell::default() }
    }

    /// The time at the latest look.
    pub(crate) fn now(&self) -> Instant {
        self.clock.get()
    }

    /// A session begins; it is not idle yet.
    pub(crate) fn enter(&self, handle: &Arc<SessionHandle>) -> Rc<IdleState> {
        let state = Rc::new(IdleState {
            handle: handle.clone(),
            since: Cell::default(),
            timeout: Cell::default(),
            rested: Cell::default(),
            look_every: Cell::default(),
            next_look: Cell::default(),
            due: Cell::default(),
        });
        self.sessions.borrow_mut().insert(handle.id, state.clone());
        state
    }

    /// A session has ended.
    pub(crate) fn leave(&self, handle: &SessionHandle) {
        self.sessions.borrow_mut().remove(&handle.id);
    }

    /// Looks at all sessions, again and again.
    pub(crate) async fn run(&self, leave_after: impl Fn() -> Duration) {
        let mut tick = tokio::time::interval(LOOK);
        tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tick.tick().await;
            let now = Instant::now();
            self.clock.set(now);
            let leave_after = leave_after();
            self.sessions.borrow().values().for_each(|session| session.look(now, leave_after));
        }
    }
}
