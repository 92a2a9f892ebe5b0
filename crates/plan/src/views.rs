//! On which shards a view is: on those that have all of its tables.

use weir_catalog::{Catalog, Placement, ShardId};
use weir_sql::resolve::{Context, resolve};
use weir_sql::{Bump, LexMode, parse};

/// Views upon views that are looked through.
const DEEPEST: usize = 64;

/// The shards that have a view; none if it is not known.
pub fn shards(catalog: &Catalog, database: &str, view: &str) -> Vec<ShardId> {
    within(catalog, (database, view), false, 0)
}

/// The shards that have all rows of a view; none if it is not known.
pub(crate) fn shards_with_all_rows(catalog: &Catalog, database: &str, view: &str) -> Vec<ShardId> {
    within(catalog, (database, view), true, 0)
}

fn within(catalog: &Catalog, (database, view): (&str, &str), all_rows: bool, depth: usize) -> Vec<ShardId> {
    let Some((name, known)) = catalog.database(database.as_bytes()) else { return Vec::new() };
    let Some(text) = known.views.get(view) else { return Vec::new() };
    let mut shards = known.shards.clone();
    let arena = Bump::new();
    let Ok(parsed) = parse(&arena, text.as_bytes(), LexMode::default()) else { return shards };
    let dialect = LexMode::default().dialect;
    let context = Context { database: Some(name.as_bytes()), dialect, fold_case: catalog.fold_case, columns: &() };
    for statement in parsed.statements {
        for (_, table) in resolve(statement, &context).tables() {
            let Some((database, known)) = table.database.and_then(|name| catalog.database(name)) else { continue };
            let has = match catalog.table(database.as_bytes(), table.name).map(|(_, table)| &table.placement) {
                Some(Placement::Single(shard)) => vec![*shard],
                Some(Placement::Sharded(_)) if all_rows && known.shards.len() > 1 => Vec::new(),
                Some(_) => known.shards.clone(),
                None => match std::str::from_utf8(table.name) {
                    Ok(view) if depth < DEEPEST && known.views.contains_key(view) => {
                        within(catalog, (database, view), all_rows, depth + 1)
                    }
                    _ => continue,
                },
            };
            shards.retain(|shard| has.contains(shard));
        }
    }
    shards
}
