//! What stands in a definition's way: another one that has not ended, a move, or who has the same objects.
//!
//! What must always hold: nothing is recorded of what is refused here.

use weir_catalog::{Catalog, Change, Definition, LayoutChange, Move, MovedTable, Name, Object, Words};
use weir_wire::Failure;
use weir_wire::error::{codes, not_supported};

use super::asked::Asked;
use super::progress::{listed, way_on};

/// Refuses a definition of what another one has not ended with. One that drops all of that ends the other one too.
pub(super) fn in_the_way(catalog: &Catalog, objects: &[Object], changes: &[Change]) -> Result<(), Failure> {
    // Accounts don't stand in each other's way: what is half done can be done again.
    let stands = |other: &&Definition| !is_about_accounts(other) && !other.is_dropped_by(changes);
    let Some(other) = catalog.definitions_in_the_way(objects).find(stands) else { return Ok(()) };
    let (with, without) = other.sides(catalog);
    let message = format!(
        "Definition {} has not ended (shards with it: {}; without it: {}): {}",
        other.id,
        listed(&with),
        listed(&without),
        way_on(other.id)
    );
    Err(Failure::client(codes::ER_UNKNOWN_ERROR, message))
}

/// Refuses a definition of tables that move, or one whose text names them: a foreign key, a view, a trigger.
pub(super) fn moving(asked: &Asked<'_>, catalog: &Catalog, objects: &[Object]) -> Result<(), Failure> {
    if objects.iter().all(|object| object.database.is_empty()) {
        return Ok(());
    }
    let mut in_progress = catalog.moves.iter().filter(|known| !known.phase.has_ended()).peekable();
    if in_progress.peek().is_none() {
        return Ok(());
    }
    let words = Words::of(asked.text, asked.database, catalog);
    let means = |moved: &MovedTable| {
        let name = moved.object.name.as_deref().unwrap_or_default();
        let beside = objects.iter().any(|object| object.database == moved.object.database);
        let named = if beside { Name::of(name) } else { Name::within(&moved.object.database, name) };
        objects.iter().any(|object| object.meets(&moved.object)) || words.may_mean(&named)
    };
    // What is made within a database that changes its layout would be on the shards of one of both.
    let within = |change: &LayoutChange| objects.iter().any(|object| object.database == change.database);
    let meets = |known: &&Move| known.tables.iter().any(means) || known.layout.as_ref().is_some_and(within);
    match in_progress.find(meets) {
        None => Ok(()),
        Some(known) => {
            let id = known.id;
            let way_on = match known.phase.is_cut_over() {
                true => format!("WEIR MOVE FINISH {id} ends it, WEIR MOVE UNDO {id} takes it back"),
                false => format!("wait for its end, or WEIR MOVE CANCEL {id}"),
            };
            Err(not_supported(format!(
                "Definition of a table while move {id} of {} is in progress: {way_on}",
                known.names()
            )))
        }
    }
}

fn is_about_accounts(definition: &Definition) -> bool {
    definition.objects.iter().all(|object| object.database.is_empty())
}

/// Another definition has these objects, or waits for the session's own locks on them.
pub(super) fn in_use(objects: &[Object]) -> Failure {
    let named: Vec<_> = objects.iter().map(ToString::to_string).collect();
    let message = format!(
        "Another definition of {} has not ended; it may wait for the tables that this session has locked: UNLOCK TABLES, or try again",
        named.join(", ")
    );
    Failure::client(codes::ER_LOCK_WAIT_TIMEOUT, message)
}
