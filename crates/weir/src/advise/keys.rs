//! The columns that would suit a table as its shard key: those that foreign keys tie to other tables, and its primary key's.

use std::collections::BTreeMap;

use weir_catalog::Catalog;
use weir_catalog::define::{references, unique_keys};

use super::place::{Place, Servers, with_create};
use super::schema::lossy;

/// How many keys are reported for each table.
const MOST: usize = 3;

/// A column, and what sharding by it means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Suggestion {
    pub(super) column: String,
    /// Rows of other tables that would be on the same shard: table and column.
    pub(super) beside: Vec<String>,
    /// Unique keys that don't hold it.
    pub(super) without: Vec<String>,
    /// Tables that would have to be GLOBAL, because of foreign keys by other columns.
    pub(super) global: Vec<String>,
    /// A foreign key to the table itself would have to go.
    pub(super) drops: bool,
}

/// Which columns have the same values because of foreign keys: by table and column, the one that all refer to.
pub(super) struct Ties(BTreeMap<(String, String), (String, String)>);

impl Ties {
    /// Those of all tables of the dump.
    pub(super) fn of(places: &[Place], servers: &Servers) -> Ties {
        let mut ties = BTreeMap::new();
        for place in places {
            let database = &place.object.database;
            let found = with_create(&place.text, servers.mode, |create| {
                let all = references(create.definition().map_or(&[], |definition| definition.elements()));
                let single = all.into_iter().filter_map(|(columns, to)| {
                    let [column] = &columns[..] else { return None };
                    let their = to.columns.first().and_then(|part| part.column());
                    let their = their.map_or_else(|| column.clone(), |name| lossy(name.name));
                    let home = to.table.database.map_or_else(|| database.clone(), |name| lossy(name.name));
                    let table = format!("{home}.{}", lossy(to.table.name.name));
                    Some((column.to_lowercase(), (table, their.to_lowercase())))
                });
                single.collect::<Vec<_>>()
            });
            for (column, to) in found.unwrap_or_default() {
                ties.insert((place.object.to_string(), column), to);
            }
        }
        Ties(ties)
    }

    /// The column at the end of the chain that this one begins.
    fn root(&self, table: &str, column: &str) -> (String, String) {
        let mut at = (table.to_owned(), column.to_lowercase());
        // A circle of foreign keys has no end.
        for _ in 0..self.0.len() {
            match self.0.get(&at) {
                Some(next) if *next != at => at = next.clone(),
                _ => break,
            }
        }
        at
    }

    /// The columns of other tables with the same values.
    fn beside(&self, table: &str, column: &str) -> Vec<String> {
        let root = self.root(table, column);
        let own = (table.to_owned(), column.to_lowercase());
        let mut found: Vec<&(String, String)> = self
            .0
            .keys()
            .filter(|of| self.root(&of.0, &of.1) == root)
            .chain([&root])
            .filter(|of| of.0 != own.0)
            .collect();
        found.sort_unstable();
        found.dedup();
        found.into_iter().map(|(table, column)| format!("{table} ({column})")).collect()
    }
}

/// The columns that would suit a table, the best first.
pub(super) fn suggestions(place: &Place, ties: &Ties, catalog: &Catalog, servers: &mut Servers) -> Vec<Suggestion> {
    let table = place.object.to_string();
    let mode = servers.mode;
    let described = with_create(&place.text, mode, |create| {
        let definition = create.definition()?;
        let target = |name: &weir_sql::ast::ObjectName<'_>| {
            let home = name.database.map_or_else(|| place.object.database.clone(), |name| lossy(name.name));
            format!("{home}.{}", lossy(name.name.name))
        };
        let all: Vec<(Vec<String>, String)> =
            references(definition.elements()).into_iter().map(|(columns, to)| (columns, target(&to.table))).collect();
        let referring = all.iter().filter_map(|(columns, to)| match &columns[..] {
            [column] if *to != table => Some(column.clone()),
            _ => None,
        });
        let uniques = unique_keys(definition);
        let primary = uniques.iter().filter(|(name, _)| name == "PRIMARY").flat_map(|(_, columns)| columns.clone());
        let mut columns: Vec<String> = primary.chain(referring).collect();
        let mut seen = Vec::new();
        columns.retain(|column| {
            let new = !seen.contains(&column.to_lowercase());
            seen.push(column.to_lowercase());
            new
        });
        Some((columns, uniques, all))
    });
    let Some(Some((columns, uniques, foreign))) = described else { return Vec::new() };
    let mut found: Vec<Suggestion> = Vec::new();
    for column in columns {
        if !fits(place, &column, catalog, servers) {
            continue;
        }
        let holds = |columns: &[String]| columns.iter().any(|known| known.eq_ignore_ascii_case(&column));
        let without = uniques.iter().filter(|(_, columns)| !holds(columns)).map(|(name, _)| name.clone()).collect();
        let by_others = || foreign.iter().filter(|(columns, _)| !holds(columns));
        let mut global: Vec<String> = by_others().filter(|(_, to)| *to != table).map(|(_, to)| to.clone()).collect();
        global.sort_unstable();
        global.dedup();
        let drops = by_others().any(|(_, to)| *to == table);
        found.push(Suggestion { beside: ties.beside(&table, &column), column, without, global, drops });
    }
    found.sort_by_key(|one| (one.drops, one.without.len() + one.global.len(), std::cmp::Reverse(one.beside.len())));
    found.truncate(MOST);
    found
}

/// Whether its type allows a column to be a shard key: all unique keys are left out of account.
fn fits(place: &Place, column: &str, catalog: &Catalog, servers: &mut Servers) -> bool {
    let quoted = format!("`{}`", column.replace('`', "``"));
    let mode = servers.mode;
    let text = with_create(&place.text, mode, |create| {
        let definition = create.definition()?;
        let of_column = definition.columns().find(|known| lossy(known.name.name).eq_ignore_ascii_case(column))?;
        let kind = String::from_utf8_lossy(of_column.data_type.span.text(&place.text)).into_owned();
        let elements = definition.elements?;
        let options = String::from_utf8_lossy(&place.text[elements.span.end as usize..]).into_owned();
        let plain = weir_catalog::define::server_text(&place.text, create) == place.text;
        let options = if plain { options } else { String::new() };
        Some(format!("CREATE TABLE `weir advise` ({quoted} {kind}) {options} /*weir: shard by hash({quoted}) */"))
    });
    let Some(Some(text)) = text else { return false };
    let judged = with_create(text.as_bytes(), mode, |create| {
        servers.declare(catalog, &place.object.database, text.as_bytes(), create).is_ok()
    });
    judged.unwrap_or(false)
}
