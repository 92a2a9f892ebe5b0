//! LOAD DATA and LOAD XML.

use super::super::{Expected, Parser, Read};
use crate::ast::{Expr, Load, LoadDuplicates, Span, StatementKind};
use crate::kw;
use crate::lexer::TokenKind;

impl<'a> Parser<'a> {
    /// LOAD DATA or LOAD XML.
    pub(in crate::parse) fn load(&mut self) -> Read<StatementKind<'a>> {
        let start = self.start();
        self.expect(kw::LOAD)?;
        let xml = self.expect_any(&[kw::DATA, kw::XML])? == kw::XML;
        let priority = self.at_any(&[kw::LOW_PRIORITY, kw::CONCURRENT]).then(|| Self::span_of(self.take()));
        let local = self.eat(kw::LOCAL);
        let file = self.load_source()?;
        let duplicates = match self.eat_any(&[kw::REPLACE, kw::IGNORE]) {
            Some(kw::REPLACE) => LoadDuplicates::Replace,
            Some(_) => LoadDuplicates::Ignore,
            None => LoadDuplicates::Default,
        };
        self.expect_all(&[kw::INTO, kw::TABLE])?;
        let table = self.object_name()?;
        let partitions = self.partition_names()?;
        let charset = if self.eat_charset_words() { Some(self.charset_name()?) } else { None };
        let format = self.load_format()?;
        let columns = if self.at_punct(b'(') { Some(self.parenthesised_or_empty(Self::load_column)?) } else { None };
        let assignments = if self.eat(kw::SET) { self.assignments()? } else { &[] };
        self.bulk_options()?;
        let span = self.span_from(start);
        let load = Load {
            span,
            xml,
            local,
            priority,
            file,
            duplicates,
            table,
            partitions,
            charset,
            format,
            columns,
            assignments,
        };
        Ok(StatementKind::Load(self.alloc(load)))
    }

    /// `INFILE 'name'`; MySQL: `FROM INFILE | URL | S3 'name' [COUNT n] [IN PRIMARY KEY ORDER]`.
    fn load_source(&mut self) -> Read<Span> {
        if self.eat(kw::FROM) {
            self.expect_any(&[kw::INFILE, kw::URL, kw::S3])?;
        } else {
            self.expect(kw::INFILE)?;
        }
        let file = self.expect_string()?;
        if self.eat(kw::COUNT) {
            self.expect_integer()?;
        }
        if self.eat(kw::IN) {
            self.expect_all(&[kw::PRIMARY, kw::KEY, kw::ORDER])?;
        }
        Ok(file)
    }

    /// How the file is written, from compression to the lines to leave out.
    fn load_format(&mut self) -> Read<Option<Span>> {
        let start = self.start();
        if self.eat(kw::COMPRESSION) {
            self.expect_punct(b'=')?;
            self.expect_string()?;
        }
        if self.eat_all(&[kw::ROWS, kw::IDENTIFIED, kw::BY]) {
            self.expect_text()?;
        }
        self.fields_and_lines()?;
        if self.eat(kw::IGNORE) {
            self.expect_integer()?;
            self.expect_any(&[kw::LINES, kw::ROWS])?;
        }
        Ok((self.start() > start).then(|| self.span_from(start)))
    }

    /// A column, or a user variable.
    fn load_column(&mut self) -> Read<Expr<'a>> {
        self.variable_to_fill()
    }

    /// MySQL's `PARALLEL = n MEMORY = size ALGORITHM = BULK`.
    fn bulk_options(&mut self) -> Read<()> {
        if self.eat(kw::PARALLEL) {
            self.expect_punct(b'=')?;
            self.expect_integer()?;
        }
        if self.eat(kw::MEMORY) {
            self.expect_punct(b'=')?;
            self.expect_size()?;
        }
        if self.eat(kw::ALGORITHM) {
            self.expect_punct(b'=')?;
            self.expect(kw::BULK)?;
        }
        Ok(())
    }

    /// `500`, `1M`.
    fn expect_size(&mut self) -> Read<Span> {
        match self.kind() {
            TokenKind::Integer | TokenKind::Word => Ok(Self::span_of(self.take())),
            _ => self.stop(Expected::What("a size")),
        }
    }
}
