//! Definitions in a running Weir: the catalog and the connections that everything shares.

use std::sync::Arc;

use weir_catalog::{Catalog, CollationWeights, Object, ShardId, Weights};
use weir_shards::ask::Row;
use weir_shards::sequence::SequenceName;
use weir_shards::sharding::Sharding;
use weir_wire::Failure;

use super::records::Records;

impl Records for Arc<Sharding> {
    fn catalog(&self) -> Arc<Catalog> {
        self.catalog_now()
    }

    async fn change(
        &self,
        change: impl FnOnce(&mut Catalog) -> Result<(), Failure> + Send + 'static,
    ) -> Result<Arc<Catalog>, Failure> {
        let changed = Sharding::change(self, move |now| {
            let mut next = now.clone();
            change(&mut next)?;
            Ok(next)
        });
        changed.await
    }

    async fn ask(&self, shard: ShardId, sql: String) -> Result<Vec<Row>, Failure> {
        self.own.run(shard, sql).await.map(|reply| reply.rows)
    }

    fn weights(&self) -> Weights {
        Weights::clone(&Sharding::weights(self))
    }

    fn learnt(&self, collation: &str, more: &CollationWeights) {
        Sharding::learnt(self, collation, more);
    }

    async fn sequence(&self, table: &Object) -> Result<u64, Failure> {
        match sequence(self, table) {
            Some(name) => self.sequences.position(&name).await,
            None => Ok(1),
        }
    }

    async fn set_sequence(&self, table: &Object, next: Option<u64>) -> Result<(), Failure> {
        let Some(name) = sequence(self, table) else { return Ok(()) };
        match next {
            Some(next) => self.sequences.set(&name, next).await,
            None => self.sequences.remove(&name).await,
        }
    }

    async fn rename_sequence(&self, from: &Object, to: &Object) -> Result<(), Failure> {
        match (sequence(self, from), sequence(self, to)) {
            (Some(from), Some(to)) => self.sequences.rename(&from, &to).await,
            _ => Ok(()),
        }
    }
}

/// The sequence of a table.
fn sequence(sharding: &Sharding, table: &Object) -> Option<SequenceName> {
    let catalog = sharding.catalog();
    let (name, database) = catalog.database(table.database.as_bytes())?;
    Some(SequenceName::new(name, database, table.name.as_deref()?))
}
