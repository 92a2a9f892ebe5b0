//! The commands in flight on a lane, in the order in which their replies come, and how much of the first reply has been seen.

use std::cell::Cell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::Instant;

use weir_wire::reply::{Ending, Event, ReplyKind, ReplyTracker};
use weir_wire::{Capabilities, Malformed, StatusFlags};

use super::ride::{Elsewhere, Ride};
use crate::prepared::StatementKey;

/// What a command in flight is for.
#[derive(Debug)]
pub(super) enum InFlight {
    /// A session's statement.
    Ride(Rc<Ride>),
    /// A text that is prepared so that sessions may execute it here, and how many definitions had been made by then.
    Prepare(Rc<StatementKey>, u64),
}

/// The commands in flight, and how much of the head's reply has been seen.
#[derive(Debug)]
pub(super) struct Pipeline {
    pub(super) commands: VecDeque<InFlight>,
    pub(super) tracker: Option<ReplyTracker>,
    /// Bytes at the front of the input that belong to the head's reply and have been looked at.
    pub(super) seen: usize,
    /// Bytes of the head's reply that have been dropped.
    pub(super) dropped: usize,
    /// The head's reply is clean so far, and its final status flags.
    pub(super) clean: bool,
    pub(super) status: StatusFlags,
    /// The server's id and answer, when the head is a PREPARE.
    pub(super) prepared: Option<u32>,
    /// Since when the head is the head.
    pub(super) head_since: Instant,
}

impl Pipeline {
    /// A line with nothing in flight.
    pub(super) fn new(now: Instant) -> Pipeline {
        Pipeline {
            commands: VecDeque::new(),
            tracker: None,
            seen: 0,
            dropped: 0,
            clean: true,
            status: StatusFlags::empty(),
            prepared: None,
            head_since: now,
        }
    }

    /// A command was sent, or will be with the next write.
    pub(super) fn push(&mut self, command: InFlight) {
        if self.commands.is_empty() {
            self.head_since = Instant::now();
        }
        self.commands.push_back(command);
    }

    /// Looks at what comes next of the head's reply. Returns whether enough of it has arrived for that.
    ///
    /// # Errors
    /// What no server sends on a lane.
    pub(super) fn advance(
        &mut self,
        input: &[u8],
        kind: ReplyKind,
        capabilities: Capabilities,
    ) -> Result<bool, Malformed> {
        let tracker = self.tracker.get_or_insert_with(|| ReplyTracker::new(kind, capabilities));
        match tracker.advance(&input[self.seen..])? {
            Event::NeedMore => return Ok(false),
            Event::Pass(n) => self.seen += n,
            Event::Packet(n, ending) => {
                self.seen += n;
                self.note_ending(&ending)?;
            }
        }
        Ok(true)
    }

    /// The rows of the head's reply, if all of it has been looked at.
    pub(super) fn rows_of_whole_reply(&self) -> Option<u64> {
        self.tracker.as_ref().filter(|tracker| tracker.is_done()).map(ReplyTracker::rows)
    }

    /// Takes down what a packet of the head's reply tells.
    ///
    /// # Errors
    /// A file is asked for, which no statement on a lane does.
    fn note_ending(&mut self, ending: &Ending<'_>) -> Result<(), Malformed> {
        match ending {
            Ending::Ok(ok) => {
                self.status = ok.status;
                let plain = ok.header == 0xfe && ok.info.is_empty();
                self.clean &= plain && ok.warnings == 0 && leaves_nothing(ok.status);
            }
            Ending::Eof(eof) => {
                self.status = eof.status;
                self.clean &= eof.warnings == 0 && leaves_nothing(eof.status);
            }
            Ending::Prepared(ok) => {
                self.prepared = Some(ok.id);
                self.clean &= ok.warnings == 0;
            }
            Ending::Err(_) => self.clean = false,
            Ending::LocalInfile => return Err(Malformed("a file is asked for on a lane")),
        }
        Ok(())
    }

    /// The head's reply was handed out: the next command is the head.
    pub(super) fn next_head(&mut self, now: Instant) {
        self.tracker = None;
        self.seen = 0;
        self.dropped = 0;
        self.clean = true;
        self.head_since = now;
    }

    /// All sessions run their statements elsewhere.
    pub(super) fn divert_all(&self, why: Elsewhere) {
        for command in &self.commands {
            if let InFlight::Ride(ride) = command {
                ride.divert(why);
            }
        }
    }

    /// The head holds the line up: all others run elsewhere.
    pub(super) fn leave_head_alone(&mut self) {
        if let Some(InFlight::Ride(head)) = self.commands.front() {
            head.holds_up(Instant::now());
        }
        for command in self.commands.drain(1..) {
            if let InFlight::Ride(ride) = command {
                ride.divert(Elsewhere::HeldUp);
            }
        }
    }
}

/// Numbers of a window of time, shared by the lanes of a group.
#[derive(Debug, Default)]
pub(super) struct Counted {
    pub(super) replies: Cell<u64>,
    pub(super) writes: Cell<u64>,
    /// Commands in flight, summed over the writes.
    pub(super) depths: Cell<u64>,
    /// A statement found all lanes at their depth limit.
    pub(super) full: Cell<bool>,
}

/// Whether the final status says that there is no more to come, and that the session's state is as it was.
fn leaves_nothing(status: StatusFlags) -> bool {
    !status.intersects(
        StatusFlags::MORE_RESULTS_EXISTS
            | StatusFlags::SESSION_STATE_CHANGED
            | StatusFlags::IN_TRANS
            | StatusFlags::CURSOR_EXISTS,
    )
}
