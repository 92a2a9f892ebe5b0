//! The databases that the bench makes through Weir.

use std::time::Duration;

use mysql::prelude::Queryable;
use weir_local::wait_until;

use super::config::shard_name;
use super::{Launcher, Target};
use crate::error::BenchError;
use crate::plan::Variation;
use crate::sql;

/// How long Weir may take to reach all shards after its start.
const READY_BOUND: Duration = Duration::from_secs(30);

impl Launcher {
    /// Makes the database of `sharding`, on the first of the shards.
    pub(crate) fn create_database(&self, weir: &Target, sharding: Variation) -> Result<(), BenchError> {
        let name = sharding.database(&self.upstream.database).unwrap_or_default();
        let shards: Vec<String> = (1..=sharding.shards()).map(shard_name).collect();
        let statement = format!("CREATE DATABASE {name} /*weir: shards ({}) */", shards.join(", "));
        let mut last = None;
        let done = wait_until(READY_BOUND, &self.cancel, || {
            let asked = sql::connect(&weir.host, weir.port, &self.upstream);
            match asked.and_then(|mut connection| connection.query_drop(&statement)) {
                Ok(()) => Ok(Some(())),
                Err(error) => {
                    last = Some(error);
                    Ok(None)
                }
            }
        })?;
        match (done, last) {
            (None, Some(source)) => {
                Err(BenchError::Sql { server: format!("{}:{}", weir.host, weir.port), source: Box::new(source) })
            }
            _ => Ok(()),
        }
    }
}
