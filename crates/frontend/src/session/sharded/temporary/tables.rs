//! Temporary tables as tables of a catalog: SINGLE ones of the shard of the session's connection.
//!
//! What must always hold: such a catalog is one session's, for one statement; no plan that was made with it is kept.

use std::collections::BTreeMap;
use std::sync::Arc;

use weir_catalog::reading::{TextRow, adopted, shown, tables};
use weir_catalog::{Catalog, ShardId, Table};
use weir_wire::error::not_supported;

use super::super::super::Session;
use super::super::super::state::TableName;
use super::super::super::stopped::Stopped;
use super::super::super::transaction::kind::Joins;
use super::{elsewhere, put};
use crate::backends::shard_id;

impl Session {
    /// The catalog with temporary tables of the session, as its connection tells of them.
    pub(super) async fn with_temporary_tables(
        &mut self,
        catalog: &Catalog,
        names: &[TableName],
    ) -> Result<Catalog, Stopped> {
        self.enter_anchor().await?;
        let shard = shard_id(self.current.server.shard);
        let mut read = BTreeMap::new();
        for name in names {
            if !read.contains_key(name) {
                read.insert(name.clone(), self.read_temporary(name, shard, catalog.shard_name(shard)).await?);
            }
        }
        Ok(with_tables(catalog, read.iter().map(|(name, table)| (name, Some(table)))))
    }

    /// The connection that has the temporary tables is the session's, and what the latest statement has left there is known.
    async fn enter_anchor(&mut self) -> Result<(), Stopped> {
        let anchor = self.anchor().filter(|_| self.current.lease.is_some()).ok_or_else(elsewhere)?;
        self.enter_shard(anchor, Joins::First).await?;
        if self.state.left_something() {
            self.learn_what_was_left(true).await?;
        }
        self.connection().has_found_rows = false;
        Ok(())
    }

    async fn read_temporary(&mut self, name: &TableName, shard: ShardId, at: &str) -> Result<Table, Stopped> {
        let place = put(name);
        let columns = self.connection().query(&[b"SHOW FULL COLUMNS FROM ", &place[..]].concat()).await?;
        let keys = self.connection().query(&[b"SHOW INDEX FROM ", &place[..]].concat()).await?;
        let rows = texts(columns.rows).zip(texts(keys.rows)).map(|(columns, keys)| shown("table", &columns, &keys));
        let rows = rows.ok_or_else(|| {
            not_supported(
                "The names of a temporary table's columns can't be read in character_set_results: SET NAMES utf8mb4",
            )
        })?;
        let mut found = tables(&rows, &|_| Some(adopted(shard, at)))?;
        found.remove("table").ok_or_else(|| elsewhere().into())
    }
}

/// The rows of a reply as texts.
fn texts(rows: Vec<Vec<Option<Vec<u8>>>>) -> Option<Vec<TextRow>> {
    let text = |cell: Option<Vec<u8>>| cell.map(String::from_utf8).transpose().ok();
    rows.into_iter().map(|row| row.into_iter().map(text).collect()).collect()
}

/// The catalog with other tables under some names, or with none.
pub(super) fn with_tables<'a>(
    catalog: &Catalog,
    names: impl Iterator<Item = (&'a TableName, Option<&'a Table>)>,
) -> Catalog {
    let mut changed = catalog.clone();
    for ((database, name), table) in names {
        let Some((database, known)) = catalog.database(database) else { continue };
        let hidden = catalog.table(database.as_bytes(), name).map(|(name, _)| name.to_owned());
        let Some(found) = changed.databases.get_mut(database) else { continue };
        if hidden.is_none() && table.is_none() {
            continue;
        }
        let mut tables = found.tables.clone();
        if let Some(hidden) = hidden {
            tables.remove(&hidden);
        }
        if let Some(table) = table {
            tables.insert(String::from_utf8_lossy(name).into_owned(), Arc::new(table.clone()));
        }
        let mut other = (**known).clone();
        other.tables = tables;
        *found = Arc::new(other);
    }
    changed
}
