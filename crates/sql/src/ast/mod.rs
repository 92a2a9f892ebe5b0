//! The tree of a statement: what the parser found, each node with the bytes of the text that it covers.
//!
//! What must hold: a node's span covers all of its children's spans, and parsing the text of the span alone gives the
//! same node. Nodes live in an arena ([`bumpalo::Bump`]) and borrow from it and from the text, so a tree costs no
//! allocation per node and none to drop; every node is `Copy`.
//!
//! Where a clause is a list, its node holds a slice; what may be missing is an `Option` or an empty slice. Operators of
//! equal precedence nest to the left, and such a chain may be as long as the text: code that follows `left` must loop,
//! not recurse ([`walk`](crate::visit::walk) does).

mod account;
mod admin;
mod call;
mod ddl;
mod diagnostics;
mod dml;
mod expr;
mod json_table;
mod prepared;
mod query;
mod routine;
mod set;
mod show;
mod table;
mod transaction;

pub use account::*;
pub use admin::*;
pub use call::*;
pub use ddl::*;
pub use diagnostics::*;
pub use dml::*;
pub use expr::*;
pub use json_table::*;
pub use prepared::*;
pub use query::*;
pub use routine::*;
pub use set::*;
pub use show::*;
pub use table::*;
pub use transaction::*;

/// Bytes of the statement's text, `start..end`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Span {
    /// Offset of the first byte.
    pub start: u32,
    /// Offset after the last byte.
    pub end: u32,
}

impl Span {
    /// From here to the end of `last`.
    pub fn to(self, last: Span) -> Span {
        Span { start: self.start, end: last.end }
    }

    /// As a range of offsets.
    pub fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }

    /// The bytes that it covers.
    pub fn text(self, sql: &[u8]) -> &[u8] {
        &sql[self.range()]
    }
}

/// A name, quoted or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ident<'a> {
    /// The name itself: without quotes, doubled quotes undone. In the client's character set.
    pub name: &'a [u8],
    /// With its quotes.
    pub span: Span,
}

impl Ident<'_> {
    /// Whether it is this name, ASCII letters of both cases being alike.
    pub fn is(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name.as_bytes())
    }
}

/// The name of a table, view, routine, trigger, event or another object of a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObjectName<'a> {
    /// All of it.
    pub span: Span,
    /// The database, if it is named.
    pub database: Option<Ident<'a>>,
    /// The object. For `.t`, which means a table of the default database, the database is missing too.
    pub name: Ident<'a>,
}

/// A statement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Statement<'a> {
    /// From its first token to its last, without a semicolon.
    pub span: Span,
    /// What it is.
    pub kind: StatementKind<'a>,
}

/// What a statement is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum StatementKind<'a> {
    /// SELECT, WITH … SELECT, VALUES, TABLE, or one of these in parentheses.
    Query(&'a Query<'a>),
    /// INSERT or REPLACE.
    Insert(&'a Insert<'a>),
    /// UPDATE.
    Update(&'a Update<'a>),
    /// DELETE.
    Delete(&'a Delete<'a>),
    /// CREATE USER.
    CreateUser(&'a CreateUser<'a>),
    /// ALTER USER.
    AlterUser(&'a AlterUser<'a>),
    /// RENAME USER.
    RenameUser(&'a RenameUser<'a>),
    /// CREATE ROLE.
    CreateRole(&'a CreateRole<'a>),
    /// DROP USER, DROP ROLE.
    DropAccounts(&'a DropAccounts<'a>),
    /// GRANT.
    Grant(&'a Grant<'a>),
    /// REVOKE.
    Revoke(&'a Revoke<'a>),
    /// SET, but for SET STATEMENT.
    Set(&'a Set<'a>),
    /// SET STATEMENT … FOR another statement (MariaDB).
    SetStatement(&'a SetStatement<'a>),
    /// SHOW.
    Show(&'a Show<'a>),
    /// DESCRIBE of a table.
    DescribeTable(&'a DescribeTable<'a>),
    /// EXPLAIN of a statement, ANALYZE of one (MariaDB).
    Explain(&'a Explain<'a>),
    /// `HELP 'topic'`.
    Help(Ident<'a>),
    /// `USE database`.
    Use(Ident<'a>),
    /// BEGIN, START TRANSACTION, COMMIT, ROLLBACK, SAVEPOINT, RELEASE SAVEPOINT.
    Transaction(&'a Transaction<'a>),
    /// XA.
    Xa(&'a Xa),
    /// LOCK TABLES.
    LockTables(&'a LockTables<'a>),
    /// UNLOCK TABLES.
    UnlockTables,
    /// BACKUP (MariaDB).
    Backup(&'a Backup<'a>),
    /// PREPARE.
    Prepare(&'a Prepare<'a>),
    /// EXECUTE.
    Execute(&'a Execute<'a>),
    /// `DEALLOCATE PREPARE name`, `DROP PREPARE name`.
    Deallocate(Ident<'a>),
    /// CALL.
    Call(&'a CallProcedure<'a>),
    /// DO.
    Do(&'a Do<'a>),
    /// HANDLER.
    Handler(&'a Handler<'a>),
    /// SIGNAL, RESIGNAL.
    Signal(&'a Signal<'a>),
    /// GET DIAGNOSTICS.
    GetDiagnostics(&'a GetDiagnostics<'a>),
    /// A compound statement outside of a routine (MariaDB).
    Compound(&'a CompoundStatement<'a>),
    /// KILL.
    Kill(&'a Kill<'a>),
    /// FLUSH.
    Flush(&'a Flush<'a>),
    /// RESET.
    Reset(&'a Reset<'a>),
    /// START REPLICA, CHANGE MASTER and the like.
    Replication(&'a Replication<'a>),
    /// ANALYZE, CHECK, CHECKSUM, OPTIMIZE, REPAIR of tables and views.
    TableUpkeep(&'a TableUpkeep<'a>),
    /// CACHE INDEX, LOAD INDEX INTO CACHE.
    KeyCache(&'a KeyCache<'a>),
    /// INSTALL, UNINSTALL.
    Install(&'a Install<'a>),
    /// SHUTDOWN, RESTART, CLONE, PURGE and the like.
    Server(&'a ServerControl<'a>),
    /// `WEIR …`, Weir's own statements: what follows the word.
    Weir(Span),
    /// BATCH, Weir's own.
    Batch(&'a Batch<'a>),
    /// CREATE TABLE.
    CreateTable(&'a CreateTable<'a>),
    /// ALTER TABLE.
    AlterTable(&'a AlterTable<'a>),
    /// DROP TABLE, DROP VIEW, DROP SEQUENCE.
    DropTables(&'a DropTables<'a>),
    /// TRUNCATE.
    Truncate(&'a Truncate<'a>),
    /// RENAME TABLE.
    RenameTables(&'a RenameTables<'a>),
    /// CREATE INDEX.
    CreateIndex(&'a CreateIndex<'a>),
    /// DROP INDEX.
    DropIndex(&'a DropIndex<'a>),
    /// CREATE VIEW, ALTER VIEW.
    CreateView(&'a CreateView<'a>),
    /// CREATE DATABASE.
    CreateDatabase(&'a CreateDatabase<'a>),
    /// ALTER DATABASE.
    AlterDatabase(&'a AlterDatabase<'a>),
    /// DROP DATABASE.
    DropDatabase(&'a DropDatabase<'a>),
    /// CREATE SEQUENCE, ALTER SEQUENCE.
    DefineSequence(&'a DefineSequence<'a>),
    /// CREATE, ALTER or DROP of a tablespace, a server and the like.
    ServerObject(&'a ServerObject<'a>),
    /// LOAD DATA, LOAD XML.
    Load(&'a Load<'a>),
    /// CREATE PROCEDURE, CREATE FUNCTION.
    CreateRoutine(&'a CreateRoutine<'a>),
    /// CREATE FUNCTION … SONAME.
    CreateLoadableFunction(&'a CreateLoadableFunction<'a>),
    /// CREATE LIBRARY.
    CreateLibrary(&'a CreateLibrary<'a>),
    /// CREATE TRIGGER.
    CreateTrigger(&'a CreateTrigger<'a>),
    /// CREATE EVENT.
    CreateEvent(&'a CreateEvent<'a>),
    /// ALTER PROCEDURE, ALTER FUNCTION, ALTER LIBRARY.
    AlterRoutine(&'a AlterRoutine<'a>),
    /// ALTER EVENT.
    AlterEvent(&'a AlterEvent<'a>),
    /// DROP PROCEDURE, FUNCTION, TRIGGER, EVENT, LIBRARY, PACKAGE.
    DropProgram(&'a DropProgram<'a>),
    /// Something that has no grammar here.
    Opaque(&'a Opaque<'a>),
}

/// A statement that is only known by its verb.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Opaque<'a> {
    /// The words that it begins with, as far as they are keywords: `CREATE SPATIAL REFERENCE SYSTEM`.
    pub verb: Span,
    /// Names that stand in it, in order; which of them are tables is not known.
    pub names: &'a [ObjectName<'a>],
}
