//! What may follow the parentheses of a call: OVER and what belongs to it.
//!
//! What must hold: OVER is read after any call; whether the function may have it is the server's business.

use super::super::{Expected, Parser, Read};
use crate::ast::{Call, Expr, Frame, Over, WindowSpec};
use crate::keyword::Keyword;
use crate::kw;
use crate::lexer::TokenKind;

impl<'a> Parser<'a> {
    /// The call, with the clauses of a window function if they follow.
    pub(super) fn window_call(&mut self, mut call: Call<'a>) -> Read<Expr<'a>> {
        if self.at_any(&[kw::OVER, kw::WITHIN, kw::FROM, kw::RESPECT, kw::IGNORE]) {
            self.window_clauses(&mut call)?;
        }
        Ok(self.call_expr(call))
    }

    #[inline(never)]
    fn window_clauses(&mut self, call: &mut Call<'a>) -> Read<()> {
        if self.at_pair(kw::WITHIN, kw::GROUP) {
            self.advance();
            self.advance();
            self.expect_punct(b'(')?;
            self.expect_all(&[kw::ORDER, kw::BY])?;
            call.order_by = self.order_items()?;
            self.expect_punct(b')')?;
        }
        let start = self.start();
        // After FROM no other word than these makes sense to the server here, but a table's name may be FIRST.
        let from = self.at(kw::FROM) && (self.next_is(kw::FIRST) || self.next_is(kw::LAST)) && self.is_nth_value(call);
        if from {
            self.advance();
            self.advance();
        }
        let nulls = self.at_any(&[kw::RESPECT, kw::IGNORE]) && self.next_is(kw::NULLS);
        if nulls {
            self.advance();
            self.advance();
        }
        if from || nulls {
            call.clause = Some(self.span_from(start));
        }
        if self.eat(kw::OVER) {
            let over = self.nested_by(2, Self::over)?;
            call.over = Some(self.alloc(over));
        }
        Ok(())
    }

    fn is_nth_value(&self, call: &Call<'a>) -> bool {
        self.may_be_mysql() && call.name.database.is_none() && call.name.name.is("nth_value")
    }

    fn over(&mut self) -> Read<Over<'a>> {
        if self.at_punct(b'(') { Ok(Over::Window(self.window_spec()?)) } else { Ok(Over::Name(self.ident()?)) }
    }

    /// `word BY`, if the word is there.
    fn eat_before_by(&mut self, word: Keyword) -> Read<bool> {
        let found = self.eat(word);
        if found {
            self.expect(kw::BY)?;
        }
        Ok(found)
    }

    /// A window in its parentheses.
    pub(crate) fn window_spec(&mut self) -> Read<WindowSpec<'a>> {
        let start = self.start();
        self.expect_punct(b'(')?;
        let at_clause = self.at_any(&[kw::PARTITION, kw::ORDER, kw::ROWS, kw::RANGE, kw::GROUPS]);
        let base = if self.at_name() && !at_clause { Some(self.ident()?) } else { None };
        let partition_by = if self.eat_before_by(kw::PARTITION)? { self.exprs()? } else { &[] };
        let order_by = if self.eat_before_by(kw::ORDER)? { self.order_items()? } else { &[] };
        let frame = match self.word() {
            kw::ROWS | kw::RANGE | kw::GROUPS => Some(self.frame()?),
            _ => None,
        };
        self.expect_punct(b')')?;
        Ok(WindowSpec { span: self.span_from(start), base, partition_by, order_by, frame })
    }

    fn frame(&mut self) -> Read<&'a Frame<'a>> {
        let start = self.start();
        let unit = self.take_ident();
        let bounds = if self.eat(kw::BETWEEN) {
            let low = self.frame_bound()?;
            self.expect(kw::AND)?;
            let high = self.frame_bound()?;
            match (low, high) {
                (Some(low), Some(high)) => &*self.arena.alloc([low, high]),
                (Some(one), None) | (None, Some(one)) => std::slice::from_ref(self.alloc(one)),
                (None, None) => &[],
            }
        } else {
            self.frame_bound()?.map_or(&[][..], |bound| std::slice::from_ref(self.alloc(bound)))
        };
        if self.eat(kw::EXCLUDE) {
            match self.expect_any(&[kw::CURRENT, kw::GROUP, kw::TIES, kw::NO])? {
                kw::CURRENT => self.expect(kw::ROW)?,
                kw::NO => self.expect(kw::OTHERS)?,
                _ => {}
            }
        }
        Ok(self.alloc(Frame { span: self.span_from(start), unit, bounds }))
    }

    /// `UNBOUNDED PRECEDING`, `CURRENT ROW`, `expr FOLLOWING`: the expression.
    fn frame_bound(&mut self) -> Read<Option<Expr<'a>>> {
        if self.eat_all(&[kw::CURRENT, kw::ROW]) {
            return Ok(None);
        }
        let bound = match self.kind() {
            _ if self.eat(kw::UNBOUNDED) => None,
            _ if self.at(kw::INTERVAL) => Some(self.interval_or_call()?),
            TokenKind::End => return self.stop(Expected::What("a window frame's bound")),
            _ => Some(self.expr_at(super::pratt::BIT_OR)?),
        };
        self.expect_any(&[kw::PRECEDING, kw::FOLLOWING])?;
        Ok(bound)
    }
}
