//! Where connections to shards come from.

use std::sync::Arc;

use weir_backend::Server;
use weir_backend::connect::Connected;
use weir_catalog::ShardId;
use weir_shards::Own;
use weir_wire::Failure;

use crate::plan::Later;

/// Makes connections to the writers of shards, with Weir's own account. The account needs what `docs/operations.md` lists for moves.
pub trait Connector: Send + Sync {
    /// A new connection.
    ///
    /// # Errors
    /// When the server can't be reached, or refuses the login.
    fn connect(&self, shard: ShardId) -> Later<'_, Result<(Arc<Server>, Connected), Failure>>;
}

impl Connector for Own {
    fn connect(&self, shard: ShardId) -> Later<'_, Result<(Arc<Server>, Connected), Failure>> {
        Box::pin(Own::connect(self, shard))
    }
}
