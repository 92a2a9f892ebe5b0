//! The databases that the bench makes through Weir.

use std::time::Duration;

use mysql::Conn;
use mysql::prelude::Queryable;
use weir_local::wait_until;

use super::config::shard_name;
use super::{Launcher, Target, Upstream};
use crate::error::BenchError;
use crate::plan::Variation;
use crate::sql;

/// How long Weir may take to reach all shards after its start.
const READY_BOUND: Duration = Duration::from_secs(30);

/// Connections that ask once before anything is measured: each of Weir's threads gets some of them.
const WARMING: usize = 16;

impl Launcher {
    /// Has each of Weir's threads compare texts of the database, which a server has to tell it about when it does so for the first time.
    pub(crate) fn warm(&self, weir: &Target, sharding: Variation) -> Result<(), BenchError> {
        let name = sharding.database(&self.upstream.database).unwrap_or_default();
        let statement = format!("SELECT DISTINCT c FROM {name}.sbtest1 WHERE id BETWEEN 1 AND 2 ORDER BY c");
        let connect = |_| sql::connect(&weir.host, weir.port, &self.upstream);
        let connections: Result<Vec<_>, _> = (0..WARMING).map(connect).collect();
        let asked = connections.and_then(|mut all| all.iter_mut().try_for_each(|one| one.query_drop(&statement)));
        asked.map_err(|source| BenchError::Sql {
            server: format!("{}:{}", weir.host, weir.port),
            source: Box::new(source),
        })
    }

    /// A connection to the database of `sharding`, or to that of the account.
    pub(crate) fn connect(&self, target: &Target, sharding: Option<Variation>) -> Result<Conn, mysql::Error> {
        let own = sharding.and_then(|sharding| sharding.database(&self.upstream.database));
        let database = own.unwrap_or_else(|| self.upstream.database.clone());
        sql::connect(&target.host, target.port, &Upstream { database, ..self.upstream.clone() })
    }

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
