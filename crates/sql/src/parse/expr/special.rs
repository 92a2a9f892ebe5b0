//! Casts, and functions whose arguments are not all expressions.

use bumpalo::collections::Vec as ArenaVec;

use super::super::{Expected, Parser, Read};
use crate::ast::{Call, Cast, Expr, ExprKind, SequenceCall, SequenceKind, Span};
use crate::keyword::Keyword;
use crate::kw;

impl<'a> Parser<'a> {
    /// `CAST(expr [AT TIME ZONE …] AS type [ARRAY])`.
    #[inline(never)]
    pub(super) fn cast(&mut self) -> Read<Expr<'a>> {
        let start = self.start();
        self.call_name()?;
        let expr = self.expr()?;
        let at_time_zone = if self.at(kw::AT) && self.may_be_mysql() { self.at_time_zone()? } else { None };
        self.expect(kw::AS)?;
        let data_type = self.cast_type()?;
        let array = self.may_be_mysql() && self.eat(kw::ARRAY);
        self.expect_punct(b')')?;
        let cast = self.alloc(Cast { expr, at_time_zone, data_type, array });
        Ok(Expr { span: self.span_from(start), kind: ExprKind::Cast(cast) })
    }

    /// `AT LOCAL`, `AT TIME ZONE [INTERVAL] '…'`.
    #[inline(never)]
    fn at_time_zone(&mut self) -> Read<Option<Span>> {
        self.advance();
        if self.eat(kw::LOCAL) {
            return Ok(Some(Self::span_of(self.cursor.previous())));
        }
        self.expect_all(&[kw::TIME, kw::ZONE])?;
        self.eat(kw::INTERVAL);
        Ok(Some(self.expect_string()?))
    }

    /// `CONVERT(expr, type)`, `CONVERT(expr USING charset)`.
    #[inline(never)]
    pub(super) fn convert(&mut self) -> Read<Expr<'a>> {
        let start = self.start();
        self.call_name()?;
        let expr = self.expr()?;
        let kind = if self.eat(kw::USING) {
            let charset = self.charset_name()?;
            ExprKind::ConvertUsing(self.alloc(expr), self.alloc(charset))
        } else if self.eat_punct(b',') {
            let data_type = self.cast_type()?;
            ExprKind::Cast(self.alloc(Cast { expr, at_time_zone: None, data_type, array: false }))
        } else {
            return self.stop(Expected::Words(&[kw::USING]));
        };
        self.expect_punct(b')')?;
        Ok(Expr { span: self.span_from(start), kind })
    }

    /// `COLUMN_CREATE('a', 1 AS INT, …)`, `COLUMN_GET(c, 'a' AS INT)`.
    #[inline(never)]
    pub(super) fn dynamic_columns(&mut self) -> Read<Expr<'a>> {
        let (name, adjacent) = self.call_name()?;
        let mut arguments = ArenaVec::new_in(self.arena);
        let mut clause = None;
        loop {
            arguments.push(self.expr()?);
            let start = self.start();
            if self.eat(kw::AS) {
                self.cast_type()?;
                clause = Some(self.span_from(start));
            }
            if !self.eat_punct(b',') {
                break;
            }
        }
        self.expect_punct(b')')?;
        Ok(self.call_expr(Call { clause, ..Call::of(name, adjacent, arguments.into_bump_slice()) }))
    }

    /// `NEXTVAL(s)`, `LASTVAL(s)`, `SETVAL(s, value, …)`.
    #[inline(never)]
    pub(super) fn sequence_call(&mut self, word: Keyword) -> Read<Expr<'a>> {
        let start = self.start();
        self.call_name()?;
        let sequence = self.object_name()?;
        let (kind, arguments) = match word {
            kw::SETVAL => {
                self.expect_punct(b',')?;
                (SequenceKind::Set, self.exprs()?)
            }
            kw::NEXTVAL => (SequenceKind::Next, &[][..]),
            _ => (SequenceKind::Previous, &[][..]),
        };
        self.expect_punct(b')')?;
        let call = self.alloc(SequenceCall { kind, sequence, arguments });
        Ok(Expr { span: self.span_from(start), kind: ExprKind::Sequence(call) })
    }
}
