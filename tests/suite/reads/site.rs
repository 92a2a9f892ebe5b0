//! A writer and two replicas that follow it.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use libtest_mimic::Failed;
use mysql::prelude::Queryable;
use weir_local::{Flavor, Server, wait_for_replica};

use crate::driver::connect;
use crate::lab::{APP, Endpoint, Site, eventually};

pub(crate) const BOUND: Duration = Duration::from_secs(60);
/// The database of the tests.
pub(crate) const DATABASE: &str = "t_reads";

/// The servers of a test.
pub(crate) struct GroupSite {
    pub(crate) flavor: Flavor,
    pub(crate) writer: Site,
    pub(crate) replicas: Vec<Server>,
}

impl GroupSite {
    /// Starts them, with a table of counters on all of them.
    pub(crate) fn start(flavor: Flavor, parent: &Path) -> Result<GroupSite, Failed> {
        let writer = Site::start(flavor, parent, "writer", &[])?;
        let mut replicas = Vec::new();
        for name in ["replica1", "replica2"] {
            replicas.push(writer.start_replica(parent, name)?);
        }
        let site = GroupSite { flavor, writer, replicas };
        site.writer.fill(
            DATABASE,
            &[
                "CREATE DATABASE {db}",
                "CREATE TABLE {db}.counters (id INT PRIMARY KEY, v BIGINT NOT NULL)",
                "CREATE TABLE {db}.log (id BIGINT AUTO_INCREMENT PRIMARY KEY, who INT NOT NULL, KEY (who))",
                "INSERT INTO {db}.counters WITH RECURSIVE n AS (SELECT 0 AS id UNION ALL SELECT id + 1 FROM n WHERE id < 63) \
                 SELECT id, 0 FROM n",
            ],
        )?;
        site.catch_up()?;
        Ok(site)
    }

    /// The writer first.
    pub(crate) fn servers(&self) -> Vec<&Server> {
        std::iter::once(&self.writer.server).chain(&self.replicas).collect()
    }

    /// Waits until the replicas have all that the writer has.
    pub(crate) fn catch_up(&self) -> Result<(), Failed> {
        for replica in &self.replicas {
            wait_for_replica(&self.writer.server, replica, BOUND)?;
        }
        Ok(())
    }

    /// Has a replica stop applying what it receives, or go on.
    pub(crate) fn apply(&self, replica: usize, on: bool) -> Result<(), Failed> {
        let verb = if on { "START" } else { "STOP" };
        let noun = if self.flavor == Flavor::MariaDb { "SLAVE" } else { "REPLICA" };
        Ok(self.replicas[replica].execute(&format!("{verb} {noun} SQL_THREAD"))?)
    }

    /// Runs `work` while both replicas stop applying for `pause` now and then, one after the other.
    pub(crate) fn with_delays<T>(
        &self,
        pause: Duration,
        work: impl FnOnce() -> Result<T, Failed>,
    ) -> Result<T, Failed> {
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let delaying = scope.spawn(|| {
                let mut turn = 0;
                while !done.load(Ordering::Relaxed) {
                    let replica = turn % self.replicas.len();
                    turn += 1;
                    self.apply(replica, false)?;
                    std::thread::sleep(pause);
                    self.apply(replica, true)?;
                    std::thread::sleep(Duration::from_millis(20));
                }
                Ok::<(), Failed>(())
            });
            let result = work();
            done.store(true, Ordering::Relaxed);
            delaying.join().map_err(|_| "the replicas could not be delayed")??;
            result
        })
    }

    /// Waits until Weir sends reads to both replicas.
    pub(crate) fn all_take_reads(&self, endpoint: &Endpoint) -> Result<(), Failed> {
        self.catch_up()?;
        eventually(BOUND, "both replicas take reads", || {
            shown(endpoint, "replica1").is_ok_and(|reads| reads == "yes")
                && shown(endpoint, "replica2").is_ok_and(|reads| reads == "yes")
        })
    }
}

/// What `WEIR SHOW SERVERS` says of a server's reads.
pub(crate) fn shown(endpoint: &Endpoint, server: &str) -> Result<String, Failed> {
    column_of(endpoint, server, "reads")
}

/// What `WEIR SHOW SERVERS` says of a server.
pub(crate) fn column_of(endpoint: &Endpoint, server: &str, column: &str) -> Result<String, Failed> {
    let mut client = connect(endpoint.port, APP, None)?;
    let row: Option<mysql::Row> = client.query_first(format!("WEIR SHOW SERVERS LIKE '{server}'"))?;
    let row = row.ok_or_else(|| format!("there is no {server}"))?;
    row.get::<String, _>(column).ok_or_else(|| format!("{server} has no {column}").into())
}
