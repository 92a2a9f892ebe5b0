//! The functions of strings with a grammar of their own.
//!
//! What must hold: [`Call::arguments`] are in the order of the text.

use bumpalo::collections::Vec as ArenaVec;

use super::super::{Expected, Parser, Read};
use super::pratt::BIT_OR;
use crate::ast::{Call, Expr};
use crate::kw;

impl<'a> Parser<'a> {
    /// `TRIM(a)`, `TRIM(a FROM b)`, `TRIM(LEADING [a] FROM b)`.
    #[inline(never)]
    pub(super) fn trim(&mut self) -> Read<Expr<'a>> {
        let (name, adjacent) = self.call_name()?;
        let word = self.at_any(&[kw::LEADING, kw::TRAILING, kw::BOTH]).then(|| self.take_ident());
        let mut arguments = ArenaVec::with_capacity_in(2, self.arena);
        if word.is_none() || !self.at(kw::FROM) {
            arguments.push(self.expr()?);
        }
        if self.eat(kw::FROM) {
            arguments.push(self.expr()?);
        } else if word.is_some() {
            return self.stop(Expected::Word(kw::FROM));
        }
        self.expect_punct(b')')?;
        Ok(self.call_expr(Call { word, ..Call::of(name, adjacent, arguments.into_bump_slice()) }))
    }

    /// `SUBSTRING(a, b [, c])`, `SUBSTRING(a FROM b [FOR c])`.
    #[inline(never)]
    pub(super) fn substring(&mut self) -> Read<Expr<'a>> {
        let (name, adjacent) = self.call_name()?;
        let mut arguments = ArenaVec::with_capacity_in(3, self.arena);
        arguments.push(self.expr()?);
        if self.eat(kw::FROM) {
            arguments.push(self.expr()?);
            if self.eat(kw::FOR) {
                arguments.push(self.expr()?);
            }
        } else {
            while self.eat_punct(b',') {
                arguments.push(self.expr()?);
            }
        }
        self.expect_punct(b')')?;
        Ok(self.call_expr(Call::of(name, adjacent, arguments.into_bump_slice())))
    }

    /// `POSITION(a IN b)`.
    #[inline(never)]
    pub(super) fn position(&mut self) -> Read<Expr<'a>> {
        let (name, adjacent) = self.call_name()?;
        let part = self.expr_at(BIT_OR)?;
        self.expect(kw::IN)?;
        let whole = self.expr()?;
        self.expect_punct(b')')?;
        Ok(self.call_expr(Call::of(name, adjacent, self.pair(part, whole))))
    }

    /// `CHAR(a, b [USING charset])`.
    #[inline(never)]
    pub(super) fn char_call(&mut self) -> Read<Expr<'a>> {
        let (name, adjacent) = self.call_name()?;
        let arguments = self.exprs()?;
        let using = if self.eat(kw::USING) { Some(self.charset_name()?) } else { None };
        self.expect_punct(b')')?;
        Ok(self.call_expr(Call { using, ..Call::of(name, adjacent, arguments) }))
    }

    /// `WEIGHT_STRING(a [AS CHAR(3)] [LEVEL …])`.
    #[inline(never)]
    pub(super) fn weight_string(&mut self) -> Read<Expr<'a>> {
        let (name, adjacent) = self.call_name()?;
        let arguments = self.exprs()?;
        let start = self.start();
        if self.eat(kw::AS) {
            self.expect_any(&[kw::CHAR, kw::CHARACTER, kw::BINARY])?;
            self.expect_punct(b'(')?;
            self.expect_integer()?;
            self.expect_punct(b')')?;
        }
        if self.may_be_mariadb() && self.eat(kw::LEVEL) {
            self.weight_levels()?;
        }
        let clause = (self.start() != start).then(|| self.span_from(start));
        self.expect_punct(b')')?;
        Ok(self.call_expr(Call { clause, ..Call::of(name, adjacent, arguments) }))
    }

    /// `1-2`, `1 DESC, 2 REVERSE`.
    fn weight_levels(&mut self) -> Read<()> {
        loop {
            self.expect_integer()?;
            if self.eat_punct(b'-') {
                self.expect_integer()?;
            }
            while self.eat_any(&[kw::ASC, kw::DESC, kw::REVERSE]).is_some() {}
            if !self.eat_punct(b',') {
                return Ok(());
            }
        }
    }
}
