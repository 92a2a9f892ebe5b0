//! A lane: a server connection on which the statements of many sessions are in flight at the same time.
//!
//! Statements are appended to the connection's output; the lane's task, woken by the first of them and last in the run
//! queue, sends in one write all that this turn of the event loop has brought, and hands out in their order all replies
//! that one read brings. What must always hold: replies are handed out in the order of the commands, each to the ride
//! that asked for it; only whole, clean replies are; when the head of the line holds the others up for longer than the
//! bound, they are told to run elsewhere, the lane takes no more, and what still comes on it is the head's alone.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use bytes::Buf;
use weir_wire::reply::ReplyKind;
use weir_wire::{Command, Malformed};

use super::in_flight::{Counted, InFlight, Pipeline};
use super::learn::{SharedLearnt, Unfit};
use super::ride::{Arrived, Elsewhere, Ride};
use crate::connection::Connection;
use crate::pool::Lease;
use crate::prepared::{Execution, Prepared, StatementKey};

/// The largest reply that is handed out, in bytes; a larger one is read and dropped, and its statement run elsewhere.
const MAX_REPLY: usize = 64 * 1024;
/// Bytes of one reply that are read only to be dropped; beyond, the lane is closed.
const MAX_DROPPED: usize = 1024 * 1024;

/// With no more commands in the server's hands than these, what is queued is sent at once.
const IN_HAND: usize = 2;
/// The shortest reply there is, in bytes: an error without a message.
const SHORTEST_REPLY: usize = 13;
/// Commands in the server's hands from which on replies are let gather in the socket.
const GATHER_FROM: usize = 16;

/// How a lane ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LaneEnd {
    /// Nothing was in flight.
    Idle,
    /// A reply that nobody waits for is still to come: the server should stop working on it.
    Abandoned,
    /// The connection broke.
    Lost,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LaneState {
    Open,
    /// Takes no more statements, and ends when all replies have come.
    Retiring,
    /// Held up: only the head's reply is still waited for.
    Condemned,
}

fn add(cell: &Cell<u64>, n: u64) {
    cell.set(cell.get() + n);
}

/// See the module.
#[derive(Debug)]
pub struct Lane {
    lease: RefCell<Option<Lease>>,
    line: RefCell<Pipeline>,
    state: Cell<LaneState>,
    /// The head that became one at this time holds the line up.
    overdue: Cell<Option<Instant>>,
    /// A statement left something on the connection: it is not given back.
    soiled: Cell<bool>,
    in_flight: Cell<usize>,
    /// Commands queued since the last write that sent all.
    unsent: Cell<usize>,
    /// The low water mark of the connection's socket, in bytes.
    low_water: Cell<usize>,
    used: Cell<Instant>,
    waker: RefCell<Option<Waker>>,
    scratch: RefCell<Vec<u8>>,
    /// Texts that the server has refused to prepare, or that are being prepared.
    not_prepared: RefCell<Vec<Rc<StatementKey>>>,
    counted: Rc<Counted>,
    /// The server's id of the connection.
    pub(super) thread_id: u32,
}

impl Lane {
    /// A lane over a connection that has its group's profile.
    pub(super) fn new(lease: Lease, counted: Rc<Counted>) -> Rc<Lane> {
        let now = Instant::now();
        Rc::new(Lane {
            thread_id: lease.thread_id,
            lease: RefCell::new(Some(lease)),
            line: RefCell::new(Pipeline::new(now)),
            state: Cell::new(LaneState::Open),
            overdue: Cell::new(None),
            soiled: Cell::new(false),
            in_flight: Cell::new(0),
            unsent: Cell::new(0),
            low_water: Cell::new(1),
            used: Cell::new(now),
            waker: RefCell::new(None),
            scratch: RefCell::default(),
            not_prepared: RefCell::default(),
            counted,
        })
    }

    /// Whether it takes statements.
    pub(super) fn is_open(&self) -> bool {
        self.state.get() == LaneState::Open
    }

    /// Commands in flight.
    pub(super) fn depth(&self) -> usize {
        self.in_flight.get()
    }

    /// Whether its connection was made before global variables or the user's rights changed.
    pub(super) fn is_outdated(&self) -> bool {
        self.lease.borrow().as_ref().is_some_and(|connection| !connection.is_current())
    }

    /// For how long nothing has been in flight.
    pub(super) fn idle_for(&self, now: Instant) -> Option<Duration> {
        (self.in_flight.get() == 0).then(|| now.saturating_duration_since(self.used.get()))
    }

    /// Puts a text on the lane: the payload of a COM_QUERY.
    pub fn query(&self, ride: &Rc<Ride>, learnt: &SharedLearnt, payload: &[u8]) {
        self.append(InFlight::Ride(ride.clone()), payload);
        ride.begin(learnt);
    }

    /// Puts an execution on the lane, if the text is prepared here and its parameters have the types that it was
    /// executed with here before, as far as `types_must_agree`. If it is not prepared yet, it is for the next time.
    pub fn execute(
        &self,
        ride: &Rc<Ride>,
        learnt: &SharedLearnt,
        execution: &Execution<'_>,
        types_must_agree: bool,
    ) -> bool {
        let mut lease = self.lease.borrow_mut();
        let Some(connection) = lease.as_deref_mut() else { return false };
        let Execution { key, execute, types, since, .. } = *execution;
        let mariadb = connection.is_mariadb();
        let tables = &connection.server.tables;
        let prepared = connection.statements.get_mut(key);
        let is_outlived = |prepared: &Prepared| !mariadb && tables.defined_between(prepared.defined, since);
        let Some(prepared) = prepared.filter(|prepared| !is_outlived(prepared)) else {
            connection.close_statement(key);
            drop(lease);
            self.prepare(key);
            return false;
        };
        let same = match (&prepared.types, types) {
            (Some(there), Some(wanted)) => Rc::ptr_eq(there, wanted) || there == wanted,
            (None, None) => true,
            _ => false,
        };
        if types_must_agree && !same && prepared.executed_by.is_some() {
            return false;
        }
        let send_types = types.filter(|_| execute.params > 0 && (execute.types.is_some() || !same));
        let mut payload = self.scratch.borrow_mut();
        payload.clear();
        execute.encode_into(&mut payload, prepared.id, send_types.map(|types| &types[..]));
        if !same {
            prepared.types = types.cloned();
        }
        prepared.executed_by = Some(u32::MAX);
        drop(lease);
        self.append(InFlight::Ride(ride.clone()), &payload);
        ride.begin(learnt);
        true
    }

    fn prepare(&self, key: &Rc<StatementKey>) {
        const MOST: usize = 256;
        let mut pending = self.not_prepared.borrow_mut();
        if pending.contains(key) || pending.len() >= MOST {
            return;
        }
        pending.push(key.clone());
        let payload = [&[Command::StmtPrepare as u8], &key.text[..]].concat();
        let defined = self.lease.borrow().as_ref().map_or(0, |connection| connection.server.tables.defined());
        self.append(InFlight::Prepare(key.clone(), defined), &payload);
    }

    fn append(&self, command: InFlight, payload: &[u8]) {
        let mut lease = self.lease.borrow_mut();
        let connection = lease.as_deref_mut().expect("a lane that takes statements has its connection");
        connection.queue(payload, true);
        let mut line = self.line.borrow_mut();
        line.push(command);
        self.in_flight.set(line.commands.len());
        self.unsent.set(self.unsent.get() + 1);
        self.wake();
    }

    /// Has the lane's task take a turn.
    pub(super) fn wake(&self) {
        if let Some(waker) = &*self.waker.borrow() {
            waker.wake_by_ref();
        }
    }

    /// Takes no more statements, and ends when all replies have come.
    pub(super) fn retire(&self) {
        if self.state.get() == LaneState::Open {
            self.state.set(LaneState::Retiring);
            self.wake();
        }
    }

    /// Since when the head has been the head, if the lane takes statements or once did for it.
    pub(super) fn head_since(&self) -> Option<Instant> {
        let line = self.line.borrow();
        (!line.commands.is_empty()).then_some(line.head_since)
    }

    /// The head that became one at `since` holds the line up, unless its reply is there already and the lane's task has
    /// not had its turn.
    pub(super) fn overdue(&self, since: Instant) {
        self.overdue.set(Some(since));
        self.wake();
    }

    /// The server is gone, or has stopped answering: nothing more is waited for.
    pub(super) fn give_up(&self) {
        self.divert_all(Elsewhere::Lost);
        self.state.set(LaneState::Condemned);
        self.wake();
    }

    /// Serves the lane until it ends.
    pub(super) async fn run(&self) -> LaneEnd {
        let end = std::future::poll_fn(|cx| self.poll(cx)).await;
        self.state.set(LaneState::Condemned);
        self.divert_all(if end == LaneEnd::Lost { Elsewhere::Lost } else { Elsewhere::HeldUp });
        if let Some(lease) = self.lease.borrow_mut().take()
            && (end != LaneEnd::Idle || self.soiled.get())
        {
            lease.close();
        }
        end
    }

    fn divert_all(&self, why: Elsewhere) {
        self.line.borrow().divert_all(why);
    }

    fn poll(&self, cx: &mut Context<'_>) -> Poll<LaneEnd> {
        self.keep_waker(cx);
        let mut lease = self.lease.borrow_mut();
        let Some(connection) = lease.as_deref_mut() else { return Poll::Ready(LaneEnd::Lost) };
        loop {
            if self.send(connection, cx).is_err() {
                return Poll::Ready(LaneEnd::Lost);
            }
            let filled = pin!(connection.fill()).poll(cx);
            match filled {
                Poll::Ready(Ok(())) => {}
                Poll::Ready(Err(_)) => return Poll::Ready(LaneEnd::Lost),
                Poll::Pending => {
                    self.let_replies_gather(connection);
                    break;
                }
            }
            let mut line = self.line.borrow_mut();
            if self.hand_out(connection, &mut line).is_err() {
                return Poll::Ready(LaneEnd::Lost);
            }
            self.in_flight.set(line.commands.len());
            if line.dropped > MAX_DROPPED {
                return Poll::Ready(LaneEnd::Abandoned);
            }
        }
        self.end_of_turn()
    }

    /// Sends what is queued, unless the server has more in hand than is queued here: then a larger batch costs both sides
    /// less, and no statement waits longer for it, because the server runs them one after another anyway.
    fn send(&self, connection: &mut Connection, cx: &mut Context<'_>) -> std::io::Result<()> {
        let unsent = self.unsent.get();
        let in_hand = self.in_flight.get().saturating_sub(unsent);
        if connection.unsent() == 0 || in_hand > unsent.max(IN_HAND) {
            return Ok(());
        }
        match connection.poll_send(cx) {
            Poll::Pending => Ok(()),
            Poll::Ready(Err(error)) => Err(error),
            Poll::Ready(Ok(())) => {
                self.unsent.set(0);
                add(&self.counted.writes, 1);
                add(&self.counted.depths, self.in_flight.get() as u64);
                Ok(())
            }
        }
    }

    /// With many replies to come, has the socket report itself readable only when several of them can be there. The mark
    /// is what the shortest replies would reach, so that it is always reached.
    fn let_replies_gather(&self, connection: &Connection) {
        let in_hand = self.in_flight.get().saturating_sub(self.unsent.get());
        let safe = if in_hand < GATHER_FROM { 1 } else { in_hand * SHORTEST_REPLY };
        let now = self.low_water.get();
        if safe < now || safe >= now * 4 {
            // Below what is safe, so that the next few replies do not bring a system call each.
            let mark = if safe == 1 { 1 } else { safe / 2 };
            connection.set_receive_low_water(mark);
            self.low_water.set(mark);
        }
    }

    fn keep_waker(&self, cx: &mut Context<'_>) {
        let mut waker = self.waker.borrow_mut();
        if !waker.as_ref().is_some_and(|known| known.will_wake(cx.waker())) {
            *waker = Some(cx.waker().clone());
        }
    }

    /// Nothing more can be read now: is the line held up, is the lane at its end?
    fn end_of_turn(&self) -> Poll<LaneEnd> {
        let mut line = self.line.borrow_mut();
        if let Some(since) = self.overdue.take()
            && self.state.get() != LaneState::Condemned
            && !line.commands.is_empty()
            && line.head_since == since
        {
            self.condemn(&mut line);
        }
        match (self.state.get(), line.commands.front()) {
            (LaneState::Open, _) => Poll::Pending,
            (LaneState::Retiring, Some(_)) => Poll::Pending,
            (LaneState::Retiring, None) => Poll::Ready(LaneEnd::Idle),
            // Commands behind the head were sent, and their replies would come: the connection is closed instead.
            (LaneState::Condemned, None) => Poll::Ready(LaneEnd::Abandoned),
            (LaneState::Condemned, Some(InFlight::Ride(ride))) if ride.is_riding() && !ride.is_abandoned() => {
                Poll::Pending
            }
            (LaneState::Condemned, Some(_)) => Poll::Ready(LaneEnd::Abandoned),
        }
    }

    fn condemn(&self, line: &mut Pipeline) {
        self.state.set(LaneState::Condemned);
        line.leave_head_alone();
        self.in_flight.set(line.commands.len());
    }

    /// Whether the head has held the others up.
    pub(super) fn is_condemned(&self) -> bool {
        self.state.get() == LaneState::Condemned
    }

    fn hand_out(&self, connection: &mut Connection, line: &mut Pipeline) -> Result<(), Malformed> {
        let now = Instant::now();
        while let Some(head) = line.commands.front() {
            let kind = match head {
                InFlight::Ride(_) => ReplyKind::Results,
                InFlight::Prepare(..) => connection.prepare_kind(),
            };
            if !line.advance(&connection.input, kind, connection.capabilities)? {
                break;
            }
            if let Some(rows) = line.rows_of_whole_reply() {
                self.hand_out_head(connection, line, rows, now);
            } else if line.seen > MAX_REPLY {
                if let Some(InFlight::Ride(ride)) = line.commands.front() {
                    ride.divert(Elsewhere::Unfit(Unfit::Large));
                }
                connection.input.advance(line.seen);
                line.dropped += line.seen;
                line.seen = 0;
            }
        }
        match line.commands.is_empty() && !connection.input.is_empty() {
            true => Err(Malformed("a reply that nobody has asked for")),
            false => Ok(()),
        }
    }

    fn hand_out_head(&self, connection: &mut Connection, line: &mut Pipeline, rows: u64, now: Instant) {
        let Some(head) = line.commands.pop_front() else { return };
        match head {
            InFlight::Ride(ride) if !line.clean => ride.divert(Elsewhere::Unfit(Unfit::Unclean)),
            InFlight::Ride(ride) if line.seen > MAX_REPLY => ride.divert(Elsewhere::Unfit(Unfit::Large)),
            InFlight::Ride(ride) => {
                if ride.is_riding() && !ride.is_abandoned() {
                    let time = now.saturating_duration_since(line.head_since);
                    ride.arrive(&connection.input[..line.seen], Arrived { status: line.status, rows, time, at: now });
                }
            }
            InFlight::Prepare(key, defined) => {
                if let Some(id) = line.prepared.take() {
                    self.not_prepared.borrow_mut().retain(|pending| *pending != key);
                    connection.remember(key, Prepared::new(id, defined));
                }
            }
        }
        if !line.clean {
            self.soiled.set(true);
        }
        connection.input.advance(line.seen);
        connection.reply_done();
        add(&self.counted.replies, 1);
        line.next_head(now);
        if line.commands.is_empty() {
            self.used.set(now);
        }
    }
}
