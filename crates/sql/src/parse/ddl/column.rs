//! Columns and their attributes.

use super::super::{Expected, Parser, Read};
use crate::ast::{ColumnAttribute, ColumnAttributeKind, ColumnDefinition, ColumnName, Expr, Generated, References};
use crate::kw;
use crate::mode::Dialect;

impl<'a> Parser<'a> {
    /// A column with type and attributes.
    pub(super) fn column_definition(&mut self) -> Read<ColumnDefinition<'a>> {
        let start = self.start();
        let full_name = match self.mode.dialect {
            Dialect::MySql => ColumnName { database: None, table: None, name: self.ident()? },
            _ => self.column_name()?,
        };
        let data_type = self.data_type()?;
        let attributes = self.several(Self::column_attribute)?;
        Ok(ColumnDefinition { span: self.span_from(start), full_name, name: full_name.name, data_type, attributes })
    }

    fn column_attribute(&mut self) -> Read<Option<ColumnAttribute<'a>>> {
        let start = self.start();
        let kind = match self.word() {
            kw::CONSTRAINT | kw::CHECK => {
                let constraint = self.constraint()?;
                if self.at(kw::REFERENCES) && constraint.is_some() {
                    let references = References { constraint, ..self.references()? };
                    let kind = ColumnAttributeKind::References(self.alloc(references));
                    return Ok(Some(ColumnAttribute { span: self.span_from(start), kind }));
                }
                let check = self.check(start, constraint)?;
                Some(ColumnAttributeKind::Check(self.alloc(check)))
            }
            kw::GENERATED | kw::AS => Some(self.generated()?),
            kw::REFERENCES => {
                let references = self.references()?;
                Some(ColumnAttributeKind::References(self.alloc(references)))
            }
            _ => match self.plain_attribute()? {
                Some(kind) => Some(kind),
                None => self.attribute_with_value()?,
            },
        };
        Ok(kind.map(|kind| ColumnAttribute { span: self.span_from(start), kind }))
    }

    /// Attributes of one word or a few.
    fn plain_attribute(&mut self) -> Read<Option<ColumnAttributeKind<'a>>> {
        let word = self.word();
        let kind = match word {
            kw::NULL => ColumnAttributeKind::Null,
            kw::AUTO_INCREMENT => ColumnAttributeKind::AutoIncrement,
            kw::KEY => ColumnAttributeKind::PrimaryKey,
            kw::VISIBLE => ColumnAttributeKind::Visible,
            kw::INVISIBLE => ColumnAttributeKind::Invisible,
            kw::NOT if self.next_is(kw::NULL) => ColumnAttributeKind::NotNull,
            kw::NOT if self.next_is(kw::SECONDARY) => ColumnAttributeKind::NotSecondary,
            kw::NOT => {
                self.advance();
                return self.stop(Expected::Word(kw::NULL));
            }
            kw::PRIMARY => ColumnAttributeKind::PrimaryKey,
            kw::UNIQUE => ColumnAttributeKind::Unique(None),
            kw::SERIAL => ColumnAttributeKind::SerialDefaultValue,
            kw::WITH | kw::WITHOUT if self.next_is(kw::SYSTEM) => {
                ColumnAttributeKind::SystemVersioning(word == kw::WITH)
            }
            _ => return Ok(None),
        };
        self.advance();
        match kind {
            ColumnAttributeKind::NotNull | ColumnAttributeKind::NotSecondary => self.advance(),
            ColumnAttributeKind::PrimaryKey if word == kw::PRIMARY => self.expect(kw::KEY)?,
            ColumnAttributeKind::Unique(_) => {
                let unchecked = self.unchecked();
                self.eat(kw::KEY);
                return Ok(Some(ColumnAttributeKind::Unique(unchecked)));
            }
            ColumnAttributeKind::SerialDefaultValue => self.expect_all(&[kw::DEFAULT, kw::VALUE])?,
            ColumnAttributeKind::SystemVersioning(_) => {
                self.expect(kw::SYSTEM)?;
                self.expect_spelled("versioning")?;
            }
            _ => {}
        }
        Ok(Some(kind))
    }

    /// Attributes that say something.
    fn attribute_with_value(&mut self) -> Read<Option<ColumnAttributeKind<'a>>> {
        let word = self.word();
        Ok(Some(match word {
            kw::DEFAULT => {
                self.advance();
                let value = self.default_value()?;
                ColumnAttributeKind::Default(self.alloc(value))
            }
            kw::ON => {
                self.expect_all(&[kw::ON, kw::UPDATE])?;
                let value = self.default_value()?;
                ColumnAttributeKind::OnUpdate(self.alloc(value))
            }
            kw::COLLATE => {
                self.advance();
                ColumnAttributeKind::Collate(self.charset_unless_default()?)
            }
            kw::CHARSET | kw::CHARACTER => {
                self.charset_words()?;
                ColumnAttributeKind::Charset(self.charset_name()?)
            }
            kw::COMMENT => {
                self.advance();
                ColumnAttributeKind::Comment(self.expect_string()?)
            }
            kw::COLUMN_FORMAT => {
                self.advance();
                ColumnAttributeKind::ColumnFormat(self.any_word()?)
            }
            kw::STORAGE => {
                self.advance();
                ColumnAttributeKind::Storage(self.any_word()?)
            }
            kw::SRID => {
                self.advance();
                ColumnAttributeKind::Srid(self.any_number()?)
            }
            kw::REF_SYSTEM_ID => {
                self.advance();
                self.expect_punct(b'=')?;
                ColumnAttributeKind::Srid(self.any_number()?)
            }
            kw::COMPRESSED => {
                self.advance();
                let method = if self.eat_punct(b'=') { Some(self.any_word()?) } else { None };
                ColumnAttributeKind::Compressed(method)
            }
            kw::ENGINE_ATTRIBUTE | kw::SECONDARY_ENGINE_ATTRIBUTE | kw::EXTERNAL_FORMAT => {
                let name = self.take_ident();
                self.optional_equal();
                ColumnAttributeKind::Option(name, self.option_value()?)
            }
            _ if self.at_engines_option() => {
                let name = self.take_ident();
                self.advance();
                ColumnAttributeKind::Option(name, self.option_value()?)
            }
            _ => return Ok(None),
        }))
    }

    /// `[GENERATED ALWAYS] AS (expr) [VIRTUAL | STORED | PERSISTENT]`, `[GENERATED ALWAYS] AS ROW START | END`.
    fn generated(&mut self) -> Read<ColumnAttributeKind<'a>> {
        if self.eat(kw::GENERATED) {
            self.expect(kw::ALWAYS)?;
        }
        self.expect(kw::AS)?;
        if self.eat(kw::ROW) {
            return match self.eat_any(&[kw::START, kw::END]) {
                Some(kw::START) => Ok(ColumnAttributeKind::RowStart),
                Some(_) => Ok(ColumnAttributeKind::RowEnd),
                None => self.stop(Expected::Words(&[kw::START, kw::END])),
            };
        }
        let expr = self.expr_in_parentheses()?;
        let stored = self.eat(kw::STORED) || self.eat_spelled("persistent");
        if !stored {
            self.eat(kw::VIRTUAL);
        }
        Ok(ColumnAttributeKind::Generated(self.alloc(Generated { expr, stored })))
    }

    /// `(expr)`, and `(SELECT …)`, which MariaDB's grammar reads too: the parentheses are the query's then.
    fn expr_in_parentheses(&mut self) -> Read<Expr<'a>> {
        if [kw::SELECT, kw::WITH, kw::VALUES, kw::TABLE].iter().any(|word| self.next_is(*word)) {
            return self.operand();
        }
        self.expect_punct(b'(')?;
        let expr = self.expr()?;
        self.expect_punct(b')')?;
        Ok(expr)
    }

    /// What stands after DEFAULT: an operand, since whatever could follow it is an attribute.
    pub(super) fn default_value(&mut self) -> Read<Expr<'a>> {
        self.operand()
    }
}
