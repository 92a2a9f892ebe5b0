//! FLUSH and RESET.

use crate::ast::{AdminOption, Flush, FlushLock, FlushTables, FlushWhat, Reset, StatementKind};
use crate::kw;
use crate::parse::{Parser, Read};

impl<'a> Parser<'a> {
    /// FLUSH.
    pub(in crate::parse) fn flush(&mut self) -> Read<StatementKind<'a>> {
        self.advance();
        let local = self.eat_any(&[kw::LOCAL, kw::NO_WRITE_TO_BINLOG]).is_some();
        let what = if self.eat_any(&[kw::TABLES, kw::TABLE]).is_some() {
            FlushWhat::Tables(self.flush_tables()?)
        } else {
            FlushWhat::Options(self.list(Self::flush_option)?)
        };
        Ok(StatementKind::Flush(self.alloc(Flush { local, what })))
    }

    /// After TABLES.
    fn flush_tables(&mut self) -> Read<FlushTables<'a>> {
        let none = self.at_end() || self.at_any(&[kw::WITH, kw::FOR]);
        let tables = if none { &[] } else { self.list(Self::object_name)? };
        let lock = if self.eat(kw::WITH) {
            self.expect_all(&[kw::READ, kw::LOCK])?;
            match self.eat(kw::AND) {
                true => self.expect_all(&[kw::DISABLE, kw::CHECKPOINT]).map(|()| FlushLock::ReadNoCheckpoint)?,
                false => FlushLock::Read,
            }
        } else if self.eat(kw::FOR) {
            self.expect(kw::EXPORT).map(|()| FlushLock::Export)?
        } else {
            FlushLock::None
        };
        Ok(FlushTables { tables, lock })
    }

    /// `STATUS`, `BINARY LOGS`, `RELAY LOGS FOR CHANNEL 'c'`, ….
    fn flush_option(&mut self) -> Read<AdminOption<'a>> {
        let start = self.start();
        let of_replication = self.at_any(&[kw::RELAY, kw::SLAVE, kw::REPLICA]);
        match self.word() {
            kw::BINARY | kw::ENGINE | kw::ERROR | kw::GENERAL | kw::RELAY | kw::SLOW => {
                self.advance();
                self.expect(kw::LOGS)?;
            }
            kw::QUERY => {
                self.advance();
                self.expect(kw::CACHE)?;
            }
            // MySQL and MariaDB reserve one of these words each.
            kw::SSL | kw::OPTIMIZER_COSTS => self.advance(),
            _ => self.ident().map(|_| ())?,
        }
        let name = self.span_from(start);
        let connection = if of_replication { self.maybe_string() } else { None };
        let channel = self.for_channel()?.or(connection);
        let mut values: &[_] = &[];
        if self.eat(kw::DELETE_DOMAIN_ID) {
            self.expect_punct(b'=')?;
            values = self.parenthesised_or_empty(Self::expr)?;
        }
        Ok(AdminOption { span: self.span_from(start), name, channel, values, all: false })
    }

    /// RESET.
    pub(in crate::parse) fn reset(&mut self) -> Read<StatementKind<'a>> {
        self.advance();
        let reset = if self.eat(kw::PERSIST) {
            self.if_exists()?;
            Reset::Persist(if self.at_end() { None } else { Some(self.variable_name(None)?) })
        } else {
            Reset::Options(self.list(Self::reset_option)?)
        };
        Ok(StatementKind::Reset(self.alloc(reset)))
    }

    /// `MASTER [TO n]`, `REPLICA ['c'] [ALL] [FOR CHANNEL 'c']`, `QUERY CACHE`, `BINARY LOGS AND GTIDS [TO n]`.
    fn reset_option(&mut self) -> Read<AdminOption<'a>> {
        let start = self.start();
        let word = self.expect_any(&[kw::MASTER, kw::SLAVE, kw::REPLICA, kw::QUERY, kw::BINARY])?;
        match word {
            kw::QUERY => self.expect(kw::CACHE)?,
            kw::BINARY => self.expect_all(&[kw::LOGS, kw::AND, kw::GTIDS])?,
            _ => {}
        }
        let name = self.span_from(start);
        let (mut channel, mut all) = (None, false);
        if matches!(word, kw::SLAVE | kw::REPLICA) {
            let connection = self.maybe_string();
            all = self.eat(kw::ALL);
            channel = self.for_channel()?.or(connection);
        }
        let numbered = matches!(word, kw::MASTER | kw::BINARY) && self.eat(kw::TO);
        let values = if numbered { self.exprs()? } else { &[] };
        Ok(AdminOption { span: self.span_from(start), name, channel, values, all })
    }
}
