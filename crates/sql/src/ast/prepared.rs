//! Statements by name, calls, and what else runs things: PREPARE, EXECUTE, CALL, DO, HANDLER.

use super::{BinaryOp, Expr, Ident, Limit, ObjectName, SelectItem};

/// `PREPARE name FROM text`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prepare<'a> {
    /// The statement's name.
    pub name: Ident<'a>,
    /// Its text: a string or a user variable; any expression on MariaDB.
    pub text: Expr<'a>,
}

/// `EXECUTE name [USING values]`, `EXECUTE IMMEDIATE text [USING values]`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Execute<'a> {
    /// What is executed.
    pub source: ExecuteSource<'a>,
    /// USING: user variables; any expressions on MariaDB, DEFAULT and IGNORE among them.
    pub using: &'a [Expr<'a>],
}

/// What EXECUTE executes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ExecuteSource<'a> {
    /// A statement that was prepared under this name.
    Prepared(Ident<'a>),
    /// IMMEDIATE: a text (MariaDB).
    Immediate(Expr<'a>),
}

/// `CALL procedure [(arguments)]`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CallProcedure<'a> {
    /// The database of a procedure of a package, `database.package.procedure` (MariaDB).
    pub package_database: Option<Ident<'a>>,
    /// The procedure; or, for one of a package, package and procedure.
    pub name: ObjectName<'a>,
    /// What is in the parentheses; none: the same as empty.
    pub arguments: &'a [Expr<'a>],
}

/// `DO items`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Do<'a> {
    /// What is computed. Without aliases on MariaDB.
    pub items: &'a [SelectItem<'a>],
}

/// `HANDLER …`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Handler<'a> {
    /// `table OPEN [[AS] alias]`.
    Open(ObjectName<'a>, Option<Ident<'a>>),
    /// `handler CLOSE`: a table that was opened, or its alias.
    Close(Ident<'a>),
    /// `handler READ …`.
    Read(&'a HandlerRead<'a>),
}

/// `handler READ [index] what [WHERE] [LIMIT]`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HandlerRead<'a> {
    /// A table that was opened, or its alias.
    pub handler: Ident<'a>,
    /// By which index; `None`: in the table's own order.
    pub index: Option<Ident<'a>>,
    /// From where.
    pub position: HandlerPosition<'a>,
    /// WHERE.
    pub condition: Option<Expr<'a>>,
    /// LIMIT.
    pub limit: Option<&'a Limit<'a>>,
}

/// From where HANDLER reads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum HandlerPosition<'a> {
    /// FIRST.
    First,
    /// NEXT.
    Next,
    /// PREV.
    Previous,
    /// LAST.
    Last,
    /// `op (values)`; the comparison is one of `=`, `<`, `<=`, `>`, `>=`.
    Key(BinaryOp, &'a [Expr<'a>]),
}
