//! Types, of casts and of columns.
//!
//! What must hold: a type ends where the attributes of a column may begin. Which types a cast may name is the server's
//! business.

use super::super::{Expected, Parser, Read};
use crate::ast::{DataType, Expr, Ident, Span};
use crate::keyword::Keyword;
use crate::kw;
use crate::lexer::TokenKind;

/// What may stand behind a type's name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// Perhaps a length, a precision or the like.
    Plain,
    /// Perhaps a length, UNSIGNED and ZEROFILL.
    Number,
    /// Perhaps a length, a character set, BINARY.
    Text,
    /// A list of values, then as for text.
    Values,
}

impl<'a> Parser<'a> {
    /// A type, without what is an attribute in a column's definition.
    #[inline(never)]
    pub(crate) fn data_type(&mut self) -> Read<DataType<'a>> {
        let start = self.start();
        let shape = self.type_name()?;
        let name = self.span_from(start);
        let unsigned = matches!(self.cursor.previous().word, kw::UNSIGNED);
        let mut found = DataType {
            span: name,
            name,
            arguments: &[],
            unsigned,
            zerofill: false,
            charset: None,
            collation: None,
            binary: false,
        };
        if self.at_punct(b'(') {
            found.arguments = self.parenthesised(Self::type_argument)?;
        } else if shape == Shape::Values {
            return self.stop(Expected::Punct(b'('));
        }
        match shape {
            Shape::Plain => {}
            Shape::Number => self.number_attributes(&mut found),
            Shape::Text | Shape::Values => self.text_attributes(&mut found)?,
        }
        found.span = self.span_from(start);
        Ok(found)
    }

    /// The type of a cast, with its collation.
    #[inline(never)]
    pub(crate) fn cast_type(&mut self) -> Read<DataType<'a>> {
        let start = self.start();
        let interval = self.at(kw::INTERVAL) && self.next_is(kw::DAY_SECOND) && self.may_be_mariadb();
        if interval {
            self.advance();
        }
        let mut found = self.data_type()?;
        if interval {
            found.name = Span { start, ..found.name };
        }
        if self.may_be_mariadb() && self.eat(kw::COLLATE) {
            found.collation = Some(self.charset_name()?);
        }
        found.span = self.span_from(start);
        Ok(found)
    }

    /// A length, or a value of an ENUM or SET.
    fn type_argument(&mut self) -> Read<Expr<'a>> {
        self.expr_at(super::pratt::SIMPLE)
    }

    fn number_attributes(&mut self, found: &mut DataType<'a>) {
        while let Some(word) = self.eat_any(&[kw::UNSIGNED, kw::SIGNED, kw::ZEROFILL]) {
            found.unsigned |= word == kw::UNSIGNED;
            found.zerofill |= word == kw::ZEROFILL;
        }
    }

    /// `COMPRESSED`, `CHARACTER SET x`, `ASCII`, `BINARY`, … in any order that makes sense.
    fn text_attributes(&mut self, found: &mut DataType<'a>) -> Read<()> {
        if self.may_be_mariadb() && self.eat(kw::COMPRESSED) && self.eat_punct(b'=') {
            self.ident()?;
        }
        loop {
            match self.word() {
                kw::BINARY if !found.binary => {
                    self.advance();
                    found.binary = true;
                }
                kw::ASCII | kw::UNICODE | kw::BYTE if found.charset.is_none() => {
                    found.charset = Some(self.take_ident());
                }
                kw::CHARSET | kw::CHARACTER | kw::CHAR if found.charset.is_none() => {
                    found.charset = Some(self.charset_clause()?);
                }
                _ => return Ok(()),
            }
        }
    }

    /// `CHARACTER SET x`, `CHARSET x`.
    pub(crate) fn charset_clause(&mut self) -> Read<Ident<'a>> {
        if !self.eat(kw::CHARSET) {
            self.expect_any(&[kw::CHARACTER, kw::CHAR])?;
            self.expect(kw::SET)?;
        }
        self.charset_name()
    }

    /// The words that name a type.
    fn type_name(&mut self) -> Read<Shape> {
        let word = self.word();
        if self.next_is_punct(b'.') && self.may_be_mariadb() {
            return self.qualified_type();
        }
        let shape = match word {
            kw::CHAR | kw::CHARACTER | kw::NCHAR => return self.character_type(),
            kw::NATIONAL => return self.national_type(),
            kw::LONG => return self.long_type(),
            kw::SIGNED | kw::UNSIGNED => return self.signed_type(),
            kw::DOUBLE => {
                self.advance();
                self.eat(kw::PRECISION);
                return Ok(Shape::Number);
            }
            kw::ENUM | kw::SET => Shape::Values,
            _ if is_number(word) => Shape::Number,
            _ if is_text(word) => Shape::Text,
            _ if is_plain(word) => Shape::Plain,
            // A type of a plugin.
            _ if self.may_be_mariadb() && (self.at_name() || self.kind() == TokenKind::QuotedIdent) => Shape::Plain,
            _ => return self.stop(Expected::What("a type")),
        };
        self.advance();
        Ok(shape)
    }

    /// `mariadb_schema.date`.
    fn qualified_type(&mut self) -> Read<Shape> {
        self.ident()?;
        self.expect_punct(b'.')?;
        let word = Keyword::of(self.ident_after_point()?.name);
        Ok(match word {
            _ if is_number(word) => Shape::Number,
            _ if is_text(word) => Shape::Text,
            _ => Shape::Plain,
        })
    }

    /// CHAR, `CHAR VARYING`, NCHAR, `NCHAR VARCHAR`.
    fn character_type(&mut self) -> Read<Shape> {
        if self.take().word == kw::NCHAR {
            self.eat_any(&[kw::VARYING, kw::VARCHAR, kw::VARCHARACTER]);
        } else {
            self.eat(kw::VARYING);
        }
        Ok(Shape::Text)
    }

    /// `NATIONAL CHAR`, `NATIONAL VARCHAR`, `NATIONAL CHAR VARYING`.
    fn national_type(&mut self) -> Read<Shape> {
        self.advance();
        match self.expect_any(&[kw::CHAR, kw::CHARACTER, kw::VARCHAR, kw::VARCHARACTER])? {
            kw::CHAR | kw::CHARACTER => {
                self.eat(kw::VARYING);
            }
            _ => {}
        }
        Ok(Shape::Text)
    }

    /// LONG, `LONG VARBINARY`, `LONG VARCHAR`, `LONG CHAR VARYING`.
    fn long_type(&mut self) -> Read<Shape> {
        self.advance();
        if self.eat(kw::VARBINARY) {
            return Ok(Shape::Plain);
        }
        if self.eat_any(&[kw::VARCHAR, kw::VARCHARACTER]).is_none()
            && self.at_any(&[kw::CHAR, kw::CHARACTER])
            && self.next_is(kw::VARYING)
        {
            self.advance();
            self.advance();
        }
        Ok(Shape::Text)
    }

    /// `SIGNED [INTEGER]`, `UNSIGNED [INTEGER]`, of casts.
    fn signed_type(&mut self) -> Read<Shape> {
        self.advance();
        self.eat_any(&[kw::INT, kw::INTEGER]);
        Ok(Shape::Plain)
    }
}

fn is_number(word: Keyword) -> bool {
    matches!(
        word,
        kw::INT
            | kw::YEAR
            | kw::INTEGER
            | kw::TINYINT
            | kw::SMALLINT
            | kw::MEDIUMINT
            | kw::MIDDLEINT
            | kw::BIGINT
            | kw::INT1
            | kw::INT2
            | kw::INT3
            | kw::INT4
            | kw::INT8
            | kw::REAL
            | kw::FLOAT
            | kw::FLOAT4
            | kw::FLOAT8
            | kw::DECIMAL
            | kw::DEC
            | kw::NUMERIC
            | kw::FIXED
            | kw::NUMBER
    )
}

fn is_text(word: Keyword) -> bool {
    matches!(
        word,
        kw::VARCHAR
            | kw::VARCHARACTER
            | kw::VARCHAR2
            | kw::NVARCHAR
            | kw::TINYTEXT
            | kw::TEXT
            | kw::MEDIUMTEXT
            | kw::LONGTEXT
            | kw::CLOB
            // These take COMPRESSED, and none of the others.
            | kw::VARBINARY
            | kw::TINYBLOB
            | kw::BLOB
            | kw::MEDIUMBLOB
            | kw::LONGBLOB
    )
}

fn is_plain(word: Keyword) -> bool {
    matches!(
        word,
        kw::BIT
            | kw::BOOL
            | kw::BOOLEAN
            | kw::BINARY
            | kw::RAW
            | kw::DATE
            | kw::TIME
            | kw::DATETIME
            | kw::TIMESTAMP
            | kw::JSON
            | kw::SERIAL
            | kw::VECTOR
            | kw::UUID
            | kw::DAY_SECOND
            | kw::GEOMETRY
            | kw::GEOMETRYCOLLECTION
            | kw::GEOMCOLLECTION
            | kw::POINT
            | kw::LINESTRING
            | kw::POLYGON
            | kw::MULTIPOINT
            | kw::MULTILINESTRING
            | kw::MULTIPOLYGON
    )
}
