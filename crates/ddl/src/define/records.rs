//! Where definitions are recorded, and where the servers are asked what came of them: the catalog and Weir's own connections.

use std::sync::Arc;

use weir_catalog::{Catalog, CollationWeights, Object, ShardId, Weights};
use weir_shards::ask::Row;
use weir_wire::Failure;

/// The catalog, and Weir's own connections to the shards.
pub trait Records {
    /// The newest snapshot.
    fn catalog(&self) -> Arc<Catalog>;

    /// Changes the catalog by compare-and-swap. When this returns, the change is stored; the result is what became of it.
    ///
    /// # Errors
    /// What `change` says; or that it could not be stored.
    fn change(
        &self,
        change: impl FnOnce(&mut Catalog) -> Result<(), Failure> + Send + 'static,
    ) -> impl Future<Output = Result<Arc<Catalog>, Failure>>;

    /// Asks a shard's writer, with Weir's own account, something that may be asked twice.
    ///
    /// # Errors
    /// The server's error, or that it can't be reached.
    fn ask(&self, shard: ShardId, sql: String) -> impl Future<Output = Result<Vec<Row>, Failure>>;

    /// The collation weights that are known.
    fn weights(&self) -> Weights;

    /// Adds what was learnt of a collation.
    fn learnt(&self, collation: &str, more: &CollationWeights);

    /// The next value of a table's AUTO_INCREMENT.
    ///
    /// # Errors
    /// As [`Records::ask`].
    fn sequence(&self, table: &Object) -> impl Future<Output = Result<u64, Failure>>;

    /// Sets the sequence of a table's AUTO_INCREMENT to this next value; `None`: it is forgotten.
    ///
    /// # Errors
    /// As [`Records::ask`].
    fn set_sequence(&self, table: &Object, next: Option<u64>) -> impl Future<Output = Result<(), Failure>>;

    /// The sequence of a table is another one's from now on.
    ///
    /// # Errors
    /// As [`Records::ask`].
    fn rename_sequence(&self, from: &Object, to: &Object) -> impl Future<Output = Result<(), Failure>>;
}
