//! Options of tables, partitions, databases and what stores them.

use super::super::{Expected, Parser, Read};
use crate::ast::{Ident, NamedOption, Span, TableOption, TableOptionKind};
use crate::keyword::Keyword;
use crate::kw;

/// Options of a table that have a name of one word, and a value with or without `=`.
const NAMED: &[Keyword] = &[
    kw::AUTOEXTEND_SIZE,
    kw::AUTO_REFRESH,
    kw::AUTO_REFRESH_SOURCE,
    kw::AVG_ROW_LENGTH,
    kw::CHECKSUM,
    kw::COMPRESSION,
    kw::CONNECTION,
    kw::DELAY_KEY_WRITE,
    kw::ENCRYPTION,
    kw::ENGINE_ATTRIBUTE,
    kw::FILE_FORMAT,
    kw::FILES,
    kw::INSERT_METHOD,
    kw::KEY_BLOCK_SIZE,
    kw::MAX_ROWS,
    kw::MIN_ROWS,
    kw::NODEGROUP,
    kw::PACK_KEYS,
    kw::PAGE_CHECKSUM,
    kw::PASSWORD,
    kw::ROW_FORMAT,
    kw::SECONDARY_ENGINE,
    kw::SECONDARY_ENGINE_ATTRIBUTE,
    kw::STATS_AUTO_RECALC,
    kw::STATS_PERSISTENT,
    kw::STATS_SAMPLE_PAGES,
    kw::STORAGE,
    kw::TABLESPACE,
    kw::TABLE_CHECKSUM,
];

impl<'a> Parser<'a> {
    /// Whether an option of a table begins here.
    pub(super) fn at_table_option(&self) -> bool {
        match self.word() {
            kw::AUTO_INCREMENT
            | kw::CHAR
            | kw::CHARACTER
            | kw::CHARSET
            | kw::COLLATE
            | kw::COMMENT
            | kw::ENGINE
            | kw::UNION => true,
            kw::DEFAULT => [kw::CHARSET, kw::CHAR, kw::CHARACTER, kw::COLLATE].iter().any(|word| self.next_is(*word)),
            kw::WITH => self.next_is(kw::SYSTEM),
            kw::START => self.next_is(kw::TRANSACTION),
            kw::DATA | kw::INDEX => self.next_is(kw::DIRECTORY),
            word if NAMED.contains(&word) => true,
            _ => self.spelled("transactional") || self.at_engines_option() || self.at_sequence(),
        }
    }

    /// At MariaDB's `SEQUENCE 1`.
    fn at_sequence(&self) -> bool {
        self.at(kw::SEQUENCE) && self.cursor.next().token.kind == crate::lexer::TokenKind::Integer
    }

    /// An option of a table or of a partition, if one is here; a comma after it is left.
    pub(super) fn table_option(&mut self) -> Read<Option<TableOption<'a>>> {
        if !self.at_table_option() {
            return Ok(None);
        }
        let start = self.start();
        let word = self.word();
        let kind = match word {
            kw::WITH => {
                self.expect_all(&[kw::WITH, kw::SYSTEM])?;
                self.expect_spelled("versioning")?;
                TableOptionKind::SystemVersioning
            }
            kw::START => {
                self.expect_all(&[kw::START, kw::TRANSACTION])?;
                TableOptionKind::StartTransaction
            }
            kw::DEFAULT | kw::CHARSET | kw::CHAR | kw::CHARACTER | kw::COLLATE => self.charset_option()?,
            kw::STORAGE if self.next_is(kw::ENGINE) => {
                self.advance();
                self.option_with_value(kw::ENGINE)?
            }
            kw::DATA | kw::INDEX => {
                self.advance();
                self.option_with_value(Keyword::NONE)?
            }
            _ => self.option_with_value(word)?,
        };
        let kind = match kind {
            TableOptionKind::Other(name, value) => TableOptionKind::Other(Span { start, end: name.end }, value),
            kind => kind,
        };
        Ok(Some(TableOption { span: self.span_from(start), kind }))
    }

    /// `[DEFAULT] {CHARSET | CHARACTER SET | COLLATE} [=] {name | DEFAULT}`.
    fn charset_option(&mut self) -> Read<TableOptionKind<'a>> {
        self.eat(kw::DEFAULT);
        let collate = self.eat(kw::COLLATE);
        if !collate {
            self.charset_words()?;
        }
        self.optional_equal();
        let name = self.charset_unless_default()?;
        Ok(if collate { TableOptionKind::Collate(name) } else { TableOptionKind::Charset(name) })
    }

    /// `CHARSET`, `CHARACTER SET`, `CHAR SET`.
    pub(super) fn charset_words(&mut self) -> Read<()> {
        if self.eat(kw::CHARSET) {
            return Ok(());
        }
        self.expect_any(&[kw::CHARACTER, kw::CHAR])?;
        self.expect(kw::SET)
    }

    /// A character set or a collation; DEFAULT: none.
    pub(in crate::parse) fn charset_unless_default(&mut self) -> Read<Option<Ident<'a>>> {
        if self.eat(kw::DEFAULT) { Ok(None) } else { Ok(Some(self.charset_name()?)) }
    }

    /// At an option's name, or at the last word of it.
    fn option_with_value(&mut self, word: Keyword) -> Read<TableOptionKind<'a>> {
        let name = Self::span_of(self.take());
        self.optional_equal();
        Ok(match word {
            kw::ENGINE => TableOptionKind::Engine(self.engine_name()?),
            kw::AUTO_INCREMENT => TableOptionKind::AutoIncrement(self.any_number()?),
            kw::COMMENT => TableOptionKind::Comment(self.expect_string()?),
            kw::SEQUENCE => TableOptionKind::Sequence(self.option_value()?),
            kw::UNION => TableOptionKind::Union(self.parenthesised_or_empty(Self::object_name)?),
            _ if self.at_punct(b'(') => TableOptionKind::Other(name, Some(self.skip_parentheses()?)),
            _ => TableOptionKind::Other(name, Some(self.option_value()?)),
        })
    }

    fn engine_name(&mut self) -> Read<Ident<'a>> {
        self.ident_or_string()
    }

    /// Options of a database: `[DEFAULT] CHARACTER SET [=] x`, `ENCRYPTION [=] 'Y'` and the like, with spaces between.
    pub(super) fn database_options(&mut self) -> Read<&'a [NamedOption]> {
        self.several(Self::database_option)
    }

    fn database_option(&mut self) -> Read<Option<NamedOption>> {
        let start = self.start();
        self.eat(kw::DEFAULT);
        match self.word() {
            kw::CHARSET | kw::CHARACTER | kw::CHAR => self.charset_words()?,
            kw::READ => self.expect_all(&[kw::READ, kw::ONLY])?,
            kw::COLLATE | kw::ENCRYPTION | kw::COMMENT => self.advance(),
            kw::UPGRADE => self.expect_all(&[kw::UPGRADE, kw::DATA, kw::DIRECTORY])?,
            _ if self.start() == start => return Ok(None),
            _ => return self.stop(Expected::Words(&[kw::CHARACTER, kw::COLLATE, kw::ENCRYPTION])),
        }
        let name = self.span_from(start);
        self.optional_equal();
        let value = Some(self.option_value()?);
        Ok(Some(NamedOption { span: self.span_from(start), name, value }))
    }
}
