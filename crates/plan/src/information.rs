//! Queries over `information_schema`: each server knows its own tables only, and the client asks about all.
//!
//! What must always hold: one server answers the query with the client's text, in which each table of `information_schema` that is incomplete
//! there is replaced: by this server's rows, without those about one shard only, and the rows that the other shards have returned. A table
//! that can't be completed is refused.
//!
//! * [`tables`]: tables about the cluster's objects, and how they are completed.
//! * [`edits`]: where the text changes.

mod edits;
mod tables;

use weir_catalog::{Placement, ShardId};
use weir_sql::ast::StatementKind;

use crate::planner::Planner;
use crate::routines::function_needs;
use crate::views::shards_with_all_rows;
use crate::{InformationQuery, Need, Refusal};

const SCHEMA: &[u8] = b"information_schema";

/// What a statement needs of other servers than the one that it runs on, if it names a table of `information_schema` that is not whole there.
pub(crate) fn wanted(planner: &Planner<'_>) -> Result<Option<InformationQuery>, Refusal> {
    if planner.catalog.databases.is_empty() {
        return Ok(None);
    }
    let mut named = Vec::new();
    for (source, table) in planner.facts.names.tables() {
        if table.database.is_some_and(|database| database.eq_ignore_ascii_case(SCHEMA)) {
            named.push((source, table.name));
        }
    }
    if named.is_empty() || matches!(planner.statement.kind, StatementKind::Show(_) | StatementKind::Explain(_)) {
        return Ok(None);
    }
    if let Some(trace) = planner.trace {
        trace.depends_on_more();
    }
    if planner.catalog.shards.len() > 1
        && let Some((_, name)) = named.iter().find(|(_, name)| tables::is_of_one_server(name))
    {
        let name = String::from_utf8_lossy(name);
        return Err(Need::OneServer.refused(format!(
            "information_schema.{name} shows what one server knows of its tables, and there are several: use SET weir_shard = 'name' to \
             ask one of them"
        )));
    }
    let reads = edits::reads(planner);
    let at = |home: ShardId| {
        let mut informed = Vec::new();
        for (_, name) in &named {
            if let Some(table) = tables::informed(planner.catalog, home, name, reads)
                && !informed.contains(&table)
            {
                informed.push(table);
            }
        }
        informed
    };
    let home = match planner.statement.kind {
        StatementKind::Query(_) | StatementKind::Set(_) | StatementKind::Do(_) => has_all(planner)?,
        _ => None,
    };
    let Some(home) = home else {
        // Which shard it would run on is not known here.
        let whole = planner.catalog.all_shards().all(|shard| at(shard).is_empty());
        return match whole {
            true => Ok(None),
            false => Err(Need::RowsInOnePlace.refused(
                "information_schema of sharded databases can be read only by SELECT, SET and DO, beside tables that one shard has whole (SINGLE, \
                 GLOBAL): use a SELECT of its own",
            )),
        };
    };
    let informed = at(home);
    if informed.is_empty() {
        return Ok(None);
    }
    let edits = edits::edits(planner, &informed);
    let reason = "information_schema of one server does not describe all shards".to_owned();
    Ok(Some(InformationQuery { home, tables: informed, edits, reason }))
}

/// The shard that has all rows of the tables which a query names beside `information_schema`: home, if it is one of several. `None`: none has
/// them, or it is not known.
fn has_all(planner: &Planner<'_>) -> Result<Option<ShardId>, Refusal> {
    let home = planner.session.home;
    let mut able: Vec<ShardId> = planner.catalog.all_shards().collect();
    let mut others = false;
    for (_, named) in planner.facts.names.tables() {
        let Some(name) = named.database else { continue };
        let Some((name, database)) = planner.catalog.database(name) else { continue };
        others = true;
        let has = match planner.catalog.table(name.as_bytes(), named.name).map(|(_, table)| &table.placement) {
            Some(Placement::Single(shard)) => vec![*shard],
            Some(Placement::Sharded(_)) if database.shards.len() > 1 => return Ok(None),
            Some(Placement::Sharded(_) | Placement::Global) => database.shards.clone(),
            None => match std::str::from_utf8(named.name) {
                Ok(view) if database.views.contains_key(view) => shards_with_all_rows(planner.catalog, name, view),
                // It is not there, or only the session has it.
                _ => continue,
            },
        };
        able.retain(|shard| has.contains(shard));
    }
    if !others {
        return Ok(Some(home));
    }
    if let Some(functions) = function_needs(planner)? {
        able.retain(|able| functions.able.has(*able) && functions.needed.iter().all(|(shard, _)| shard == able));
    }
    Ok(able.iter().find(|shard| **shard == home).or(able.first()).copied())
}
