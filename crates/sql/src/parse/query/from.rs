//! FROM: tables side by side and joined.
//!
//! What must hold: joins associate as on the servers. ON and USING belong to the innermost join that still waits for one;
//! joins that need none and get none associate to the left, whatever is joined further in.

use bumpalo::collections::Vec as ArenaVec;

use crate::ast::{Expr, Ident, Join, JoinKind, Span, TableRef, TableRefKind};
use crate::kw;

use super::super::{Expected, Parser, Read};

/// A join whose right side is being read.
#[derive(Clone, Copy)]
struct Waiting<'a> {
    left: TableRef<'a>,
    kind: JoinKind,
}

/// JOIN and the words before it.
struct Operator {
    kind: JoinKind,
    natural: bool,
}

impl<'a> Parser<'a> {
    /// `a, b JOIN c, …`: at least one.
    pub(crate) fn table_refs(&mut self) -> Read<&'a [TableRef<'a>]> {
        self.list(Self::table_ref)
    }

    /// A table, or tables joined.
    pub(crate) fn table_ref(&mut self) -> Read<TableRef<'a>> {
        let first = self.table_factor()?;
        self.joined(first)
    }

    /// The rest of a list that begins with a table that was read.
    pub(super) fn table_refs_from(&mut self, first: TableRef<'a>) -> Read<&'a [TableRef<'a>]> {
        let first = self.joined(first)?;
        let mut list = ArenaVec::new_in(self.arena);
        list.push(first);
        while self.eat_punct(b',') {
            list.push(self.table_ref()?);
        }
        Ok(list.into_bump_slice())
    }

    /// What is joined to a table that was read.
    fn joined(&mut self, first: TableRef<'a>) -> Read<TableRef<'a>> {
        let mut last = first;
        let mut waiting = ArenaVec::new_in(self.arena);
        loop {
            if let Some(operator) = self.join_operator()? {
                if operator.natural {
                    let right = self.table_factor()?;
                    last = self.join_tables(operator.kind, true, last, right, None, &[]);
                } else {
                    waiting.push(Waiting { left: last, kind: operator.kind });
                    last = self.table_factor()?;
                }
                continue;
            }
            if waiting.is_empty() || !self.at_any(&[kw::ON, kw::USING]) {
                break;
            }
            let (on, using) = self.join_condition()?;
            if let Some(Waiting { left, kind }) = waiting.pop() {
                last = self.join_tables(kind, false, left, last, on, using);
            }
        }
        if waiting.is_empty() { Ok(last) } else { self.without_conditions(&waiting, last) }
    }

    /// JOIN and its words, if they are here.
    fn join_operator(&mut self) -> Read<Option<Operator>> {
        let natural = self.eat(kw::NATURAL);
        let kind = match self.word() {
            kw::JOIN => JoinKind::Inner,
            kw::STRAIGHT_JOIN => JoinKind::Straight,
            kw::INNER => JoinKind::Inner,
            kw::CROSS if !natural => JoinKind::Inner,
            kw::LEFT => JoinKind::Left,
            kw::RIGHT => JoinKind::Right,
            _ if natural => return self.stop(Expected::Words(&[kw::JOIN, kw::INNER, kw::LEFT, kw::RIGHT])),
            _ => return Ok(None),
        };
        let last_word = self.at_any(&[kw::JOIN, kw::STRAIGHT_JOIN]);
        self.advance();
        if !last_word {
            if matches!(kind, JoinKind::Left | JoinKind::Right) {
                self.eat(kw::OUTER);
            }
            self.expect(kw::JOIN)?;
        }
        Ok(Some(Operator { kind, natural }))
    }

    /// `ON expr`, `USING (columns)`.
    fn join_condition(&mut self) -> Read<(Option<Expr<'a>>, &'a [Ident<'a>])> {
        if self.eat(kw::ON) {
            return Ok((Some(self.expr()?), &[]));
        }
        self.expect(kw::USING)?;
        Ok((None, self.parenthesised(Self::ident)?))
    }

    fn join_tables(
        &mut self,
        kind: JoinKind,
        natural: bool,
        left: TableRef<'a>,
        right: TableRef<'a>,
        on: Option<Expr<'a>>,
        using: &'a [Ident<'a>],
    ) -> TableRef<'a> {
        let span = self.span_from(left.span.start);
        let join = Join { kind, natural, left, right, on, using };
        TableRef { span, kind: TableRefKind::Join(self.alloc(join)) }
    }

    /// Joins whose conditions did not come: `a JOIN b JOIN c ON x` is `(a JOIN b) JOIN c ON x`.
    fn without_conditions(&mut self, waiting: &[Waiting<'a>], last: TableRef<'a>) -> Read<TableRef<'a>> {
        if waiting.iter().any(|join| matches!(join.kind, JoinKind::Left | JoinKind::Right)) {
            return self.stop(Expected::Words(&[kw::ON, kw::USING]));
        }
        let rights = waiting[1..].iter().map(|join| join.left).chain([last]);
        let pairs = waiting.iter().map(|join| join.kind).zip(rights);
        Ok(pairs.fold(waiting[0].left, |left, (kind, right)| self.join_leftmost(left, kind, right)))
    }

    /// Joins `left` with the leftmost table of `right`, below the joins that `right` is made of.
    fn join_leftmost(&self, left: TableRef<'a>, kind: JoinKind, right: TableRef<'a>) -> TableRef<'a> {
        let start = left.span.start;
        let mut above = ArenaVec::new_in(self.arena);
        let mut table = right;
        while let TableRefKind::Join(join) = table.kind {
            above.push((join, table.span));
            table = join.left;
        }
        let join = Join { kind, natural: false, left, right: table, on: None, using: &[] };
        let mut result = TableRef { span: left.span.to(table.span), kind: TableRefKind::Join(self.alloc(join)) };
        for (join, span) in above.iter().rev() {
            let join = Join { left: result, ..**join };
            result = TableRef { span: Span { start, ..*span }, kind: TableRefKind::Join(self.alloc(join)) };
        }
        result
    }
}
