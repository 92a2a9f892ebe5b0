//! What statements of one digest cost: a worker's table of them.
//!
//! What must always hold: the table is one worker's and is never locked; it keeps a bounded number of digests. When there
//! is no room for another one, those that were used least lately make room, and what they have counted goes to the row
//! `other`, so that the sums stay right. No text here has a literal in it, and so no secret.

mod counts;
mod text;

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::rc::Rc;
use std::sync::Arc;

use weir_sql::{Class, Digest, Effects, LexMode, Lexer};

use crate::kind::{StatementKind, changes_data};
use crate::rules::{self, Candidates, Rule, RuleBook, Shape};
pub use counts::{Counts, Run};
pub use text::{holds_secret, shown_text};

/// The most digests that a worker keeps.
pub const MOST: usize = 1000;
/// A text that is longer than this, in bytes without spaces, comments and what literals hold, is known by its beginning.
const LOOKED_AT: usize = 16 << 10;

/// As much of a text as is looked at. What holds no word of a statement does not count: nobody can push words out of a rule's sight.
fn beginning(text: &[u8], mode: LexMode) -> &[u8] {
    if text.len() <= LOOKED_AT {
        return text;
    }
    let mut left = LOOKED_AT;
    let cut = Lexer::new(text, mode).find(|token| {
        let length = if token.kind.is_literal() { 1 } else { token.range().len() };
        left = left.saturating_sub(length);
        left == 0
    });
    &text[..cut.map_or(text.len(), |token| token.end as usize)]
}

/// What is known of all statements of one digest.
#[derive(Debug)]
pub struct Digested {
    /// The digest.
    pub digest: Digest,
    /// The text without its literals.
    pub text: Box<str>,
    /// What kind of statement it is.
    pub kind: StatementKind,
    /// It may change something.
    pub writes: bool,
    /// It is refused while Weir is read-only.
    pub changes_data: bool,
    /// Its literals are not to be shown to anybody: one of them may be a password.
    pub secret: bool,
    /// The rules that may be meant for it.
    candidates: Candidates,
    counts: RefCell<Counts>,
    /// It has a place in its table.
    kept: Cell<bool>,
    /// Runs since places were last taken away, and half of the score before that.
    score: Cell<u64>,
}

impl Digested {
    /// Whether all that decides about whether a statement may run is the same.
    fn is_judged_as(&self, other: &Digested) -> bool {
        (self.kind, self.writes, self.changes_data) == (other.kind, other.writes, other.changes_data)
    }

    /// The rule for a statement of this digest, if there is one.
    #[inline]
    pub fn rule_in(&self, book: &RuleBook, from: rules::From<'_>) -> Option<Arc<Rule>> {
        let shape = Shape { digest: self.digest, text: &self.text, kind: self.kind, writes: self.writes };
        book.rule_for(&self.candidates, shape, from)
    }

    fn new(digest: Digest, text: &[u8], mode: LexMode, class: &Class) -> Digested {
        let kind = StatementKind::of(text, mode, class);
        Digested {
            digest,
            text: shown_text(text, mode).into(),
            kind,
            changes_data: changes_data(text, mode, class, kind),
            candidates: Candidates::default(),
            writes: class.effects.contains(Effects::WRITES),
            secret: holds_secret(text, mode),
            counts: RefCell::default(),
            kept: Cell::new(false),
            score: Cell::new(0),
        }
    }
}

/// What a digest has counted, on one worker or on all.
#[derive(Debug, Clone)]
pub struct Row {
    /// The digest; `None` for all those that have no row of their own.
    pub digest: Option<Digest>,
    /// The text without its literals.
    pub text: String,
    /// What kind of statement it is.
    pub kind: Option<StatementKind>,
    /// What it has counted.
    pub counts: Counts,
}

/// See the module.
#[derive(Debug)]
pub struct Table {
    known: RefCell<HashMap<u128, Rc<Digested>, BuildHasherDefault<AlreadyHashed>>>,
    other: RefCell<Counts>,
    most: usize,
}

impl Default for Table {
    fn default() -> Table {
        Table::of_most(MOST)
    }
}

impl Table {
    /// A table that keeps this number of digests.
    fn of_most(most: usize) -> Table {
        Table { known: RefCell::default(), other: RefCell::default(), most }
    }

    /// What is known of a text's digest. It gets a place in the table with its first run.
    pub fn entry(&self, text: &[u8], mode: LexMode, class: &Class) -> Rc<Digested> {
        let text = beginning(text, mode);
        let this = Digested::new(weir_sql::digest(text, mode), text, mode, class);
        // A digest does not tell where executable comments end, nor what comes after the beginning of a long text: what is
        // judged by rules and read-only mode is never taken from another text.
        match self.known.borrow().get(&this.digest.0) {
            Some(known) if known.is_judged_as(&this) => known.clone(),
            _ => Rc::new(this),
        }
    }

    /// Notes a run.
    #[inline]
    pub fn note(&self, entry: &Rc<Digested>, run: &Run) {
        if !entry.kept.get() {
            self.keep(entry, run);
            return;
        }
        entry.score.set(entry.score.get() + 1);
        entry.counts.borrow_mut().note(run);
    }

    /// Notes a run of a digest that has no place in the table.
    #[cold]
    fn keep(&self, entry: &Rc<Digested>, run: &Run) {
        let known = self.known.borrow().get(&entry.digest.0).cloned();
        if let Some(same) = known {
            // Another text of its digest was read while this one had no place.
            same.counts.borrow_mut().note(run);
            return;
        }
        if self.known.borrow().len() >= self.most {
            self.make_room();
        }
        entry.kept.set(true);
        entry.score.set(1);
        entry.counts.borrow_mut().note(run);
        self.known.borrow_mut().insert(entry.digest.0, entry.clone());
    }

    /// Takes the places of an eighth of the digests away.
    fn make_room(&self) {
        let mut known = self.known.borrow_mut();
        let mut scores: Vec<u64> = known.values().map(|entry| entry.score.get()).collect();
        let leave = (scores.len() / 8).max(1);
        let (_, limit, _) = scores.select_nth_unstable(leave - 1);
        let limit = *limit;
        let mut left = 0;
        let mut other = self.other.borrow_mut();
        known.retain(|_, entry| {
            let leaves = left < leave && entry.score.get() <= limit;
            if leaves {
                left += 1;
                entry.kept.set(false);
                other.add(&entry.counts.take());
            }
            entry.score.set(entry.score.get() / 2);
            !leaves
        });
    }

    /// What has been counted: a row for each digest, and one for all others if there have been any.
    pub fn rows(&self) -> Vec<Row> {
        let known = self.known.borrow();
        let row = |entry: &Rc<Digested>| Row {
            digest: Some(entry.digest),
            text: entry.text.to_string(),
            kind: Some(entry.kind),
            counts: entry.counts.borrow().clone(),
        };
        let mut rows: Vec<Row> = known.values().map(row).collect();
        let other = self.other.borrow();
        if other.count > 0 {
            rows.push(Row { digest: None, text: String::new(), kind: None, counts: other.clone() });
        }
        rows
    }

    /// Forgets all that has been counted.
    pub fn reset(&self) {
        for entry in self.known.borrow_mut().drain().map(|(_, entry)| entry) {
            entry.kept.set(false);
            entry.counts.take();
        }
        self.other.take();
    }
}

/// The rows of several workers, those of one digest added up, by total time.
pub fn merged(rows: impl IntoIterator<Item = Row>) -> Vec<Row> {
    let mut all: HashMap<Option<Digest>, Row> = HashMap::new();
    for row in rows {
        match all.get_mut(&row.digest) {
            Some(known) => known.counts.add(&row.counts),
            None => drop(all.insert(row.digest, row)),
        }
    }
    let mut all: Vec<Row> = all.into_values().collect();
    all.sort_by_key(|row| (std::cmp::Reverse(row.counts.total), row.digest));
    all
}

/// Digests are hashes already.
#[derive(Debug, Default)]
struct AlreadyHashed(u64);

impl Hasher for AlreadyHashed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        debug_assert!(bytes.is_empty(), "keys are u128");
    }

    fn write_u128(&mut self, key: u128) {
        self.0 = key as u64;
    }
}

#[cfg(test)]
mod tests;
