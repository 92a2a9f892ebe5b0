//! The rows of several shards as one stream: in any order, or sorted if each shard's rows are.
//!
//! What must always hold: Weir looks at one row per shard at most, in place, and computes its sort key once. A merge waits only for what it
//! needs: rows of any shard if the order does not matter, else the next row of each.

use std::rc::Rc;
use std::task::{Context, Poll};

use weir_plan::SortKey;
use weir_wire::{Failure, StatusFlags};

use super::collations::Weights;
use super::columns::{Column, ColumnKind};
use super::failure::internal;
use super::feed::{Feed, FeedEnd, FeedStep, Head};
use super::key::{self, KeyPart, reach};
use super::link::Link;
use super::row::{self, Format, Span};

/// A shard's feed, and what is known of its row at hand.
#[derive(Debug)]
struct Slot<L> {
    feed: Feed<L>,
    /// Its columns are those of the others.
    agreed: bool,
    spans: Vec<Span>,
    key: Vec<u8>,
}

/// What rows look like, once the first shard has said it.
#[derive(Debug, Default)]
pub(super) struct Shape {
    /// Columns and their definitions.
    pub(super) head: Head,
    /// Their kinds.
    pub(super) kinds: Vec<ColumnKind>,
}

/// How the next row is chosen.
#[derive(Debug)]
enum Choice {
    Any,
    Sorted {
        keys: Vec<SortKey>,
        parts: Vec<KeyPart>,
        /// Slots with a row at hand, the one with the least key last.
        order: Vec<usize>,
        /// Slots whose next row is not known.
        pending: Vec<usize>,
    },
}

/// What is wanted of shards' rows.
#[derive(Debug)]
pub(super) struct Wants<'a> {
    /// Their format.
    pub(super) format: Format,
    /// What they are sorted by; none: they come in any order.
    pub(super) keys: &'a [SortKey],
    /// How many columns there are without the hidden ones, if that is known.
    pub(super) columns: Option<usize>,
    /// How many hidden columns there are at the end.
    pub(super) hidden: usize,
    /// All fields are to be found in each row, and not only those that keys are made of.
    pub(super) fields: bool,
    /// What is known of the keys' collations.
    pub(super) weights: Rc<Weights>,
}

/// Rows of several shards.
#[derive(Debug)]
pub(super) struct Merge<L> {
    slots: Vec<Slot<L>>,
    format: Format,
    choice: Choice,
    shape: Option<Shape>,
    /// It is that of a shard without rows.
    of_nothing: bool,
    /// How many fields of a row must be found.
    wanted: usize,
    /// All of them.
    all_fields: bool,
    /// How many columns there must be.
    columns: Option<usize>,
    /// Hidden columns at the end, which nobody gets to see.
    hidden: usize,
    weights: Rc<Weights>,
    /// The slot whose row was chosen.
    current: usize,
    chosen: bool,
}

impl<L: Link> Merge<L> {
    /// The rows that come over `links`.
    pub(super) fn new(links: Vec<L>, wants: Wants<'_>) -> Merge<L> {
        let Wants { format, keys, columns, hidden, fields, weights } = wants;
        let slot = |link| Slot { feed: Feed::new(link), agreed: false, spans: Vec::new(), key: Vec::new() };
        let slots: Vec<_> = links.into_iter().map(slot).collect();
        let choice = match keys {
            [] => Choice::Any,
            _ => Choice::Sorted {
                keys: keys.to_vec(),
                parts: Vec::new(),
                order: Vec::with_capacity(slots.len()),
                pending: (0..slots.len()).collect(),
            },
        };
        let wanted = keys.iter().map(reach).max().unwrap_or(0);
        let columns = columns.map(|columns| columns + hidden);
        Merge {
            slots,
            format,
            choice,
            shape: None,
            of_nothing: false,
            wanted,
            all_fields: fields,
            columns,
            hidden,
            weights,
            current: 0,
            chosen: false,
        }
    }

    /// The format of the rows.
    pub(super) fn format(&self) -> Format {
        self.format
    }

    /// How many columns at the end nobody gets to see.
    pub(super) fn hidden(&self) -> usize {
        self.hidden
    }

    /// What rows look like; known once a row was chosen, or the end was reached.
    pub(super) fn shape(&self) -> Option<&Shape> {
        self.shape.as_ref()
    }

    /// Goes on to the next row.
    ///
    /// # Errors
    /// A server's error or loss; columns of the shards that do not agree; a value that is none of its type.
    #[inline]
    pub(super) fn next(&mut self) -> Result<FeedStep, Failure> {
        match self.choice {
            Choice::Any => self.next_of_any(),
            Choice::Sorted { .. } => self.next_sorted(),
        }
    }

    fn next_of_any(&mut self) -> Result<FeedStep, Failure> {
        let mut waits = false;
        for _ in 0..self.slots.len() {
            match self.step(self.current)? {
                FeedStep::Row => {
                    self.chosen = true;
                    return Ok(FeedStep::Row);
                }
                FeedStep::Wait => waits = true,
                FeedStep::End => {}
            }
            self.current = (self.current + 1) % self.slots.len();
        }
        self.chosen = false;
        Ok(if waits { FeedStep::Wait } else { FeedStep::End })
    }

    fn next_sorted(&mut self) -> Result<FeedStep, Failure> {
        if std::mem::take(&mut self.chosen)
            && let Choice::Sorted { pending, order, .. } = &mut self.choice
        {
            order.pop();
            pending.push(self.current);
        }
        let mut at = 0;
        while let Some(slot) = self.pending(at) {
            if self.step(slot)? == FeedStep::Wait {
                at += 1;
                continue;
            }
            let has_row = !self.slots[slot].feed.is_done();
            let Merge { choice: Choice::Sorted { order, pending, .. }, slots, .. } = self else { break };
            pending.swap_remove(at);
            if has_row {
                // Of equal keys the first shard's row comes first. What was at the end often stays there.
                let key = (&slots[slot].key, slot);
                let place = order.partition_point(|other| (&slots[*other].key, *other) > key);
                order.insert(place, slot);
            }
        }
        let Choice::Sorted { order, pending, .. } = &self.choice else { return Ok(FeedStep::End) };
        if !pending.is_empty() {
            return Ok(FeedStep::Wait);
        }
        let Some(least) = order.last() else { return Ok(FeedStep::End) };
        (self.current, self.chosen) = (*least, true);
        Ok(FeedStep::Row)
    }

    fn pending(&self, at: usize) -> Option<usize> {
        match &self.choice {
            Choice::Sorted { pending, .. } => pending.get(at).copied(),
            Choice::Any => None,
        }
    }

    /// Goes on in one slot.
    #[inline]
    fn step(&mut self, at: usize) -> Result<FeedStep, Failure> {
        let step = self.slots[at].feed.next()?;
        if step == FeedStep::Wait {
            return Ok(step);
        }
        if !self.slots[at].agreed {
            self.agree(at, step == FeedStep::Row)?;
        }
        if step == FeedStep::Row && self.wanted > 0 {
            self.read(at)?;
        }
        Ok(step)
    }

    /// Finds the fields of a slot's row, and makes its key.
    #[inline]
    fn read(&mut self, at: usize) -> Result<(), Failure> {
        let (Some(shape), slot) = (&self.shape, &mut self.slots[at]) else { return Ok(()) };
        let row = slot.feed.row();
        if let Err(error) = row::locate(self.format, &shape.kinds, self.wanted, row, &mut slot.spans) {
            return Err(slot.feed.broken(&error.to_string()));
        }
        if let Choice::Sorted { parts, .. } = &mut self.choice {
            key::encode(parts, row, &slot.spans, &mut slot.key)?;
        }
        Ok(())
    }

    /// Takes a shard's columns for those of the result, or compares them with these. What an optimizer makes of an expression where it
    /// sees that there are no rows may be of another type: it counts only if no shard has rows.
    fn agree(&mut self, at: usize, has_rows: bool) -> Result<(), Failure> {
        let slot = &mut self.slots[at];
        slot.agreed = true;
        let replaces = self.of_nothing && has_rows && !self.all_fields;
        let Some(shape) = self.shape.as_ref().filter(|_| !replaces) else {
            self.of_nothing = !has_rows;
            let head = std::mem::take(&mut slot.feed.head);
            return self.take_shape(head);
        };
        let (ours, theirs) = (&shape.head.columns, &slot.feed.head.columns);
        // How wide an integer is depends on what a server's optimizer makes of an expression; as text it is the same.
        let same = |one: ColumnKind, other: ColumnKind| match (self.format, one, other) {
            (Format::Text, ColumnKind::Integer { unsigned: one, .. }, ColumnKind::Integer { unsigned: other, .. }) => {
                one == other
            }
            _ => one == other || !has_rows && !self.all_fields,
        };
        let name = slot.feed.link.name();
        let why = if ours.len() != theirs.len() {
            format!("server '{name}' answered with {} columns, another with {}", theirs.len(), ours.len())
        } else if let Some(column) = (0..ours.len()).find(|at| !same(ours[*at].kind, theirs[*at].kind)) {
            let types = (theirs[column].kind, ours[column].kind);
            format!(
                "column {} of server '{name}' has the type {:?}, that of another {:?}",
                column + 1,
                types.0,
                types.1
            )
        } else {
            return Ok(());
        };
        Err(internal(&format!("{why}: the table's definitions differ between the shards")))
    }

    fn take_shape(&mut self, head: Head) -> Result<(), Failure> {
        let columns = head.columns.len();
        if self.columns.is_some_and(|known| known != columns) || self.hidden >= columns || self.wanted > columns {
            return Err(internal(&format!(
                "they have {columns} columns, unlike the catalog; a table was changed without Weir"
            )));
        }
        if self.all_fields {
            self.wanted = columns;
        } else if self.hidden > 0 {
            self.wanted = self.wanted.max(columns - self.hidden);
        }
        if let Choice::Sorted { keys, parts, .. } = &mut self.choice {
            let part = |key| KeyPart::new(key, &head.columns, self.format, &self.weights);
            *parts = keys.iter().map(part).collect::<Result<_, _>>()?;
        }
        let kinds = head.columns.iter().map(|column| column.kind).collect();
        self.shape = Some(Shape { head, kinds });
        Ok(())
    }

    /// The chosen row, without the hidden columns. `out` is used if its bytes have to change.
    #[inline]
    pub(super) fn payload<'s>(&'s self, out: &'s mut Vec<u8>) -> &'s [u8] {
        let slot = &self.slots[self.current];
        let row = slot.feed.row();
        match &self.shape {
            Some(shape) if self.hidden > 0 => {
                let columns = shape.kinds.len();
                row::cut(self.format, columns, columns - self.hidden, row, &slot.spans, out)
            }
            _ => row,
        }
    }

    /// The chosen row as the shard sent it, and the fields that were found.
    pub(super) fn chosen(&self) -> (&[u8], &[Span]) {
        let slot = &self.slots[self.current];
        (slot.feed.row(), &slot.spans)
    }

    /// Reads from all shards whose next row is needed and has not come. Ready when one of them has sent something.
    ///
    /// # Errors
    /// The loss of a connection.
    pub(super) fn poll_fill(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        let mut progress = Poll::Pending;
        for slot in self.slots.iter_mut().filter(|slot| slot.feed.waits) {
            if let Poll::Ready(outcome) = slot.feed.poll_fill(cx) {
                outcome?;
                progress = Poll::Ready(Ok(()));
            }
        }
        progress
    }

    /// The shards' feeds, when no more rows are wanted.
    pub(super) fn feeds(&mut self) -> impl Iterator<Item = &mut Feed<L>> {
        self.slots.iter_mut().map(|slot| &mut slot.feed)
    }

    /// What the ends of all results say together, as far as they have come.
    pub(super) fn end(&self) -> FeedEnd {
        let own = StatusFlags::SESSION_STATE_CHANGED | StatusFlags::CURSOR_EXISTS | StatusFlags::LAST_ROW_SENT;
        self.slots.iter().filter_map(|slot| slot.feed.end).fold(FeedEnd::default(), |all, one| FeedEnd {
            status: all.status | (one.status - own),
            warnings: all.warnings.saturating_add(one.warnings),
        })
    }
}

impl Shape {
    /// The columns.
    pub(super) fn columns(&self) -> &[Column] {
        &self.head.columns
    }
}
