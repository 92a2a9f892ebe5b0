//! What operates the server: KILL, FLUSH, RESET, replication, upkeep of tables, plugins, and the like.

use super::{Account, ColumnName, Expr, Ident, ObjectName, SetItem, Span, Statement, SystemVariable};

/// `KILL …`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Kill<'a> {
    /// HARD is true, SOFT false (MariaDB).
    pub hard: Option<bool>,
    /// QUERY, rather than the connection.
    pub query: bool,
    /// Whose.
    pub target: KillWhom<'a>,
}

/// Whom KILL ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum KillWhom<'a> {
    /// A connection by its id.
    Connection(Expr<'a>),
    /// A query by its id: `KILL QUERY ID n` (MariaDB).
    QueryId(Expr<'a>),
    /// All connections of a user (MariaDB).
    User(Account<'a>),
}

/// `FLUSH …`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Flush<'a> {
    /// LOCAL or `NO_WRITE_TO_BINLOG`.
    pub local: bool,
    /// What is flushed: tables, or a list of other things.
    pub what: FlushWhat<'a>,
}

/// What FLUSH flushes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FlushWhat<'a> {
    /// `TABLES [tables] [lock]`.
    Tables(FlushTables<'a>),
    /// `PRIVILEGES, STATUS, …`.
    Options(&'a [AdminOption<'a>]),
}

/// `TABLES [tables] [WITH READ LOCK | FOR EXPORT]`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlushTables<'a> {
    /// None: all.
    pub tables: &'a [ObjectName<'a>],
    /// How they are locked until UNLOCK TABLES.
    pub lock: FlushLock,
}

/// What FLUSH TABLES leaves locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlushLock {
    /// Nothing.
    None,
    /// WITH READ LOCK.
    Read,
    /// WITH READ LOCK AND DISABLE CHECKPOINT (MariaDB).
    ReadNoCheckpoint,
    /// FOR EXPORT.
    Export,
}

/// A thing that FLUSH or RESET names, with what belongs to it: `BINARY LOGS`, `RELAY LOGS FOR CHANNEL 'c'`, `REPLICA ALL`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdminOption<'a> {
    /// All of it.
    pub span: Span,
    /// Its words.
    pub name: Span,
    /// The replication channel or connection, a string.
    pub channel: Option<Span>,
    /// Numbers that belong to it: `DELETE_DOMAIN_ID = (1, 2)`, `TO 3`.
    pub values: &'a [Expr<'a>],
    /// ALL after it.
    pub all: bool,
}

/// `RESET …`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reset<'a> {
    /// `BINARY LOGS AND GTIDS, REPLICA ALL, …`.
    Options(&'a [AdminOption<'a>]),
    /// `PERSIST [IF EXISTS] [variable]`; `None`: all variables (MySQL).
    Persist(Option<SystemVariable<'a>>),
}

/// Statements about replication.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Replication<'a> {
    /// What is done.
    pub verb: ReplicationVerb,
    /// ALL SLAVES, ALL REPLICAS (MariaDB).
    pub all: bool,
    /// The replication channel or connection, a string.
    pub channel: Option<Span>,
    /// `IO_THREAD`, `SQL_THREAD`: the words.
    pub threads: &'a [Ident<'a>],
    /// After TO, UNTIL, USER or FILTER, in order.
    pub options: &'a [ReplicationOption<'a>],
}

/// What a statement does to replication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplicationVerb {
    /// CHANGE MASTER, CHANGE REPLICATION SOURCE.
    ChangeSource,
    /// CHANGE REPLICATION FILTER.
    ChangeFilter,
    /// START SLAVE, START REPLICA.
    Start,
    /// STOP SLAVE, STOP REPLICA.
    Stop,
    /// `START GROUP_REPLICATION`.
    StartGroup,
    /// `STOP GROUP_REPLICATION`.
    StopGroup,
}

/// `NAME = value`, or a name alone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReplicationOption<'a> {
    /// All of it.
    pub span: Span,
    /// Its name.
    pub name: Ident<'a>,
    /// A literal, a word, an account, or a list in parentheses.
    pub value: Option<Span>,
}

/// `PURGE BINARY LOGS …`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Purge<'a> {
    /// TO a log, a string.
    To(Span),
    /// BEFORE a time.
    Before(Expr<'a>),
}

/// ANALYZE, CHECK, CHECKSUM, OPTIMIZE, REPAIR with their tables.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TableUpkeep<'a> {
    /// What is done.
    pub verb: UpkeepVerb,
    /// LOCAL or `NO_WRITE_TO_BINLOG`.
    pub local: bool,
    /// VIEW rather than TABLE (MariaDB).
    pub view: bool,
    /// To which.
    pub tables: &'a [UpkeepTable<'a>],
    /// What follows the tables: `QUICK`, `FOR UPGRADE`, `EXTENDED`, `WAIT 3`.
    pub options: Option<Span>,
    /// UPDATE HISTOGRAM, DROP HISTOGRAM (MySQL).
    pub histogram: Option<&'a Histogram<'a>>,
}

/// A verb of [`TableUpkeep`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpkeepVerb {
    /// ANALYZE.
    Analyze,
    /// CHECK.
    Check,
    /// CHECKSUM.
    Checksum,
    /// OPTIMIZE.
    Optimize,
    /// REPAIR.
    Repair,
}

/// A table in [`TableUpkeep`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UpkeepTable<'a> {
    /// All of it.
    pub span: Span,
    /// The table.
    pub name: ObjectName<'a>,
    /// `PERSISTENT FOR ALL`, `PERSISTENT FOR COLUMNS (…) INDEXES (…)` (MariaDB).
    pub persistent: Option<Persistent<'a>>,
}

/// After PERSISTENT FOR.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Persistent<'a> {
    /// `None`: all.
    pub columns: Option<&'a [Ident<'a>]>,
    /// `None`: all.
    pub indexes: Option<&'a [Ident<'a>]>,
}

/// `UPDATE HISTOGRAM ON columns …`, `DROP HISTOGRAM ON columns`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Histogram<'a> {
    /// DROP rather than UPDATE.
    pub drop: bool,
    /// Of these columns.
    pub columns: &'a [Ident<'a>],
    /// `WITH 10 BUCKETS`, `AUTO UPDATE`, `USING DATA '…'`.
    pub options: Option<Span>,
}

/// `CACHE INDEX tables IN cache`, `LOAD INDEX INTO CACHE tables`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KeyCache<'a> {
    /// Whose indexes.
    pub tables: &'a [KeyCacheTable<'a>],
    /// IN: the cache. `None`: they are loaded into the one they have.
    pub cache: Option<Ident<'a>>,
}

/// A table in [`KeyCache`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KeyCacheTable<'a> {
    /// All of it.
    pub span: Span,
    /// The table.
    pub name: ObjectName<'a>,
    /// `PARTITION (…)`: the names; empty for ALL too.
    pub partitions: &'a [Ident<'a>],
    /// `INDEX (…)`.
    pub indexes: &'a [Ident<'a>],
    /// IGNORE LEAVES.
    pub ignore_leaves: bool,
}

/// INSTALL and UNINSTALL.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Install<'a> {
    /// `INSTALL PLUGIN name SONAME 'library'`.
    Plugin(Ident<'a>, Span),
    /// `INSTALL SONAME 'library'` (MariaDB).
    Soname(Span),
    /// `INSTALL COMPONENT 'urn', … [SET …]` (MySQL).
    Components(&'a [Span], &'a [SetItem<'a>]),
    /// `UNINSTALL PLUGIN name`.
    RemovePlugin(Ident<'a>),
    /// `UNINSTALL SONAME 'library'` (MariaDB).
    RemoveSoname(Span),
    /// `UNINSTALL COMPONENT 'urn', …` (MySQL).
    RemoveComponents(&'a [Span]),
}

/// `CLONE …` (MySQL).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CloneServer<'a> {
    /// `LOCAL DATA DIRECTORY 'path'`.
    Local(Span),
    /// `INSTANCE FROM account:port IDENTIFIED BY 'password' …`: the account and the rest.
    Instance(Account<'a>, Span),
}

/// Statements about the whole server that have few parts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ServerControl<'a> {
    /// SHUTDOWN, with `WAIT FOR ALL SLAVES` or without.
    Shutdown,
    /// RESTART (MySQL).
    Restart,
    /// LOCK INSTANCE FOR BACKUP (MySQL).
    LockInstance,
    /// UNLOCK INSTANCE (MySQL).
    UnlockInstance,
    /// BINLOG with its strings or variables.
    Binlog(&'a [Expr<'a>]),
    /// PURGE.
    Purge(Purge<'a>),
    /// CLONE.
    Clone(CloneServer<'a>),
    /// IMPORT TABLE FROM files (MySQL).
    ImportTable(&'a [Span]),
}

/// `BATCH [ON column] LIMIT n [DRY RUN [QUERY]] statement`: a large write in parts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Batch<'a> {
    /// The column along which it is split.
    pub column: Option<ColumnName<'a>>,
    /// The rows of a part: a whole number.
    pub rows: Span,
    /// Whether it is only shown.
    pub dry_run: DryRun,
    /// What is split.
    pub statement: &'a Statement<'a>,
}

/// What a BATCH that is only shown shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DryRun {
    /// It is run.
    No,
    /// The first and the last part.
    Parts,
    /// The query that finds the parts.
    Query,
}
