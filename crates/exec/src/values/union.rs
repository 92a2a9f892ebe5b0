//! Values as literals for a UNION with the column that they come from.

use crate::read::ColumnKind;

/// A field of a text row as a literal that has its column's type, or one that a UNION with the column does not change.
pub fn in_union(cell: Option<&[u8]>, kind: ColumnKind) -> String {
    let Some(cell) = cell else { return "NULL".to_owned() };
    let text = || String::from_utf8_lossy(cell);
    let hex = || cell.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    match kind {
        ColumnKind::Integer { unsigned: true, .. } => format!("CAST({} AS UNSIGNED)", text()),
        ColumnKind::Integer { .. } | ColumnKind::Decimal | ColumnKind::Float | ColumnKind::Double => {
            text().into_owned()
        }
        ColumnKind::Date => format!("TIMESTAMP '{}'", text()),
        ColumnKind::Time => format!("TIME '{}'", text()),
        // A literal gives way to the collation of the column, but utf8mb4 makes a column of utf8mb3 one of its own: ASCII never does.
        ColumnKind::Bytes if cell.is_empty() => "_ascii''".to_owned(),
        ColumnKind::Bytes if cell.is_ascii() => format!("_ascii 0x{}", hex()),
        ColumnKind::Bytes => format!("_utf8mb4 0x{}", hex()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_have_types_that_a_union_keeps() {
        let integer = |unsigned| ColumnKind::Integer { width: 8, unsigned };
        for (kind, cell, wanted) in [
            (integer(true), &b"3"[..], "CAST(3 AS UNSIGNED)"),
            (integer(false), b"-3", "-3"),
            (ColumnKind::Decimal, b"1.50", "1.50"),
            (ColumnKind::Date, b"2020-01-02", "TIMESTAMP '2020-01-02'"),
            (ColumnKind::Time, b"01:02:03", "TIME '01:02:03'"),
            (ColumnKind::Bytes, b"", "_ascii''"),
            (ColumnKind::Bytes, b"a'", "_ascii 0x6127"),
            (ColumnKind::Bytes, b"\xc3\xa4", "_utf8mb4 0xc3a4"),
        ] {
            assert_eq!(in_union(Some(cell), kind), wanted);
        }
        assert_eq!(in_union(None, ColumnKind::Bytes), "NULL");
    }
}
