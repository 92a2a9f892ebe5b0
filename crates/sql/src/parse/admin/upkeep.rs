//! ANALYZE, CHECK, CHECKSUM, OPTIMIZE, REPAIR of tables and views; CACHE INDEX, LOAD INDEX INTO CACHE.

use crate::ast::{
    Histogram, Ident, KeyCache, KeyCacheTable, Persistent, Span, StatementKind, TableUpkeep, UpkeepTable, UpkeepVerb,
};
use crate::keyword::Keyword;
use crate::kw;
use crate::parse::{Expected, Parser, Read};

/// Words that may follow the tables.
const OPTIONS: &[Keyword] =
    &[kw::QUICK, kw::FAST, kw::MEDIUM, kw::EXTENDED, kw::CHANGED, kw::USE_FRM, kw::FORCE, kw::NOWAIT];

impl<'a> Parser<'a> {
    /// ANALYZE: of tables, or of a statement (MariaDB).
    pub(in crate::parse) fn analyze(&mut self) -> Read<StatementKind<'a>> {
        match self.cursor.next().word {
            kw::TABLE | kw::TABLES | kw::LOCAL | kw::NO_WRITE_TO_BINLOG => self.table_upkeep(UpkeepVerb::Analyze),
            _ => self.analyze_statement(),
        }
    }

    /// At the verb.
    pub(in crate::parse) fn table_upkeep(&mut self, verb: UpkeepVerb) -> Read<StatementKind<'a>> {
        self.advance();
        let local = self.eat_any(&[kw::LOCAL, kw::NO_WRITE_TO_BINLOG]).is_some();
        let view = self.expect_any(&[kw::TABLE, kw::TABLES, kw::VIEW])? == kw::VIEW;
        let tables = self.list(Self::upkeep_table)?;
        let histogram = self.histogram()?;
        let options = self.upkeep_options()?;
        let upkeep = TableUpkeep { verb, local, view, tables, options, histogram };
        Ok(StatementKind::TableUpkeep(self.alloc(upkeep)))
    }

    fn upkeep_table(&mut self) -> Read<UpkeepTable<'a>> {
        let start = self.start();
        let name = self.object_name()?;
        let persistent = if self.at_persistent() { Some(self.persistent()?) } else { None };
        Ok(UpkeepTable { span: self.span_from(start), name, persistent })
    }

    /// Whether the current word is PERSISTENT, which is no keyword elsewhere.
    fn at_persistent(&self) -> bool {
        self.next_is(kw::FOR) && self.cursor.text(self.cursor.current()).eq_ignore_ascii_case(b"persistent")
    }

    /// `PERSISTENT FOR ALL`, `PERSISTENT FOR COLUMNS columns INDEXES indexes`.
    fn persistent(&mut self) -> Read<Persistent<'a>> {
        self.advance();
        self.expect(kw::FOR)?;
        if self.eat(kw::ALL) {
            return Ok(Persistent { columns: None, indexes: None });
        }
        self.expect(kw::COLUMNS)?;
        let columns = self.all_or_names()?;
        self.expect(kw::INDEXES)?;
        Ok(Persistent { columns, indexes: self.all_or_names()? })
    }

    fn all_or_names(&mut self) -> Read<Option<&'a [Ident<'a>]>> {
        if self.eat(kw::ALL) { Ok(None) } else { self.parenthesised_or_empty(Self::index_name).map(Some) }
    }

    /// A name, or PRIMARY.
    fn index_name(&mut self) -> Read<Ident<'a>> {
        if self.at(kw::PRIMARY) { Ok(self.take_ident()) } else { self.ident() }
    }

    /// `UPDATE HISTOGRAM ON columns …`, `DROP HISTOGRAM ON columns`, if one of them is there.
    fn histogram(&mut self) -> Read<Option<&'a Histogram<'a>>> {
        let Some(verb) = self.eat_any(&[kw::UPDATE, kw::DROP]) else { return Ok(None) };
        self.expect_all(&[kw::HISTOGRAM, kw::ON])?;
        let columns = self.list(Self::ident)?;
        let options = if verb == kw::DROP { None } else { self.histogram_options()? };
        Ok(Some(self.alloc(Histogram { drop: verb == kw::DROP, columns, options })))
    }

    /// `[WITH n BUCKETS] [AUTO | MANUAL UPDATE]`, `USING DATA '…'`.
    fn histogram_options(&mut self) -> Read<Option<Span>> {
        let start = self.start();
        if self.at_end() {
            return Ok(None);
        }
        if self.eat(kw::USING) {
            self.expect(kw::DATA)?;
            self.expect_string()?;
        }
        if self.eat(kw::WITH) {
            self.expect_integer()?;
            self.expect(kw::BUCKETS)?;
        }
        if self.eat_any(&[kw::AUTO, kw::MANUAL]).is_some() {
            self.expect(kw::UPDATE)?;
        }
        Ok(Some(self.span_from(start)))
    }

    fn upkeep_options(&mut self) -> Read<Option<Span>> {
        let start = self.start();
        while !self.at_end() {
            match self.word() {
                kw::FOR => self.expect_all(&[kw::FOR, kw::UPGRADE])?,
                // REPAIR VIEW … FROM MYSQL (MariaDB).
                kw::FROM => {
                    self.advance();
                    self.ident()?;
                }
                kw::WAIT => self.wait().map(|_| ())?,
                word if OPTIONS.contains(&word) => self.advance(),
                _ => return self.stop(Expected::What("the end of the statement")),
            }
        }
        Ok((self.start() > start).then(|| self.span_from(start)))
    }

    /// CACHE.
    pub(in crate::parse) fn cache_index(&mut self) -> Read<StatementKind<'a>> {
        self.expect_all(&[kw::CACHE, kw::INDEX])?;
        let tables = self.list(Self::key_cache_table)?;
        self.expect(kw::IN)?;
        let cache = if self.at(kw::DEFAULT) { self.take_ident() } else { self.ident()? };
        Ok(StatementKind::KeyCache(self.alloc(KeyCache { tables, cache: Some(cache) })))
    }

    /// LOAD, before INDEX.
    pub(in crate::parse) fn load_index(&mut self) -> Read<StatementKind<'a>> {
        self.expect_all(&[kw::LOAD, kw::INDEX, kw::INTO, kw::CACHE])?;
        let tables = self.list(Self::key_cache_table)?;
        Ok(StatementKind::KeyCache(self.alloc(KeyCache { tables, cache: None })))
    }

    fn key_cache_table(&mut self) -> Read<KeyCacheTable<'a>> {
        let start = self.start();
        let name = self.object_name()?;
        let mut partitions: &[_] = &[];
        if self.eat(kw::PARTITION) {
            self.expect_punct(b'(')?;
            if !self.eat(kw::ALL) {
                partitions = self.list(Self::ident)?;
            }
            self.expect_punct(b')')?;
        }
        let mut indexes: &[_] = &[];
        if self.eat_any(&[kw::INDEX, kw::KEY]).is_some() {
            indexes = self.parenthesised_or_empty(Self::index_name)?;
        }
        let ignore_leaves = self.eat(kw::IGNORE);
        if ignore_leaves {
            self.expect(kw::LEAVES)?;
        }
        Ok(KeyCacheTable { span: self.span_from(start), name, partitions, indexes, ignore_leaves })
    }
}
