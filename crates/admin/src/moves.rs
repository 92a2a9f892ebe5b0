//! Moves of tables: what is shown of them, and what they are told.

use std::sync::Arc;

use weir_catalog::{Move, MovePhase, MovedTable, Placed};
use weir_moves::moment::utc;
use weir_moves::{Mover, Request, read_tables};
use weir_wire::Failure;

use crate::answer::Table;
use crate::columns;
use crate::command::MoveOrder;

/// `SHOW MOVES`
pub(crate) fn moves(mover: &Arc<Mover>) -> Table {
    let mut table = Table::new(columns::MOVES);
    for shown in mover.shown() {
        let known = &shown.record;
        let tenths = |number: f64| (number * 10.0).round() / 10.0;
        table.push(vec![
            known.id.into(),
            known.names().into(),
            placements(known, |table| &table.from).into(),
            placements(known, |table| &table.to).into(),
            known.phase.name().into(),
            shown.state.into(),
            shown.rows.into(),
            shown.of.into(),
            shown.bytes.into(),
            tenths(shown.rate).into(),
            shown.remaining.into(),
            shown.changes.into(),
            tenths(shown.lag).into(),
            shown.compared.into(),
            known.cut_over_at.map(utc).into(),
            next(known).into(),
            known.error.clone().into(),
        ]);
    }
    table
}

/// The clauses of all tables, each once.
fn placements(known: &Move, of: impl Fn(&MovedTable) -> &Placed) -> String {
    let mut clauses: Vec<&str> = known.tables.iter().map(|table| of(table).clause.as_str()).collect();
    clauses.dedup();
    clauses.join("; ")
}

/// What comes next, or can be done.
fn next(known: &Move) -> String {
    let id = known.id;
    match known.phase {
        _ if known.paused => format!("WEIR MOVE RESUME {id}"),
        MovePhase::Prepare => "copy".to_owned(),
        MovePhase::Copy => "compare, and cut over".to_owned(),
        MovePhase::Follow => "cut over".to_owned(),
        MovePhase::Reverse if known.undo => "cut over back".to_owned(),
        MovePhase::Reverse => format!("WEIR MOVE FINISH {id} or WEIR MOVE UNDO {id}"),
        _ => String::new(),
    }
}

/// `MOVE TABLES`
///
/// # Errors
/// Why it can't be begun, and what to do.
pub(crate) async fn begin(mover: &Arc<Mover>, tables: &str, user: &str) -> Result<Table, Failure> {
    let tables = read_tables(tables, None)?;
    let names: Vec<String> = tables.iter().map(|table| table.object.to_string()).collect();
    let id = mover.begin(Request { tables, by: user.to_owned(), awaited: false }).await?;
    let mut table = Table::new(columns::MOVE_BEGUN);
    table.push(vec![id.unwrap_or(0).into(), names.join(", ").into()]);
    Ok(table)
}

/// `MOVE … id`. `zone`: the time zone of who gives it.
///
/// # Errors
/// 1105 when there is no such move, or it can't do that now.
pub(crate) async fn order(mover: &Arc<Mover>, id: u64, order: MoveOrder, zone: Option<&str>) -> Result<(), Failure> {
    match order {
        MoveOrder::Pause => mover.pause(id).await,
        MoveOrder::Resume => mover.resume(id).await,
        MoveOrder::Cancel => mover.cancel(id).await,
        MoveOrder::CutOver(None) => mover.cut_over_now(id).await,
        MoveOrder::CutOver(Some(time)) => mover.cut_over_at(id, &time, zone).await,
        MoveOrder::Verify => mover.verify(id),
        MoveOrder::Finish => mover.finish(id).await,
        MoveOrder::Undo => mover.undo(id).await,
        MoveOrder::Throttle(rows) => mover.throttle(id, rows).await,
    }
}
