//! PREPARE, EXECUTE, CALL, DO and HANDLER.

use super::{Expected, Parser, Read};
use crate::ast::{
    BinaryOp, CallProcedure, Do, Execute, ExecuteSource, Handler, HandlerPosition, HandlerRead, Ident, ObjectName,
    Prepare, StatementKind,
};
use crate::kw;
use crate::lexer::TokenKind;

impl<'a> Parser<'a> {
    /// PREPARE.
    pub(super) fn prepare(&mut self) -> Read<StatementKind<'a>> {
        self.advance();
        let name = self.ident()?;
        self.expect(kw::FROM)?;
        let text = self.expr()?;
        Ok(StatementKind::Prepare(self.alloc(Prepare { name, text })))
    }

    /// EXECUTE.
    pub(super) fn execute(&mut self) -> Read<StatementKind<'a>> {
        self.advance();
        let immediate = self.at(kw::IMMEDIATE) && !self.cursor.next_is_end() && !self.next_is(kw::USING);
        let source = if immediate {
            self.advance();
            ExecuteSource::Immediate(self.expr()?)
        } else {
            ExecuteSource::Prepared(self.ident()?)
        };
        let using = if self.eat(kw::USING) { self.list(Self::expr_or_default)? } else { &[] };
        Ok(StatementKind::Execute(self.alloc(Execute { source, using })))
    }

    /// DEALLOCATE or DROP, before PREPARE.
    pub(super) fn deallocate(&mut self) -> Read<StatementKind<'a>> {
        self.advance();
        self.expect(kw::PREPARE)?;
        Ok(StatementKind::Deallocate(self.ident()?))
    }

    /// CALL.
    pub(super) fn call_statement(&mut self) -> Read<StatementKind<'a>> {
        self.advance();
        let mut name = self.object_name()?;
        let mut package_database = None;
        if self.eat_punct(b'.') {
            let procedure = self.ident_after_point()?;
            package_database = name.database;
            let package = name.name;
            name = ObjectName { span: package.span.to(procedure.span), database: Some(package), name: procedure };
        }
        let arguments = if self.at_punct(b'(') { self.parenthesised_or_empty(Self::expr)? } else { &[] };
        Ok(StatementKind::Call(self.alloc(CallProcedure { package_database, name, arguments })))
    }

    /// DO.
    pub(super) fn do_statement(&mut self) -> Read<StatementKind<'a>> {
        self.advance();
        let items = self.select_items()?;
        Ok(StatementKind::Do(self.alloc(Do { items })))
    }

    /// HANDLER.
    pub(super) fn handler(&mut self) -> Read<StatementKind<'a>> {
        self.advance();
        let name = self.object_name()?;
        let handler = match self.expect_any(&[kw::OPEN, kw::CLOSE, kw::READ])? {
            kw::OPEN => {
                let named = self.eat(kw::AS) || !self.at_end();
                Handler::Open(name, if named { Some(self.ident()?) } else { None })
            }
            _ if name.database.is_some() => return self.stop(Expected::Word(kw::OPEN)),
            kw::CLOSE => Handler::Close(name.name),
            _ => self.handler_read(name.name)?,
        };
        Ok(StatementKind::Handler(self.alloc(handler)))
    }

    /// After READ.
    fn handler_read(&mut self, handler: Ident<'a>) -> Read<Handler<'a>> {
        // FIRST and NEXT may name an index.
        let alone = self.cursor.next_is_end() || matches!(self.cursor.next().word, kw::WHERE | kw::LIMIT);
        let index = if alone { None } else { Some(self.ident()?) };
        let position = match self.word() {
            kw::FIRST => HandlerPosition::First,
            kw::NEXT => HandlerPosition::Next,
            kw::PREV if index.is_some() => HandlerPosition::Previous,
            kw::LAST if index.is_some() => HandlerPosition::Last,
            _ => {
                let op = self.handler_operator()?;
                let values = self.parenthesised(Self::expr_or_default)?;
                return self.handler_rows(handler, index, HandlerPosition::Key(op, values));
            }
        };
        self.advance();
        self.handler_rows(handler, index, position)
    }

    fn handler_rows(
        &mut self,
        handler: Ident<'a>,
        index: Option<Ident<'a>>,
        position: HandlerPosition<'a>,
    ) -> Read<Handler<'a>> {
        let condition = self.where_clause()?;
        let limit = self.limit()?;
        Ok(Handler::Read(self.alloc(HandlerRead { handler, index, position, condition, limit })))
    }

    fn handler_operator(&mut self) -> Read<BinaryOp> {
        let item = self.cursor.current();
        let op = match (item.token.kind, self.cursor.text(item)) {
            (TokenKind::Punct(b'='), _) => BinaryOp::Eq,
            (TokenKind::Punct(b'<'), _) => BinaryOp::Lt,
            (TokenKind::Punct(b'>'), _) => BinaryOp::Gt,
            (TokenKind::Operator, b"<=") => BinaryOp::Le,
            (TokenKind::Operator, b">=") => BinaryOp::Ge,
            _ => return self.stop(Expected::What("a place in the index")),
        };
        self.advance();
        Ok(op)
    }
}

#[cfg(test)]
mod tests;
