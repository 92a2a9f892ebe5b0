//! WHERE, ORDER BY, LIMIT, locks, PROCEDURE: clauses that stand in several statements.

use crate::ast::{Expr, ExprKind, Limit, Literal, Lock, LockWait, OrderItem, Span};
use crate::kw;
use crate::lexer::TokenKind;

use super::super::{Expected, Parser, Read};

impl<'a> Parser<'a> {
    /// WHERE, if it is there.
    pub(crate) fn where_clause(&mut self) -> Read<Option<Expr<'a>>> {
        if self.eat(kw::WHERE) { self.expr().map(Some) } else { Ok(None) }
    }

    /// ORDER BY, if it is there.
    pub(crate) fn order_by(&mut self) -> Read<&'a [OrderItem<'a>]> {
        if !self.eat(kw::ORDER) {
            return Ok(&[]);
        }
        self.expect(kw::BY)?;
        self.order_items()
    }

    /// LIMIT, or OFFSET and FETCH, if they are there.
    pub(crate) fn limit(&mut self) -> Read<Option<&'a Limit<'a>>> {
        let start = self.start();
        let mut limit =
            Limit { span: Span::default(), count: None, offset: None, with_ties: false, rows_examined: None };
        match self.word() {
            kw::LIMIT => {
                self.advance();
                self.limit_counts(&mut limit)?;
            }
            kw::FETCH => self.fetch(&mut limit)?,
            kw::OFFSET if self.at_clause_word() => {
                self.advance();
                limit.offset = Some(self.limit_count()?);
                self.expect_any(&[kw::ROWS, kw::ROW])?;
                if self.at(kw::FETCH) {
                    self.fetch(&mut limit)?;
                }
            }
            _ => return Ok(None),
        }
        limit.span = self.span_from(start);
        Ok(Some(self.alloc(limit)))
    }

    /// After LIMIT: `count`, `offset, count`, `count OFFSET offset`, any of them or none before `ROWS EXAMINED n`.
    fn limit_counts(&mut self, limit: &mut Limit<'a>) -> Read<()> {
        if !self.at(kw::ROWS) {
            limit.count = Some(self.limit_count()?);
            if self.eat_punct(b',') {
                limit.offset = limit.count.replace(self.limit_count()?);
            } else if self.eat(kw::OFFSET) {
                limit.offset = Some(self.limit_count()?);
            }
        }
        if self.eat(kw::ROWS) {
            self.expect(kw::EXAMINED)?;
            limit.rows_examined = Some(self.limit_count()?);
        }
        Ok(())
    }

    /// `FETCH FIRST | NEXT [count] ROW | ROWS ONLY | WITH TIES`.
    fn fetch(&mut self, limit: &mut Limit<'a>) -> Read<()> {
        self.expect(kw::FETCH)?;
        self.expect_any(&[kw::FIRST, kw::NEXT])?;
        if !self.at_any(&[kw::ROW, kw::ROWS]) {
            limit.count = Some(self.limit_count()?);
        }
        self.expect_any(&[kw::ROW, kw::ROWS])?;
        limit.with_ties = self.expect_any(&[kw::ONLY, kw::WITH])? == kw::WITH;
        if limit.with_ties {
            self.expect(kw::TIES)?;
        }
        Ok(())
    }

    /// Digits, `?`, or the name of a routine's variable.
    fn limit_count(&mut self) -> Read<Expr<'a>> {
        let start = self.start();
        let kind = match self.kind() {
            TokenKind::Integer => {
                self.advance();
                ExprKind::Literal(Literal::Integer)
            }
            TokenKind::Parameter => {
                self.advance();
                ExprKind::Parameter(self.next_parameter())
            }
            _ if self.at_name() => {
                let name = self.column_name()?;
                ExprKind::Column(self.alloc(name))
            }
            _ => return self.stop(Expected::What("a number of rows")),
        };
        Ok(Expr { span: self.span_from(start), kind })
    }

    /// UPDATE's and DELETE's LIMIT, which has no offset.
    pub(in crate::parse) fn plain_limit(&mut self) -> Read<Option<&'a Limit<'a>>> {
        if !self.at(kw::LIMIT) {
            return Ok(None);
        }
        let start = self.start();
        self.advance();
        let count = Some(self.limit_count()?);
        let limit = Limit { span: self.span_from(start), count, offset: None, with_ties: false, rows_examined: None };
        Ok(Some(self.alloc(limit)))
    }

    /// `FOR UPDATE …`, `FOR SHARE …`, `LOCK IN SHARE MODE …`, as many as there are.
    pub(super) fn locks(&mut self) -> Read<&'a [Lock<'a>]> {
        if !self.at(kw::FOR) && !self.at(kw::LOCK) {
            return Ok(&[]);
        }
        self.several(Self::row_lock)
    }

    fn row_lock(&mut self) -> Read<Option<Lock<'a>>> {
        let start = self.start();
        let (mut update, mut tables): (_, &[_]) = (false, &[]);
        if self.eat(kw::FOR) {
            update = self.expect_any(&[kw::UPDATE, kw::SHARE])? == kw::UPDATE;
            if self.eat(kw::OF) {
                tables = self.list(Self::object_name)?;
            }
        } else if self.eat(kw::LOCK) {
            self.expect_all(&[kw::IN, kw::SHARE, kw::MODE])?;
        } else {
            return Ok(None);
        }
        let wait = self.lock_wait()?;
        Ok(Some(Lock { span: self.span_from(start), update, tables, wait }))
    }

    fn lock_wait(&mut self) -> Read<LockWait> {
        if self.eat(kw::NOWAIT) {
            return Ok(LockWait::NoWait);
        }
        if self.eat(kw::SKIP) {
            self.expect(kw::LOCKED)?;
            return Ok(LockWait::SkipLocked);
        }
        if !self.eat(kw::WAIT) {
            return Ok(LockWait::Default);
        }
        match self.kind() {
            TokenKind::Integer | TokenKind::Decimal | TokenKind::Float | TokenKind::Hex => {
                Ok(LockWait::Seconds(Self::span_of(self.take())))
            }
            _ => self.stop(Expected::What("a number of seconds")),
        }
    }

    /// `PROCEDURE name(arguments)`, if it is there (MariaDB).
    pub(super) fn procedure_clause(&mut self) -> Read<Option<Span>> {
        if !self.at(kw::PROCEDURE) {
            return Ok(None);
        }
        let start = self.start();
        self.advance();
        self.ident()?;
        self.parenthesised_or_empty(Self::expr)?;
        Ok(Some(self.span_from(start)))
    }
}
