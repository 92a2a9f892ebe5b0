//! Values of keys as SQL.

use weir_catalog::Column;

/// Whether a column may be part of a key by which rows are moved.
pub(crate) fn is_usable(column: &Column) -> bool {
    matches!(
        &*column.kind.base,
        "tinyint" | "smallint" | "mediumint" | "int" | "bigint" | "decimal" | "double" | "float" | "year" | "bit" | "enum" | "set" | "date"
            | "datetime" | "time" | "timestamp" | "char" | "varchar" | "binary" | "varbinary"
    )
}
