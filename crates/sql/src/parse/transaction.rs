//! What begins, ends and guards transactions.

use super::{Expected, Parser, Read};
use crate::ast::{
    Backup, Completion, Isolation, LockTables, LockedTable, ServerControl, Span, StartTransaction, StatementKind,
    TableLock, Transaction, Xa, XaJoin, XaSuspend, Xid,
};
use crate::keyword::Keyword;
use crate::kw;
use crate::lexer::TokenKind;
use crate::mode::Dialect;

/// What XA does.
const XA_VERBS: &[Keyword] = &[kw::START, kw::BEGIN, kw::END, kw::PREPARE, kw::COMMIT, kw::ROLLBACK, kw::RECOVER];

/// What SET TRANSACTION says.
#[derive(Default)]
pub(super) struct Characteristics {
    pub(super) isolation: Option<Isolation>,
    /// READ ONLY is true, READ WRITE false.
    pub(super) read_only: Option<bool>,
}

impl<'a> Parser<'a> {
    /// BEGIN.
    pub(super) fn begin(&mut self) -> Read<StatementKind<'a>> {
        if self.next_is(kw::NOT) && self.mode.dialect != Dialect::MySql {
            return self.compound_statement();
        }
        self.advance();
        self.eat(kw::WORK);
        Ok(StatementKind::Transaction(self.alloc(Transaction::Begin)))
    }

    /// START.
    pub(super) fn start_something(&mut self) -> Read<StatementKind<'a>> {
        if !self.next_is(kw::TRANSACTION) {
            return self.start_or_stop_replication();
        }
        self.advance();
        self.advance();
        let mut start = StartTransaction::default();
        if self.at_any(&[kw::WITH, kw::READ]) {
            loop {
                if self.eat(kw::WITH) {
                    self.expect_all(&[kw::CONSISTENT, kw::SNAPSHOT])?;
                    start.consistent_snapshot = true;
                } else {
                    start.read_only = Some(self.access_mode()?);
                }
                if !self.eat_punct(b',') {
                    break;
                }
            }
        }
        Ok(StatementKind::Transaction(self.alloc(Transaction::Start(start))))
    }

    /// `ISOLATION LEVEL …`, `READ ONLY`, `READ WRITE`: one, or one of each.
    pub(super) fn transaction_characteristics(&mut self) -> Read<Characteristics> {
        let mut found = Characteristics::default();
        loop {
            if found.isolation.is_none() && self.eat(kw::ISOLATION) {
                found.isolation = Some(self.isolation_level()?);
            } else if found.read_only.is_none() {
                found.read_only = Some(self.access_mode()?);
            } else {
                return self.stop(Expected::Word(kw::ISOLATION));
            }
            if !self.eat_punct(b',') {
                return Ok(found);
            }
        }
    }

    /// After ISOLATION.
    fn isolation_level(&mut self) -> Read<Isolation> {
        self.expect(kw::LEVEL)?;
        match self.expect_any(&[kw::READ, kw::REPEATABLE, kw::SERIALIZABLE])? {
            kw::SERIALIZABLE => Ok(Isolation::Serializable),
            kw::REPEATABLE => self.expect(kw::READ).map(|()| Isolation::RepeatableRead),
            _ => match self.expect_any(&[kw::COMMITTED, kw::UNCOMMITTED])? {
                kw::COMMITTED => Ok(Isolation::ReadCommitted),
                _ => Ok(Isolation::ReadUncommitted),
            },
        }
    }

    /// Whether it is READ ONLY, rather than READ WRITE.
    fn access_mode(&mut self) -> Read<bool> {
        self.expect(kw::READ)?;
        Ok(self.expect_any(&[kw::ONLY, kw::WRITE])? == kw::ONLY)
    }

    /// COMMIT.
    pub(super) fn commit(&mut self) -> Read<StatementKind<'a>> {
        self.advance();
        self.eat(kw::WORK);
        let completion = self.completion()?;
        Ok(StatementKind::Transaction(self.alloc(Transaction::Commit(completion))))
    }

    /// ROLLBACK.
    pub(super) fn rollback(&mut self) -> Read<StatementKind<'a>> {
        self.advance();
        self.eat(kw::WORK);
        let rollback = if self.eat(kw::TO) {
            // SAVEPOINT may be the savepoint's name.
            if !self.cursor.next_is_end() {
                self.eat(kw::SAVEPOINT);
            }
            Transaction::RollbackTo(self.ident()?)
        } else {
            Transaction::Rollback(self.completion()?)
        };
        Ok(StatementKind::Transaction(self.alloc(rollback)))
    }

    /// `[AND [NO] CHAIN] [[NO] RELEASE]`.
    fn completion(&mut self) -> Read<Completion> {
        let mut completion = Completion::default();
        if self.eat(kw::AND) {
            completion.chain = Some(!self.eat(kw::NO));
            self.expect(kw::CHAIN)?;
        }
        if self.at_any(&[kw::NO, kw::RELEASE]) {
            let release = !self.eat(kw::NO);
            if release && completion.chain == Some(true) {
                return self.stop(Expected::What("the end of the statement"));
            }
            completion.release = Some(release);
            self.expect(kw::RELEASE)?;
        }
        Ok(completion)
    }

    /// SAVEPOINT.
    pub(super) fn savepoint(&mut self) -> Read<StatementKind<'a>> {
        self.advance();
        let name = self.ident()?;
        Ok(StatementKind::Transaction(self.alloc(Transaction::Savepoint(name))))
    }

    /// RELEASE.
    pub(super) fn release(&mut self) -> Read<StatementKind<'a>> {
        self.expect_all(&[kw::RELEASE, kw::SAVEPOINT])?;
        let name = self.ident()?;
        Ok(StatementKind::Transaction(self.alloc(Transaction::ReleaseSavepoint(name))))
    }

    // --- XA ---

    /// XA.
    pub(super) fn xa(&mut self) -> Read<StatementKind<'a>> {
        self.advance();
        let xa = match self.expect_any(XA_VERBS)? {
            kw::END => Xa::End(self.xid()?, self.xa_suspend()?),
            kw::PREPARE => Xa::Prepare(self.xid()?),
            kw::COMMIT => Xa::Commit(self.xid()?, self.one_phase()?),
            kw::ROLLBACK => Xa::Rollback(self.xid()?),
            kw::RECOVER => Xa::Recover(self.xa_format()?),
            _ => Xa::Start(self.xid()?, self.xa_join()),
        };
        Ok(StatementKind::Xa(self.alloc(xa)))
    }

    /// `gtrid [, bqual [, format]]`.
    fn xid(&mut self) -> Read<Xid> {
        let start = self.start();
        let gtrid = self.xid_part()?;
        let bqual = if self.eat_punct(b',') { Some(self.xid_part()?) } else { None };
        let mut format = None;
        if bqual.is_some() && self.eat_punct(b',') {
            let (TokenKind::Integer | TokenKind::Hex) = self.kind() else {
                return self.stop(Expected::What("a whole number"));
            };
            format = Some(Self::span_of(self.take()));
        }
        Ok(Xid { span: self.span_from(start), gtrid, bqual, format })
    }

    fn xid_part(&mut self) -> Read<Span> {
        match self.kind() {
            TokenKind::String | TokenKind::Hex | TokenKind::Bit => Ok(Self::span_of(self.take())),
            _ => self.stop(Expected::What("a string")),
        }
    }

    fn xa_join(&mut self) -> XaJoin {
        match self.eat_any(&[kw::JOIN, kw::RESUME]) {
            Some(kw::JOIN) => XaJoin::Join,
            Some(_) => XaJoin::Resume,
            None => XaJoin::New,
        }
    }

    fn xa_suspend(&mut self) -> Read<XaSuspend> {
        if !self.eat(kw::SUSPEND) {
            return Ok(XaSuspend::No);
        }
        if !self.eat(kw::FOR) {
            return Ok(XaSuspend::Suspend);
        }
        self.expect(kw::MIGRATE).map(|()| XaSuspend::ForMigrate)
    }

    fn one_phase(&mut self) -> Read<bool> {
        let one = self.eat(kw::ONE);
        if one {
            self.expect(kw::PHASE)?;
        }
        Ok(one)
    }

    /// `CONVERT XID`, `FORMAT = 'SQL'`.
    fn xa_format(&mut self) -> Read<Option<Span>> {
        let start = self.start();
        if self.eat(kw::CONVERT) {
            self.expect(kw::XID)?;
        } else if self.eat(kw::FORMAT) {
            self.expect_punct(b'=')?;
            self.ident_or_string()?;
        } else {
            return Ok(None);
        }
        Ok(Some(self.span_from(start)))
    }

    // --- Locks ---

    /// LOCK.
    pub(super) fn lock(&mut self) -> Read<StatementKind<'a>> {
        self.advance();
        if self.eat(kw::INSTANCE) {
            self.expect_all(&[kw::FOR, kw::BACKUP])?;
            return Ok(StatementKind::Server(self.alloc(ServerControl::LockInstance)));
        }
        self.expect_any(&[kw::TABLES, kw::TABLE])?;
        let tables = self.list(Self::locked_table)?;
        let wait = self.wait()?;
        Ok(StatementKind::LockTables(self.alloc(LockTables { tables, wait })))
    }

    fn locked_table(&mut self) -> Read<LockedTable<'a>> {
        let start = self.start();
        let table = self.object_name()?;
        let alias = if self.eat(kw::AS) || self.at_name() { Some(self.ident()?) } else { None };
        let lock = match self.expect_any(&[kw::READ, kw::WRITE, kw::LOW_PRIORITY])? {
            kw::READ if self.eat(kw::LOCAL) => TableLock::ReadLocal,
            kw::READ => TableLock::Read,
            kw::WRITE if self.eat(kw::CONCURRENT) => TableLock::WriteConcurrent,
            kw::WRITE => TableLock::Write,
            _ => self.expect(kw::WRITE).map(|()| TableLock::LowPriorityWrite)?,
        };
        Ok(LockedTable { span: self.span_from(start), table, alias, lock })
    }

    /// `WAIT n`, `NOWAIT`, if one of them is there.
    pub(super) fn wait(&mut self) -> Read<Option<Span>> {
        let start = self.start();
        if self.eat(kw::WAIT) {
            self.expr()?;
        } else if !self.eat(kw::NOWAIT) {
            return Ok(None);
        }
        Ok(Some(self.span_from(start)))
    }

    /// UNLOCK.
    pub(super) fn unlock(&mut self) -> Read<StatementKind<'a>> {
        self.advance();
        if self.eat(kw::INSTANCE) {
            return Ok(StatementKind::Server(self.alloc(ServerControl::UnlockInstance)));
        }
        self.expect_any(&[kw::TABLES, kw::TABLE])?;
        Ok(StatementKind::UnlockTables)
    }

    /// BACKUP.
    pub(super) fn backup(&mut self) -> Read<StatementKind<'a>> {
        self.advance();
        let backup = match self.expect_any(&[kw::STAGE, kw::LOCK, kw::UNLOCK])? {
            kw::STAGE => Backup::Stage(self.ident()?),
            kw::LOCK => Backup::Lock(self.object_name()?),
            _ => Backup::Unlock,
        };
        Ok(StatementKind::Backup(self.alloc(backup)))
    }
}

#[cfg(test)]
mod tests;
