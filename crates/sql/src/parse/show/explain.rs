//! DESCRIBE and EXPLAIN, ANALYZE of statements, and SHOW EXPLAIN.
//!
//! What must hold: whether a table is described or a statement explained is decided by the next word, or the next two,
//! since EXTENDED, PARTITIONS and FORMAT may be names of tables.

use super::Shown;
use crate::ast::{DescribeTable, Explain, ExplainTarget, Ident, ShowExplain, ShowKind, Span, StatementKind};
use crate::keyword::Keyword;
use crate::kw;
use crate::parse::{Expected, Parser, Read};

/// The words that a statement which can be explained begins with.
const EXPLAINABLE: &[Keyword] =
    &[kw::SELECT, kw::WITH, kw::VALUES, kw::TABLE, kw::INSERT, kw::REPLACE, kw::UPDATE, kw::DELETE];

impl<'a> Parser<'a> {
    /// DESCRIBE, DESC or EXPLAIN.
    pub(in crate::parse) fn describe(&mut self) -> Read<StatementKind<'a>> {
        self.advance();
        if self.at_explained() { self.explain(false) } else { self.describe_table() }
    }

    fn describe_table(&mut self) -> Read<StatementKind<'a>> {
        let table = self.object_name()?;
        let column = if self.at_end() { None } else { Some(self.ident_or_string()?) };
        Ok(StatementKind::DescribeTable(self.alloc(DescribeTable { table, column })))
    }

    /// HELP.
    pub(in crate::parse) fn help(&mut self) -> Read<StatementKind<'a>> {
        self.advance();
        self.ident_or_string().map(StatementKind::Help)
    }

    /// USE.
    pub(in crate::parse) fn use_database(&mut self) -> Read<StatementKind<'a>> {
        self.advance();
        self.ident().map(StatementKind::Use)
    }

    /// ANALYZE of a statement (MariaDB).
    pub(in crate::parse) fn analyze_statement(&mut self) -> Read<StatementKind<'a>> {
        self.advance();
        self.explain(true)
    }

    fn at_explained(&self) -> bool {
        match self.word() {
            kw::FORMAT => self.next_is_punct(b'='),
            kw::EXTENDED if self.next_is(kw::ALL) => true,
            kw::EXTENDED | kw::PARTITIONS => self.next_is_punct(b'(') || EXPLAINABLE.contains(&self.cursor.next().word),
            kw::ANALYZE | kw::INTO | kw::FOR => true,
            _ => self.at_explainable(),
        }
    }

    fn at_explainable(&self) -> bool {
        self.at_punct(b'(') || self.at_any(EXPLAINABLE)
    }

    /// After the verb.
    fn explain(&mut self, analyze: bool) -> Read<StatementKind<'a>> {
        let analyze = self.eat(kw::ANALYZE) || analyze;
        let option = self.explain_option();
        let mut format = self.explain_format()?;
        let into = self.explain_into()?;
        if format.is_none() {
            format = self.explain_format()?;
        }
        let mut database = None;
        let mut connection = None;
        if self.eat(kw::FOR) {
            match self.expect_any(&[kw::CONNECTION, kw::SCHEMA, kw::DATABASE])? {
                kw::CONNECTION => connection = Some(self.expr()?),
                _ => database = Some(self.ident()?),
            }
        }
        let target = match connection {
            Some(connection) => ExplainTarget::Connection(connection),
            None => self.explained_statement()?,
        };
        Ok(StatementKind::Explain(self.alloc(Explain { analyze, option, format, into, database, target })))
    }

    /// `EXTENDED [ALL]`, `PARTITIONS`, if one of them is there.
    fn explain_option(&mut self) -> Option<Span> {
        let start = self.start();
        if self.eat_any(&[kw::EXTENDED, kw::PARTITIONS])? == kw::EXTENDED {
            self.eat(kw::ALL);
        }
        Some(self.span_from(start))
    }

    fn explained_statement(&mut self) -> Read<ExplainTarget<'a>> {
        if !self.at_explainable() {
            return self.stop(Expected::Words(EXPLAINABLE));
        }
        let statement = self.nested(Self::statement)?;
        Ok(ExplainTarget::Statement(self.alloc(statement)))
    }

    /// `FORMAT = name`, if it is there.
    fn explain_format(&mut self) -> Read<Option<Ident<'a>>> {
        if !self.eat(kw::FORMAT) {
            return Ok(None);
        }
        self.expect_punct(b'=')?;
        self.ident_or_string().map(Some)
    }

    /// `INTO @x`, if it is there.
    fn explain_into(&mut self) -> Read<Option<Ident<'a>>> {
        if self.eat(kw::INTO) { self.user_variable().map(Some) } else { Ok(None) }
    }

    /// At EXPLAIN or ANALYZE of SHOW EXPLAIN, SHOW ANALYZE.
    pub(super) fn show_explain(&mut self) -> Shown<'a> {
        let analyze = self.expect_any(&[kw::EXPLAIN, kw::ANALYZE])? == kw::ANALYZE;
        let format = self.explain_format()?;
        self.expect(kw::FOR)?;
        let connection = self.expr()?;
        Ok(ShowKind::Explain(self.alloc(ShowExplain { analyze, format, connection })))
    }
}
