//! INTO after a query, and how files are written, which LOAD has too.

use crate::ast::{Expr, ExprKind, Into, IntoTarget, Span};
use crate::kw;
use crate::lexer::TokenKind;

use super::super::{Expected, Parser, Read};

impl<'a> Parser<'a> {
    /// INTO, if it is there.
    pub(super) fn read_into(&mut self) -> Read<Option<&'a Into<'a>>> {
        if !self.at(kw::INTO) {
            return Ok(None);
        }
        let start = self.start();
        self.advance();
        let target = match self.word() {
            kw::OUTFILE => self.outfile()?,
            kw::DUMPFILE if self.cursor.next().token.kind == TokenKind::String => {
                self.advance();
                IntoTarget::Dumpfile(self.expect_string()?)
            }
            _ => IntoTarget::Variables(self.list(Self::variable_to_fill)?),
        };
        let into = Into { span: self.span_from(start), target };
        Ok(Some(self.alloc(into)))
    }

    /// `OUTFILE 'name' [CHARACTER SET x] [FIELDS …] [LINES …]`.
    fn outfile(&mut self) -> Read<IntoTarget<'a>> {
        self.expect(kw::OUTFILE)?;
        let name = self.expect_string()?;
        if self.eat_charset_words() {
            self.charset_name()?;
        }
        self.fields_and_lines()?;
        Ok(IntoTarget::Outfile(name))
    }

    /// `CHARACTER SET`, `CHARSET`, `CHAR SET`.
    pub(in crate::parse) fn eat_charset_words(&mut self) -> bool {
        self.eat(kw::CHARSET) || self.eat_all(&[kw::CHARACTER, kw::SET]) || self.eat_all(&[kw::CHAR, kw::SET])
    }

    /// `FIELDS TERMINATED BY ',' … LINES STARTING BY '' …`, both optional.
    pub(in crate::parse) fn fields_and_lines(&mut self) -> Read<()> {
        if self.eat_any(&[kw::FIELDS, kw::COLUMNS]).is_some() {
            self.file_options(|parser| {
                if parser.eat(kw::OPTIONALLY) {
                    return parser.expect(kw::ENCLOSED).map(|()| true);
                }
                Ok(parser.eat_any(&[kw::TERMINATED, kw::ENCLOSED, kw::ESCAPED]).is_some())
            })?;
        }
        if self.eat(kw::LINES) {
            self.file_options(|parser| Ok(parser.eat_any(&[kw::TERMINATED, kw::STARTING]).is_some()))?;
        }
        Ok(())
    }

    /// `word BY 'string'`, once or more.
    fn file_options(&mut self, mut word: impl FnMut(&mut Self) -> Read<bool>) -> Read<()> {
        if !word(self)? {
            return self.stop(Expected::Words(&[kw::TERMINATED, kw::ENCLOSED, kw::ESCAPED, kw::STARTING]));
        }
        loop {
            self.expect(kw::BY)?;
            self.expect_text()?;
            if !word(self)? {
                return Ok(());
            }
        }
    }

    /// A string in quotes, or one in hexadecimal or binary digits.
    pub(in crate::parse) fn expect_text(&mut self) -> Read<Span> {
        match self.kind() {
            TokenKind::String | TokenKind::Hex | TokenKind::Bit => Ok(Self::span_of(self.take())),
            _ => self.stop(Expected::What("a string")),
        }
    }

    /// A user variable, a routine's variable, or (MariaDB) a field of one.
    pub(in crate::parse) fn variable_to_fill(&mut self) -> Read<Expr<'a>> {
        if matches!(self.kind(), TokenKind::UserVariable | TokenKind::Punct(b'@')) {
            let variable = self.user_variable()?;
            return Ok(Expr { span: variable.span, kind: ExprKind::UserVariable(self.alloc(variable)) });
        }
        let start = self.start();
        // MariaDB takes LOCAL before the name.
        if self.at(kw::LOCAL) && self.is_name(self.cursor.next()) {
            self.advance();
        }
        let name = self.column_name()?;
        Ok(Expr { span: self.span_from(start), kind: ExprKind::Column(self.alloc(name)) })
    }
}
