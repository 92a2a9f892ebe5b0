//! What ALTER TABLE does to partitions.

use super::super::{Parser, Read};
use crate::ast::{ExchangePartition, Ident, PartitionOperation, PartitionSet};
use crate::keyword::Keyword;
use crate::kw;

impl<'a> Parser<'a> {
    /// `ADD PARTITION [IF NOT EXISTS] [LOCAL] {(definitions) | PARTITIONS n}`.
    pub(super) fn add_partition(&mut self) -> Read<PartitionOperation<'a>> {
        self.expect_all(&[kw::ADD, kw::PARTITION])?;
        self.if_not_exists()?;
        self.no_write_to_binlog();
        if self.eat(kw::PARTITIONS) {
            return Ok(PartitionOperation::AddCount(self.any_number()?));
        }
        Ok(PartitionOperation::Add(self.partition_definitions()?))
    }

    /// `DROP PARTITION [IF EXISTS] names`.
    pub(super) fn drop_partition(&mut self) -> Read<PartitionOperation<'a>> {
        self.expect_all(&[kw::DROP, kw::PARTITION])?;
        self.if_exists()?;
        Ok(PartitionOperation::Drop(self.list(Self::ident)?))
    }

    /// `CONVERT PARTITION p TO TABLE t`, `CONVERT TABLE t TO PARTITION p …`.
    pub(super) fn convert_partition(&mut self) -> Read<PartitionOperation<'a>> {
        self.expect(kw::CONVERT)?;
        if self.eat(kw::TABLE) {
            let table = self.object_name()?;
            self.expect(kw::TO)?;
            let definition = self.partition_definition()?;
            self.validation();
            return Ok(PartitionOperation::FromTable(table, self.alloc(definition)));
        }
        self.expect(kw::PARTITION)?;
        let partition = self.ident()?;
        self.expect_all(&[kw::TO, kw::TABLE])?;
        Ok(PartitionOperation::ToTable(partition, self.object_name()?))
    }

    /// Any other operation, if one begins here.
    pub(super) fn partition_operation(&mut self) -> Read<Option<PartitionOperation<'a>>> {
        let word = self.word();
        if matches!(word, kw::SECONDARY_LOAD | kw::SECONDARY_UNLOAD) && self.next_is(kw::PARTITION) {
            self.advance();
            self.advance();
            let names = self.names_in_parentheses()?;
            return Ok(Some(PartitionOperation::SecondaryLoad(word == kw::SECONDARY_LOAD, names)));
        }
        if !self.next_is(kw::PARTITION) {
            return Ok(None);
        }
        let on_set = match word {
            kw::COALESCE => return self.coalesce_partition().map(Some),
            kw::REORGANIZE => return self.reorganize_partition().map(Some),
            kw::EXCHANGE => return self.exchange_partition().map(Some),
            kw::TRUNCATE => PartitionOperation::Truncate,
            kw::DISCARD => PartitionOperation::DiscardTablespace,
            kw::IMPORT => PartitionOperation::ImportTablespace,
            kw::REBUILD => PartitionOperation::Rebuild,
            kw::OPTIMIZE => PartitionOperation::Optimize,
            kw::ANALYZE => PartitionOperation::Analyze,
            kw::CHECK => PartitionOperation::Check,
            kw::REPAIR => PartitionOperation::Repair,
            _ => return Ok(None),
        };
        let set = self.partition_set()?;
        self.after_partition_set(word)?;
        Ok(Some(on_set(set)))
    }

    fn partition_set(&mut self) -> Read<PartitionSet<'a>> {
        self.advance();
        self.expect(kw::PARTITION)?;
        self.no_write_to_binlog();
        if self.eat(kw::ALL) {
            return Ok(PartitionSet::All);
        }
        Ok(PartitionSet::Named(self.list(Self::ident)?))
    }

    fn after_partition_set(&mut self, verb: Keyword) -> Read<()> {
        match verb {
            kw::DISCARD | kw::IMPORT => self.expect(kw::TABLESPACE)?,
            kw::CHECK => while self.eat_all(&[kw::FOR, kw::UPGRADE]) || self.check_option() {},
            kw::REPAIR => while self.eat_any(&[kw::QUICK, kw::EXTENDED, kw::USE_FRM, kw::FORCE]).is_some() {},
            kw::OPTIMIZE | kw::REBUILD => {
                self.no_write_to_binlog();
            }
            kw::ANALYZE if self.eat_spelled("persistent") => self.expect_all(&[kw::FOR, kw::ALL])?,
            _ => {}
        }
        Ok(())
    }

    fn check_option(&mut self) -> bool {
        self.eat_any(&[kw::QUICK, kw::FAST, kw::MEDIUM, kw::EXTENDED, kw::CHANGED]).is_some()
    }

    fn coalesce_partition(&mut self) -> Read<PartitionOperation<'a>> {
        self.expect_all(&[kw::COALESCE, kw::PARTITION])?;
        self.no_write_to_binlog();
        Ok(PartitionOperation::Coalesce(self.any_number()?))
    }

    fn reorganize_partition(&mut self) -> Read<PartitionOperation<'a>> {
        self.expect_all(&[kw::REORGANIZE, kw::PARTITION])?;
        self.no_write_to_binlog();
        if !self.at_name() {
            return Ok(PartitionOperation::Reorganize(&[], &[]));
        }
        let names = self.list(Self::ident)?;
        self.expect(kw::INTO)?;
        Ok(PartitionOperation::Reorganize(names, self.partition_definitions()?))
    }

    fn exchange_partition(&mut self) -> Read<PartitionOperation<'a>> {
        self.expect_all(&[kw::EXCHANGE, kw::PARTITION])?;
        let partition: Ident<'a> = self.ident()?;
        self.expect_all(&[kw::WITH, kw::TABLE])?;
        let table = self.object_name()?;
        let validation = self.validation();
        Ok(PartitionOperation::Exchange(self.alloc(ExchangePartition { partition, table, validation })))
    }

    /// WITH VALIDATION (true), WITHOUT VALIDATION.
    fn validation(&mut self) -> Option<bool> {
        if self.eat_all(&[kw::WITH, kw::VALIDATION]) {
            return Some(true);
        }
        self.eat_all(&[kw::WITHOUT, kw::VALIDATION]).then_some(false)
    }

    /// `LOCAL`, `NO_WRITE_TO_BINLOG`.
    fn no_write_to_binlog(&mut self) -> bool {
        self.eat_any(&[kw::NO_WRITE_TO_BINLOG, kw::LOCAL]).is_some()
    }
}
