//! Expressions.

use super::{Call, Ident, ObjectName, Query, Span};

/// An expression.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Expr<'a> {
    /// All of it. Parentheses around an expression belong to [`ExprKind::Paren`], not to what is within.
    pub span: Span,
    /// What it is.
    pub kind: ExprKind<'a>,
}

impl<'a> Expr<'a> {
    /// The expression without parentheses around it.
    pub fn bare(&self) -> &Expr<'a> {
        let mut expr = self;
        while let ExprKind::Paren(inner) = expr.kind {
            expr = inner;
        }
        expr
    }
}

/// What an expression is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ExprKind<'a> {
    /// A value that stands in the text.
    Literal(Literal<'a>),
    /// `?`, the how manieth from 0.
    Parameter(u32),
    /// `c`, `t.c`, `db.t.c`, `.t.c`.
    Column(&'a ColumnName<'a>),
    /// `@x`. Also `@'x'` and `@` followed by a space and a name. The name is without the `@` and without quotes.
    UserVariable(&'a Ident<'a>),
    /// `@x := value`.
    Assign(&'a Assign<'a>),
    /// `@@x`, `@@global.x`, `@@session.x`, `@@component.x`.
    SystemVariable(&'a SystemVariable<'a>),
    /// An operator before its operand.
    Unary(UnaryOp, &'a Expr<'a>),
    /// An operator between its operands.
    Binary(BinaryOp, &'a Expr<'a>, &'a Expr<'a>),
    /// `(expr)`.
    Paren(&'a Expr<'a>),
    /// `(a, b)`, `ROW(a, b)`.
    Row(&'a [Expr<'a>]),
    /// `expr IS [NOT] NULL` and the like.
    Is(&'a Is<'a>),
    /// `expr [NOT] BETWEEN low AND high`.
    Between(&'a Between<'a>),
    /// `expr [NOT] IN (…)`.
    In(&'a In<'a>),
    /// `expr [NOT] LIKE pattern [ESCAPE escape]`.
    Like(&'a Like<'a>),
    /// `CASE … END`.
    Case(&'a Case<'a>),
    /// `CAST(expr AS type)`, `CONVERT(expr, type)`, `BINARY expr` is [`UnaryOp::Binary`].
    Cast(&'a Cast<'a>),
    /// `CONVERT(expr USING charset)`.
    ConvertUsing(&'a Expr<'a>, &'a Ident<'a>),
    /// `expr COLLATE collation`.
    Collate(&'a Expr<'a>, &'a Ident<'a>),
    /// `INTERVAL expr unit`: an operand of `+` and `-`, and an argument of `DATE_ADD` and the like.
    Interval(&'a Interval<'a>),
    /// A function, built in or not, with whatever its parentheses hold.
    Call(&'a Call<'a>),
    /// `EXISTS (query)`.
    Exists(&'a Query<'a>),
    /// `(query)`. The query's span is without the parentheses, but for those that belong to it.
    Subquery(&'a Query<'a>),
    /// `expr = ANY (query)` and the like.
    Quantified(&'a Quantified<'a>),
    /// `MATCH (a, b) AGAINST (expr …)`.
    Match(&'a Match<'a>),
    /// `DEFAULT`, as a value of an assignment or a row, or `IGNORE` (MariaDB) there: see [`ValueWord`].
    Word(ValueWord),
    /// `{identifier expr}`, ODBC's form; `{d '2020-01-01'}`.
    Odbc(&'a Ident<'a>, &'a Expr<'a>),
    /// `NEXT VALUE FOR s`, `NEXTVAL(s)`, `SETVAL(s, 1)` and the like (MariaDB).
    Sequence(&'a SequenceCall<'a>),
}

/// A word that stands where a value stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueWord {
    /// `DEFAULT`.
    Default,
    /// `IGNORE`, MariaDB's bulk form.
    Ignore,
}

/// What is asked of a sequence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SequenceCall<'a> {
    /// What.
    pub kind: SequenceKind,
    /// The sequence.
    pub sequence: ObjectName<'a>,
    /// What follows the sequence in SETVAL's parentheses.
    pub arguments: &'a [Expr<'a>],
}

/// What can be asked of a sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SequenceKind {
    /// `NEXT VALUE FOR`, NEXTVAL.
    Next,
    /// `PREVIOUS VALUE FOR`, LASTVAL.
    Previous,
    /// SETVAL.
    Set,
}

/// A value that stands in the text. Its text is the expression's span.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Literal<'a> {
    /// `NULL`, `\N`.
    Null,
    /// `TRUE`.
    True,
    /// `FALSE`.
    False,
    /// Digits only.
    Integer,
    /// Digits with a point.
    Decimal,
    /// With an exponent.
    Float,
    /// `0xAF`, `x'AF'`.
    Hex,
    /// `0b1`, `b'1'`.
    Bit,
    /// `'a'`: one string in quotes.
    String,
    /// A string of another form: `'a' 'b'`, `N'a'`, `_utf8mb4'a'`, `_utf8mb4 x'AF'`.
    Text(&'a StringLiteral<'a>),
    /// `DATE '2020-01-01'`, `TIME '…'`, `TIMESTAMP '…'`: the word's type.
    Temporal(Temporal),
}

/// A string of several parts, or with a character set of its own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StringLiteral<'a> {
    /// The character set that stands before it, with its underscore: `_utf8mb4`.
    pub introducer: Option<Ident<'a>>,
    /// The quoted strings, one after another, whose contents make the value; each with its quotes, the first perhaps
    /// with an `N` before them. After an introducer, perhaps one hexadecimal or bit literal instead.
    pub parts: &'a [Span],
}

/// The types that have literals with a word before the string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Temporal {
    /// `DATE`.
    Date,
    /// `TIME`.
    Time,
    /// `TIMESTAMP`.
    Timestamp,
}

/// A column's name with what may stand before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColumnName<'a> {
    /// The database.
    pub database: Option<Ident<'a>>,
    /// The table, or its alias.
    pub table: Option<Ident<'a>>,
    /// The column.
    pub name: Ident<'a>,
}

impl ColumnName<'_> {
    /// From its first name to its last. A point before the first is not counted.
    pub fn span(&self) -> Span {
        self.database.or(self.table).unwrap_or(self.name).span.to(self.name.span)
    }
}

/// `@x := value`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Assign<'a> {
    /// The variable with its `@`.
    pub variable: Ident<'a>,
    /// What it becomes.
    pub value: Expr<'a>,
}

/// A system variable.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SystemVariable<'a> {
    /// `global`, `session`, `local`, `persist`, `persist_only`.
    pub scope: Option<VariableScope>,
    /// What stands before the name and is no scope: a key cache, a component.
    pub base: Option<Ident<'a>>,
    /// The name.
    pub name: Ident<'a>,
}

/// Whose value of a system variable is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VariableScope {
    /// GLOBAL.
    Global,
    /// SESSION or LOCAL.
    Session,
    /// PERSIST (MySQL).
    Persist,
    /// `PERSIST_ONLY` (MySQL).
    PersistOnly,
}

/// An operator before its operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnaryOp {
    /// `-`.
    Minus,
    /// `+`.
    Plus,
    /// `~`.
    BitNot,
    /// `!`.
    Bang,
    /// `NOT`.
    Not,
    /// `BINARY`.
    Binary,
}

/// An operator between its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BinaryOp {
    /// `OR`, `||`.
    Or,
    /// `XOR`.
    Xor,
    /// `AND`, `&&`.
    And,
    /// `=`.
    Eq,
    /// `<=>`.
    NullSafeEq,
    /// `<>`, `!=`.
    Ne,
    /// `<`.
    Lt,
    /// `<=`.
    Le,
    /// `>`.
    Gt,
    /// `>=`.
    Ge,
    /// `REGEXP`, `RLIKE`.
    Regexp,
    /// `NOT REGEXP`.
    NotRegexp,
    /// `SOUNDS LIKE`.
    SoundsLike,
    /// `MEMBER [OF]`: the right side is the array.
    MemberOf,
    /// `|`.
    BitOr,
    /// `&`.
    BitAnd,
    /// `<<`.
    ShiftLeft,
    /// `>>`.
    ShiftRight,
    /// `+`.
    Add,
    /// `-`.
    Subtract,
    /// `*`.
    Multiply,
    /// `/`.
    Divide,
    /// `DIV`.
    IntegerDivide,
    /// `%`, `MOD`.
    Modulo,
    /// `^`.
    BitXor,
    /// `||` under PIPES_AS_CONCAT.
    Concat,
    /// `->`.
    JsonExtract,
    /// `->>`.
    JsonUnquote,
}

impl BinaryOp {
    /// Whether it is `=`, `<` or the like, or AND, OR, XOR: its value is 1, 0 or NULL.
    pub fn is_condition(self) -> bool {
        use BinaryOp::{And, Eq, Ge, Gt, Le, Lt, Ne, NullSafeEq, Or, Xor};
        matches!(self, Eq | NullSafeEq | Ne | Lt | Le | Gt | Ge | And | Or | Xor)
    }
}

/// `expr IS [NOT] what`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Is<'a> {
    /// What is looked at.
    pub expr: Expr<'a>,
    /// With NOT.
    pub negated: bool,
    /// What it is held against.
    pub test: IsTest,
}

/// What IS asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IsTest {
    /// NULL.
    Null,
    /// TRUE.
    True,
    /// FALSE.
    False,
    /// UNKNOWN.
    Unknown,
    /// JSON, with whatever of VALUE, ARRAY, OBJECT, SCALAR and WITH UNIQUE KEYS follows.
    Json,
}

/// `expr [NOT] BETWEEN low AND high`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Between<'a> {
    /// What is looked at.
    pub expr: Expr<'a>,
    /// With NOT.
    pub negated: bool,
    /// The least that fits.
    pub low: Expr<'a>,
    /// The greatest that fits.
    pub high: Expr<'a>,
}

/// `expr [NOT] IN (…)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct In<'a> {
    /// What is looked for.
    pub expr: Expr<'a>,
    /// With NOT.
    pub negated: bool,
    /// Where.
    pub list: InList<'a>,
}

/// What is in the parentheses of IN.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum InList<'a> {
    /// Expressions, at least one (MariaDB takes none, too).
    Values(&'a [Expr<'a>]),
    /// A query.
    Query(&'a Query<'a>),
}

/// `expr [NOT] LIKE pattern [ESCAPE escape]`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Like<'a> {
    /// What is looked at.
    pub expr: Expr<'a>,
    /// With NOT.
    pub negated: bool,
    /// The pattern.
    pub pattern: Expr<'a>,
    /// The escape character.
    pub escape: Option<Expr<'a>>,
}

/// `CASE [operand] WHEN … THEN … [ELSE …] END`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Case<'a> {
    /// What is compared, if anything is.
    pub operand: Option<Expr<'a>>,
    /// The branches.
    pub branches: &'a [CaseBranch<'a>],
    /// The value of none.
    pub otherwise: Option<Expr<'a>>,
}

/// `WHEN condition THEN value`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CaseBranch<'a> {
    /// After WHEN.
    pub condition: Expr<'a>,
    /// After THEN.
    pub value: Expr<'a>,
}

/// `CAST(expr [AT TIME ZONE …] AS type [ARRAY])`, `CONVERT(expr, type)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cast<'a> {
    /// What is converted.
    pub expr: Expr<'a>,
    /// `AT TIME ZONE [INTERVAL] '…'`: the string.
    pub at_time_zone: Option<Span>,
    /// To what.
    pub data_type: DataType<'a>,
    /// MySQL's ARRAY, in an index's expression.
    pub array: bool,
}

/// A type, as in a cast or a column's definition.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DataType<'a> {
    /// All of it, with lengths, values, UNSIGNED, ZEROFILL, character set and collation of the type.
    pub span: Span,
    /// Its first words, as far as they say which type it is: `DOUBLE PRECISION`, `NATIONAL VARCHAR`, `TIMESTAMP`.
    pub name: Span,
    /// What its first parentheses hold: lengths, or the values of an ENUM or SET.
    pub arguments: &'a [Expr<'a>],
    /// With UNSIGNED (or just UNSIGNED).
    pub unsigned: bool,
    /// With ZEROFILL.
    pub zerofill: bool,
    /// `CHARACTER SET x`, or what ASCII, UNICODE, BYTE stand for: the word.
    pub charset: Option<Ident<'a>>,
    /// `COLLATE x` (only where it belongs to the type: never in a column's definition, where it is an attribute).
    pub collation: Option<Ident<'a>>,
    /// With BINARY after it.
    pub binary: bool,
}

/// `INTERVAL value unit`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval<'a> {
    /// How many.
    pub value: Expr<'a>,
    /// Of what: `DAY_MICROSECOND`.
    pub unit: Ident<'a>,
}

/// `expr op ANY (query)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quantified<'a> {
    /// The left side.
    pub expr: Expr<'a>,
    /// A comparison.
    pub op: BinaryOp,
    /// ALL, rather than ANY or SOME.
    pub all: bool,
    /// The right side.
    pub query: &'a Query<'a>,
}

/// `MATCH (columns) AGAINST (expr [modifier])`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Match<'a> {
    /// Column names.
    pub columns: &'a [Expr<'a>],
    /// What is looked for.
    pub against: Expr<'a>,
    /// `IN BOOLEAN MODE`, `WITH QUERY EXPANSION`, ….
    pub modifier: Option<Span>,
}
