//! INSERT, UPDATE and DELETE through a view: each shard has the view, and runs the client's text.
//!
//! What must always hold: a view stands for its table only if each of its rows is a row of that one table, and each of its columns a column
//! of it as it is. Then the shard key is known by the view's own names; the servers check the rest, WITH CHECK OPTION among it.

use std::collections::BTreeMap;
use std::sync::Arc;

use weir_catalog::{Catalog, Column, Database, Placement, ShardKey, Table};
use weir_sql::ast::{
    ExprKind, Grouping, Ident, NamedTable, ObjectName, Query, QueryBody, Select, SelectItemKind, SelectOptions,
    Statement, StatementKind, TableRefKind,
};
use weir_sql::resolve::{Resolved, Roles};
use weir_sql::{Bump, LexMode, parse};

/// Views upon views that are looked through.
const DEEPEST: usize = 8;

/// The catalog in which the views that a statement writes are the tables that they show. `None`: it writes none.
pub(crate) fn with_written_views(
    catalog: &Catalog,
    statement: &Statement<'_>,
    names: &Resolved<'_>,
) -> Option<Catalog> {
    let inserts = match statement.kind {
        StatementKind::Insert(insert) => Some(insert),
        StatementKind::Update(_) | StatementKind::Delete(_) => None,
        _ => return None,
    };
    let mut changed: Option<Catalog> = None;
    for (_, written) in names.tables() {
        if !written.roles.intersects(Roles::WRITTEN | Roles::MAYBE_WRITTEN) {
            continue;
        }
        let Some((name, database)) = written.database.and_then(|database| catalog.database(database)) else { continue };
        if catalog.table(name.as_bytes(), written.name).is_some() {
            continue;
        }
        let Some((view, _)) = database.view(written.name, catalog.fold_case) else { continue };
        let Some(shown) = table_behind(catalog, name, view, 0) else { continue };
        let single = matches!(shown.table.placement, Placement::Single(_));
        let named = inserts.is_none_or(|insert| insert.columns.is_some() || !shown.star);
        // What Weir gives to such columns, it gives by their own names.
        let generates = shown.hides_time || inserts.is_some() && shown.has_sequence;
        if !named || generates && !single {
            continue;
        }
        let all = changed.get_or_insert_with(|| catalog.clone());
        if let Some(database) = all.databases.get_mut(name) {
            let mut with: Database = (**database).clone();
            with.tables.insert(view.to_owned(), Arc::new(shown.table));
            *database = Arc::new(with);
        }
    }
    changed
}

/// Whether a name is a view's.
pub(super) fn is_view(catalog: &Catalog, database: &str, name: &str) -> bool {
    catalog.databases.get(database).is_some_and(|database| database.views.contains_key(name))
}

/// What a view shows.
struct Shown {
    /// The table, with the view's columns.
    table: Table,
    /// The table gets numbers from a sequence.
    has_sequence: bool,
    /// Servers may put the time into a column that it does not show.
    hides_time: bool,
    /// They stand for a `*`: the view has those that the table had when it was made.
    star: bool,
}

/// The table whose rows a view shows, if it shows those of one, as they are.
fn table_behind(catalog: &Catalog, database: &str, view: &str, depth: usize) -> Option<Shown> {
    let text = catalog.databases.get(database)?.views.get(view)?;
    let arena = Bump::new();
    let parsed = parse(&arena, text.as_bytes(), LexMode::default()).ok()?;
    let [Statement { kind: StatementKind::Query(query), .. }] = parsed.statements else { return None };
    let (query, names) = unwrapped(query);
    let select = plain_select(query)?;
    let named = only_table(select)?;
    let of = match named.name.database {
        Some(database) => catalog.database(database.name)?.0,
        None => database,
    };
    let base = base_of(catalog, of, &named.name, depth)?;
    let star = base.star || select.items.iter().any(|item| !matches!(item.kind, SelectItemKind::Expr(..)));
    let columns = columns_of(select, named, &base.table)?;
    if names.is_some_and(|names| names.len() != columns.len()) {
        return None;
    }
    let shown_as = |(place, (column, name)): (usize, &(usize, Vec<u8>))| {
        let name = names.map_or(&name[..], |names| names[place].name);
        Some((*column, String::from_utf8(name.to_vec()).ok()?))
    };
    let columns: Vec<(usize, String)> = columns.iter().enumerate().map(shown_as).collect::<Option<_>>()?;
    shown(base, &columns, star)
}

/// A view's query, and the names of its columns if its definition has a list of them (as the catalog keeps it: in a common table).
fn unwrapped<'a>(query: &'a Query<'a>) -> (&'a Query<'a>, Option<&'a [Ident<'a>]>) {
    match query.with.map(|with| with.tables) {
        Some([table]) if !table.columns.is_empty() => (table.query, Some(table.columns)),
        _ => (query, None),
    }
}

/// A SELECT that neither combines nor leaves out columns' values.
fn plain_select<'a>(query: &'a Query<'a>) -> Option<&'a Select<'a>> {
    let Query { with: None, body: QueryBody::Select(select), limit: None, into: None, .. } = *query else {
        return None;
    };
    let plain = select.options == SelectOptions::default()
        && select.group_by.is_empty()
        && select.grouping == Grouping::Plain
        && select.having.is_none()
        && select.windows.is_empty()
        && select.qualify.is_none();
    plain.then_some(select)
}

fn only_table<'a>(select: &'a Select<'a>) -> Option<&'a NamedTable<'a>> {
    match select.from {
        [table] => match table.kind {
            TableRefKind::Table(named) if named.partitions.is_empty() && named.period.is_none() => Some(named),
            _ => None,
        },
        _ => None,
    }
}

/// The table in FROM, or the one behind the view there.
fn base_of(catalog: &Catalog, database: &str, name: &ObjectName<'_>, depth: usize) -> Option<Shown> {
    if let Some((_, table)) = catalog.table(database.as_bytes(), name.name.name) {
        let table = Table::clone(table);
        return Some(Shown { has_sequence: table.auto_increment.is_some(), hides_time: false, star: false, table });
    }
    let (view, _) = catalog.databases.get(database)?.view(name.name.name, catalog.fold_case)?;
    if depth < DEEPEST { table_behind(catalog, database, view, depth + 1) } else { None }
}

/// The columns of the table that are selected, with their names in the view. `None`: there is something else, or one twice.
fn columns_of(select: &Select<'_>, named: &NamedTable<'_>, table: &Table) -> Option<Vec<(usize, Vec<u8>)>> {
    let mut columns: Vec<(usize, Vec<u8>)> = Vec::new();
    for item in select.items {
        match &item.kind {
            SelectItemKind::Star | SelectItemKind::TableStar(_) => {
                let all = table.columns.iter().enumerate().filter(|(_, column)| !column.invisible);
                columns.extend(all.map(|(place, column)| (place, column.name.clone().into_bytes())));
            }
            SelectItemKind::Expr(expr, alias) => {
                let ExprKind::Column(column) = &expr.bare().kind else { return None };
                let of = named.alias.as_ref().unwrap_or(&named.name.name);
                if column.table.is_some_and(|table| !table.name.eq_ignore_ascii_case(of.name)) {
                    return None;
                }
                let name = alias.as_ref().unwrap_or(&column.name);
                columns.push((table.column(column.name.name)?, name.name.to_vec()));
            }
        }
    }
    let mut places: Vec<usize> = columns.iter().map(|(place, _)| *place).collect();
    places.sort_unstable();
    places.windows(2).all(|pair| pair[0] != pair[1]).then_some(columns)
}

/// The table with these of its columns, under these names, if they show on which shard a row is.
fn shown(base: Shown, columns: &[(usize, String)], star: bool) -> Option<Shown> {
    let of = &base.table;
    let places: BTreeMap<usize, usize> = columns.iter().enumerate().map(|(new, (old, _))| (*old, new)).collect();
    let mapped = |old: &[usize]| old.iter().map(|column| places.get(column).copied()).collect::<Option<Vec<_>>>();
    let renamed = |(old, name): &(usize, String)| Column { name: name.clone(), ..of.columns[*old].clone() };
    let placement = match &of.placement {
        // What does not show the key says of no row where it is.
        Placement::Sharded(key) => {
            Placement::Sharded(ShardKey { columns: mapped(&key.columns)?, method: key.method.clone() })
        }
        other => other.clone(),
    };
    let hides = |(place, column): (usize, &Column)| {
        !places.contains_key(&place) && matches!(&*column.kind.base, "timestamp" | "datetime" | "date" | "time")
    };
    let hides_time = base.hides_time || of.columns.iter().enumerate().any(hides);
    let unique = |(name, columns): &(String, Vec<usize>)| Some((name.clone(), mapped(columns)?));
    let table = Table {
        placement,
        columns: columns.iter().map(renamed).collect(),
        primary_key: mapped(&of.primary_key).unwrap_or_default(),
        unique_keys: of.unique_keys.iter().filter_map(unique).collect(),
        foreign_keys: Vec::new(),
        auto_increment: of.auto_increment.and_then(|column| places.get(&column).copied()),
        ..of.clone()
    };
    Some(Shown { table, has_sequence: base.has_sequence, hides_time, star })
}
