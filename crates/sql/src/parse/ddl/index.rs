//! CREATE INDEX and DROP INDEX.

use super::super::{Parser, Read};
use crate::ast::{CreateIndex, DropIndex, KeyKind, Span, StatementKind};
use crate::kw;

impl<'a> Parser<'a> {
    /// CREATE INDEX.
    pub(in crate::parse) fn create_index(&mut self) -> Read<StatementKind<'a>> {
        self.expect(kw::CREATE)?;
        let or_replace = self.or_replace();
        let (kind, unchecked) = if self.at(kw::INDEX) { (KeyKind::Plain, None) } else { self.key_kind()? };
        self.expect(kw::INDEX)?;
        let if_not_exists = self.if_not_exists()?;
        let name = self.ident()?;
        let before = self.key_using()?;
        self.expect(kw::ON)?;
        let table = self.object_name()?;
        let parts = self.key_parts()?;
        let options = self.key_options(before)?;
        let how = self.several(Self::index_how)?;
        let node = CreateIndex { or_replace, kind, unchecked, if_not_exists, name, table, parts, options, how };
        Ok(StatementKind::CreateIndex(self.alloc(node)))
    }

    /// DROP INDEX.
    pub(in crate::parse) fn drop_index(&mut self) -> Read<StatementKind<'a>> {
        self.expect_all(&[kw::DROP, kw::INDEX])?;
        let if_exists = self.if_exists()?;
        let name = self.ident()?;
        self.expect(kw::ON)?;
        let table = self.object_name()?;
        let how = self.several(Self::index_how)?;
        Ok(StatementKind::DropIndex(self.alloc(DropIndex { if_exists, name, table, how })))
    }

    /// `ALGORITHM [=] x`, `LOCK [=] x`, `WAIT n`, NOWAIT.
    fn index_how(&mut self) -> Read<Option<Span>> {
        let start = self.start();
        if self.eat_any(&[kw::ALGORITHM, kw::LOCK]).is_none() {
            return self.wait();
        }
        self.optional_equal();
        self.any_word()?;
        Ok(Some(self.span_from(start)))
    }
}
