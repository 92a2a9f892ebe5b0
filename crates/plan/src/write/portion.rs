//! MariaDB's FOR PORTION OF: what remains of a row outside of the portion is inserted by the server that has the row.
//!
//! What must always hold: the parts of a row get no AUTO_INCREMENT value of one shard alone, which a row of another shard may have.

use weir_sql::ast::{NamedTable, Period, PeriodKind, Statement, StatementKind, TableRef, TableRefKind};

use super::names::Target;
use crate::{Need, Refusal};

/// Whether a statement is about a portion of its rows' time.
pub(crate) fn is_of_portion(statement: &Statement<'_>) -> bool {
    let tables = match statement.kind {
        StatementKind::Update(update) => update.tables,
        StatementKind::Delete(delete) => delete.tables,
        _ => &[],
    };
    let of_portion = |table: &TableRef<'_>| {
        matches!(
            table.kind,
            TableRefKind::Table(NamedTable { period: Some(Period { kind: PeriodKind::Portion(_), .. }), .. })
        )
    };
    tables.iter().any(of_portion)
}

/// # Errors
/// The refusal of a portion of a table whose rows are numbered over all shards.
pub(super) fn refuse_numbered(targets: &[Target<'_>]) -> Result<(), Refusal> {
    match targets.iter().find(|target| target.table.auto_increment.is_some()) {
        None => Ok(()),
        Some(target) => Err(Need::OtherForm.refused(format!(
            "FOR PORTION OF of {}: its parts would get AUTO_INCREMENT values of one shard alone. UPDATE, DELETE and INSERT the rows \
             in a transaction",
            target.shown()
        ))),
    }
}

/// # Errors
/// The refusal of a portion of rows that are found first: their keys have parts of the time itself, and a query has no portion.
pub(super) fn refuse_found_first(why: &str) -> Refusal {
    Need::OtherForm.refused(format!(
        "FOR PORTION OF in a change by rows of several shards is not supported ({why}): UPDATE, DELETE and INSERT the rows in a transaction"
    ))
}
