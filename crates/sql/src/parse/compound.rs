//! Compound statements outside of stored programs.
//!
//! What must hold: only MariaDB has them, without a label, and BEGIN needs NOT ATOMIC there. What is within is read as the
//! body of a stored program is: as far as it takes to find its end.

use super::{Expected, Parser, Read};
use crate::ast::{CompoundStatement, StatementKind};
use crate::mode::Dialect;

impl<'a> Parser<'a> {
    /// `BEGIN NOT ATOMIC … END`, `IF … END IF` and the like.
    pub(super) fn compound_statement(&mut self) -> Read<StatementKind<'a>> {
        if self.mode.dialect == Dialect::MySql {
            return self.stop(Expected::What("a statement"));
        }
        let verb = self.ident_of_word(self.cursor.current());
        let start = self.cursor.next().token.start;
        self.body()?;
        let body = self.span_from(start);
        Ok(StatementKind::Compound(self.alloc(CompoundStatement { verb, body })))
    }
}

#[cfg(test)]
mod tests;
