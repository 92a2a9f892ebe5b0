//! Views whose queries Weir writes in place of their names.
//!
//! What must always hold: who may not use a view gets nothing of what its query says, whatever rights to its tables he has. The servers look
//! at the rights to the tables when they read them; nobody would look at those to the view.

use std::sync::Arc;

use weir_catalog::Catalog;
use weir_plan::views;
use weir_shards::Sharding;
use weir_sql::resolve::{Context, resolve};
use weir_wire::Failure;
use weir_wire::error::codes;

use super::super::Session;
use super::super::statement::Statement;
use super::super::stopped::Stopped;
use super::questions::{of_view, with_its_views};

impl Session {
    /// Has a server look at the session's rights to the views that a statement names.
    ///
    /// # Errors
    /// A right is missing, or no server can be asked.
    pub(super) async fn may_use_views(
        &mut self,
        sharding: &Arc<Sharding>,
        asked: &Statement<'_>,
    ) -> Result<(), Stopped> {
        // A view is locked by its own name there, which takes the right to read it.
        if self.has_table_locks() {
            return Ok(());
        }
        let catalog = self.temporary_catalog.clone().unwrap_or_else(|| Arc::clone(&sharding.catalog()));
        let named = self.views_in(&catalog, asked);
        if named.is_empty() {
            return Ok(());
        }
        if let Some(shard) = self.shard_that_knows(&catalog, asked) {
            let told = self.told_by(shard, &[with_its_views(asked)]).await?;
            return told.map_or(Ok(()), |failure| Err(failure.into()));
        }
        for (database, view) in named {
            let Some(shard) = views::shards(&catalog, &database, &view).first().copied() else {
                let message = format!("View '{database}.{view}' is on no shard as a whole");
                return Err(Failure::client(codes::ER_NOT_SUPPORTED_YET, message).into());
            };
            if let Some(failure) = self.told_by(shard, &[of_view(asked, &database, &view)]).await? {
                return Err(failure.into());
            }
        }
        Ok(())
    }

    /// The views of sharded databases that a statement names: their databases and names.
    fn views_in(&self, catalog: &Catalog, asked: &Statement<'_>) -> Vec<(String, String)> {
        if catalog.databases.values().all(|database| database.views.is_empty()) {
            return Vec::new();
        }
        let context = Context {
            database: self.state.profile.database.as_deref(),
            dialect: self.state.lex.dialect,
            fold_case: catalog.fold_case,
            columns: &(),
        };
        let Some(statement) = asked.only() else { return Vec::new() };
        let resolved = resolve(statement, &context);
        let views = resolved.tables().filter_map(|(_, table)| view_of(catalog, table.database?, table.name));
        views.map(|view| (view.database.to_owned(), view.name.to_owned())).collect()
    }
}

/// A view that the catalog knows.
pub(super) struct View<'c> {
    pub(super) database: &'c str,
    pub(super) name: &'c str,
    /// Its query, with names of databases spelt out.
    pub(super) query: &'c str,
}

/// The view that a name means.
pub(super) fn view_of<'c>(catalog: &'c Catalog, database: &[u8], name: &[u8]) -> Option<View<'c>> {
    let (database, _) = catalog.database(database)?;
    if catalog.table(database.as_bytes(), name).is_some() {
        return None;
    }
    let (name, query) = catalog.view(database.as_bytes(), name)?;
    Some(View { database, name, query })
}
