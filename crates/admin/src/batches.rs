//! Large writes in parts: what is shown of them.

use weir_batches::{Batches, Shown};
use weir_wire::Failure;

use crate::answer::Table;
use crate::columns;

/// `SHOW BATCHES`. `user`: whose; all if none is named.
///
/// # Errors
/// The server's that keeps the records.
pub(crate) async fn batches(batches: &Batches, user: Option<&str>) -> Result<Table, Failure> {
    let mut table = Table::new(columns::BATCHES);
    for shown in batches.shown(user).await? {
        let next = next(&shown);
        let known = shown.record;
        table.push(vec![
            known.id.into(),
            known.batch.user.into(),
            known.batch.table.into(),
            known.batch.column.into(),
            shown.state.to_owned().into(),
            known.parts.into(),
            known.changed.into(),
            known.done.into(),
            known.batch.last.into(),
            known.begun.into(),
            String::from_utf8_lossy(&known.batch.statement).into_owned().into(),
            next.into(),
            known.error.into(),
        ]);
    }
    Ok(table)
}

/// What can be done.
fn next(shown: &Shown) -> String {
    match shown.state {
        "paused" | "interrupted" | "failed" => format!("WEIR BATCH RESUME {}", shown.record.id),
        _ => String::new(),
    }
}
