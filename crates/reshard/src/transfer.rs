//! Rows on their way from a source to targets.
//!
//! What must always hold: no more is in memory than what waits for a target, and one row.

use weir_exec::read::Column;

use crate::MoveError;
use crate::Trouble;
use crate::form::{Form, fields};
use crate::link::Link;
use crate::plan::TablePlan;
use crate::shared::Shared;
use crate::target::{SectionError, Targets};

/// What was read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Transferred {
    pub(crate) rows: u64,
    pub(crate) bytes: u64,
    /// The key of the last row, as literals.
    pub(crate) last: Vec<String>,
}

/// Reads the rows of a query of [`Form::query`], and puts each to the targets that it belongs to. `defer`: as in [`Targets::put`].
pub(crate) async fn transfer(
    link: &mut Link,
    sql: &[u8],
    (table, form): (&TablePlan, &Form),
    shared: &Shared,
    targets: &mut Targets,
    defer: usize,
) -> Result<Transferred, SectionError> {
    let shard = link.shard;
    let failed = |failure| SectionError::Source(shard, failure);
    link.send(sql).await.map_err(failed)?;
    let columns: Vec<Column> = link.columns().await.map_err(failed)?;
    let literals = form.literals(&columns);
    let mut done = Transferred::default();
    let mut text = Vec::new();
    while let Some(packet) = link.next_row().await.map_err(failed)? {
        let mut row = Vec::with_capacity(columns.len());
        fields(packet, &mut row).map_err(failed)?;
        text.clear();
        let warnings = literals.put(&row, &mut text).map_err(failed)?;
        let place = shared.place(table, &form.placing(&row)).await?;
        let places = targets.on(place);
        if places.is_empty() {
            return Err(no_target(table).into());
        }
        for at in places {
            targets.put(at, &text, warnings, defer).await?;
        }
        done.rows += 1;
        done.bytes += text.len() as u64;
        done.last = form.key_of(&row);
    }
    Ok(done)
}

fn no_target(table: &TablePlan) -> MoveError {
    let message = format!("A row of table '{}' belongs to a shard that is no target of the move", table.name);
    MoveError::new(Trouble::NoPlace, message)
}
