//! Queries: what stands around a body, and how bodies are combined.
//!
//! What must hold: a parenthesis is read once. Where it may open a query as well as something else (an expression, a list
//! of tables), the reader goes on from what it found in it: [`Parser::query_continued`] makes a query of one in parentheses
//! and what follows it.

mod alias;
mod clauses;
mod from;
mod into;
mod json_table;
mod select;
mod table;
#[cfg(test)]
mod tests;
mod with;

use bumpalo::collections::Vec as ArenaVec;

use super::{Expected, Parser, Read};
use crate::ast::{
    Compound, CompoundTerm, ExplicitTable, Expr, ExprKind, Literal, Query, QueryBody, SetOp, Span, StatementKind,
    Values, ValuesRow, With,
};
use crate::kw;
use crate::lexer::TokenKind;

/// What was found out about a run of opening parentheses: whether a query begins behind them.
#[derive(Clone, Copy, Default)]
pub(super) struct ParenthesisRun {
    from: u32,
    to: u32,
    query: bool,
}

impl<'a> Parser<'a> {
    /// A whole query: WITH, body, ORDER BY, LIMIT, locks, INTO; in parentheses or not.
    pub(crate) fn query(&mut self) -> Read<&'a Query<'a>> {
        self.nested(|parser| {
            let start = parser.start();
            let with = if parser.at(kw::WITH) { Some(parser.with_clause()?) } else { None };
            let body = parser.query_body()?;
            parser.query_tail(start, with, body)
        })
    }

    /// At WITH: a query, or MySQL's UPDATE or DELETE.
    pub(super) fn after_with(&mut self) -> Read<StatementKind<'a>> {
        let start = self.start();
        let with = self.with_clause()?;
        match self.word() {
            kw::UPDATE => self.update(Some(with)),
            kw::DELETE => self.delete(Some(with)),
            _ => {
                let body = self.query_body()?;
                Ok(StatementKind::Query(self.query_tail(start, Some(with), body)?))
            }
        }
    }

    /// A query in parentheses: the one between them.
    pub(crate) fn parenthesised_query(&mut self) -> Read<&'a Query<'a>> {
        self.expect_punct(b'(')?;
        let query = self.query()?;
        self.expect_punct(b')')?;
        Ok(query)
    }

    /// Goes on after a query in parentheses: `(query) UNION …`, `(query) LIMIT 1`. With nothing that continues it, a query
    /// whose body is the one in parentheses.
    ///
    /// `span`: with the parentheses; `inner`: what is between them.
    pub(crate) fn query_continued(&mut self, span: Span, inner: &'a Query<'a>) -> Read<&'a Query<'a>> {
        self.query_from_body(span.start, QueryBody::Nested(inner))
    }

    /// Goes on after the first body of a query that began at `start`.
    pub(super) fn query_from_body(&mut self, start: u32, first: QueryBody<'a>) -> Read<&'a Query<'a>> {
        let body = self.combined(start, first)?;
        self.query_tail(start, None, body)
    }

    /// Whether the current token continues a query after one in parentheses, or after rows of VALUES.
    pub(crate) fn query_continues(&self) -> bool {
        match self.word() {
            kw::UNION | kw::EXCEPT | kw::INTERSECT | kw::ORDER | kw::LIMIT | kw::FETCH => true,
            kw::FOR => self.next_is(kw::UPDATE) || self.next_is(kw::SHARE),
            kw::LOCK => self.next_is(kw::IN),
            kw::INTO | kw::PROCEDURE => true,
            kw::MINUS | kw::OFFSET => self.at_clause_word(),
            _ => false,
        }
    }

    /// Whether a query begins here, looking through any number of parentheses.
    ///
    /// In a run of parentheses each is asked about, so the answer for all of them is kept.
    pub(crate) fn at_query(&mut self) -> bool {
        if !self.at_punct(b'(') {
            return self.begins_query();
        }
        let here = self.start();
        if self.parentheses.from <= here && here < self.parentheses.to {
            return self.parentheses.query;
        }
        let mut ahead = self.cursor;
        while ahead.at_punct(b'(') {
            ahead.advance();
        }
        let behind = std::mem::replace(&mut self.cursor, ahead);
        let query = self.begins_query();
        let to = self.start();
        self.cursor = behind;
        self.parentheses = ParenthesisRun { from: here, to, query };
        query
    }

    /// Bodies combined by UNION and the like, or one.
    fn query_body(&mut self) -> Read<QueryBody<'a>> {
        let start = self.start();
        let first = self.one_body()?;
        self.combined(start, first)
    }

    /// SELECT, VALUES, TABLE, or a query in parentheses.
    fn one_body(&mut self) -> Read<QueryBody<'a>> {
        match self.word() {
            kw::SELECT => self.nested(Self::select),
            kw::VALUES => self.values_body(),
            kw::TABLE => self.explicit_table(),
            _ if self.at_punct(b'(') => Ok(QueryBody::Nested(self.parenthesised_query()?)),
            _ => self.stop(Expected::What("a query")),
        }
    }

    /// `first UNION …`; INTERSECT before the others.
    fn combined(&mut self, start: u32, first: QueryBody<'a>) -> Read<QueryBody<'a>> {
        let first = self.intersected(start, first)?;
        if !self.at_set_op() {
            return Ok(first);
        }
        let mut rest = ArenaVec::new_in(self.arena);
        while self.at_set_op() {
            rest.push(self.compound_term(true)?);
        }
        let compound = Compound { span: self.span_from(start), first, rest: rest.into_bump_slice() };
        Ok(QueryBody::Compound(self.alloc(compound)))
    }

    /// `first INTERSECT …`.
    fn intersected(&mut self, start: u32, first: QueryBody<'a>) -> Read<QueryBody<'a>> {
        if !self.at(kw::INTERSECT) {
            return Ok(first);
        }
        let mut rest = ArenaVec::new_in(self.arena);
        while self.at(kw::INTERSECT) {
            rest.push(self.compound_term(false)?);
        }
        let compound = Compound { span: self.span_from(start), first, rest: rest.into_bump_slice() };
        Ok(QueryBody::Compound(self.alloc(compound)))
    }

    /// At UNION, EXCEPT or MINUS.
    fn at_set_op(&self) -> bool {
        match self.word() {
            kw::UNION | kw::EXCEPT => true,
            kw::MINUS => self.at_clause_word(),
            _ => false,
        }
    }

    /// `UNION [ALL | DISTINCT] body`.
    fn compound_term(&mut self, with_intersections: bool) -> Read<CompoundTerm<'a>> {
        let start = self.start();
        let op = match self.word() {
            kw::UNION => SetOp::Union,
            kw::INTERSECT => SetOp::Intersect,
            _ => SetOp::Except,
        };
        self.advance();
        let all = self.eat_any(&[kw::ALL, kw::DISTINCT]) == Some(kw::ALL);
        let body_start = self.start();
        let mut body = self.one_body()?;
        if with_intersections {
            body = self.intersected(body_start, body)?;
        }
        Ok(CompoundTerm { span: self.span_from(start), op, all, body })
    }

    /// `VALUES ROW(1, 2), …`, `VALUES (1, 2), …`.
    fn values_body(&mut self) -> Read<QueryBody<'a>> {
        let start = self.start();
        self.expect(kw::VALUES)?;
        let rows = self.values_rows()?;
        let values = Values { span: self.span_from(start), rows };
        Ok(QueryBody::Values(self.alloc(values)))
    }

    /// `(1, 2), (3, 4)`, `ROW(1, 2), ROW(3, 4)`; a row may be empty.
    pub(super) fn values_rows(&mut self) -> Read<&'a [ValuesRow<'a>]> {
        let first = self.values_row(2)?;
        if !self.at_punct(b',') {
            return Ok(std::slice::from_ref(self.arena.alloc(first)));
        }
        let mut rows = ArenaVec::with_capacity_in(8, self.arena);
        rows.push(first);
        while self.eat_punct(b',') {
            // Rows are all of one length, if they are right.
            rows.push(self.values_row(first.values.len())?);
        }
        Ok(rows.into_bump_slice())
    }

    fn values_row(&mut self, likely_length: usize) -> Read<ValuesRow<'a>> {
        let start = self.start();
        self.eat(kw::ROW);
        self.expect_punct(b'(')?;
        let mut values = ArenaVec::with_capacity_in(likely_length, self.arena);
        if !self.at_punct(b')') {
            values.push(self.row_value()?);
            while self.eat_punct(b',') {
                values.push(self.row_value()?);
            }
        }
        self.expect_punct(b')')?;
        Ok(ValuesRow { span: self.span_from(start), values: values.into_bump_slice() })
    }

    /// A value of a row. Rows are long, and most of what is in them are literals.
    fn row_value(&mut self) -> Read<Expr<'a>> {
        if !self.next_is_punct(b',') && !self.next_is_punct(b')') {
            return self.expr_or_default();
        }
        let item = self.cursor.current();
        let literal = match item.token.kind {
            TokenKind::Integer => Literal::Integer,
            TokenKind::String if matches!(self.cursor.text(item), [b'\'' | b'"', ..]) => Literal::String,
            TokenKind::Decimal => Literal::Decimal,
            TokenKind::Word if item.word == kw::NULL => Literal::Null,
            _ => return self.expr_or_default(),
        };
        self.advance();
        Ok(Expr { span: Self::span_of(item), kind: ExprKind::Literal(literal) })
    }

    /// `TABLE t`.
    fn explicit_table(&mut self) -> Read<QueryBody<'a>> {
        let start = self.start();
        self.expect(kw::TABLE)?;
        let name = self.object_name()?;
        let table = ExplicitTable { span: self.span_from(start), name };
        Ok(QueryBody::Table(self.alloc(table)))
    }

    /// What follows a query's body.
    fn query_tail(&mut self, start: u32, with: Option<&'a With<'a>>, body: QueryBody<'a>) -> Read<&'a Query<'a>> {
        let mut query = Query { with, ..Query::of_body(Span::default(), body) };
        if !self.at_punct(b')') && self.kind() != TokenKind::End {
            query.order_by = self.order_by()?;
            query.limit = self.limit()?;
            query.procedure = self.procedure_clause()?;
            query.into = self.read_into()?;
            query.locks = self.locks()?;
            // PROCEDURE and INTO stand before or after the locks.
            if query.procedure.is_none() {
                query.procedure = self.procedure_clause()?;
            }
            if query.into.is_none() {
                query.into = self.read_into()?;
            }
        }
        query.span = self.span_from(start);
        Ok(self.alloc(query))
    }
}
