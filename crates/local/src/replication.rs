//! Asynchronous replication with GTIDs between two servers, for both kinds.
//!
//! A replica logs in to its writer with an account of its own (`replica_<server_id>`), whose random password is made
//! anew each time and is kept by the replica only.
//!
//! Heartbeats come each second: an idle MySQL writer learns from them that a replica has gone, and until it knows, its
//! own shutdown takes 10 s.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use mysql::prelude::Queryable;
use serde::Serialize;

use crate::accounts::random_password;
use crate::admin::quoted;
use crate::wait::{Cancel, wait_until};
use crate::{Flavor, LocalError, Server};

/// How long both of a replica's threads may take to run after they were started.
const CONNECT_BOUND: Duration = Duration::from_secs(30);

/// What a replica says of its replication (`SHOW REPLICA STATUS`, `SHOW SLAVE STATUS`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReplicationStatus {
    /// Whom it follows: `host:port`.
    pub source: String,
    /// The receiving thread: "Yes", "No", "Connecting" or "Preparing".
    pub receiver: String,
    /// The applying thread: "Yes" or "No".
    pub applier: String,
    /// `Seconds_Behind_Source`; `None` while the applier or the receiver does not run.
    pub lag_seconds: Option<u64>,
    /// The last error of either thread; empty if none.
    pub last_error: String,
}

impl ReplicationStatus {
    /// Whether both threads run.
    pub fn is_running(&self) -> bool {
        self.receiver == "Yes" && self.applier == "Yes"
    }

    /// Whether the applier stopped on an error, from which it does not recover by itself.
    fn is_broken(&self) -> bool {
        self.applier == "No" && !self.last_error.is_empty()
    }
}

/// Makes `replica` follow `writer` from the first binary log event that it lacks, and makes it read-only (also after
/// restarts). Returns when both of its threads run.
///
/// The replica must not hold changes of its own: start it from the same state as the writer (both new, say), and write
/// to the writer only.
pub fn replicate(writer: &Server, replica: &Server) -> Result<(), LocalError> {
    let user = format!("replica_{}", replica.port());
    let password = random_password();
    writer.create_user(&user, &password, &["REPLICATION SLAVE ON *.*"], None)?;
    let (user, password, port) = (quoted(&user), quoted(&password), writer.port());
    match replica.installation().flavor() {
        Flavor::MariaDb => {
            replica.execute("STOP SLAVE")?;
            replica.execute(&format!(
                "CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT={port}, MASTER_USER={user}, \
                 MASTER_PASSWORD={password}, MASTER_USE_GTID=slave_pos, MASTER_CONNECT_RETRY=1, \
                 MASTER_HEARTBEAT_PERIOD=1"
            ))?;
        }
        Flavor::MySql => {
            replica.execute("STOP REPLICA")?;
            replica.execute(&format!(
                "CHANGE REPLICATION SOURCE TO SOURCE_HOST='127.0.0.1', SOURCE_PORT={port}, SOURCE_USER={user}, \
                 SOURCE_PASSWORD={password}, SOURCE_AUTO_POSITION=1, GET_SOURCE_PUBLIC_KEY=1, SOURCE_CONNECT_RETRY=1, \
                 SOURCE_HEARTBEAT_PERIOD=1"
            ))?;
        }
    }
    start_replication(replica)?;
    replica.set_read_only(true)?;
    wait_running(replica, &Cancel::default())
}

/// Starts the replication that a replica is set up for.
pub(crate) fn start_replication(replica: &Server) -> Result<(), LocalError> {
    replica.execute(match replica.installation().flavor() {
        Flavor::MariaDb => "START SLAVE",
        Flavor::MySql => "START REPLICA",
    })
}

/// Waits until both threads of a replica run.
pub(crate) fn wait_running(replica: &Server, cancel: &Cancel) -> Result<(), LocalError> {
    let mut last = None;
    let running = wait_until(CONNECT_BOUND, cancel, || {
        let status = replication_status(replica)?;
        let running = status.as_ref().is_some_and(ReplicationStatus::is_running);
        let broken = status.as_ref().is_none_or(ReplicationStatus::is_broken);
        last = status;
        if broken { Err(not_replicating(replica, last.as_ref())) } else { Ok(running.then_some(())) }
    })?;
    running.ok_or_else(|| not_replicating(replica, last.as_ref()))
}

fn not_replicating(replica: &Server, status: Option<&ReplicationStatus>) -> LocalError {
    let reason = match status {
        None => "it is not set up as a replica".to_owned(),
        Some(status) if status.last_error.is_empty() => {
            format!("receiver {}, applier {}", status.receiver, status.applier)
        }
        Some(status) => status.last_error.clone(),
    };
    LocalError::NotReplicating { server: replica.name().to_owned(), reason }
}

/// What a server says of its replication; `None` when it isn't set up as a replica.
pub fn replication_status(server: &Server) -> Result<Option<ReplicationStatus>, LocalError> {
    status_within(server, Duration::from_secs(30)).map_err(|error| LocalError::sql(server.name(), error))
}

/// The same, with a bound for each read, for a server that may hang.
pub(crate) fn status_within(server: &Server, bound: Duration) -> Result<Option<ReplicationStatus>, mysql::Error> {
    let statement = match server.installation().flavor() {
        Flavor::MariaDb => "SHOW SLAVE STATUS",
        Flavor::MySql => "SHOW REPLICA STATUS",
    };
    let row: Option<mysql::Row> = server.admin_within(bound)?.query_first(statement)?;
    Ok(row.map(|row| status_from(&row)))
}

fn status_from(row: &mysql::Row) -> ReplicationStatus {
    // MariaDB keeps the old words.
    let modern = |column: &str| column.replace("Slave", "Replica").replace("Master", "Source");
    let by_column: HashMap<String, String> = (row.columns_ref().iter())
        .enumerate()
        .filter_map(|(index, column)| Some((modern(&column.name_str()), row.get::<Option<String>, _>(index)??)))
        .collect();
    let value = |column: &str| by_column.get(column).cloned().unwrap_or_default();
    let errors = [value("Last_IO_Error"), value("Last_SQL_Error")];
    ReplicationStatus {
        source: format!("{}:{}", value("Source_Host"), value("Source_Port")),
        receiver: value("Replica_IO_Running"),
        applier: value("Replica_SQL_Running"),
        lag_seconds: value("Seconds_Behind_Source").parse().ok(),
        last_error: errors.into_iter().filter(|error| !error.is_empty()).collect::<Vec<_>>().join("; "),
    }
}

/// Waits until `replica` has applied all that `writer` has committed by now, by GTID position.
///
/// Errors: [`LocalError::Behind`] after `bound`; [`LocalError::NotReplicating`] as soon as the applier stops on an error.
pub fn wait_for_replica(writer: &Server, replica: &Server, bound: Duration) -> Result<(), LocalError> {
    wait_caught_up(writer, replica, bound, &Cancel::default())
}

pub(crate) fn wait_caught_up(
    writer: &Server,
    replica: &Server,
    bound: Duration,
    cancel: &Cancel,
) -> Result<(), LocalError> {
    let (position_of_writer, wait_function, reached) = match writer.installation().flavor() {
        Flavor::MariaDb => ("SELECT @@global.gtid_binlog_pos", "MASTER_GTID_WAIT", "0"),
        Flavor::MySql => ("SELECT @@global.gtid_executed", "WAIT_FOR_EXECUTED_GTID_SET", "0"),
    };
    let position = writer.query_value(position_of_writer)?.unwrap_or_default().replace('\n', "");
    let started = Instant::now();
    loop {
        cancel.check()?;
        // In slices, so that an error of the applier and a cancellation are noticed.
        let slice = bound.saturating_sub(started.elapsed()).min(Duration::from_millis(500)).as_secs_f64();
        let wait = format!("SELECT {wait_function}({}, {slice})", quoted(&position));
        if replica.query_value(&wait)?.as_deref() == Some(reached) {
            return Ok(());
        }
        let status = replication_status(replica)?;
        if status.as_ref().is_none_or(ReplicationStatus::is_broken) {
            return Err(not_replicating(replica, status.as_ref()));
        }
        if started.elapsed() >= bound {
            return Err(LocalError::Behind { server: replica.name().to_owned(), position, bound });
        }
    }
}
