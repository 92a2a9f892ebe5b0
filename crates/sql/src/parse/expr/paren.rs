//! Parentheses: around an expression, a row or a query.
//!
//! What must hold: time is linear however they nest. Whether `((SELECT …` begins a query in parentheses or an expression
//! with a subquery in it is only known behind the inner parenthesis: there an operator, or UNION and the like, follows.

use super::super::{Parser, Read};
use super::pratt::{ANY, NO_CEILING};
use crate::ast::{Expr, ExprKind, Query, QueryBody};
use crate::kw;
use crate::mode::Dialect;

/// What parentheses hold.
pub(super) enum Inside<'a> {
    Query(&'a Query<'a>),
    Exprs(&'a [Expr<'a>]),
}

impl<'a> Parser<'a> {
    /// `(expr)`, `(expr, expr, …)` or `(query)`.
    #[inline(never)]
    pub(super) fn paren(&mut self) -> Read<Expr<'a>> {
        let start = self.start();
        let kind = match self.inside()? {
            Inside::Query(query) => ExprKind::Subquery(query),
            Inside::Exprs([expr]) => ExprKind::Paren(expr),
            Inside::Exprs(exprs) => ExprKind::Row(exprs),
        };
        Ok(Expr { span: self.span_from(start), kind })
    }

    /// Parentheses with a query or with at least one expression.
    pub(super) fn inside(&mut self) -> Read<Inside<'a>> {
        self.expect_punct(b'(')?;
        let inside = if self.at_punct(b'(') {
            self.inside_twice()?
        } else if self.begins_query() {
            Inside::Query(self.query()?)
        } else {
            Inside::Exprs(self.exprs()?)
        };
        self.expect_punct(b')')?;
        Ok(inside)
    }

    /// At the second of two opening parentheses, up to before the first one's end.
    fn inside_twice(&mut self) -> Read<Inside<'a>> {
        self.enter()?;
        let inner = self.paren()?;
        self.leave();
        if let ExprKind::Subquery(query) = inner.kind {
            if self.at_punct(b')') {
                return Ok(Inside::Query(self.alloc(Query::of_body(inner.span, QueryBody::Nested(query)))));
            }
            if self.query_continues() {
                return Ok(Inside::Query(self.query_continued(inner.span, query)?));
            }
        }
        let mut first = inner;
        self.operators(&mut first, ANY, NO_CEILING)?;
        if self.at_punct(b',') {
            return Ok(Inside::Exprs(self.more_exprs(first)?));
        }
        Ok(Inside::Exprs(std::slice::from_ref(self.alloc(first))))
    }

    /// The current token begins a query, other than by a parenthesis.
    pub(in crate::parse) fn begins_query(&self) -> bool {
        match self.word() {
            kw::SELECT | kw::WITH | kw::TABLE => true,
            // `VALUES (c)` is a function on MySQL; on MariaDB in ON DUPLICATE KEY UPDATE.
            kw::VALUES => {
                !self.next_is_punct(b'(') || (self.mode.dialect != Dialect::MySql && !self.values_is_function)
            }
            _ => false,
        }
    }
}
