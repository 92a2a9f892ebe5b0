//! What a plan depends on: noted while a statement is planned.
//!
//! What must always hold: a value of the text or of a parameter can change a plan only by being read; each reading is noted here. What is
//! noted as *asked* is read by nothing but the question where rows with that value are; everything else pins the value: the plan is that
//! of texts with the same value only. Leaving a note out would let a wrong plan be used; one too many costs a plan made anew.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use weir_catalog::{Constant, Database, Located, RangeShards, Table};
use weir_sql::ast::{Expr, ExprKind, Span, Statement};
use weir_sql::visit::{Flow, Node, walk};

use crate::known::{KnownValue, Slot, Source};
use crate::piece::Piece;

/// A value in a question.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Operand {
    Source(Source),
    Fixed(Constant),
}

impl Operand {
    pub(crate) fn of(known: &KnownValue) -> Operand {
        known.source.map_or_else(|| Operand::Fixed(known.constant.clone()), Operand::Source)
    }
}

/// An end of a range: the value, and whether it belongs to it.
pub(crate) type RangeEnd = Option<(Operand, bool)>;

/// A question where rows are.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Asking {
    /// Whose key is equal to these.
    NullSafe(Vec<Operand>),
    /// That get these as their key.
    Stored(Vec<Operand>),
    /// Whose key is within a range.
    Range(RangeEnd, RangeEnd),
}

/// What was answered.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum RoutingAnswer {
    Located(Located),
    Reach(RangeShards),
}

/// A question with its answer.
#[derive(Debug)]
pub(crate) struct Noted {
    pub(crate) database: Arc<Database>,
    pub(crate) table: Arc<Table>,
    pub(crate) asking: Asking,
    pub(crate) answer: RoutingAnswer,
}

/// What has been noted.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    pub(crate) pinned: BTreeSet<Slot>,
    pub(crate) asked: Vec<Noted>,
    /// Explicit values of an AUTO_INCREMENT column: positive integers, the greatest of which raises the sequence.
    pub(crate) explicit: Vec<Slot>,
    /// Where the session is was looked at.
    pub(crate) home: bool,
    /// The plan depends on something else.
    pub(crate) more: bool,
    /// How the text that shards get is made.
    pub(crate) pieces: Vec<Piece>,
}

/// Takes the notes of one statement.
#[derive(Debug)]
pub(crate) struct Trace<'a> {
    text: &'a [u8],
    literals: &'a [Range<usize>],
    notes: RefCell<Notes>,
}

impl<'a> Trace<'a> {
    pub(crate) fn new(text: &'a [u8], literals: &'a [Range<usize>]) -> Self {
        Trace { text, literals, notes: RefCell::default() }
    }

    pub(crate) fn into_notes(self) -> Notes {
        self.notes.into_inner()
    }

    /// The source of a literal that is read, if it is one of the statement's own text and may differ. What is a part of it only is pinned.
    pub(crate) fn literal(&self, text: &[u8], span: Span) -> Option<Source> {
        if !std::ptr::eq(self.text, text) {
            return None;
        }
        let span = span.range();
        let first = self.literals.partition_point(|literal| literal.end <= span.start);
        let within = self.literals[first..].iter().take_while(|literal| literal.start < span.end).count();
        if within == 1 && self.literals[first] == span {
            return Some(Source { slot: first, negated: false });
        }
        self.notes.borrow_mut().pinned.extend(first..first + within);
        None
    }

    /// Whether it is a literal's, and not a parameter's.
    pub(crate) fn is_literal(&self, source: Source) -> bool {
        source.slot < self.literals.len()
    }

    /// The source of a parameter.
    pub(crate) fn parameter(&self, place: u32) -> Source {
        Source { slot: self.literals.len() + place as usize, negated: false }
    }

    /// The value is read.
    pub(crate) fn pin(&self, source: Option<Source>) {
        if let Some(source) = source {
            self.notes.borrow_mut().pinned.insert(source.slot);
        }
    }

    /// It was asked where rows are.
    pub(crate) fn ask(&self, database: &Arc<Database>, table: &Arc<Table>, asking: Asking, answer: RoutingAnswer) {
        let mut notes = self.notes.borrow_mut();
        let known = |noted: &Noted| Arc::ptr_eq(&noted.table, table) && noted.asking == asking;
        if !notes.asked.iter().any(known) {
            notes.asked.push(Noted { database: database.clone(), table: table.clone(), asking, answer });
        }
    }

    /// The explicit value of an AUTO_INCREMENT column.
    pub(crate) fn explicit(&self, known: &KnownValue) {
        match (known.source, &known.constant) {
            (Some(Source { slot, negated: false }), Constant::Integer(value)) if *value > 0 => {
                self.notes.borrow_mut().explicit.push(slot);
            }
            (Some(source), _) => self.pin(Some(source)),
            // It takes part in which value is the greatest.
            (None, _) => self.depends_on_more(),
        }
    }

    /// Where the session is was looked at.
    pub(crate) fn looks_home(&self) {
        self.notes.borrow_mut().home = true;
    }

    /// The plan depends on what is not noted.
    pub(crate) fn depends_on_more(&self) {
        self.notes.borrow_mut().more = true;
    }

    /// The text that shards get is made of these.
    pub(crate) fn made_of(&self, pieces: &[Piece]) {
        let mut notes = self.notes.borrow_mut();
        notes.more |= !notes.pieces.is_empty();
        notes.pieces = pieces.to_vec();
    }

    /// Pins what stands where texts are compared or columns named: all but conditions, values that are assigned, and rows of VALUES. A
    /// statement with user variables depends on more.
    pub(crate) fn look_through(&self, statement: &Statement<'_>) {
        let mut free: Vec<Range<usize>> = Vec::new();
        let mut bound: Vec<Range<usize>> = Vec::new();
        let mut variables = false;
        let condition = |free: &mut Vec<Range<usize>>, expr: Option<&Expr<'_>>| {
            free.extend(expr.map(|expr| expr.span.range()));
        };
        if let weir_sql::ast::StatementKind::Update(update) = statement.kind {
            condition(&mut free, update.condition.as_ref());
        }
        if let weir_sql::ast::StatementKind::Delete(delete) = statement.kind {
            condition(&mut free, delete.condition.as_ref());
        }
        walk(Node::Statement(statement), &mut |node: Node<'_>| {
            match node {
                Node::Select(select) => {
                    condition(&mut free, select.condition.as_ref());
                    bound.extend(select.having.iter().chain(&select.qualify).map(|expr| expr.span.range()));
                }
                Node::Assignment(one) => free.push(one.value.span.range()),
                Node::ValuesRow(row) => free.push(row.span.range()),
                Node::SelectItem(item) => bound.push(item.span.range()),
                Node::OrderItem(item) => bound.push(item.expr.span.range()),
                Node::Limit(limit) => bound.push(limit.span.range()),
                Node::Expr(Expr { kind: ExprKind::UserVariable(_) | ExprKind::Assign(_), .. }) => variables = true,
                _ => {}
            }
            Flow::Descend
        });
        let mut notes = self.notes.borrow_mut();
        notes.more |= variables;
        let within = |all: &[Range<usize>], at: &Range<usize>| {
            all.iter().any(|range| range.start <= at.start && at.end <= range.end)
        };
        for (slot, literal) in self.literals.iter().enumerate() {
            if !within(&free, literal) || within(&bound, literal) {
                notes.pinned.insert(slot);
            }
        }
    }
}
