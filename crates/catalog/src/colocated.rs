//! Whether rows of two tables with equal shard keys are on one shard.
//!
//! What must always hold: if [`colocated`] returns true, and the servers consider the key columns of two rows equal, both rows are on the
//! same shard.

use crate::key::KeyKind;
use crate::model::Database;
use crate::placement::Method;
use crate::table::{ColumnType, Table};

/// Whether these two tables of one database, both with a shard key, have rows with equal keys on the same shard.
pub fn colocated(_database: &Database, one: &Table, two: &Table) -> bool {
    let (Some(key), Some(other)) = (one.shard_key(), two.shard_key()) else {
        return false;
    };
    let types = |table: &'_ Table, columns: &[usize]| -> Option<Vec<ColumnType>> {
        columns.iter().map(|column| Some(table.columns.get(*column)?.kind.clone())).collect()
    };
    let (Some(ours), Some(theirs)) = (types(one, &key.columns), types(two, &other.columns)) else {
        return false;
    };
    keys_meet((&key.method, &ours), (&other.method, &theirs))
}

/// The same of keys whose tables need not exist.
pub(crate) fn keys_meet(one: (&Method, &[ColumnType]), two: (&Method, &[ColumnType])) -> bool {
    one.0 == two.0
        && one.1.len() == two.1.len()
        && one.1.iter().zip(two.1).all(|(one, two)| match (KeyKind::of(one), KeyKind::of(two)) {
            (Ok(one), Ok(two)) => same_encoding(&one, &two),
            _ => false,
        })
}

/// Equal values of both have one encoding.
fn same_encoding(one: &KeyKind<'_>, two: &KeyKind<'_>) -> bool {
    use KeyKind as K;
    match (one, two) {
        (
            K::Integer { .. } | K::Bits(_) | K::Decimal { .. } | K::Year,
            K::Integer { .. } | K::Bits(_) | K::Decimal { .. } | K::Year,
        ) => true,
        (K::Date | K::Datetime(_), K::Date | K::Datetime(_)) => true,
        (K::Time(_), K::Time(_)) => true,
        // BINARY's zero bytes at the end don't count in the hash, VARBINARY's do.
        (K::Binary { fixed, .. }, K::Binary { fixed: other, .. }) => fixed == other,
        // With PAD_CHAR_TO_FULL_LENGTH a CHAR equals texts with spaces at the end, which count where nothing is padded.
        (K::Text { collation, fixed, .. }, K::Text { collation: other, fixed: other_fixed, .. }) => {
            collation == other && (fixed == other_fixed || !(collation.contains("0900") || collation.contains("nopad")))
        }
        _ => false,
    }
}
