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

use weir_catalog::ShardId;
use weir_sql::ast::StatementKind;

use crate::planner::Planner;
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
    let together = planner.names_sharded();
    if together || !matches!(planner.statement.kind, StatementKind::Query(_)) {
        // Which shard it would run on is not known here.
        let whole = planner.catalog.all_shards().all(|shard| at(shard).is_empty());
        return match whole {
            true => Ok(None),
            false => Err(Need::RowsInOnePlace.refused(
                "information_schema of sharded databases can be read only by a SELECT that reads no sharded tables: use a SELECT of its own",
            )),
        };
    }
    let home = planner.session.home;
    let informed = at(home);
    if informed.is_empty() {
        return Ok(None);
    }
    let edits = edits::edits(planner, &informed);
    let reason = "information_schema of one server does not describe all shards".to_owned();
    Ok(Some(InformationQuery { home, tables: informed, edits, reason }))
}
