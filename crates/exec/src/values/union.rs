//! Values as literals of a UNION with the column that they are of.

use crate::read::Kind;

/// A field of a text row as a literal that has its column's type, or one that a UNION with the column does not change.
pub fn in_union(cell: Option<&[u8]>, kind: Kind) -> String {
    let Some(cell) = cell else { return "NULL".to_owned() };
    let text = || String::from_utf8_lossy(cell);
    let hex = || cell.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    match kind {
        Kind::Integer { unsigned: true, .. } => format!("CAST({} AS UNSIGNED)", text()),
        Kind::Integer { .. } | Kind::Decimal | Kind::Float | Kind::Double => text().into_owned(),
        Kind::Date => format!("TIMESTAMP '{}'", text()),
        Kind::Time => format!("TIME '{}'", text()),
        // A literal gives way to the collation of the column, but utf8mb4 makes a column of utf8mb3 one of its own: ASCII never does.
        Kind::Bytes if cell.is_empty() => "_ascii''".to_owned(),
        Kind::Bytes if cell.is_ascii() => format!("_ascii 0x{}", hex()),
        Kind::Bytes => format!("_utf8mb4 0x{}", hex()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_have_types_that_a_union_keeps() {
        let integer = |unsigned| Kind::Integer { width: 8, unsigned };
        for (kind, cell, wanted) in [
            (integer(true), &b"3"[..], "CAST(3 AS UNSIGNED)"),
            (integer(false), b"-3", "-3"),
            (Kind::Decimal, b"1.50", "1.50"),
            (Kind::Date, b"2020-01-02", "TIMESTAMP '2020-01-02'"),
            (Kind::Time, b"01:02:03", "TIME '01:02:03'"),
            (Kind::Bytes, b"", "_ascii''"),
            (Kind::Bytes, b"a'", "_ascii 0x6127"),
            (Kind::Bytes, b"\xc3\xa4", "_utf8mb4 0xc3a4"),
        ] {
            assert_eq!(in_union(Some(cell), kind), wanted);
        }
        assert_eq!(in_union(None, Kind::Bytes), "NULL");
    }
}
