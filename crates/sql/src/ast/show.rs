//! SHOW, DESCRIBE, EXPLAIN, HELP, USE: what tells about the server, its objects and its plans.

use super::{Account, Expr, Ident, Limit, ObjectName, Span, Statement, VariableScope};

/// `SHOW …`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Show<'a> {
    /// With FULL.
    pub full: bool,
    /// With EXTENDED (MySQL).
    pub extended: bool,
    /// What is shown.
    pub kind: ShowKind<'a>,
    /// LIKE or WHERE.
    pub filter: Option<ShowFilter<'a>>,
    /// LIMIT.
    pub limit: Option<&'a Limit<'a>>,
}

/// Which of the rows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ShowFilter<'a> {
    /// `LIKE 'pattern'`: the string with its quotes.
    Like(Span),
    /// `WHERE expr`.
    Where(Expr<'a>),
}

/// What SHOW shows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ShowKind<'a> {
    /// TABLES of a database; `None`: of the default one.
    Tables(Option<Ident<'a>>),
    /// TABLE STATUS of a database.
    TableStatus(Option<Ident<'a>>),
    /// OPEN TABLES of a database.
    OpenTables(Option<Ident<'a>>),
    /// TRIGGERS of a database.
    Triggers(Option<Ident<'a>>),
    /// EVENTS of a database.
    Events(Option<Ident<'a>>),
    /// COLUMNS, FIELDS of a table.
    Columns(ShowTable<'a>),
    /// INDEX, INDEXES, KEYS of a table.
    Index(ShowTable<'a>),
    /// CREATE of an object.
    Create(&'a ShowCreate<'a>),
    /// DATABASES, SCHEMAS.
    Databases,
    /// VARIABLES.
    Variables(Option<VariableScope>),
    /// STATUS.
    Status(Option<VariableScope>),
    /// WARNINGS.
    Warnings,
    /// ERRORS.
    Errors,
    /// COUNT(*) WARNINGS.
    CountWarnings,
    /// COUNT(*) ERRORS.
    CountErrors,
    /// PROCESSLIST.
    ProcessList,
    /// ENGINES.
    Engines,
    /// `ENGINE name STATUS`; `None` is ALL. The rest is STATUS, MUTEX, LOGS or an engine's own words (MariaDB).
    Engine(Option<Ident<'a>>, Span),
    /// GRANTS.
    Grants(ShowGrants<'a>),
    /// PRIVILEGES.
    Privileges,
    /// PLUGINS.
    Plugins,
    /// PLUGINS SONAME with a library's name (a string), or with LIKE or WHERE (MariaDB).
    PluginsSoname(Option<Span>),
    /// PROFILES.
    Profiles,
    /// PROFILE.
    Profile(ShowProfile<'a>),
    /// PROCEDURE STATUS, FUNCTION STATUS and the like.
    RoutineStatus(RoutineKind),
    /// PROCEDURE CODE, FUNCTION CODE and the like.
    RoutineCode(RoutineKind, ObjectName<'a>),
    /// BINARY LOGS, MASTER LOGS.
    BinaryLogs,
    /// BINARY LOG STATUS, MASTER STATUS, BINLOG STATUS.
    BinaryLogStatus,
    /// BINLOG EVENTS, RELAYLOG EVENTS.
    LogEvents(&'a ShowLogEvents<'a>),
    /// REPLICA STATUS, SLAVE STATUS.
    ReplicaStatus(ShowReplicaStatus),
    /// REPLICAS, REPLICA HOSTS, SLAVE HOSTS.
    Replicas,
    /// CHARACTER SET.
    CharacterSets,
    /// COLLATION.
    Collations,
    /// EXPLAIN or ANALYZE of what another connection runs (MariaDB).
    Explain(&'a ShowExplain<'a>),
    /// A table of `information_schema` by its name, such as `CLIENT_STATISTICS` (MariaDB), or a word that no server knows
    /// by itself: a plugin may.
    Other(Ident<'a>),
}

/// A table whose parts are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShowTable<'a> {
    /// The first FROM.
    pub table: ObjectName<'a>,
    /// The second FROM, which counts for more than the name's own database.
    pub database: Option<Ident<'a>>,
}

/// `CREATE kind [IF NOT EXISTS] name`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ShowCreate<'a> {
    /// TABLE.
    Table(ObjectName<'a>),
    /// VIEW.
    View(ObjectName<'a>),
    /// SEQUENCE (MariaDB).
    Sequence(ObjectName<'a>),
    /// DATABASE, SCHEMA.
    Database(Ident<'a>),
    /// PROCEDURE, FUNCTION, PACKAGE, PACKAGE BODY, LIBRARY.
    Routine(RoutineKind, ObjectName<'a>),
    /// TRIGGER.
    Trigger(ObjectName<'a>),
    /// EVENT.
    Event(ObjectName<'a>),
    /// USER; `None`: the user itself (MariaDB).
    User(Option<Account<'a>>),
}

/// A kind of stored routine, or of what holds some.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoutineKind {
    /// PROCEDURE.
    Procedure,
    /// FUNCTION.
    Function,
    /// PACKAGE (MariaDB).
    Package,
    /// PACKAGE BODY (MariaDB).
    PackageBody,
    /// LIBRARY (MySQL).
    Library,
}

/// After GRANTS.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShowGrants<'a> {
    /// FOR; `None`: the user's own.
    pub account: Option<Account<'a>>,
    /// USING these roles (MySQL).
    pub roles: &'a [Account<'a>],
}

/// After PROFILE.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShowProfile<'a> {
    /// What of it: `BLOCK IO, CPU`.
    pub types: Option<Span>,
    /// FOR QUERY: which, a number.
    pub query: Option<Expr<'a>>,
}

/// `BINLOG EVENTS [IN 'log'] [FROM pos]`, `RELAYLOG EVENTS …`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShowLogEvents<'a> {
    /// RELAYLOG rather than BINLOG.
    pub relay: bool,
    /// IN: the log's name, a string.
    pub log: Option<Span>,
    /// FROM.
    pub position: Option<Expr<'a>>,
    /// The replication channel or connection, a string.
    pub channel: Option<Span>,
}

/// `[ALL] REPLICA [connection] STATUS [FOR CHANNEL channel]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShowReplicaStatus {
    /// ALL SLAVES, ALL REPLICAS (MariaDB).
    pub all: bool,
    /// The replication channel or connection, a string.
    pub channel: Option<Span>,
}

/// `EXPLAIN [FORMAT = …] FOR connection`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShowExplain<'a> {
    /// ANALYZE.
    pub analyze: bool,
    /// FORMAT.
    pub format: Option<Ident<'a>>,
    /// Which connection.
    pub connection: Expr<'a>,
}

/// `DESCRIBE table [column]`, in any of its three verbs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DescribeTable<'a> {
    /// The table.
    pub table: ObjectName<'a>,
    /// A column's name, or a string that is a pattern.
    pub column: Option<Ident<'a>>,
}

/// `EXPLAIN [options] statement`, `ANALYZE [FORMAT = …] statement`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Explain<'a> {
    /// It is run: EXPLAIN ANALYZE (MySQL), ANALYZE (MariaDB).
    pub analyze: bool,
    /// EXTENDED, EXTENDED ALL, PARTITIONS (MariaDB).
    pub option: Option<Span>,
    /// FORMAT: a word or a string.
    pub format: Option<Ident<'a>>,
    /// INTO: a user variable with its `@` (MySQL).
    pub into: Option<Ident<'a>>,
    /// FOR SCHEMA, FOR DATABASE (MySQL).
    pub database: Option<Ident<'a>>,
    /// What is explained.
    pub target: ExplainTarget<'a>,
}

/// What EXPLAIN explains.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ExplainTarget<'a> {
    /// A statement.
    Statement(&'a Statement<'a>),
    /// `FOR CONNECTION n`: what that connection runs.
    Connection(Expr<'a>),
}
