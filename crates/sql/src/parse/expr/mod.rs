//! Expressions and types.
//!
//! What must hold: an expression has the shape that the server of the dialect gives it, under every `sql_mode`. MySQL's
//! grammar has five kinds of expression, each of which may hold the next (`expr`, `bool_pri`, `predicate`, `bit_expr`,
//! `simple_expr`), and which kind may stand on either side of an operator is not what its precedence alone would say;
//! `pratt` has the whole of it. Every descent into an operand counts as a level of nesting.

mod call;
mod data_type;
mod dates;
mod json;
mod literal;
mod paren;
mod pratt;
mod predicate;
mod primary;
mod special;
mod strings;
#[cfg(test)]
mod tests;
mod variable;
mod window;

use bumpalo::collections::Vec as ArenaVec;

use super::{Expected, Parser, Read};
use crate::ast::{Expr, ExprKind, OrderItem, ValueWord};
use crate::kw;
use crate::mode::Dialect;

impl<'a> Parser<'a> {
    /// An expression.
    #[inline]
    pub(crate) fn expr(&mut self) -> Read<Expr<'a>> {
        self.expr_at(pratt::ANY)
    }

    /// An expression without comparisons, predicates, AND and OR outside of parentheses.
    pub(crate) fn expr_without_comparisons(&mut self) -> Read<Expr<'a>> {
        self.expr_at(pratt::BIT_OR)
    }

    /// An operand, after which no operator is looked for.
    pub(crate) fn operand(&mut self) -> Read<Expr<'a>> {
        self.expr_at(pratt::NO_CEILING)
    }

    /// `expr, expr, …`
    pub(crate) fn exprs(&mut self) -> Read<&'a [Expr<'a>]> {
        let first = self.expr()?;
        if !self.at_punct(b',') {
            return Ok(std::slice::from_ref(self.alloc(first)));
        }
        self.more_exprs(first)
    }

    /// The rest of a list whose first expression was read.
    #[inline(never)]
    pub(super) fn more_exprs(&mut self, first: Expr<'a>) -> Read<&'a [Expr<'a>]> {
        let mut list = ArenaVec::with_capacity_in(4, self.arena);
        list.push(first);
        while self.eat_punct(b',') {
            list.push(self.expr()?);
        }
        Ok(list.into_bump_slice())
    }

    /// An expression, or the word DEFAULT (MariaDB: IGNORE too) alone: a value of a row or of an assignment.
    pub(crate) fn expr_or_default(&mut self) -> Read<Expr<'a>> {
        let word = match self.word() {
            kw::DEFAULT if !self.next_is_punct(b'(') => ValueWord::Default,
            kw::IGNORE => ValueWord::Ignore,
            _ => return self.expr(),
        };
        let span = Self::span_of(self.take());
        Ok(Expr { span, kind: ExprKind::Word(word) })
    }

    /// `expr [ASC | DESC], …`: what follows ORDER BY.
    pub(crate) fn order_items(&mut self) -> Read<&'a [OrderItem<'a>]> {
        self.list(Self::order_item)
    }

    pub(crate) fn order_item(&mut self) -> Read<OrderItem<'a>> {
        let start = self.start();
        let expr = self.expr()?;
        let descending = self.eat_any(&[kw::ASC, kw::DESC]) == Some(kw::DESC);
        Ok(OrderItem { span: self.span_from(start), expr, descending })
    }

    /// A server of this kind may be MySQL.
    pub(super) fn may_be_mysql(&self) -> bool {
        self.mode.dialect != Dialect::MariaDb
    }

    /// A server of this kind may be MariaDB.
    pub(super) fn may_be_mariadb(&self) -> bool {
        self.mode.dialect != Dialect::MySql
    }

    /// `?`, or anything but an expression: an error.
    #[cold]
    fn no_expression<T>(&mut self) -> Read<T> {
        self.stop(Expected::What("an expression"))
    }
}
