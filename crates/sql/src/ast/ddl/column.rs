//! Columns.

use super::{Check, References};
use crate::ast::{ColumnName, DataType, Expr, Ident, Span};

/// A column's definition.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ColumnDefinition<'a> {
    /// From its name to its last attribute.
    pub span: Span,
    /// All of the name: MariaDB reads `t.c` and `db.t.c` here.
    pub full_name: ColumnName<'a>,
    /// Its name.
    pub name: Ident<'a>,
    /// Its type. SERIAL is one too.
    pub data_type: DataType<'a>,
    /// What follows the type, in order.
    pub attributes: &'a [ColumnAttribute<'a>],
}

impl<'a> ColumnDefinition<'a> {
    /// With NOT NULL; the last word on it counts.
    pub fn is_not_null(&self) -> bool {
        let word = |attribute: &ColumnAttribute<'_>| match attribute.kind {
            ColumnAttributeKind::Null => Some(false),
            ColumnAttributeKind::NotNull => Some(true),
            _ => None,
        };
        self.attributes.iter().rev().find_map(word).unwrap_or(false)
    }

    /// With PRIMARY KEY, or just KEY.
    pub fn is_primary_key(&self) -> bool {
        self.attributes.iter().any(|attribute| attribute.kind == ColumnAttributeKind::PrimaryKey)
    }

    /// With `AUTO_INCREMENT`. SERIAL, which implies it, is not looked at.
    pub fn is_auto_increment(&self) -> bool {
        self.attributes.iter().any(|attribute| attribute.kind == ColumnAttributeKind::AutoIncrement)
    }

    /// DEFAULT.
    pub fn default(&self) -> Option<&'a Expr<'a>> {
        self.attributes.iter().rev().find_map(|attribute| match &attribute.kind {
            ColumnAttributeKind::Default(expr) => Some(*expr),
            _ => None,
        })
    }

    /// The expression that it is generated from.
    pub fn generated(&self) -> Option<&'a Generated<'a>> {
        self.attributes.iter().find_map(|attribute| match &attribute.kind {
            ColumnAttributeKind::Generated(generated) => Some(*generated),
            _ => None,
        })
    }
}

/// What follows a column's type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ColumnAttribute<'a> {
    /// All of it.
    pub span: Span,
    /// What it says.
    pub kind: ColumnAttributeKind<'a>,
}

/// What a column's attribute says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ColumnAttributeKind<'a> {
    /// NULL.
    Null,
    /// NOT NULL.
    NotNull,
    /// `DEFAULT expr`.
    Default(&'a Expr<'a>),
    /// `ON UPDATE CURRENT_TIMESTAMP`.
    OnUpdate(&'a Expr<'a>),
    /// `AUTO_INCREMENT`.
    AutoIncrement,
    /// `SERIAL DEFAULT VALUE`.
    SerialDefaultValue,
    /// `[PRIMARY] KEY`.
    PrimaryKey,
    /// `UNIQUE [KEY]`. With Weir's UNCHECKED: its span.
    Unique(Option<Span>),
    /// `COMMENT 'text'`: the string.
    Comment(Span),
    /// `COLLATE x`; DEFAULT in place of x (MariaDB): none.
    Collate(Option<Ident<'a>>),
    /// `CHARACTER SET x`, where it stands apart from the type (MariaDB: after COMPRESSED).
    Charset(Ident<'a>),
    /// `COLUMN_FORMAT word`.
    ColumnFormat(Ident<'a>),
    /// `STORAGE word`.
    Storage(Ident<'a>),
    /// VISIBLE.
    Visible,
    /// INVISIBLE.
    Invisible,
    /// `[GENERATED ALWAYS] AS (expr) [STORED]`.
    Generated(&'a Generated<'a>),
    /// `[GENERATED ALWAYS] AS ROW START` (MariaDB).
    RowStart,
    /// `[GENERATED ALWAYS] AS ROW END` (MariaDB).
    RowEnd,
    /// REFERENCES: read by MariaDB and MySQL 9 as a foreign key.
    References(&'a References<'a>),
    /// `[CONSTRAINT [name]] CHECK (expr) [[NOT] ENFORCED]`.
    Check(&'a Check<'a>),
    /// `SRID n`, `REF_SYSTEM_ID = n`: the number.
    Srid(Span),
    /// `COMPRESSED [= zlib]` (MariaDB).
    Compressed(Option<Ident<'a>>),
    /// `WITH SYSTEM VERSIONING` (true), `WITHOUT SYSTEM VERSIONING`.
    SystemVersioning(bool),
    /// `NOT SECONDARY` (MySQL).
    NotSecondary,
    /// `ENGINE_ATTRIBUTE`, `SECONDARY_ENGINE_ATTRIBUTE`, `EXTERNAL_FORMAT`, an engine's own: the name, and the value.
    Option(Ident<'a>, Span),
}

/// `[GENERATED ALWAYS] AS (expr) [VIRTUAL | STORED]`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Generated<'a> {
    /// Without the parentheses, but for those of a query.
    pub expr: Expr<'a>,
    /// STORED or PERSISTENT, rather than VIRTUAL or nothing.
    pub stored: bool,
}
