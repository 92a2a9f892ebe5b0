//! On which shards a view is: on those that have all of its tables; and what queries of views depend on, which the statement does not say.

use std::collections::BTreeSet;

use weir_catalog::{Catalog, Placement, ShardId};
use weir_sql::ast::{Statement, StatementKind};
use weir_sql::facts::{Facts, Programs, Varies, facts_with};
use weir_sql::resolve::{Context, Resolved, resolve};
use weir_sql::{Bump, Effects, LexMode, parse};

/// Views upon views that are looked through.
const DEEPEST: usize = 64;
/// As many views can be behind one statement.
const MOST: usize = 1024;

/// What the queries of the views that a statement reads depend on, and do.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Behind {
    pub(crate) varies: Varies,
    pub(crate) effects: Effects,
}

impl Behind {
    /// Of the views that a statement names, and of those behind them.
    pub(crate) fn of(
        statement: &Statement<'_>,
        names: &Resolved<'_>,
        catalog: &Catalog,
        mode: LexMode,
        programs: &dyn Programs,
    ) -> Behind {
        use StatementKind as Kind;
        let mut all = Behind { varies: Varies::empty(), effects: Effects::empty() };
        let reads = matches!(
            statement.kind,
            Kind::Query(_) | Kind::Insert(_) | Kind::Update(_) | Kind::Delete(_) | Kind::Explain(_)
        );
        if !reads || catalog.databases.values().all(|database| database.views.is_empty()) {
            return all;
        }
        let (mut open, mut seen) = (named(catalog, names), BTreeSet::new());
        let mode = LexMode { dialect: mode.dialect, ..LexMode::default() };
        while let Some((database, view)) = open.pop() {
            if seen.len() == MOST || !seen.insert((database.clone(), view.clone())) {
                continue;
            }
            let Some((_, text)) = catalog.view(database.as_bytes(), view.as_bytes()) else { continue };
            let arena = Bump::new();
            let Ok(parsed) = parse(&arena, text.as_bytes(), mode) else { continue };
            let context = Context {
                database: Some(database.as_bytes()),
                dialect: mode.dialect,
                fold_case: catalog.fold_case,
                columns: &(),
            };
            for statement in parsed.statements {
                let Facts { names, class, varies, .. } =
                    facts_with(statement, text.as_bytes(), mode, &context, programs);
                all.varies |= varies;
                all.effects |= class.effects;
                open.extend(named(catalog, &names));
            }
        }
        all
    }
}

/// The views among these names: their databases and names.
fn named(catalog: &Catalog, names: &Resolved<'_>) -> Vec<(String, String)> {
    let views = names.tables().filter_map(|(_, table)| {
        let (database, known) = catalog.database(table.database?)?;
        let (view, _) = known.view(table.name, catalog.fold_case)?;
        Some((database.to_owned(), view.to_owned()))
    });
    views.collect()
}

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
