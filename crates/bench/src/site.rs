//! The database server that is measured: one that the run starts for itself, or one that was given.
//!
//! Must always hold: a server of the run's own leaves nothing behind, neither process nor file; a given one is changed in its
//! table `sbtest1` only, which must not have been there before, and is dropped at the end.

use std::path::Path;
use std::time::Duration;

use mysql::prelude::Queryable;
use tempfile::TempDir;
use weir_local::{
    Account, Cancel, Cluster, ClusterSpec, Flavor, Installation, LocalError, Progress, Server, wait_until,
};

use crate::counters::{self, Counters};
use crate::driver::FRESHNESS_TABLE;
use crate::error::BenchError;
use crate::options::{GivenServer, Options};
use crate::plan::Plan;
use crate::sql;
use crate::target::Upstream;

/// Settings that decide what a write costs and what fits into memory.
const TOLD_VARIABLES: [&str; 6] = [
    "innodb_lock_wait_timeout",
    "innodb_buffer_pool_size",
    "innodb_flush_log_at_trx_commit",
    "sync_binlog",
    "log_bin",
    "binlog_format",
];
/// Room for the table, several times, in the server's memory: what is measured is not the disk's reads.
const BUFFER_POOL_MIB: u32 = 512;
/// Seconds that a transaction waits for a row where there are shards.
const LOCK_WAIT_OF_SHARDS: u32 = 2;
/// How long replicas may take to apply what a run has written.
const CATCH_UP_BOUND: Duration = Duration::from_secs(120);
/// How long the server may take to end thousands of connections.
const DRAIN_BOUND: Duration = Duration::from_secs(15);

/// The server under all targets.
pub(crate) struct Site {
    // Dropped before the directory that holds its data.
    cluster: Option<Cluster>,
    pub(crate) upstream: Upstream,
    max_connections: u32,
    /// The run's private directory.
    dir: TempDir,
}

impl Site {
    /// Starts a server, or looks whether the given one can be used.
    pub(crate) fn start(options: &Options, plan: &Plan, progress: &mut dyn Progress) -> Result<Self, BenchError> {
        let dir = tempfile::Builder::new().prefix("weir-bench-").tempdir();
        let dir = dir.map_err(BenchError::io("create a directory in", &std::env::temp_dir()))?;
        match &options.given {
            None => Self::start_local(options, plan, dir, progress),
            Some(given) => match plan.needs_own_server() {
                Some(why) => Err(BenchError::Options(format!(
                    "{} {why}, and starts its own: --server can't be given",
                    options.bench.name()
                ))),
                None => Self::use_given(given, dir),
            },
        }
    }

    fn start_local(
        options: &Options,
        plan: &Plan,
        dir: TempDir,
        progress: &mut dyn Progress,
    ) -> Result<Self, BenchError> {
        let installation = Installation::find(options.flavor, options.server_program.as_deref())?;
        let max_connections = plan.largest_server_connections();
        let spec = ClusterSpec {
            // The first group is the one server that the others are compared with.
            shards: 1 + plan.shards() as usize,
            replicas: plan.replicas() as usize,
            options: server_options(options.flavor, max_connections, plan.shards()),
            die_with_parent: true,
            cancel: options.cancel.clone(),
            ..ClusterSpec::new(&dir.path().join("cluster"), installation)
        };
        let cluster = Cluster::up(&spec, progress)?;
        let port = writer(&cluster).map_or(0, Server::port);
        let upstream = Upstream {
            host: "127.0.0.1".to_owned(),
            port,
            replicas: cluster
                .groups
                .first()
                .map_or_else(Vec::new, |group| group.replicas.iter().map(Server::port).collect()),
            shards: shards(&cluster).map(Server::port).collect(),
            account: spec.application.clone(),
            monitor: spec.monitor.clone(),
            database: spec.database.clone(),
        };
        Ok(Self { cluster: Some(cluster), upstream, max_connections, dir })
    }

    fn use_given(given: &GivenServer, dir: TempDir) -> Result<Self, BenchError> {
        let upstream = Upstream {
            host: given.host.clone(),
            port: given.port,
            replicas: Vec::new(),
            shards: Vec::new(),
            account: given.account.clone(),
            monitor: Account { name: given.account.name.clone(), password: given.account.password.clone() },
            database: given.database.clone(),
        };
        let mut site = Self { cluster: None, upstream, max_connections: 0, dir };
        let tables = site.rows("SHOW TABLES LIKE 'sbtest1'")?;
        if !tables.is_empty() {
            let database = &site.upstream.database;
            return Err(BenchError::Options(format!(
                "the database {database} already has a table sbtest1; drop it, or choose another database"
            )));
        }
        let limit = site.rows("SHOW GLOBAL VARIABLES LIKE 'max_connections'")?;
        site.max_connections = limit.first().and_then(|(_, value)| value.parse().ok()).unwrap_or(0);
        Ok(site)
    }

    /// The server, if it runs for this bench.
    pub(crate) fn writer(&self) -> Option<&Server> {
        self.cluster.as_ref().and_then(writer)
    }

    /// The run's private directory.
    pub(crate) fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// The servers' processes under their names in the record, where they run for this bench.
    pub(crate) fn processes(&self) -> Vec<(String, Option<i32>)> {
        let writer = self.writer().and_then(Server::pid);
        let replicas = self.replicas().iter().enumerate();
        let replicas = replicas.map(|(index, replica)| (format!("replica{}", index + 1), replica.pid()));
        let shards = self.cluster.iter().flat_map(shards).enumerate();
        let shards = shards.map(|(index, shard)| (format!("shard{}", index + 1), shard.pid()));
        std::iter::once(("server".to_owned(), writer)).chain(replicas).chain(shards).collect()
    }

    fn replicas(&self) -> &[Server] {
        self.cluster.as_ref().and_then(|cluster| cluster.groups.first()).map_or(&[], |group| &group.replicas)
    }

    /// Waits until the replicas have what the writer has, if there are any.
    pub(crate) fn catch_up(&self) -> Result<(), BenchError> {
        let group = self.cluster.as_ref().and_then(|cluster| cluster.groups.first());
        Ok(group.map_or(Ok(()), |group| group.wait_for_replicas(CATCH_UP_BOUND))?)
    }

    /// Makes the table in which clients look for stale reads, with a row for each; all values are 0 then.
    pub(crate) fn prepare_freshness(&self, clients: u32) -> Result<(), BenchError> {
        let Some(server) = self.writer() else { return Ok(()) };
        let table = format!("{}.{FRESHNESS_TABLE}", self.upstream.database);
        server.execute(&format!("CREATE TABLE IF NOT EXISTS {table} (id INT PRIMARY KEY, v BIGINT NOT NULL)"))?;
        let rows: Vec<String> = (0..clients).map(|id| format!("({id}, 0)")).collect();
        Ok(server.execute(&format!("REPLACE INTO {table} (id, v) VALUES {}", rows.join(", ")))?)
    }

    /// Makes the server take this many connections. A given one stays as it is.
    pub(crate) fn set_max_connections(&mut self, wanted: u32) -> Result<(), BenchError> {
        if let Some(server) = self.writer()
            && wanted != self.max_connections
        {
            server.execute(&format!("SET GLOBAL max_connections = {wanted}"))?;
            self.max_connections = wanted;
        }
        Ok(())
    }

    /// Waits until the server has ended the connections of the run before, but for at most `left`; or a bound has passed. Of
    /// a given server nobody knows who else is connected.
    pub(crate) fn drain(&self, left: u32, cancel: &Cancel) -> Result<(), BenchError> {
        let Some(server) = self.writer() else { return Ok(()) };
        let connected = || -> Result<Option<()>, LocalError> {
            let rows = server.query("SHOW GLOBAL STATUS LIKE 'Threads_connected'")?;
            let count = rows.first().and_then(|row| row.get(1)?.as_ref()?.parse::<u32>().ok());
            Ok((count <= Some(left)).then_some(()))
        };
        wait_until(DRAIN_BOUND, cancel, connected)?;
        Ok(())
    }

    /// Removes what the binary log has by now, so that a long bench does not fill the disk. A given server's is its own.
    pub(crate) fn purge_binary_logs(&self) -> Result<(), BenchError> {
        let mut servers = self.cluster.iter().flat_map(Cluster::servers);
        Ok(servers.try_for_each(purge_binary_logs)?)
    }

    /// The servers' status counters now.
    pub(crate) fn counters(&self) -> Result<Counters, BenchError> {
        let mut all = counters::read(self.rows(&counters::query())?);
        for (index, replica) in self.replicas().iter().enumerate() {
            let rows = self.rows_of(&mut replica.admin()?, &counters::query())?;
            all.extend(counters::of_replica(index + 1, counters::read(rows)));
        }
        for (index, shard) in self.cluster.iter().flat_map(shards).enumerate() {
            let rows = self.rows_of(&mut shard.admin()?, &counters::query())?;
            all.extend(counters::of_shard(index + 1, counters::read(rows)));
        }
        Ok(all)
    }

    /// The server's own name for its version.
    pub(crate) fn version(&self) -> Result<String, BenchError> {
        Ok(self.rows("SELECT 'version', VERSION()")?.pop().map(|(_, version)| version).unwrap_or_default())
    }

    /// Settings of the server, for the record.
    pub(crate) fn settings(&self) -> Result<Vec<(String, String)>, BenchError> {
        let names = TOLD_VARIABLES.map(|name| format!("'{name}'")).join(", ");
        let rows = self.rows(&format!("SHOW GLOBAL VARIABLES WHERE Variable_name IN ({names})"))?;
        Ok(rows.into_iter().map(|(name, value)| (format!("server.{name}"), value)).collect())
    }

    /// Names and values: as `root` on a server of our own, whose connections may all be taken; else as the load's account.
    fn rows(&self, statement: &str) -> Result<Vec<(String, String)>, BenchError> {
        let mut connection = match self.writer() {
            Some(server) => server.admin()?,
            None => sql::connect(&self.upstream.host, self.upstream.port, &self.upstream)
                .map_err(|error| self.sql(error))?,
        };
        self.rows_of(&mut connection, statement)
    }

    fn rows_of(&self, connection: &mut mysql::Conn, statement: &str) -> Result<Vec<(String, String)>, BenchError> {
        let rows: Vec<mysql::Row> = connection.query(statement).map_err(|error| self.sql(error))?;
        let text = |row: &mysql::Row, index| row.get::<Option<String>, _>(index).flatten().unwrap_or_default();
        Ok(rows.iter().map(|row| (text(row, 0), text(row, 1))).collect())
    }

    fn sql(&self, error: mysql::Error) -> BenchError {
        BenchError::Sql { server: format!("{}:{}", self.upstream.host, self.upstream.port), source: Box::new(error) }
    }

    /// Ends the server and removes the run's directory. A given server is left alone.
    pub(crate) fn stop(self) -> Result<(), BenchError> {
        let ended = self.cluster.map_or(Ok(()), |cluster| cluster.abandon(true));
        let path = self.dir.path().to_path_buf();
        self.dir.close().map_err(BenchError::io("remove", &path))?;
        Ok(ended?)
    }
}

fn writer(cluster: &Cluster) -> Option<&Server> {
    cluster.groups.first().map(|group| &group.writer)
}

/// The servers that Weir has as shards.
fn shards(cluster: &Cluster) -> impl Iterator<Item = &Server> {
    cluster.groups.iter().skip(1).map(|group| &group.writer)
}

fn purge_binary_logs(server: &Server) -> Result<(), LocalError> {
    server.execute("FLUSH BINARY LOGS")?;
    server.execute("PURGE BINARY LOGS BEFORE NOW()")
}

/// As `weir up` starts servers, but with room for the connections and the table.
fn server_options(flavor: Flavor, max_connections: u32, shards: u32) -> Vec<String> {
    // No server sees a deadlock through two shards: the wait for a row has to end it, here as where one server runs beside them.
    let lock_wait = (shards > 0).then(|| format!("innodb-lock-wait-timeout={LOCK_WAIT_OF_SHARDS}"));
    let mut options = vec![
        format!("max-connections={max_connections}"),
        format!("open-files-limit={}", crate::preflight::open_files()),
        // A storm is to be refused by max_connections, not lost before the server sees it.
        "back-log=4096".to_owned(),
        "max-connect-errors=1000000".to_owned(),
        format!("innodb-buffer-pool-size={BUFFER_POOL_MIB}M"),
    ];
    options.extend(lock_wait);
    options.push(match flavor {
        Flavor::MariaDb => "innodb-log-file-size=256M".to_owned(),
        Flavor::MySql => "innodb-redo-log-capacity=512M".to_owned(),
    });
    options
}
