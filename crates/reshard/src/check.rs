//! What is checked before a move begins.
//!
//! What must always hold: nothing is changed here, and what can't be moved without loss is refused, with the way out.

use std::collections::BTreeMap;

use weir_catalog::ShardId;
use weir_shards::own::quoted;

use crate::MoveError;
use crate::facts::{is_filtered, source_error};
use crate::link::Link;
use crate::plan::{Plan, Site, TablePlan};

/// Checks a source.
///
/// # Errors
/// What refuses it.
pub(crate) async fn source(link: &mut Link, plan: &Plan) -> Result<(), MoveError> {
    let shard = link.shard;
    let failed = source_error(shard);
    if is_filtered(link).await.map_err(&failed)? {
        return Err(MoveError::refused(format!(
            "Server '{}' leaves databases out of its binary log (binlog_do_db, binlog_ignore_db): remove these settings",
            link.server_name()
        )));
    }
    for (table, site) in on(plan, shard, |table| &table.sources) {
        columns(link, table, site).await?;
        if link.mariadb {
            cascades(link, table, site).await?;
        }
    }
    Ok(())
}

/// Checks a target.
///
/// # Errors
/// What refuses it.
pub(crate) async fn target(link: &mut Link, plan: &Plan) -> Result<(), MoveError> {
    for (table, site) in on(plan, link.shard, |table| &table.targets) {
        columns(link, table, site).await?;
    }
    Ok(())
}

/// The tables of a plan that have a site on a shard.
pub(crate) fn on<'p>(
    plan: &'p Plan,
    shard: ShardId,
    sites: fn(&TablePlan) -> &Vec<Site>,
) -> impl Iterator<Item = (&'p TablePlan, &'p Site)> {
    let site = move |table: &'p TablePlan| {
        let site = sites(table).iter().find(|site| site.shard == shard)?;
        Some((table, site))
    };
    plan.tables.iter().filter_map(site)
}

/// The table has the columns that the plan says, in their order.
async fn columns(link: &mut Link, table: &TablePlan, site: &Site) -> Result<(), MoveError> {
    let sql = format!(
        "SELECT column_name FROM information_schema.columns WHERE table_schema={} AND table_name={} ORDER BY ordinal_position",
        quoted(&site.schema),
        quoted(&table.name)
    );
    let rows = link.query(&sql).await.map_err(source_error(link.shard))?;
    let names = rows.into_iter().filter_map(|row| row.into_iter().next().flatten());
    let found: Vec<String> = names.map(|name| String::from_utf8_lossy(&name).to_lowercase()).collect();
    let wanted = table.columns.iter().map(|column| column.name.to_lowercase());
    if found.is_empty() {
        return Err(MoveError::refused(format!(
            "Server '{}' has no table {}.{}, or Weir's account may not read it",
            link.server_name(),
            site.schema,
            table.name
        )));
    }
    if !wanted.eq(found) {
        return Err(MoveError::refused(format!(
            "Table {}.{} on server '{}' has other columns than Weir's catalog has: make the definitions the same",
            site.schema,
            table.name,
            link.server_name()
        )));
    }
    kind(link, table, site).await
}

/// It is a table of rows, and not of their history, or a sequence.
async fn kind(link: &mut Link, table: &TablePlan, site: &Site) -> Result<(), MoveError> {
    let sql = format!(
        "SELECT table_type FROM information_schema.tables WHERE table_schema={} AND table_name={}",
        quoted(&site.schema),
        quoted(&table.name)
    );
    let found = link.query_texts(&sql).await.map_err(source_error(link.shard))?;
    match found.first().map(String::as_str) {
        Some("BASE TABLE") => Ok(()),
        other => Err(MoveError::refused(format!(
            "{}.{} on server '{}' is of the kind {}, and only tables without a history can be moved: DROP SYSTEM VERSIONING, or use a dump",
            site.schema,
            table.name,
            link.server_name(),
            other.unwrap_or("unknown")
        ))),
    }
}

/// MariaDB does not log what a foreign key's action changes in the child.
async fn cascades(link: &mut Link, table: &TablePlan, site: &Site) -> Result<(), MoveError> {
    const ACTIONS: &str = "('CASCADE','SET NULL','SET DEFAULT')";
    let sql = format!(
        "SELECT constraint_name FROM information_schema.referential_constraints WHERE constraint_schema={} AND table_name={} \
         AND (delete_rule IN {ACTIONS} OR update_rule IN {ACTIONS})",
        quoted(&site.schema),
        quoted(&table.name)
    );
    let found = link.query_texts(&sql).await.map_err(source_error(link.shard))?;
    match found.first() {
        None => Ok(()),
        Some(name) => Err(MoveError::refused(format!(
            "Table {}.{} has the foreign key '{name}' with an action (CASCADE, SET NULL), and MariaDB does not log which rows it changes: \
             drop the foreign key, or define it without an action, while the table is moved",
            site.schema, table.name
        ))),
    }
}

/// The name, quoted, of the index over the key by which rows are copied.
///
/// # Errors
/// When there is none.
pub(crate) async fn index(link: &mut Link, table: &TablePlan, site: &Site) -> Result<String, MoveError> {
    let sql = format!(
        "SELECT index_name, column_name FROM information_schema.statistics WHERE table_schema={} AND table_name={} AND non_unique=0 \
         AND sub_part IS NULL ORDER BY index_name, seq_in_index",
        quoted(&site.schema),
        quoted(&table.name)
    );
    let mut indexes: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for row in link.query(&sql).await.map_err(source_error(link.shard))? {
        let mut cells = row.into_iter().map(|cell| String::from_utf8_lossy(&cell.unwrap_or_default()).into_owned());
        if let (Some(index), Some(column)) = (cells.next(), cells.next()) {
            indexes.entry(index).or_default().push(column.to_lowercase());
        }
    }
    let name = |place: &usize| table.columns.get(*place).map(|column| column.name.to_lowercase());
    let key: Option<Vec<String>> = table.key.iter().map(name).collect();
    let found = indexes.into_iter().find(|(_, columns)| key.as_ref() == Some(columns));
    found.map(|(name, _)| crate::form::quoted(&name)).ok_or_else(|| {
        MoveError::refused(format!(
            "Table {}.{} on server '{}' has no unique index over the key by which its rows are moved",
            site.schema,
            table.name,
            link.server_name()
        ))
    })
}

/// The rows of a table, and the bytes of one, as the server estimates.
pub(crate) async fn estimate(link: &mut Link, table: &TablePlan, site: &Site) -> Result<(u64, u64), MoveError> {
    let failed = source_error(link.shard);
    if !link.mariadb {
        link.run(b"SET SESSION information_schema_stats_expiry=0").await.map_err(&failed)?;
    }
    let sql = format!(
        "SELECT table_rows, avg_row_length FROM information_schema.tables WHERE table_schema={} AND table_name={}",
        quoted(&site.schema),
        quoted(&table.name)
    );
    let row = link.query_texts(&sql).await.map_err(&failed)?;
    let number = |at: usize| row.get(at).and_then(|text| text.parse().ok()).unwrap_or(0);
    Ok((number(0), number(1)))
}
