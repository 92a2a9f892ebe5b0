//! The functions of JSON with a grammar of their own.

use bumpalo::collections::Vec as ArenaVec;

use super::super::{Expected, Parser, Read};
use super::pratt::SIMPLE;
use crate::ast::{Call, Expr};
use crate::kw;

impl<'a> Parser<'a> {
    /// `JSON_VALUE(document, path [RETURNING type] [… ON EMPTY] [… ON ERROR])`.
    #[inline(never)]
    pub(super) fn json_value(&mut self) -> Read<Expr<'a>> {
        let (name, adjacent) = self.call_name()?;
        let arguments = self.exprs()?;
        let start = self.start();
        if self.eat(kw::RETURNING) {
            self.cast_type()?;
        }
        while self.at_any(&[kw::NULL, kw::ERROR, kw::DEFAULT]) {
            if self.take().word == kw::DEFAULT {
                // A literal, perhaps with a sign.
                self.expr_at(SIMPLE)?;
            }
            self.expect(kw::ON)?;
            self.expect_any(&[kw::EMPTY, kw::ERROR])?;
        }
        let clause = (self.start() != start).then(|| self.span_from(start));
        self.expect_punct(b')')?;
        Ok(self.call_expr(Call { clause, ..Call::of(name, adjacent, arguments) }))
    }

    /// `JSON_DUALITY_OBJECT([WITH (INSERT, UPDATE)] 'key' : value, …)`: keys and values are the arguments.
    #[inline(never)]
    pub(super) fn json_duality_object(&mut self) -> Read<Expr<'a>> {
        let (name, adjacent) = self.call_name()?;
        let clause = if self.at(kw::WITH) {
            let start = self.start();
            self.advance();
            self.skip_parentheses()?;
            Some(self.span_from(start))
        } else {
            None
        };
        let mut arguments = ArenaVec::new_in(self.arena);
        loop {
            arguments.push(self.expr_at(SIMPLE)?);
            if !self.eat_punct(b':') {
                return self.stop(Expected::Punct(b':'));
            }
            arguments.push(self.expr()?);
            if !self.eat_punct(b',') {
                break;
            }
        }
        self.expect_punct(b')')?;
        Ok(self.call_expr(Call { clause, ..Call::of(name, adjacent, arguments.into_bump_slice()) }))
    }
}
