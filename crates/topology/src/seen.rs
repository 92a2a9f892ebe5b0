//! What a session has written and seen, as far as it decides where it may read.
//!
//! What must always hold: what the session has seen is on the reader that it last read from, or covered by `written`, or it
//! saw it before `horizon`: then a position at which the writer was asked later covers it.

use std::sync::Arc;
use std::time::Instant;

use weir_backend::Position;

/// The reader that a session last read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LastReader {
    /// Its place in the group.
    pub index: usize,
    /// In which of its lives.
    pub life: u64,
    /// When the last read ended.
    pub at: Instant,
    /// Since when the session reads there.
    pub since: Instant,
}

/// See the module.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Seen {
    /// A position that covers the session's writes, and all that it saw on the writer before them.
    pub written: Option<Arc<Position>>,
    /// Where it last read.
    pub reader: Option<LastReader>,
    /// What it saw on the writer until then is covered by no position yet.
    pub horizon: Option<Instant>,
    /// It has read on a reader since it last read on the writer. A reader may show a transaction whose commit the writer
    /// has not finished yet.
    pub ahead: bool,
    /// Since when its reads go to the writer because what it has seen there is not covered.
    pub uncovered_since: Option<Instant>,
}

impl Seen {
    /// It has committed, up to this position. `whole`: the position stands for all that it has seen on the writer before.
    pub fn wrote(&mut self, position: Position, whole: bool) {
        if whole {
            self.horizon = None;
            self.uncovered_since = None;
        }
        match &mut self.written {
            Some(written) => Arc::make_mut(written).add(&position),
            None => self.written = Some(Arc::new(position)),
        }
    }

    /// It has read on the writer, or written without being told a position; that ended at `now`.
    pub fn saw_writer(&mut self, now: Instant) {
        self.horizon = Some(now);
    }

    /// It has read on a reader that had all that it must have.
    pub fn read_on(&mut self, index: usize, life: u64, now: Instant) {
        let since = self.reader.filter(|last| (last.index, last.life) == (index, life)).map_or(now, |last| last.since);
        self.reader = Some(LastReader { index, life, at: now, since });
        self.ahead = true;
        self.written = None;
        self.horizon = None;
        self.uncovered_since = None;
    }

    /// Everything that it has seen anywhere is covered by this position of the writer.
    pub fn covered_by(&mut self, position: Arc<Position>) {
        *self = Seen { written: Some(position), ahead: self.ahead, ..Seen::default() };
    }
}
