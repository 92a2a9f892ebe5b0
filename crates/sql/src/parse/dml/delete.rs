//! DELETE.
//!
//! What must hold: what stands before FROM, or between FROM and USING, is what rows are deleted from, and may be aliases of
//! what is read.

use super::super::{Expected, Parser, Read};
use crate::ast::{Delete, NamedTable, ObjectName, Span, StatementKind, TableRef, TableRefKind, With};
use crate::kw;
use crate::mode::Dialect;

impl<'a> Parser<'a> {
    /// DELETE, after WITH if there is one.
    pub(in crate::parse) fn delete(&mut self, with: Option<&'a With<'a>>) -> Read<StatementKind<'a>> {
        let start = with.map_or(self.start(), |with| with.span.start);
        let mut delete = Delete {
            span: Span::default(),
            with,
            hint: self.hint_ahead(),
            low_priority: false,
            quick: false,
            ignore: false,
            history: false,
            targets: &[],
            tables: &[],
            before: None,
            condition: None,
            order_by: &[],
            limit: None,
            returning: &[],
        };
        self.expect(kw::DELETE)?;
        if !self.delete_history(&mut delete)? {
            self.delete_options(&mut delete);
            self.delete_rows(&mut delete)?;
        }
        delete.span = self.span_from(start);
        Ok(StatementKind::Delete(self.alloc(delete)))
    }

    /// After the options.
    fn delete_rows(&mut self, delete: &mut Delete<'a>) -> Read<()> {
        if self.eat(kw::FROM) {
            self.delete_from(delete)?;
        } else {
            delete.targets = self.list(Self::target_name)?;
            self.expect(kw::FROM)?;
            delete.tables = self.table_refs()?;
        }
        delete.condition = self.where_clause()?;
        if delete.targets.is_empty() {
            delete.order_by = self.order_by()?;
            delete.limit = self.plain_limit()?;
            delete.returning = self.returning()?;
        }
        Ok(())
    }

    fn delete_options(&mut self, delete: &mut Delete<'a>) {
        loop {
            match self.word() {
                kw::LOW_PRIORITY => delete.low_priority = true,
                // A table may have this name: `DELETE quick FROM quick`.
                kw::QUICK if !self.next_ends_target() => delete.quick = true,
                kw::IGNORE => delete.ignore = true,
                _ => break,
            }
            self.advance();
        }
    }

    fn next_ends_target(&self) -> bool {
        self.next_is_punct(b',') || self.next_is_punct(b'.')
    }

    /// After FROM.
    fn delete_from(&mut self, delete: &mut Delete<'a>) -> Read<()> {
        let start = self.start();
        let first = self.target_name()?;
        // After `t.*` the token that was read last is the star, which is no part of the name.
        let several = self.at_punct(b',') || first.span.end != self.cursor.previous().token.end;
        if several || self.at(kw::USING) {
            delete.targets = self.more_targets(first)?;
            self.expect(kw::USING)?;
            delete.tables = self.table_refs()?;
            return Ok(());
        }
        let table = self.deleted_table(start, first)?;
        delete.tables = std::slice::from_ref(self.alloc(table));
        Ok(())
    }

    fn more_targets(&mut self, first: ObjectName<'a>) -> Read<&'a [ObjectName<'a>]> {
        let mut first = Some(first);
        self.list(|parser| match first.take() {
            Some(first) => Ok(first),
            None => parser.target_name(),
        })
    }

    /// The one table: MySQL's `t [AS] alias PARTITION (…)`, MariaDB's `t PARTITION (…) FOR PORTION OF …`.
    fn deleted_table(&mut self, start: u32, name: ObjectName<'a>) -> Read<TableRef<'a>> {
        let mut table = NamedTable { name, partitions: &[], period: None, alias: None, index_hints: &[], sample: None };
        if self.at(kw::AS) || (self.at_name() && !self.at_clause_word()) {
            self.eat(kw::AS);
            table.alias = Some(self.ident()?);
        }
        table.partitions = self.partition_names()?;
        if self.at(kw::FOR) {
            table.period = self.period()?;
        }
        let table = self.alloc(table);
        Ok(TableRef { span: self.span_from(start), kind: TableRefKind::Table(table) })
    }

    /// MariaDB's `HISTORY FROM t [PARTITION (…)] [BEFORE SYSTEM_TIME time]`, after DELETE. MySQL knows no HISTORY: what has
    /// other clauses is read as a table of that name.
    fn delete_history(&mut self, delete: &mut Delete<'a>) -> Read<bool> {
        if !self.at_pair(kw::HISTORY, kw::FROM) || self.mode.dialect == Dialect::MySql {
            return Ok(false);
        }
        let table = self.attempt(|parser| {
            parser.expect_all(&[kw::HISTORY, kw::FROM])?;
            let start = parser.start();
            let name = parser.object_name()?;
            let partitions = parser.partition_names()?;
            let table = NamedTable { name, partitions, period: None, alias: None, index_hints: &[], sample: None };
            let span = parser.span_from(start);
            let ended = parser.at_end() || parser.at_pair(kw::BEFORE, kw::SYSTEM_TIME);
            if !ended {
                return parser.stop(Expected::Word(kw::BEFORE));
            }
            Ok(TableRef { span, kind: TableRefKind::Table(parser.alloc(table)) })
        });
        let Some(table) = table else { return Ok(false) };
        delete.history = true;
        delete.tables = std::slice::from_ref(self.alloc(table));
        if self.eat_all(&[kw::BEFORE, kw::SYSTEM_TIME]) {
            delete.before = Some(self.point_in_time()?);
        }
        Ok(true)
    }
}
