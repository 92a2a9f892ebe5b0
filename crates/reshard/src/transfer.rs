//! Rows on their way from a source to targets.
//!
//! What must always hold: no more is in memory than what waits for a target, and one row.

use crate::MoveError;
use crate::Trouble;
use crate::form::{Form, Literals, fields};
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

/// Reads the rows of a query of [`Form::query`], and puts each to the targets that it belongs to. `defer`: as in [`Targets::put`]. After an
/// error of a target, or of a server that answers, the connection can be used again.
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
    let columns = link.columns().await.map_err(failed)?;
    let mut carrier = Carrier { literals: form.literals(&columns), table, form, shared, text: Vec::new() };
    let mut done = Transferred::default();
    let mut outcome = Ok(());
    while let Some(packet) = link.next_row().await.map_err(failed)? {
        // What is left of the result is read, too.
        if outcome.is_ok() {
            outcome = carrier.row(packet, targets, defer, &mut done).await;
        }
    }
    outcome.map(|()| done)
}

/// What takes rows of one result to targets.
struct Carrier<'p> {
    literals: Literals,
    table: &'p TablePlan,
    form: &'p Form,
    shared: &'p Shared,
    text: Vec<u8>,
}

impl Carrier<'_> {
    async fn row(
        &mut self,
        packet: &[u8],
        targets: &mut Targets,
        defer: usize,
        done: &mut Transferred,
    ) -> Result<(), SectionError> {
        let strange = |failure| SectionError::Stop(MoveError { failure, ..MoveError::internal("") });
        let row = fields(packet).map_err(strange)?;
        self.text.clear();
        let warnings = self.literals.put(&row, &mut self.text).map_err(strange)?;
        let place = self.shared.place(self.table, &self.form.placing(&row)).await?;
        let places = targets.on(place);
        if places.is_empty() {
            return Err(no_target(self.table).into());
        }
        for at in places {
            targets.put(at, &self.text, warnings, defer).await?;
        }
        done.rows += 1;
        done.bytes += self.text.len() as u64;
        done.last = self.form.key_of(&row);
        Ok(())
    }
}

fn no_target(table: &TablePlan) -> MoveError {
    let message = format!("A row of table '{}' belongs to a shard that is no target of the move", table.name);
    MoveError::new(Trouble::NoPlace, message)
}
