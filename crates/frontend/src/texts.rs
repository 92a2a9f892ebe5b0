//! What a worker knows of texts that its sessions have sent: their class, and whether they may ride lanes.
//!
//! What must always hold: what is kept for a text follows from its shape alone, and nothing of a session is in it.

use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;

use weir_admin::digests::{Digested, Table};
use weir_sql::hot_row::{HotText, transaction_hints, without_comments};
use weir_sql::{
    Class, Digest, Effects, First, KnownTexts, LexMode, RoutingHint, are_read_alike, classify, first_statement,
    routing_hint, shape, trimmed,
};

/// A text that was read.
#[derive(Debug)]
pub(crate) struct ReadText {
    /// What it is and does.
    pub(crate) class: Class,
    /// By what its runs are counted, if it may ride lanes.
    pub(crate) rides: Option<Digest>,
    /// Where it wants to run, if it says so.
    pub(crate) hint: Option<RoutingHint>,
    /// What is counted of its runs.
    pub(crate) digested: Rc<Digested>,
    /// Whether a server may find several statements in it.
    pub(crate) several: Several,
    /// It has hints that end its transaction.
    pub(crate) hinted: bool,
    /// It changes rows, and has comments that may be other ones the next time.
    commented: bool,
    /// Its statement, if it may ride in a batch: looked for when a text of the shape comes for the second time.
    hot: OnceCell<Option<Rc<HotText>>>,
    /// Nothing like it has come before.
    new: Cell<bool>,
}

impl ReadText {
    /// The statement of a text of this shape, if it may ride in a batch: of a text without comments.
    fn hot(&self, text: &[u8], mode: LexMode) -> Option<&Rc<HotText>> {
        if self.new.replace(false) {
            return None;
        }
        self.hot.get_or_init(|| HotText::of(text, mode, &self.class).ok().map(Rc::new)).as_ref()
    }
}

/// Whether a text has several statements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Several {
    /// It has one.
    No,
    /// It has several, and what one of them does never changes how those behind it are read.
    Alike,
    /// It may have several, which have to be read one by one.
    Apart,
}

impl Several {
    fn of(text: &[u8], mode: LexMode) -> Several {
        let text = trimmed(text, mode);
        match text.iter().find(|byte| **byte == b';') {
            None => Several::No,
            Some(_) if first_statement(text, mode) == First::Ends(text.len()) => Several::No,
            Some(_) if are_read_alike(text, mode) => Several::Alike,
            Some(_) => Several::Apart,
        }
    }
}

/// The texts that a worker knows.
#[derive(Debug, Default)]
pub(crate) struct Texts(RefCell<KnownTexts<Rc<ReadText>>>);

impl Texts {
    /// Reads a text, if none like it has been read before.
    pub(crate) fn read(&self, text: &[u8], mode: LexMode, counted: &Table) -> Rc<ReadText> {
        let mut known = self.0.borrow_mut();
        if let Some(read) = known.get(text, mode) {
            return read.clone();
        }
        let class = classify(text, mode);
        let rides = if may_ride(&class) { shape(text, mode) } else { None };
        let hint = routing_hint(text, mode);
        let digested = counted.entry(text, mode, &class);
        let several = Several::of(text, mode);
        let hinted = transaction_hints(text, mode).is_some();
        let keeps = class.follows_from_shape();
        // One that is not kept does not come again.
        let hot = if keeps { OnceCell::new() } else { OnceCell::from(None) };
        let commented = class.effects.contains(Effects::WRITES) && without_comments(text, mode).is_some();
        let new = Cell::new(true);
        let read = Rc::new(ReadText { class, rides, hint, digested, several, hinted, commented, hot, new });
        if keeps {
            known.keep(text, mode, read.clone());
        }
        read
    }

    /// The statement of a text that was read, if it may ride in a batch. One with comments rides as it does without them: it may have
    /// others each time.
    pub(crate) fn hot(&self, read: &ReadText, text: &[u8], mode: LexMode, counted: &Table) -> Option<Rc<HotText>> {
        if !read.commented {
            return read.hot(text, mode).cloned();
        }
        let plain = without_comments(text, mode)?;
        self.read(&plain, mode, counted).hot(&plain, mode).cloned()
    }
}

/// Whether a statement of this class leaves nothing on its connection and finds nothing of its session there.
pub(crate) fn may_ride(class: &Class) -> bool {
    class.is_plain_read() && (class.effects - Effects::READS - Effects::SERVER_STATE).is_empty()
}
