//! DROP of tables, views and sequences; TRUNCATE; RENAME TABLE.

use super::super::{Parser, Read};
use crate::ast::{DropKind, DropTables, Rename, RenameTables, StatementKind, Truncate};
use crate::kw;

impl<'a> Parser<'a> {
    /// DROP TABLE, DROP VIEW or DROP SEQUENCE.
    pub(in crate::parse) fn drop_tables(&mut self) -> Read<StatementKind<'a>> {
        self.expect(kw::DROP)?;
        let temporary = self.eat(kw::TEMPORARY);
        let kind = match self.expect_any(&[kw::TABLE, kw::TABLES, kw::VIEW, kw::SEQUENCE])? {
            kw::VIEW => DropKind::View,
            kw::SEQUENCE => DropKind::Sequence,
            _ => DropKind::Table,
        };
        let if_exists = self.if_exists()?;
        let names = self.list(Self::object_name)?;
        let wait = self.wait()?;
        let start = self.start();
        let behaviour = self.eat_any(&[kw::RESTRICT, kw::CASCADE]).map(|_| self.span_from(start));
        let node = DropTables { kind, temporary, if_exists, names, wait, behaviour };
        Ok(StatementKind::DropTables(self.alloc(node)))
    }

    /// TRUNCATE.
    pub(in crate::parse) fn truncate(&mut self) -> Read<StatementKind<'a>> {
        self.advance();
        self.eat(kw::TABLE);
        let table = self.object_name()?;
        let wait = self.wait()?;
        Ok(StatementKind::Truncate(self.alloc(Truncate { table, wait })))
    }

    /// RENAME TABLE.
    pub(in crate::parse) fn rename_tables(&mut self) -> Read<StatementKind<'a>> {
        self.expect(kw::RENAME)?;
        self.expect_any(&[kw::TABLE, kw::TABLES])?;
        let if_exists = self.if_exists()?;
        let renames = self.list(Self::rename_of_table)?;
        Ok(StatementKind::RenameTables(self.alloc(RenameTables { if_exists, renames })))
    }

    fn rename_of_table(&mut self) -> Read<Rename<'a>> {
        let start = self.start();
        let from = self.object_name()?;
        let wait = self.wait()?;
        self.expect(kw::TO)?;
        let to = self.object_name()?;
        Ok(Rename { span: self.span_from(start), from, wait, to })
    }
}
