//! What refers to tables that are to move, and would not follow them: views, functions, triggers and events.
//!
//! What must always hold: after a move each of these finds all rows that it found before, on the shards that it is on.

use std::sync::Arc;

use weir_catalog::{Catalog, MovedTable, Name, Placement, Words};
use weir_plan::views;
use weir_shards::Sharding;
use weir_wire::Failure;
use weir_wire::error::not_supported;

use crate::triggers;

/// Refuses what views, functions, triggers and events would not follow.
///
/// # Errors
/// 1235, with the object that is in the way; the servers' own.
pub(super) async fn follow(
    sharding: &Arc<Sharding>,
    before: &Catalog,
    after: &Catalog,
    moved: &[MovedTable],
) -> Result<(), Failure> {
    let own = moved.first().map(|table| table.object.database.as_str());
    for (database, known) in &before.databases {
        for view in known.views.keys() {
            let (was, is) = (views::shards(before, database, view), views::shards(after, database, view));
            // One of the tables' own database comes to other shards with them.
            let follows = own == Some(database.as_str()) && !is.is_empty();
            if was != is && !follows {
                return Err(not_supported(format!(
                    "View '{database}.{view}' would have to be on other shards: DROP it, move the tables, and CREATE it again"
                )));
            }
        }
    }
    for table in moved {
        let own = table.object.name.as_deref().unwrap_or_default();
        let word = Name::within(&table.object.database, own);
        let fits = |event: &&weir_catalog::Event| event.allows(&table.to.placement, &table.to.clause);
        if let Some(event) = before.events_with(&table.object).find(|event| !fits(event)) {
            return Err(not_supported(format!(
                "Event {} may use '{}', and would no longer find all of its rows on the shard where it runs: DROP EVENT IF EXISTS {}, move the \
                 table, and CREATE it again",
                event.object, table.object, event.object
            )));
        }
        let stops_being_global = table.from.placement == Placement::Global && table.to.placement != Placement::Global;
        for (of, routines) in &before.routines {
            for (function, known) in routines.functions.iter().filter(|_| stops_being_global) {
                if Words::of(known.text.as_bytes(), Some(of.as_bytes()), before).may_mean(&word) {
                    return Err(not_supported(format!(
                        "Function '{of}.{function}' may read '{}', which functions can do of GLOBAL tables only: DROP the function first",
                        table.object
                    )));
                }
            }
        }
    }
    triggers::follow(sharding, after, moved).await
}
