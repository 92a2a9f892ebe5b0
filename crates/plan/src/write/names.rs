//! Tables and columns that a write names, as the catalog knows them.

use std::sync::Arc;

use weir_catalog::{Catalog, Database, Placement, ShardId, ShardKey, Table};
use weir_sql::Dialect;
use weir_sql::ast::ObjectName;
use weir_sql::facts::{Facts, facts_with};
use weir_sql::resolve::{Columns, Context};

use super::Input;
use crate::planner::programs;
use crate::workbench::missing;
use crate::{Need, Refusal};

/// A table that is written.
#[derive(Clone, Copy)]
pub(super) struct Target<'a> {
    pub(super) database_name: &'a str,
    pub(super) database: &'a Arc<Database>,
    pub(super) name: &'a str,
    pub(super) table: &'a Arc<Table>,
}

impl<'a> Target<'a> {
    /// By its name in the statement.
    pub(super) fn named(input: &Input<'a>, name: &ObjectName<'_>) -> Result<Target<'a>, Refusal> {
        let database = name.database.map(|database| database.name).or(input.session.database).unwrap_or_default();
        Target::of(input.catalog, database, name.name.name).ok_or_else(|| {
            if is_missing(input, database, name.name.name) {
                return missing(&String::from_utf8_lossy(database), name.name.name);
            }
            let shown = String::from_utf8_lossy(name.name.name).into_owned();
            Need::OtherForm.refused(format!(
                "'{shown}' is not a table that Weir knows in this database: only tables can be written to here"
            ))
        })
    }

    /// Whether both are one table.
    pub(super) fn is_same(&self, other: &Target<'_>) -> bool {
        self.name == other.name && self.database_name == other.database_name
    }

    /// By its name and its database's.
    pub(super) fn of(catalog: &'a Catalog, database: &[u8], name: &[u8]) -> Option<Target<'a>> {
        let (database_name, of) = catalog.database(database)?;
        let (name, table) = catalog.table(database, name)?;
        Some(Target { database_name, database: of, name, table })
    }

    pub(super) fn key(&self) -> Option<&'a ShardKey> {
        self.table.shard_key()
    }

    /// The shard that is asked first, and that keeps the sequences of the database.
    pub(super) fn keeper(&self) -> ShardId {
        self.database.shards.first().copied().unwrap_or(ShardId(0))
    }

    pub(super) fn is_global(&self) -> bool {
        self.table.placement == Placement::Global
    }

    /// Some column may get the time of the statement by itself.
    pub(super) fn may_take_time(&self) -> bool {
        let temporal = |base: &str| matches!(base, "timestamp" | "datetime");
        self.table.triggers || self.table.columns.iter().any(|column| temporal(&column.kind.base))
    }

    /// Its name for messages.
    pub(super) fn shown(&self) -> String {
        format!("'{}.{}'", self.database_name, self.name)
    }
}

/// Whether there is nothing of this name: no table, no view, nor a temporary table of the session.
fn is_missing(input: &Input<'_>, database: &[u8], name: &[u8]) -> bool {
    let Some((_, known)) = input.catalog.database(database) else { return false };
    let is_view = std::str::from_utf8(name).map_or(true, |name| known.views.contains_key(name));
    !is_view && input.session.temporary.is_empty()
}

/// The catalog's columns, for the resolution of names.
struct CatalogColumns<'a> {
    catalog: &'a Catalog,
}

impl Columns for CatalogColumns<'_> {
    fn has(&self, database: Option<&[u8]>, table: &[u8], column: &[u8]) -> Option<bool> {
        let (_, table) = self.catalog.table(database?, table)?;
        Some(table.column(column).is_some())
    }
}

/// Tells the statement's names, effects, and what its results depend on.
pub(super) fn with_facts<T>(input: &Input<'_>, tell: impl FnOnce(&Facts<'_>) -> T) -> T {
    let known = CatalogColumns { catalog: input.catalog };
    let context = Context {
        database: input.session.database,
        dialect: if input.session.mariadb { Dialect::MariaDb } else { Dialect::MySql },
        fold_case: input.catalog.fold_case,
        columns: &known,
    };
    let programs = programs(input.catalog, input.session);
    tell(&facts_with(input.statement, input.text, input.session.mode, &context, &programs))
}
