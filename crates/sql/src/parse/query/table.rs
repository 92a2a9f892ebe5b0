//! One of the things that are joined: a table by its name, a query, tables in parentheses.

use crate::ast::{
    DerivedTable, Expr, Ident, IndexHint, IndexHintKind, IndexHintScope, NamedTable, ObjectName, Period, PeriodKind,
    Query, Span, TableRef, TableRefKind, TableSample,
};
use crate::keyword::Keyword;
use crate::kw;
use crate::lexer::TokenKind;

use super::super::{Expected, Parser, Read};

/// What a pair of parentheses held.
enum Parenthesised<'a> {
    Query(&'a Query<'a>),
    Tables(&'a [TableRef<'a>]),
}

impl<'a> Parser<'a> {
    pub(super) fn table_factor(&mut self) -> Read<TableRef<'a>> {
        let start = self.start();
        if self.at_punct(b'(') {
            return match self.parenthesised_tables()? {
                Parenthesised::Query(query) => self.derived_table(start, false, query),
                Parenthesised::Tables(tables) => Ok(self.nested_tables(start, tables)),
            };
        }
        if self.next_is_punct(b'(') {
            match self.word() {
                kw::LATERAL => {
                    self.advance();
                    let query = self.parenthesised_query()?;
                    return self.derived_table(start, true, query);
                }
                kw::JSON_TABLE => return self.json_table(),
                _ => {}
            }
        }
        if self.at_punct(b'{') {
            return self.odbc_join();
        }
        let table = self.named_table()?;
        Ok(TableRef { span: self.span_from(start), kind: TableRefKind::Table(table) })
    }

    /// `(…)`: a query, or tables. What the parentheses hold first decides, and if that is a query in parentheses of its
    /// own, what follows it.
    fn parenthesised_tables(&mut self) -> Read<Parenthesised<'a>> {
        self.nested(|parser| {
            parser.expect_punct(b'(')?;
            let start = parser.start();
            let content = if parser.at_punct(b'(') {
                match parser.parenthesised_tables()? {
                    Parenthesised::Query(query) if parser.at_punct(b')') || parser.query_continues() => {
                        Parenthesised::Query(parser.query_continued(parser.span_from(start), query)?)
                    }
                    Parenthesised::Query(query) => {
                        let first = parser.derived_table(start, false, query)?;
                        Parenthesised::Tables(parser.table_refs_from(first)?)
                    }
                    Parenthesised::Tables(tables) => {
                        let first = parser.nested_tables(start, tables);
                        Parenthesised::Tables(parser.table_refs_from(first)?)
                    }
                }
            } else if parser.at_any(&[kw::SELECT, kw::WITH, kw::VALUES, kw::TABLE]) {
                Parenthesised::Query(parser.query()?)
            } else {
                Parenthesised::Tables(parser.table_refs()?)
            };
            parser.expect_punct(b')')?;
            Ok(content)
        })
    }

    fn nested_tables(&self, start: u32, tables: &'a [TableRef<'a>]) -> TableRef<'a> {
        TableRef { span: self.span_from(start), kind: TableRefKind::Nested(tables) }
    }

    /// After a query in parentheses: its alias and its columns' names.
    fn derived_table(&mut self, start: u32, lateral: bool, query: &'a Query<'a>) -> Read<TableRef<'a>> {
        let period = if self.at_pair(kw::FOR, kw::SYSTEM_TIME) { self.period()? } else { None };
        let alias = self.table_alias()?;
        let columns = if alias.is_some() && self.at_punct(b'(') { self.parenthesised(Self::ident)? } else { &[] };
        let derived = self.alloc(DerivedTable { lateral, query, period, alias, columns });
        Ok(TableRef { span: self.span_from(start), kind: TableRefKind::Derived(derived) })
    }

    /// `{OJ tables}`. MariaDB takes any word for OJ.
    fn odbc_join(&mut self) -> Read<TableRef<'a>> {
        self.nested(|parser| {
            let start = parser.start();
            parser.expect_punct(b'{')?;
            parser.ident()?;
            let table = parser.table_ref()?;
            parser.expect_punct(b'}')?;
            Ok(TableRef { span: parser.span_from(start), kind: TableRefKind::Odbc(parser.alloc(table)) })
        })
    }

    /// A table's name with all that may follow it.
    fn named_table(&mut self) -> Read<&'a NamedTable<'a>> {
        let name = self.object_name()?;
        let mut table = NamedTable { name, partitions: &[], period: None, alias: None, index_hints: &[], sample: None };
        if self.at(kw::PARTITION) {
            table.partitions = self.partition_names()?;
        }
        if self.at(kw::FOR) {
            table.period = self.period()?;
        }
        table.alias = self.table_alias()?;
        if self.at_any(&[kw::USE, kw::FORCE, kw::IGNORE]) {
            table.index_hints = self.several(Self::index_hint)?;
        }
        if self.at(kw::TABLESAMPLE) {
            table.sample = Some(self.table_sample()?);
        }
        Ok(self.alloc(table))
    }

    /// `PARTITION (p0, p1)`, if it is there.
    pub(crate) fn partition_names(&mut self) -> Read<&'a [Ident<'a>]> {
        if self.eat(kw::PARTITION) { self.parenthesised(Self::ident) } else { Ok(&[]) }
    }

    /// `FOR SYSTEM_TIME …`, `FOR PORTION OF …`, if they are there.
    pub(in crate::parse) fn period(&mut self) -> Read<Option<&'a Period<'a>>> {
        let start = self.start();
        let (kind, bounds): (_, &[_]) = if self.eat_all(&[kw::FOR, kw::SYSTEM_TIME]) {
            match self.expect_any(&[kw::ALL, kw::AS, kw::BETWEEN, kw::FROM])? {
                kw::ALL => (PeriodKind::All, &[]),
                kw::AS => {
                    self.expect(kw::OF)?;
                    let time = self.point_in_time()?;
                    (PeriodKind::AsOf, std::slice::from_ref(self.alloc(time)))
                }
                kw::BETWEEN => (PeriodKind::Between, self.two_points_in_time(kw::AND)?),
                _ => (PeriodKind::From, self.two_points_in_time(kw::TO)?),
            }
        } else if self.eat_all(&[kw::FOR, kw::PORTION]) {
            self.expect(kw::OF)?;
            let name = self.ident()?;
            self.expect(kw::FROM)?;
            (PeriodKind::Portion(name), self.two_points_in_time(kw::TO)?)
        } else {
            return Ok(None);
        };
        let period = Period { span: self.span_from(start), kind, bounds };
        Ok(Some(self.alloc(period)))
    }

    fn two_points_in_time(&mut self, between: Keyword) -> Read<&'a [Expr<'a>]> {
        let from = self.point_in_time()?;
        self.expect(between)?;
        let to = self.point_in_time()?;
        Ok(self.arena.alloc_slice_copy(&[from, to]))
    }

    /// An expression of no comparisons, perhaps with TIMESTAMP or TRANSACTION before it.
    pub(in crate::parse) fn point_in_time(&mut self) -> Read<Expr<'a>> {
        let next_is_string = self.cursor.next().token.kind == TokenKind::String;
        if self.at(kw::TRANSACTION) || (self.at(kw::TIMESTAMP) && !next_is_string && !self.next_is_punct(b'(')) {
            self.advance();
        }
        self.expr_without_comparisons()
    }

    /// `USE INDEX [FOR JOIN] (names)`, if it is there.
    fn index_hint(&mut self) -> Read<Option<IndexHint<'a>>> {
        let start = self.start();
        let kind = match self.word() {
            kw::USE => IndexHintKind::Use,
            kw::FORCE => IndexHintKind::Force,
            kw::IGNORE => IndexHintKind::Ignore,
            _ => return Ok(None),
        };
        self.advance();
        self.expect_any(&[kw::INDEX, kw::KEY])?;
        let scope = self.index_hint_scope()?;
        let names = match kind {
            IndexHintKind::Use => self.parenthesised_or_empty(Self::hinted_index)?,
            _ => self.parenthesised(Self::hinted_index)?,
        };
        Ok(Some(IndexHint { span: self.span_from(start), kind, scope, names }))
    }

    fn index_hint_scope(&mut self) -> Read<IndexHintScope> {
        if !self.eat(kw::FOR) {
            return Ok(IndexHintScope::All);
        }
        let scope = match self.expect_any(&[kw::JOIN, kw::ORDER, kw::GROUP])? {
            kw::JOIN => return Ok(IndexHintScope::Join),
            kw::ORDER => IndexHintScope::OrderBy,
            _ => IndexHintScope::GroupBy,
        };
        self.expect(kw::BY)?;
        Ok(scope)
    }

    fn hinted_index(&mut self) -> Read<Ident<'a>> {
        if self.at(kw::PRIMARY) { Ok(self.take_ident()) } else { self.ident() }
    }

    /// `TABLESAMPLE SYSTEM | BERNOULLI (percentage)`.
    fn table_sample(&mut self) -> Read<&'a TableSample<'a>> {
        let start = self.start();
        self.expect(kw::TABLESAMPLE)?;
        let bernoulli = self.expect_any(&[kw::SYSTEM, kw::BERNOULLI])? == kw::BERNOULLI;
        self.expect_punct(b'(')?;
        let percentage = self.expr()?;
        self.expect_punct(b')')?;
        let sample = TableSample { span: self.span_from(start), bernoulli, percentage };
        Ok(self.alloc(sample))
    }

    /// `t.*`, `db.t.*`: the table.
    pub(in crate::parse) fn table_star(&mut self) -> Read<&'a ObjectName<'a>> {
        let start = self.start();
        let mut name = ObjectName { span: Span::default(), database: None, name: self.ident()? };
        name.span = self.span_from(start);
        self.expect_punct(b'.')?;
        if !self.at_punct(b'*') {
            name = ObjectName { span: name.span, database: Some(name.name), name: self.ident_after_point()? };
            name.span = self.span_from(start);
            self.expect_punct(b'.')?;
        }
        if !self.eat_punct(b'*') {
            return self.stop(Expected::Punct(b'*'));
        }
        Ok(self.alloc(name))
    }
}
