//! Stored programs: procedures, functions, triggers, events, libraries.
//!
//! What must hold: a body is a span, which covers exactly the statement that the server runs, whatever semicolons are
//! within.

use super::{Account, ColumnName, DataType, Expr, Ident, Interval, ObjectName, Span};

/// CREATE PROCEDURE, CREATE FUNCTION.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CreateRoutine<'a> {
    /// OR REPLACE (MariaDB).
    pub or_replace: bool,
    /// DEFINER.
    pub definer: Option<Account<'a>>,
    /// AGGREGATE (MariaDB).
    pub aggregate: bool,
    /// A function, not a procedure.
    pub function: bool,
    /// IF NOT EXISTS.
    pub if_not_exists: bool,
    /// Its name.
    pub name: ObjectName<'a>,
    /// In parentheses.
    pub parameters: &'a [RoutineParameter<'a>],
    /// RETURNS, of a function.
    pub returns: Option<DeclaredType<'a>>,
    /// What stands before the body.
    pub characteristics: &'a [Characteristic<'a>],
    /// What it does.
    pub body: RoutineBody,
}

/// What a routine does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoutineBody {
    /// A statement.
    Statement(Span),
    /// Text in another language, with its quotes (MySQL).
    External(Span),
}

/// A part of a routine's body, in the order of its text: what may be run or computed, and how that hangs together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// A statement that holds no others; the query of a cursor.
    Statement(Span),
    /// An expression: of a condition, a default, RETURN.
    Expression(Span),
    /// A variable is declared.
    Variable(Ident<'a>),
    /// A variable is assigned by FETCH.
    Assigned(Ident<'a>),
    /// What stands between them.
    Control(Control<'a>),
}

/// How the statements and expressions of a body hang together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control<'a> {
    /// The label of the block or the loop that follows.
    Label(Ident<'a>),
    /// BEGIN.
    Block,
    /// Its END.
    BlockEnd,
    /// The type of the variables before. `default`: the expression of their default follows.
    Type {
        /// The type.
        span: Span,
        /// There is a default.
        default: bool,
    },
    /// `DECLARE name CONDITION FOR …`.
    Condition(Ident<'a>, Handled<'a>),
    /// `DECLARE name CURSOR FOR`: its parameters follow, each as a variable with its type, and its query.
    Cursor(Ident<'a>),
    /// `DECLARE EXIT HANDLER FOR`, or CONTINUE: what it is for follows, and its statement.
    Handler {
        /// EXIT.
        exit: bool,
    },
    /// One of the things that a handler is for.
    Handles(Handled<'a>),
    /// The end of a handler's statement.
    HandlerEnd,
    /// IF or ELSEIF (`again`): its condition follows.
    If {
        /// ELSEIF.
        again: bool,
    },
    /// THEN, of IF and CASE.
    Then,
    /// ELSE, of IF and CASE.
    Else,
    /// END IF.
    IfEnd,
    /// CASE. `value`: the expression that is compared follows.
    Case {
        /// There is one.
        value: bool,
    },
    /// WHEN: its expression follows.
    When,
    /// END CASE.
    CaseEnd,
    /// LOOP.
    Loop,
    /// WHILE: its condition follows.
    While,
    /// `FOR i IN … DO` (MariaDB): the variable follows, the lower bound, and the upper one.
    For {
        /// REVERSE.
        reverse: bool,
    },
    /// `FOR r IN … DO` (MariaDB), with the name of the row: the query follows, or OPEN of the cursor.
    ForRow(Ident<'a>),
    /// DO, behind the condition of WHILE.
    Do,
    /// REPEAT.
    Repeat,
    /// UNTIL: its condition follows.
    Until,
    /// The end of a loop of any kind.
    LoopEnd,
    /// LEAVE.
    Leave(Ident<'a>),
    /// ITERATE.
    Iterate(Ident<'a>),
    /// OPEN: the values of its parameters follow.
    Open(Ident<'a>),
    /// CLOSE.
    Close(Ident<'a>),
    /// FETCH: the variables follow.
    Fetch(Ident<'a>),
    /// RETURN: its expression follows.
    Return,
}

/// What a handler is for, or a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handled<'a> {
    /// `SQLSTATE [VALUE] '…'`: the string.
    State(Span),
    /// The code of an error.
    Code(Span),
    /// A condition that is declared.
    Named(Ident<'a>),
    /// SQLWARNING.
    Warning,
    /// NOT FOUND.
    NotFound,
    /// SQLEXCEPTION.
    Exception,
}

/// A routine's parameter, or a field of a ROW.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RoutineParameter<'a> {
    /// All of it.
    pub span: Span,
    /// IN, OUT, INOUT.
    pub mode: Option<ParameterMode>,
    /// Its name.
    pub name: Ident<'a>,
    /// Its type.
    pub data_type: DeclaredType<'a>,
}

/// Which way a parameter goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterMode {
    /// IN.
    In,
    /// OUT.
    Out,
    /// INOUT.
    InOut,
}

/// The type of a parameter or a result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DeclaredType<'a> {
    /// A type.
    Type(&'a DataType<'a>),
    /// `TYPE OF t.c` (MariaDB).
    Of(ColumnName<'a>),
    /// `ROW TYPE OF t` (MariaDB).
    RowOf(ObjectName<'a>),
    /// `ROW (a INT, …)` (MariaDB).
    Row(&'a [RoutineParameter<'a>]),
}

/// What is said of a routine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Characteristic<'a> {
    /// All of it.
    pub span: Span,
    /// What.
    pub kind: CharacteristicKind<'a>,
}

/// What is said of a routine or a library.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CharacteristicKind<'a> {
    /// COMMENT: the string.
    Comment(Span),
    /// LANGUAGE.
    Language(Ident<'a>),
    /// DETERMINISTIC (true), NOT DETERMINISTIC.
    Deterministic(bool),
    /// CONTAINS SQL and the like.
    DataAccess(DataAccess),
    /// SQL SECURITY.
    Security(SqlSecurity),
    /// `USING (library AS alias, …)` (MySQL).
    Using(&'a [LibraryUse<'a>]),
}

/// Whose privileges count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SqlSecurity {
    /// DEFINER.
    Definer,
    /// INVOKER.
    Invoker,
}

/// What a routine says that it does with data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataAccess {
    /// CONTAINS SQL.
    ContainsSql,
    /// NO SQL.
    NoSql,
    /// READS SQL DATA.
    ReadsSqlData,
    /// MODIFIES SQL DATA.
    ModifiesSqlData,
}

/// `library AS alias`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LibraryUse<'a> {
    /// The library.
    pub name: ObjectName<'a>,
    /// What the routine calls it.
    pub alias: Option<Ident<'a>>,
}

/// `CREATE FUNCTION f RETURNS type SONAME 'file'`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CreateLoadableFunction<'a> {
    /// OR REPLACE (MariaDB).
    pub or_replace: bool,
    /// AGGREGATE.
    pub aggregate: bool,
    /// IF NOT EXISTS.
    pub if_not_exists: bool,
    /// Its name.
    pub name: ObjectName<'a>,
    /// STRING, INTEGER, REAL, DECIMAL: the word.
    pub returns: Ident<'a>,
    /// The file, with its quotes.
    pub library: Span,
}

/// CREATE LIBRARY (MySQL).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CreateLibrary<'a> {
    /// IF NOT EXISTS.
    pub if_not_exists: bool,
    /// Its name.
    pub name: ObjectName<'a>,
    /// LANGUAGE and COMMENT.
    pub characteristics: &'a [Characteristic<'a>],
    /// Its text, with its quotes.
    pub body: Span,
}

/// ALTER PROCEDURE, ALTER FUNCTION, ALTER LIBRARY.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AlterRoutine<'a> {
    /// What it is.
    pub kind: ProgramKind,
    /// Its name.
    pub name: ObjectName<'a>,
    /// What it is to have.
    pub characteristics: &'a [Characteristic<'a>],
}

/// DROP of a stored program.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DropProgram<'a> {
    /// What it is.
    pub kind: ProgramKind,
    /// IF EXISTS.
    pub if_exists: bool,
    /// Its name.
    pub name: ObjectName<'a>,
}

/// Kinds of stored programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramKind {
    /// PROCEDURE.
    Procedure,
    /// FUNCTION: stored, or from a file.
    Function,
    /// TRIGGER.
    Trigger,
    /// EVENT.
    Event,
    /// LIBRARY (MySQL).
    Library,
    /// PACKAGE (MariaDB).
    Package,
    /// PACKAGE BODY (MariaDB).
    PackageBody,
}

/// CREATE TRIGGER.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CreateTrigger<'a> {
    /// OR REPLACE (MariaDB).
    pub or_replace: bool,
    /// DEFINER.
    pub definer: Option<Account<'a>>,
    /// IF NOT EXISTS.
    pub if_not_exists: bool,
    /// Its name.
    pub name: ObjectName<'a>,
    /// When.
    pub time: TriggerTime,
    /// At what.
    pub event: TriggerEvent,
    /// Of which table.
    pub table: ObjectName<'a>,
    /// FOLLOWS, PRECEDES.
    pub order: Option<(TriggerOrder, Ident<'a>)>,
    /// What it does.
    pub body: Span,
}

/// When a trigger runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TriggerTime {
    /// BEFORE.
    Before,
    /// AFTER.
    After,
}

/// At what a trigger runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TriggerEvent {
    /// INSERT.
    Insert,
    /// UPDATE.
    Update,
    /// DELETE.
    Delete,
}

/// Where a trigger stands among others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TriggerOrder {
    /// FOLLOWS.
    Follows,
    /// PRECEDES.
    Precedes,
}

/// CREATE EVENT.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CreateEvent<'a> {
    /// OR REPLACE (MariaDB).
    pub or_replace: bool,
    /// DEFINER.
    pub definer: Option<Account<'a>>,
    /// IF NOT EXISTS.
    pub if_not_exists: bool,
    /// Its name.
    pub name: ObjectName<'a>,
    /// When.
    pub schedule: Schedule<'a>,
    /// What else is said of it.
    pub options: EventOptions,
    /// What it does.
    pub body: Span,
}

/// ALTER EVENT.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AlterEvent<'a> {
    /// DEFINER.
    pub definer: Option<Account<'a>>,
    /// Its name.
    pub name: ObjectName<'a>,
    /// When.
    pub schedule: Option<Schedule<'a>>,
    /// RENAME TO.
    pub new_name: Option<ObjectName<'a>>,
    /// What else is said of it.
    pub options: EventOptions,
    /// What it does.
    pub body: Option<Span>,
}

/// `AT time`, `EVERY interval [STARTS time] [ENDS time]`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Schedule<'a> {
    /// Once.
    At(Expr<'a>),
    /// Again and again.
    Every {
        /// How often.
        every: Interval<'a>,
        /// From when on.
        starts: Option<Expr<'a>>,
        /// Until when.
        ends: Option<Expr<'a>>,
    },
}

/// What is said of an event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EventOptions {
    /// ON COMPLETION PRESERVE (true), NOT PRESERVE.
    pub preserve: Option<bool>,
    /// ENABLE and the like.
    pub status: Option<EventStatus>,
    /// COMMENT: the string.
    pub comment: Option<Span>,
}

/// Whether an event runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventStatus {
    /// ENABLE.
    Enable,
    /// DISABLE.
    Disable,
    /// DISABLE ON REPLICA, DISABLE ON SLAVE.
    DisableOnReplica,
}
