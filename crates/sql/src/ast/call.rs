//! Calls of functions, and the windows that they look through.

use super::{Expr, Ident, Limit, ObjectName, OrderItem, Span};

/// A function, built in or stored, an aggregate or a window function.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Call<'a> {
    /// The name: `COUNT`, `db.f`. Words without parentheses (`CURRENT_DATE`, `UTC_TIMESTAMP`, `LOCALTIME`) are calls too.
    pub name: ObjectName<'a>,
    /// The parenthesis follows the name without a space. The servers know some of their own functions only then, or
    /// under `IGNORE_SPACE`: otherwise the name is a stored function's.
    pub adjacent: bool,
    /// It is read as an aggregate: a built-in one of this kind of server, whose name is not quoted. With OVER it is a window function.
    pub aggregate: bool,
    /// With DISTINCT before the arguments (or ALL: not said).
    pub distinct: bool,
    /// `COUNT(*)`.
    pub star: bool,
    /// The arguments, also those that words separate: `SUBSTRING(a FROM b FOR c)`, `TRIM(BOTH a FROM b)`,
    /// `POSITION(a IN b)`, `EXTRACT(unit FROM a)`, `GET_FORMAT(DATE, a)`. Words that are no expressions are left out.
    pub arguments: &'a [Expr<'a>],
    /// The unit of EXTRACT, TIMESTAMPADD, TIMESTAMPDIFF, or the word of `TRIM(LEADING …)`, `GET_FORMAT(DATE, …)`: what
    /// decides about the result and is no expression.
    pub word: Option<Ident<'a>>,
    /// ORDER BY in GROUP_CONCAT, JSON_ARRAYAGG and the like, or WITHIN GROUP's.
    pub order_by: &'a [OrderItem<'a>],
    /// SEPARATOR's string.
    pub separator: Option<Span>,
    /// LIMIT in MariaDB's `GROUP_CONCAT` and `JSON_ARRAYAGG`.
    pub limit: Option<&'a Limit<'a>>,
    /// The character set of `CHAR(… USING charset)`.
    pub using: Option<Ident<'a>>,
    /// `OVER …`.
    pub over: Option<&'a Over<'a>>,
    /// A clause of its own that has no other place here and holds no expression but literals: `RETURNING type NULL ON
    /// EMPTY` of `JSON_VALUE`, `FROM FIRST RESPECT NULLS` of `NTH_VALUE`, `AS CHAR(3)` of `WEIGHT_STRING`, the type of
    /// `COLUMN_GET`, `WITH (INSERT)` of `JSON_DUALITY_OBJECT`.
    pub clause: Option<Span>,
}

impl<'a> Call<'a> {
    /// A call with these arguments and nothing else.
    pub(crate) fn of(name: ObjectName<'a>, adjacent: bool, arguments: &'a [Expr<'a>]) -> Self {
        Self {
            name,
            adjacent,
            aggregate: false,
            distinct: false,
            star: false,
            arguments,
            word: None,
            order_by: &[],
            separator: None,
            limit: None,
            using: None,
            over: None,
            clause: None,
        }
    }
}

/// `OVER w` or `OVER (…)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Over<'a> {
    /// A window by name.
    Name(Ident<'a>),
    /// A window.
    Window(WindowSpec<'a>),
}

/// What stands in a window's parentheses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WindowSpec<'a> {
    /// With its parentheses.
    pub span: Span,
    /// The window that it begins from.
    pub base: Option<Ident<'a>>,
    /// PARTITION BY.
    pub partition_by: &'a [Expr<'a>],
    /// ORDER BY.
    pub order_by: &'a [OrderItem<'a>],
    /// ROWS, RANGE or GROUPS, with its bounds.
    pub frame: Option<&'a Frame<'a>>,
}

/// A window's frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Frame<'a> {
    /// All of it.
    pub span: Span,
    /// ROWS or RANGE or GROUPS.
    pub unit: Ident<'a>,
    /// The expressions of its bounds: `5 PRECEDING`, `INTERVAL 1 DAY FOLLOWING`.
    pub bounds: &'a [Expr<'a>],
}
