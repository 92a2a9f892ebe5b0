//! JSON_TABLE.

use super::{DataType, Expr, Ident, Span};

/// `JSON_TABLE(document, path COLUMNS (…)) alias`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JsonTable<'a> {
    /// The document.
    pub document: Expr<'a>,
    /// Which values in the document become rows: the string.
    pub path: Span,
    /// The columns, at least one.
    pub columns: &'a [JsonColumn<'a>],
    /// Its name. A server that reads one without asks for it later.
    pub alias: Option<Ident<'a>>,
}

/// A column of JSON_TABLE, or several of an inner path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JsonColumn<'a> {
    /// All of it.
    pub span: Span,
    /// What it is.
    pub kind: JsonColumnKind<'a>,
}

/// What a column of JSON_TABLE is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum JsonColumnKind<'a> {
    /// `name FOR ORDINALITY`.
    Ordinality(Ident<'a>),
    /// `name type [EXISTS] PATH path …`.
    Value(&'a JsonValueColumn<'a>),
    /// `NESTED [PATH] path COLUMNS (…)`: the path and the columns.
    Nested(Span, &'a [JsonColumn<'a>]),
}

/// `name type [EXISTS] PATH path [… ON EMPTY] [… ON ERROR]`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JsonValueColumn<'a> {
    /// Its name.
    pub name: Ident<'a>,
    /// Its type.
    pub data_type: DataType<'a>,
    /// With EXISTS: whether there is a value.
    pub exists: bool,
    /// Where the value is: the string.
    pub path: Span,
    /// What stands in place of a value that is missing.
    pub on_empty: Option<JsonResponse<'a>>,
    /// What stands in place of a value that does not fit.
    pub on_error: Option<JsonResponse<'a>>,
}

/// `ERROR | NULL | DEFAULT value`, before ON EMPTY or ON ERROR.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum JsonResponse<'a> {
    /// ERROR.
    Error,
    /// NULL.
    Null,
    /// `DEFAULT value`: a literal.
    Default(Expr<'a>),
}
