//! SET.

use super::{Account, Expr, Ident, Span, Statement, SystemVariable};

/// `SET item, item, …`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Set<'a> {
    /// What is set, in order; at least one.
    pub items: &'a [SetItem<'a>],
}

/// `SET STATEMENT a = 1, b = 2 FOR statement` (MariaDB): variables that hold for one statement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SetStatement<'a> {
    /// The variables; all of them are [`SetItemKind::Variable`].
    pub items: &'a [SetItem<'a>],
    /// The statement that they hold for.
    pub statement: &'a Statement<'a>,
}

/// One of the things that a SET sets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SetItem<'a> {
    /// All of it.
    pub span: Span,
    /// What it is.
    pub kind: SetItemKind<'a>,
}

/// What is set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SetItemKind<'a> {
    /// A variable of the server or of a routine.
    Variable(&'a SetVariable<'a>),
    /// `@x = expr`: the name without `@` and quotes, its span with them.
    UserVariable(Ident<'a>, Expr<'a>),
    /// `NAMES 'utf8mb4' [COLLATE 'utf8mb4_bin']`, `NAMES DEFAULT`.
    Names(SetNames<'a>),
    /// `CHARACTER SET utf8mb4`, `CHARSET DEFAULT`. `None`: DEFAULT.
    CharacterSet(Option<Ident<'a>>),
    /// `[GLOBAL | SESSION] TRANSACTION characteristics`.
    Transaction(&'a SetTransaction),
    /// `PASSWORD [FOR account] = …`.
    Password(&'a SetPassword<'a>),
    /// `ROLE …`.
    Role(&'a SetRole<'a>),
    /// `DEFAULT ROLE … [TO | FOR accounts]`.
    DefaultRole(&'a SetDefaultRole<'a>),
    /// `RESOURCE GROUP name [FOR threads]` (MySQL).
    ResourceGroup(Ident<'a>, &'a [Expr<'a>]),
}

impl SetItemKind<'_> {
    /// Whether it changes an account, and not the session or the server's variables.
    pub fn is_of_account(&self) -> bool {
        matches!(self, SetItemKind::Password(_) | SetItemKind::DefaultRole(_))
    }
}

/// `[scope] variable = value`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SetVariable<'a> {
    /// Whose variable, and which. The scope is what stands after `@@`, or the last word such as GLOBAL before the name:
    /// `GLOBAL a = 1, b = 2` sets both globally, as the servers read it. For a name without scope and without `@@`, it may
    /// be a variable of the routine that the statement is in; with a base, a column of NEW in a trigger.
    pub variable: SystemVariable<'a>,
    /// Written with `@@`.
    pub at_signs: bool,
    /// From the name's first byte (or `@@`) to its last.
    pub name: Span,
    /// To what.
    pub value: SetValue<'a>,
}

/// What a variable is set to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SetValue<'a> {
    /// An expression. A word such as `utf8mb4` or `OFF` is a [`ExprKind::Column`](super::ExprKind::Column).
    Expr(Expr<'a>),
    /// DEFAULT.
    Default(Span),
    /// A word that is reserved and yet a value: ON, ALL, BINARY, ROW, SYSTEM.
    Word(Ident<'a>),
}

/// After NAMES.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SetNames<'a> {
    /// The character set. `None`: DEFAULT.
    pub charset: Option<Ident<'a>>,
    /// COLLATE; DEFAULT is the same as no COLLATE.
    pub collation: Option<Ident<'a>>,
}

/// Whose transactions a SET TRANSACTION is about, and what they are to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SetTransaction {
    /// `None`: the next one only.
    pub scope: Option<super::VariableScope>,
    /// ISOLATION LEVEL.
    pub isolation: Option<Isolation>,
    /// READ ONLY is true, READ WRITE false.
    pub read_only: Option<bool>,
}

/// How much transactions see of one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isolation {
    /// READ UNCOMMITTED.
    ReadUncommitted,
    /// READ COMMITTED.
    ReadCommitted,
    /// REPEATABLE READ.
    RepeatableRead,
    /// SERIALIZABLE.
    Serializable,
}

/// `PASSWORD [FOR account] = 'auth'`, `PASSWORD [FOR account] TO RANDOM`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SetPassword<'a> {
    /// `None`: the user's own.
    pub account: Option<Account<'a>>,
    /// The new one: a string. `None`: TO RANDOM.
    pub password: Option<Span>,
    /// The function around it, `PASSWORD` or `OLD_PASSWORD` (MariaDB).
    pub function: Option<Ident<'a>>,
    /// REPLACE: the current password, a string (MySQL).
    pub replace: Option<Span>,
    /// RETAIN CURRENT PASSWORD (MySQL).
    pub retain_current: bool,
}

/// Roles, in SET ROLE and SET DEFAULT ROLE.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SetRole<'a> {
    /// All of it.
    pub span: Span,
    /// Which.
    pub kind: SetRoleKind<'a>,
}

/// Which roles.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SetRoleKind<'a> {
    /// NONE.
    None,
    /// DEFAULT.
    Default,
    /// ALL.
    All,
    /// ALL EXCEPT these.
    AllExcept(&'a [Account<'a>]),
    /// These.
    Roles(&'a [Account<'a>]),
}

/// `DEFAULT ROLE roles [TO | FOR accounts]`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SetDefaultRole<'a> {
    /// The roles.
    pub roles: SetRole<'a>,
    /// Whose; empty: the user's own (MariaDB).
    pub accounts: &'a [Account<'a>],
}
