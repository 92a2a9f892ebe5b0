//! What begins, ends and guards transactions.

use super::{Ident, ObjectName, Span};

/// A statement about the session's transaction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Transaction<'a> {
    /// `BEGIN`, `BEGIN WORK`.
    Begin,
    /// `START TRANSACTION …`.
    Start(StartTransaction),
    /// `COMMIT …`.
    Commit(Completion),
    /// `ROLLBACK …`.
    Rollback(Completion),
    /// `SAVEPOINT name`.
    Savepoint(Ident<'a>),
    /// `ROLLBACK TO [SAVEPOINT] name`.
    RollbackTo(Ident<'a>),
    /// `RELEASE SAVEPOINT name`.
    ReleaseSavepoint(Ident<'a>),
}

/// What START TRANSACTION says of the transaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StartTransaction {
    /// WITH CONSISTENT SNAPSHOT.
    pub consistent_snapshot: bool,
    /// READ ONLY is true, READ WRITE false.
    pub read_only: Option<bool>,
}

/// What follows COMMIT and ROLLBACK.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Completion {
    /// AND CHAIN is true, AND NO CHAIN false.
    pub chain: Option<bool>,
    /// RELEASE is true, NO RELEASE false.
    pub release: Option<bool>,
}

/// `XA …`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Xa {
    /// START or BEGIN.
    Start(Xid, XaJoin),
    /// END, with SUSPEND \[FOR MIGRATE\] or without.
    End(Xid, XaSuspend),
    /// PREPARE.
    Prepare(Xid),
    /// COMMIT; with ONE PHASE.
    Commit(Xid, bool),
    /// ROLLBACK.
    Rollback(Xid),
    /// RECOVER; its format: `CONVERT XID`, or `FORMAT = 'SQL'`.
    Recover(Option<Span>),
}

/// The name of a distributed transaction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Xid {
    /// All of it.
    pub span: Span,
    /// A string, or a hexadecimal or bit literal.
    pub gtrid: Span,
    /// The same.
    pub bqual: Option<Span>,
    /// A number.
    pub format: Option<Span>,
}

/// How XA START takes up a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum XaJoin {
    /// A new one.
    New,
    /// JOIN.
    Join,
    /// RESUME.
    Resume,
}

/// What XA END leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum XaSuspend {
    /// An ended one.
    No,
    /// SUSPEND.
    Suspend,
    /// SUSPEND FOR MIGRATE.
    ForMigrate,
}

/// `LOCK TABLES …`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LockTables<'a> {
    /// What is locked, in order.
    pub tables: &'a [LockedTable<'a>],
    /// `WAIT n`, NOWAIT (MariaDB).
    pub wait: Option<Span>,
}

/// A table in LOCK TABLES.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LockedTable<'a> {
    /// All of it.
    pub span: Span,
    /// The table.
    pub table: ObjectName<'a>,
    /// Another name for it.
    pub alias: Option<Ident<'a>>,
    /// Of what kind.
    pub lock: TableLock,
}

/// A kind of lock on a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableLock {
    /// READ.
    Read,
    /// READ LOCAL.
    ReadLocal,
    /// WRITE.
    Write,
    /// `LOW_PRIORITY WRITE`.
    LowPriorityWrite,
    /// WRITE CONCURRENT (MariaDB).
    WriteConcurrent,
}

/// `BACKUP …` (MariaDB).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Backup<'a> {
    /// STAGE with its name.
    Stage(Ident<'a>),
    /// LOCK with its table.
    Lock(ObjectName<'a>),
    /// UNLOCK.
    Unlock,
}
