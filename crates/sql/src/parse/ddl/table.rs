//! CREATE TABLE.

use super::super::{Parser, Read};
use crate::ast::{
    Check, CreateTable, Duplicates, PeriodDefinition, Placement, StatementKind, TableBody, TableDefinition,
    TableElement, TableElements, TableLike, TableOption,
};
use crate::kw;

impl<'a> Parser<'a> {
    /// CREATE TABLE.
    pub(in crate::parse) fn create_table(&mut self) -> Read<StatementKind<'a>> {
        self.expect(kw::CREATE)?;
        let or_replace = self.or_replace();
        let temporary = self.eat(kw::TEMPORARY);
        let external = self.eat(kw::EXTERNAL);
        self.expect(kw::TABLE)?;
        let if_not_exists = self.if_not_exists()?;
        let name = self.object_name()?;
        let body = self.table_body()?;
        let node = CreateTable { or_replace, temporary, external, if_not_exists, name, body };
        Ok(StatementKind::CreateTable(self.alloc(node)))
    }

    fn table_body(&mut self) -> Read<TableBody<'a>> {
        let parentheses = self.at_punct(b'(') && self.next_is(kw::LIKE);
        if !parentheses && !self.at(kw::LIKE) {
            let definition = self.table_definition()?;
            return Ok(TableBody::Definition(self.alloc(definition)));
        }
        let start = self.start();
        self.eat_punct(b'(');
        self.expect(kw::LIKE)?;
        let table = self.object_name()?;
        if parentheses {
            self.expect_punct(b')')?;
        }
        let span = self.span_from(start);
        let mut placement = None;
        self.placements(&mut placement)?;
        Ok(TableBody::Like(self.alloc(TableLike { span, table, placement })))
    }

    fn table_definition(&mut self) -> Read<TableDefinition<'a>> {
        let start = self.start();
        let elements = if self.at_punct(b'(') && !self.query_begins() { Some(self.table_elements()?) } else { None };
        let mut placement = None;
        let options = self.table_options(&mut placement)?;
        let partitioning = if self.at_partition_by() { Some(self.partitioning()?) } else { None };
        let partitioning = partitioning.map(|node| self.alloc(node));
        self.placements(&mut placement)?;
        let duplicates = self.duplicates();
        let as_query = self.eat(kw::AS);
        let query = if as_query || duplicates.is_some() || self.query_begins() { Some(self.query()?) } else { None };
        self.placements(&mut placement)?;
        self.no_misspelt_placement()?;
        let nothing = self.start() == start;
        let span = if nothing { crate::ast::Span { start, end: start } } else { self.span_from(start) };
        Ok(TableDefinition { span, elements, options, partitioning, placement, duplicates, query })
    }

    fn duplicates(&mut self) -> Option<Duplicates> {
        match self.eat_any(&[kw::IGNORE, kw::REPLACE])? {
            kw::IGNORE => Some(Duplicates::Ignore),
            _ => Some(Duplicates::Replace),
        }
    }

    /// Options one after another, with or without commas, and Weir's clause among them.
    pub(super) fn table_options(&mut self, placement: &mut Option<Placement<'a>>) -> Read<&'a [TableOption<'a>]> {
        self.several(|parser| {
            parser.placements(placement)?;
            let option = parser.table_option()?;
            if option.is_some() && parser.at_punct(b',') {
                parser.advance();
                if !parser.at_table_option() && !parser.at_placement() {
                    return parser.stop(super::super::Expected::What("an option of the table"));
                }
            }
            Ok(option)
        })
    }

    fn table_elements(&mut self) -> Read<TableElements<'a>> {
        let start = self.start();
        let list = self.parenthesised(Self::table_element)?;
        Ok(TableElements { span: self.span_from(start), list })
    }

    /// A column, a key or another part of a table.
    pub(super) fn table_element(&mut self) -> Read<TableElement<'a>> {
        let start = self.start();
        let constraint = self.constraint()?;
        Ok(match self.word() {
            kw::PRIMARY | kw::UNIQUE | kw::INDEX | kw::KEY | kw::FULLTEXT | kw::SPATIAL => {
                let key = self.key_definition(start, constraint)?;
                TableElement::Key(self.alloc(key))
            }
            kw::VECTOR if self.next_is(kw::INDEX) || self.next_is(kw::KEY) => {
                let key = self.key_definition(start, constraint)?;
                TableElement::Key(self.alloc(key))
            }
            kw::FOREIGN => {
                let key = self.foreign_key(start, constraint)?;
                TableElement::ForeignKey(self.alloc(key))
            }
            kw::CHECK => {
                let check: Check<'a> = self.check(start, constraint)?;
                TableElement::Check(self.alloc(check))
            }
            kw::PERIOD if self.next_is(kw::FOR) => {
                let period = self.period_definition()?;
                TableElement::Period(self.alloc(period))
            }
            _ => {
                let column = self.column_definition()?;
                TableElement::Column(self.alloc(column))
            }
        })
    }

    /// `PERIOD [IF NOT EXISTS] FOR name (start, end)`.
    pub(super) fn period_definition(&mut self) -> Read<PeriodDefinition<'a>> {
        let start = self.start();
        self.expect(kw::PERIOD)?;
        let if_not_exists = self.if_not_exists()?;
        self.expect(kw::FOR)?;
        let name = self.ident()?;
        self.expect_punct(b'(')?;
        let from = self.ident()?;
        self.expect_punct(b',')?;
        let to = self.ident()?;
        self.expect_punct(b')')?;
        Ok(PeriodDefinition { span: self.span_from(start), if_not_exists, name, from, to })
    }
}
