//! SIGNAL, RESIGNAL, GET DIAGNOSTICS.

use super::{Parser, Read};
use crate::ast::{
    ColumnName, DiagnosticsItem, Expr, ExprKind, GetDiagnostics, Ident, Signal, SignalCondition, SignalItem,
    StatementKind,
};
use crate::kw;
use crate::lexer::TokenKind;

impl<'a> Parser<'a> {
    /// SIGNAL or RESIGNAL.
    pub(super) fn signal(&mut self) -> Read<StatementKind<'a>> {
        let again = self.expect_any(&[kw::SIGNAL, kw::RESIGNAL])? == kw::RESIGNAL;
        let condition = match self.word() {
            kw::SQLSTATE => {
                self.advance();
                self.eat(kw::VALUE);
                Some(SignalCondition::State(self.expect_string()?))
            }
            _ if again && (self.at_end() || self.at(kw::SET)) => None,
            _ => Some(SignalCondition::Named(self.ident()?)),
        };
        let items = if self.eat(kw::SET) { self.list(Self::signal_item)? } else { &[] };
        Ok(StatementKind::Signal(self.alloc(Signal { again, condition, items })))
    }

    fn signal_item(&mut self) -> Read<SignalItem<'a>> {
        let start = self.start();
        let name = self.diagnostics_name()?;
        self.expect_punct(b'=')?;
        let value = self.expr()?;
        Ok(SignalItem { span: self.span_from(start), name, value })
    }

    /// `MESSAGE_TEXT` and the like; some of these words are reserved.
    fn diagnostics_name(&mut self) -> Read<Ident<'a>> {
        if self.at(kw::ROW_NUMBER) { Ok(self.take_ident()) } else { self.ident() }
    }

    /// GET.
    pub(super) fn get_diagnostics(&mut self) -> Read<StatementKind<'a>> {
        self.advance();
        let stacked = self.eat_any(&[kw::CURRENT, kw::STACKED]) == Some(kw::STACKED);
        self.expect(kw::DIAGNOSTICS)?;
        let condition = if self.eat(kw::CONDITION) { Some(self.expr()?) } else { None };
        let items = self.list(Self::diagnostics_item)?;
        Ok(StatementKind::GetDiagnostics(self.alloc(GetDiagnostics { stacked, condition, items })))
    }

    fn diagnostics_item(&mut self) -> Read<DiagnosticsItem<'a>> {
        let start = self.start();
        let kind = if self.kind() == TokenKind::UserVariable {
            let variable = self.user_variable()?;
            ExprKind::UserVariable(self.alloc(variable))
        } else {
            let name = self.ident()?;
            ExprKind::Column(self.alloc(ColumnName { database: None, table: None, name }))
        };
        let target = Expr { span: self.span_from(start), kind };
        self.expect_punct(b'=')?;
        let name = self.diagnostics_name()?;
        Ok(DiagnosticsItem { span: self.span_from(start), target, name })
    }
}
