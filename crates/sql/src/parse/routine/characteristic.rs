//! What stands between a routine's name and its body: parameters, types, characteristics.

use crate::ast::{
    Characteristic, CharacteristicKind, DataAccess, DataType, DeclaredType, LibraryUse, ParameterMode,
    RoutineParameter, SqlSecurity,
};
use crate::kw;
use crate::mode::Dialect;
use crate::parse::{Parser, Read};

impl<'a> Parser<'a> {
    /// `(a INT, OUT b TEXT)`.
    pub(super) fn parameters_of_routine(&mut self) -> Read<&'a [RoutineParameter<'a>]> {
        self.parenthesised_or_empty(Self::routine_parameter)
    }

    fn routine_parameter(&mut self) -> Read<RoutineParameter<'a>> {
        let start = self.start();
        let mode = match self.eat_any(&[kw::IN, kw::OUT, kw::INOUT]) {
            Some(kw::IN) => Some(ParameterMode::In),
            Some(kw::OUT) => Some(ParameterMode::Out),
            Some(_) => Some(ParameterMode::InOut),
            None => None,
        };
        let name = self.ident()?;
        let data_type = self.declared_type()?;
        Ok(RoutineParameter { span: self.span_from(start), mode, name, data_type })
    }

    /// A type, as parameters, results and variables have.
    pub(super) fn declared_type(&mut self) -> Read<DeclaredType<'a>> {
        if self.mode.dialect == Dialect::MySql {
            return self.plain_type();
        }
        if self.eat_all(&[kw::TYPE, kw::OF]) {
            return self.column_name().map(DeclaredType::Of);
        }
        if self.eat_all(&[kw::ROW, kw::TYPE, kw::OF]) {
            return self.object_name().map(DeclaredType::RowOf);
        }
        if self.at(kw::ROW) && self.next_is_punct(b'(') {
            self.advance();
            return self.nested(|parser| parser.parenthesised(Self::row_field)).map(DeclaredType::Row);
        }
        self.plain_type()
    }

    fn row_field(&mut self) -> Read<RoutineParameter<'a>> {
        let start = self.start();
        let name = self.ident()?;
        let data_type = self.declared_type()?;
        Ok(RoutineParameter { span: self.span_from(start), mode: None, name, data_type })
    }

    fn plain_type(&mut self) -> Read<DeclaredType<'a>> {
        let plain = self.data_type()?;
        let collation = if self.eat(kw::COLLATE) { Some(self.charset_name()?) } else { plain.collation };
        let span = self.span_from(plain.span.start);
        Ok(DeclaredType::Type(self.alloc(DataType { span, collation, ..plain })))
    }

    /// COMMENT, LANGUAGE and the like, as many as there are.
    pub(super) fn characteristics(&mut self, of_body: bool) -> Read<&'a [Characteristic<'a>]> {
        self.several(|parser| {
            let start = parser.start();
            let kind = parser.characteristic(of_body)?;
            Ok(kind.map(|kind| Characteristic { span: parser.span_from(start), kind }))
        })
    }

    /// One of them. DETERMINISTIC says something of a body: ALTER doesn't have it.
    fn characteristic(&mut self, of_body: bool) -> Read<Option<CharacteristicKind<'a>>> {
        Ok(Some(match self.word() {
            kw::COMMENT => {
                self.advance();
                CharacteristicKind::Comment(self.expect_string()?)
            }
            kw::LANGUAGE => {
                self.advance();
                CharacteristicKind::Language(self.language()?)
            }
            kw::DETERMINISTIC if of_body => {
                self.advance();
                CharacteristicKind::Deterministic(true)
            }
            kw::NOT if of_body => {
                self.expect_all(&[kw::NOT, kw::DETERMINISTIC])?;
                CharacteristicKind::Deterministic(false)
            }
            kw::CONTAINS | kw::NO | kw::READS | kw::MODIFIES => CharacteristicKind::DataAccess(self.data_access()?),
            kw::SQL => {
                self.expect_all(&[kw::SQL, kw::SECURITY])?;
                let definer = self.expect_any(&[kw::DEFINER, kw::INVOKER])? == kw::DEFINER;
                CharacteristicKind::Security(if definer { SqlSecurity::Definer } else { SqlSecurity::Invoker })
            }
            kw::USING => {
                self.advance();
                CharacteristicKind::Using(self.parenthesised_or_empty(Self::library_use)?)
            }
            _ => return Ok(None),
        }))
    }

    /// SQL, or another language's name.
    fn language(&mut self) -> Read<crate::ast::Ident<'a>> {
        if self.at(kw::SQL) { Ok(self.take_ident()) } else { self.ident() }
    }

    fn data_access(&mut self) -> Read<DataAccess> {
        let word = self.expect_any(&[kw::CONTAINS, kw::NO, kw::READS, kw::MODIFIES])?;
        self.expect(kw::SQL)?;
        Ok(match word {
            kw::CONTAINS => DataAccess::ContainsSql,
            kw::NO => DataAccess::NoSql,
            _ => {
                self.expect(kw::DATA)?;
                if word == kw::READS { DataAccess::ReadsSqlData } else { DataAccess::ModifiesSqlData }
            }
        })
    }

    fn library_use(&mut self) -> Read<LibraryUse<'a>> {
        let name = self.object_name()?;
        let named = self.eat(kw::AS) || self.at_name();
        let alias = if named { Some(self.ident()?) } else { None };
        Ok(LibraryUse { name, alias })
    }
}
