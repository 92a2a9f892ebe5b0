//! CREATE TEMPORARY TABLE … SELECT of rows of several shards, and DROP TABLE of temporary tables together with others.
//!
//! What must always hold: a table that could not be filled is dropped again; a name of a temporary table is never taken for the table that
//! it hides.

use std::sync::Arc;

use weir_catalog::Catalog;
use weir_ddl::define;
use weir_ddl::define::filled::{Filled, Told, apart};
use weir_exec::ShardLease;
use weir_shards::Sharding;
use weir_sql::ast::{CreateTable, DropKind, DropTables};
use weir_wire::error::codes;

use super::super::super::Session;
use super::super::super::state::TableName;
use super::super::super::statement::Statement;
use super::super::super::stopped::Stopped;
use super::super::definitions::under_locks;
use super::{Named, elsewhere, put, refused};
use crate::backends::shard_id;

impl Session {
    /// Makes a temporary table, and fills it with rows of several shards: a server tells the definition, the table is made where the session
    /// is, and INSERT … SELECT fills it.
    pub(in super::super) async fn make_temporary(
        &mut self,
        sharding: &Arc<Sharding>,
        asked: &Statement<'_>,
        wanted: &define::Asked<'_>,
        create: &CreateTable<'_>,
    ) -> Result<(), Stopped> {
        if self.has_table_locks() {
            return Err(under_locks().into());
        }
        self.may_be_filled(asked, true)?;
        let catalog = sharding.catalog();
        let made = self.full_name(&create.name, &catalog).ok_or_else(elsewhere)?;
        if create.if_not_exists && self.state.temporary.contains(&made) {
            let text = [b"CREATE TEMPORARY TABLE IF NOT EXISTS ", &put(&made)[..], b" (there INT)"].concat();
            return self.fill(&text).await;
        }
        let mut named = Named::default();
        self.names(wanted.statement, &catalog, &mut named);
        named.temporary.retain(|name| *name != made);
        let sources = named.temporary;
        let told = match sources[..] {
            [] => {
                let filled = apart(wanted, &catalog)?.ok_or_else(elsewhere)?;
                self.ask_definition(&filled).await?
            }
            _ => {
                let catalog = self.with_temporary_tables(&catalog, &sources).await?;
                let filled = apart(wanted, &catalog)?.ok_or_else(elsewhere)?;
                if filled.shard != shard_id(self.current.server.shard) {
                    return Err(elsewhere().into());
                }
                self.ask_definition_here(&filled).await?
            }
        };
        let before = self.client.mark();
        self.fill(&told.create).await?;
        if self.state.latest.row_count < 0 {
            // The client has been told the error.
            return Ok(());
        }
        self.client.take_back(before);
        let filling = self.fill(&told.insert).await;
        if filling.is_err() || self.state.latest.row_count < 0 {
            self.drop_again(&made).await;
        }
        filling
    }

    /// Asks the connection that has temporary tables of the query.
    async fn ask_definition_here(&mut self, filled: &Filled) -> Result<Told, Stopped> {
        let Some(lease) = self.current.lease.take() else { return Err(elsewhere().into()) };
        let shard = shard_id(self.current.server.shard);
        let mut part = ShardLease { shard, index: self.current.server.index, lease };
        let told = filled.ask(&mut part).await;
        self.current.lease = Some(part.lease);
        Ok(told?)
    }

    /// The client hears of why the table could not be filled.
    async fn drop_again(&mut self, made: &TableName) {
        let (latest, before) = (self.state.latest.clone(), self.client.begin_beside());
        let dropped = self.fill(&[b"DROP TEMPORARY TABLE IF EXISTS ", &put(made)[..]].concat()).await;
        self.client.take_back(before);
        self.state.latest = latest;
        if dropped.is_err() {
            tracing::warn!("a temporary table that could not be filled is left without rows");
        }
    }

    /// Whether a DROP TABLE is of temporary tables and of others.
    pub(in super::super) fn drops_temporary_too(&self, sharding: &Sharding, drop: &DropTables<'_>) -> bool {
        let catalog = sharding.catalog();
        drop.kind == DropKind::Table && !drop.temporary && !self.own_names(drop, &catalog).is_empty()
    }

    fn own_names(&self, drop: &DropTables<'_>, catalog: &Catalog) -> Vec<TableName> {
        let names = drop.names.iter().filter_map(|name| self.full_name(name, catalog));
        names.filter(|name| self.state.temporary.contains(name)).collect()
    }

    /// Drops the others on their shards, then the temporary ones. MySQL drops all or none, MariaDB all that there are.
    pub(in super::super) async fn drop_with_temporary(
        &mut self,
        sharding: &Arc<Sharding>,
        drop: &DropTables<'_>,
    ) -> Result<(), Stopped> {
        if self.has_table_locks() {
            return Err(under_locks().into());
        }
        let catalog = sharding.catalog();
        let own = self.own_names(drop, &catalog);
        let all: Option<Vec<TableName>> = drop.names.iter().map(|name| self.full_name(name, &catalog)).collect();
        let mut others = all.ok_or_else(|| refused("is dropped with another of no database"))?;
        others.retain(|name| !own.contains(name));
        if own.iter().enumerate().any(|(at, name)| own[..at].contains(name)) {
            // Before anything is dropped the server says that a name is there twice.
            return self.drop_own(&own).await;
        }
        let exists: &[u8] = if drop.if_exists { b"IF EXISTS " } else { b"" };
        let dropped = self.define_text(sharding, &[b"DROP TABLE ", exists, &list(&others)[..]].concat()).await;
        match &dropped {
            Err(Stopped::Refused(failure)) if self.identity.mariadb && failure.code == codes::ER_BAD_TABLE_ERROR => {}
            Err(_) => return dropped.map(|_| ()),
            Ok(_) => {}
        }
        self.drop_own(&own).await?;
        self.answer_write(&dropped?);
        Ok(())
    }

    async fn drop_own(&mut self, own: &[TableName]) -> Result<(), Stopped> {
        let Some(lease) = self.current.lease.as_mut() else { return Err(elsewhere().into()) };
        lease.has_found_rows = false;
        lease.query(&[b"DROP TEMPORARY TABLE ", &list(own)[..]].concat()).await?;
        self.state.temporary.retain(|name| !own.contains(name));
        Ok(())
    }
}

fn list(names: &[TableName]) -> Vec<u8> {
    names.iter().map(put).collect::<Vec<_>>().join(&b","[..])
}
