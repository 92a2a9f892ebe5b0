//! INSERT and REPLACE.
//!
//! What must hold: a list of rows takes time in proportion to its length, whatever stands in it.

use super::super::{Expected, Parser, Read};
use crate::ast::{
    Assignment, ColumnName, Ident, Insert, InsertSource, ObjectName, QueryBody, RowAlias, SelectItem, Span,
    StatementKind, Values,
};
use crate::kw;

impl<'a> Parser<'a> {
    /// INSERT or REPLACE.
    pub(in crate::parse) fn insert(&mut self) -> Read<StatementKind<'a>> {
        let start = self.start();
        let hint = self.hint_ahead();
        let replace = self.at(kw::REPLACE);
        self.advance();
        let priority = self.insert_priority(replace);
        let ignore = !replace && self.eat(kw::IGNORE);
        self.eat(kw::INTO);
        let table = self.object_name()?;
        let partitions = self.partition_names()?;
        let columns = self.insert_columns()?;
        let source = self.insert_source(columns.is_some())?;
        let row_alias = if replace || !self.at(kw::AS) { None } else { Some(self.row_alias()?) };
        let on_duplicate = if replace { &[][..] } else { self.on_duplicate()? };
        let returning = self.returning()?;
        let insert = Insert {
            span: self.span_from(start),
            replace,
            hint,
            ignore,
            priority,
            table,
            partitions,
            columns,
            source,
            row_alias,
            on_duplicate,
            returning,
        };
        Ok(StatementKind::Insert(self.alloc(insert)))
    }

    fn insert_priority(&mut self, replace: bool) -> Option<Span> {
        let found = match self.word() {
            kw::LOW_PRIORITY | kw::DELAYED => true,
            kw::HIGH_PRIORITY => !replace,
            _ => false,
        };
        found.then(|| Self::span_of(self.take()))
    }

    /// The columns in parentheses, unless these hold a query.
    fn insert_columns(&mut self) -> Read<Option<&'a [ColumnName<'a>]>> {
        if !self.at_punct(b'(') || self.at_query() {
            return Ok(None);
        }
        self.parenthesised_or_empty(Self::insert_column).map(Some)
    }

    fn insert_column(&mut self) -> Read<ColumnName<'a>> {
        // The name of a column that nothing qualifies is by far the most frequent.
        if self.at_name() && !self.next_is_punct(b'.') {
            return Ok(ColumnName { database: None, table: None, name: self.take_ident() });
        }
        self.column_name()
    }

    fn insert_source(&mut self, has_columns: bool) -> Read<InsertSource<'a>> {
        match self.word() {
            kw::VALUES | kw::VALUE => self.insert_values(),
            kw::SET if !has_columns => {
                self.advance();
                Ok(InsertSource::Set(self.assignments()?))
            }
            _ if self.at_query() => Ok(InsertSource::Query(self.query()?)),
            _ => self.stop(Expected::Words(&[kw::VALUES, kw::SELECT, kw::SET])),
        }
    }

    /// `VALUES (…), …`; a query if UNION, ORDER BY or the like follow.
    fn insert_values(&mut self) -> Read<InsertSource<'a>> {
        let start = self.start();
        self.advance();
        let rows = self.values_rows()?;
        if !self.query_continues() {
            return Ok(InsertSource::Values(rows));
        }
        let values = self.alloc(Values { span: self.span_from(start), rows });
        Ok(InsertSource::Query(self.query_from_body(start, QueryBody::Values(values))?))
    }

    /// `AS new(a, b)`.
    fn row_alias(&mut self) -> Read<RowAlias<'a>> {
        let start = self.start();
        self.expect(kw::AS)?;
        let name = self.ident()?;
        let columns: &[Ident<'a>] = if self.at_punct(b'(') { self.parenthesised(Self::ident)? } else { &[] };
        Ok(RowAlias { span: self.span_from(start), name, columns })
    }

    /// `ON DUPLICATE KEY UPDATE …`, if it is there.
    fn on_duplicate(&mut self) -> Read<&'a [Assignment<'a>]> {
        if !self.at_pair(kw::ON, kw::DUPLICATE) {
            return Ok(&[]);
        }
        self.expect_all(&[kw::ON, kw::DUPLICATE, kw::KEY, kw::UPDATE])?;
        let outer = std::mem::replace(&mut self.values_is_function, true);
        let assignments = self.assignments();
        self.values_is_function = outer;
        assignments
    }

    /// `a = 1, t.b = DEFAULT`.
    pub(in crate::parse) fn assignments(&mut self) -> Read<&'a [Assignment<'a>]> {
        self.list(|parser| {
            let start = parser.start();
            let column = parser.column_name()?;
            parser.expect_set_equal()?;
            let value = parser.expr_or_default()?;
            Ok(Assignment { span: parser.span_from(start), column, value })
        })
    }

    /// RETURNING, if it is there (MariaDB).
    pub(in crate::parse) fn returning(&mut self) -> Read<&'a [SelectItem<'a>]> {
        if self.eat(kw::RETURNING) { self.select_items() } else { Ok(&[]) }
    }

    /// `t`, `db.t`, and where several tables are named `t.*` and `db.t.*`.
    pub(in crate::parse) fn target_name(&mut self) -> Read<ObjectName<'a>> {
        if self.next_is_punct(b'.') && self.at_name() && self.cursor.star_follows_points() {
            return Ok(*self.table_star()?);
        }
        self.object_name()
    }
}
