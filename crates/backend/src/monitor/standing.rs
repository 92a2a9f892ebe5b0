//! Asking a server for its part in a group.
//!
//! What must always hold: what Weir's account may not ask leaves a gap with its reason; only a broken connection is an error.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use weir_wire::error::codes;
use weir_wire::{Failure, Fault};

use super::{Probe, lost, text};
use crate::gtid::Position;
use crate::standing::{Defaults, Galera, GroupMember, GroupReplication, MemberState, SemiSync, Source, Standing};

/// How often a server is asked at most.
pub(super) const INTERVAL: Duration = Duration::from_millis(400);

/// A row by the names of its columns, in MySQL's present words; NULL is an empty text.
pub(super) type Record = HashMap<String, String>;

const IDENTITY: &str = "SELECT @@GLOBAL.server_uuid, @@GLOBAL.report_host, @@GLOBAL.port, \
                        TIMESTAMPDIFF(MINUTE, UTC_TIMESTAMP(), NOW())";
const IDENTITY_OF_MARIADB: &str = "SELECT NULL, @@GLOBAL.report_host, @@GLOBAL.port, \
                                   TIMESTAMPDIFF(MINUTE, UTC_TIMESTAMP(), NOW())";
const MEMBERS: &str = "SELECT MEMBER_ID, MEMBER_HOST, MEMBER_PORT, MEMBER_STATE, MEMBER_ROLE \
                       FROM performance_schema.replication_group_members";
const MEMBER_STATISTICS: &str = "SELECT COUNT_TRANSACTIONS_IN_QUEUE, COUNT_TRANSACTIONS_REMOTE_IN_APPLIER_QUEUE, \
                                 COUNT_CONFLICTS_DETECTED FROM performance_schema.replication_group_member_stats \
                                 WHERE MEMBER_ID = @@GLOBAL.server_uuid";
const HEARTBEATS: &str = "SELECT COUNT_RECEIVED_HEARTBEATS FROM performance_schema.replication_connection_status \
                          WHERE CHANNEL_NAME = ''";
const SEMI_SYNC_STATUS: &str = "SHOW GLOBAL STATUS LIKE 'Rpl\\_semi\\_sync\\_%'";
/// With [`Defaults`].
const VARIABLES: &str = "SHOW GLOBAL VARIABLES WHERE Variable_name LIKE 'rpl\\_semi\\_sync\\_%' OR Variable_name IN ('sql_mode', \
                         'time_zone', 'lc_time_names', 'default_week_format', 'div_precision_increment', 'group_concat_max_len', \
                         'max_sort_length', 'sql_select_limit', 'old_mode', 'lower_case_table_names')";
/// They say what may be written, and with which statements accounts are made: not what a query answers.
const MODES_OF_WRITES: [&str; 2] = ["NO_AUTO_CREATE_USER", "NO_ENGINE_SUBSTITUTION"];
const WSREP: &str = "SHOW GLOBAL STATUS WHERE Variable_name IN ('wsrep_cluster_status', 'wsrep_ready', \
                     'wsrep_local_state_comment', 'wsrep_cluster_size', 'wsrep_last_committed', 'wsrep_local_recv_queue', \
                     'wsrep_local_cert_failures', 'wsrep_flow_control_paused')";

impl Probe {
    /// What the server says of its part in a group.
    ///
    /// # Errors
    /// What broke the connection.
    pub async fn standing(&mut self) -> Result<Standing, Failure> {
        let (asked, mariadb) = (Instant::now(), self.is_mariadb());
        let sql = if mariadb { IDENTITY_OF_MARIADB } else { IDENTITY };
        let mut cells = self.query(sql).await?.into_iter().next().unwrap_or_default().into_iter().map(text);
        let mut cell = || cells.next().filter(|cell| !cell.is_empty());
        let (uuid, report_host) = (cell(), cell());
        let port = cell().and_then(|port| port.parse().ok()).unwrap_or_default();
        let offset = cell().unwrap_or_default();
        let (source, source_unknown) = match unless_refused(self.source(mariadb).await)? {
            Ok(source) => (source, None),
            Err(why) => (None, Some(why)),
        };
        let variables = unless_refused(self.pairs(VARIABLES).await)?.unwrap_or_default();
        let semi_sync = unless_refused(self.semi_sync(&variables).await)?.unwrap_or_default();
        let defaults = defaults_of(variables, &offset);
        let (mut group_replication, mut galera) = (None, None);
        match mariadb {
            true => galera = self.galera().await?,
            false => group_replication = unless_refused(self.group_replication().await)?.unwrap_or_default(),
        }
        Ok(Standing {
            asked,
            uuid,
            report_host,
            port,
            source,
            source_unknown,
            semi_sync,
            group_replication,
            galera,
            defaults,
        })
    }

    async fn source(&mut self, mariadb: bool) -> Result<Option<Source>, Failure> {
        let sql = if mariadb { "SHOW ALL SLAVES STATUS" } else { "SHOW REPLICA STATUS" };
        let records = self.records(sql).await?;
        // Named channels are not the group's: those of Group Replication, or of somebody who gathers from several sources.
        let unnamed = |record: &Record| ["Channel_Name", "Connection_name"].iter().all(|name| is_empty(record, name));
        let Some(record) = records.into_iter().find(unnamed) else { return Ok(None) };
        let mut source = source_of(mariadb, &record)?;
        if !mariadb {
            // Tells of life only; who may not ask goes without.
            let heartbeats = unless_refused(self.query(HEARTBEATS).await)?.unwrap_or_default();
            let count = heartbeats.into_iter().flatten().next().map(text);
            source.heartbeats = count.and_then(|count| count.parse().ok()).unwrap_or_default();
        }
        Ok(Some(source))
    }

    async fn semi_sync(&mut self, variables: &Record) -> Result<SemiSync, Failure> {
        let available = variables.contains_key("rpl_semi_sync_source_enabled");
        if !available {
            return Ok(SemiSync::default());
        }
        let status = self.pairs(SEMI_SYNC_STATUS).await?;
        let is =
            |pairs: &Record, name: &str, value: &str| pairs.get(name).is_some_and(|v| v.eq_ignore_ascii_case(value));
        let number = |pairs: &Record, name: &str| pairs.get(name).and_then(|v| v.parse().ok()).unwrap_or_default();
        Ok(SemiSync {
            available,
            enabled: is(variables, "rpl_semi_sync_source_enabled", "ON"),
            active: is(&status, "rpl_semi_sync_source_status", "ON"),
            after_sync: is(variables, "rpl_semi_sync_source_wait_point", "AFTER_SYNC"),
            timeout_ms: number(variables, "rpl_semi_sync_source_timeout"),
            replicas: number(&status, "rpl_semi_sync_source_clients"),
            // MariaDB has no such variable: it waits for one.
            wait_count: number(variables, "rpl_semi_sync_source_wait_for_replica_count").max(1),
            acknowledges: is(variables, "rpl_semi_sync_replica_enabled", "ON"),
        })
    }

    async fn group_replication(&mut self) -> Result<Option<GroupReplication>, Failure> {
        let member = |row: Vec<Option<Vec<u8>>>| {
            let mut cells = row.into_iter().map(text);
            let mut cell = || cells.next().unwrap_or_default();
            GroupMember {
                uuid: cell(),
                host: cell(),
                port: cell().parse().unwrap_or_default(),
                state: MemberState::named(&cell()),
                primary: cell() == "PRIMARY",
            }
        };
        let mut members: Vec<_> = self.query(MEMBERS).await?.into_iter().map(member).collect();
        // Without a group, the plugin shows a row without an id.
        members.retain(|member| !member.uuid.is_empty());
        if members.is_empty() {
            return Ok(None);
        }
        let mut numbers = self.query(MEMBER_STATISTICS).await?.into_iter().flatten().map(text);
        let mut number = || numbers.next().and_then(|number| number.parse().ok()).unwrap_or_default();
        let (certification_queue, applier_queue, conflicts) = (number(), number(), number());
        Ok(Some(GroupReplication { members, certification_queue, applier_queue, conflicts }))
    }

    async fn galera(&mut self) -> Result<Option<Galera>, Failure> {
        let status = self.pairs(WSREP).await?;
        let Some(component) = status.get("wsrep_cluster_status") else { return Ok(None) };
        let word = |name: &str| status.get(name).cloned().unwrap_or_default();
        let number = |name: &str| word(name).parse().unwrap_or_default();
        // A server without a provider has the variables all the same.
        let state = word("wsrep_local_state_comment");
        if number("wsrep_cluster_size") == 0 && state.is_empty() {
            return Ok(None);
        }
        Ok(Some(Galera {
            primary_component: component.eq_ignore_ascii_case("Primary"),
            ready: word("wsrep_ready").eq_ignore_ascii_case("ON"),
            state,
            size: number("wsrep_cluster_size"),
            last_committed: number("wsrep_last_committed"),
            receive_queue: number("wsrep_local_recv_queue"),
            conflicts: number("wsrep_local_cert_failures"),
            paused_permille: (word("wsrep_flow_control_paused").parse::<f64>().unwrap_or_default() * 1000.0) as u64,
        }))
    }

    /// The rows of two columns, by the first one in lower case, in present words.
    pub(super) async fn pairs(&mut self, sql: &str) -> Result<Record, Failure> {
        let pair = |row: Vec<Option<Vec<u8>>>| {
            let mut cells = row.into_iter().map(text);
            Some((modern(&cells.next()?.to_ascii_lowercase()), cells.next()?))
        };
        Ok(self.query(sql).await?.into_iter().filter_map(pair).collect())
    }
}

/// `offset`: minutes that the sessions' time is ahead of UTC; the names of time zones may be one another's.
fn defaults_of(variables: Record, offset: &str) -> Defaults {
    let of_sessions = variables.into_iter().filter(|(name, _)| !name.starts_with("rpl_semi_sync_"));
    of_sessions
        .map(|(name, value)| match name.as_str() {
            "sql_mode" => {
                let modes = value.split(',').filter(|mode| !MODES_OF_WRITES.contains(mode));
                (name, modes.collect::<Vec<_>>().join(","))
            }
            "time_zone" => (name, format!("{value} ({offset} minutes)")),
            _ => (name, value),
        })
        .collect()
}

/// MariaDB, and older MySQL, call a source master and a replica slave.
fn modern(name: &str) -> String {
    [("master", "source"), ("slave", "replica"), ("Master", "Source"), ("Slave", "Replica")]
        .iter()
        .fold(name.to_owned(), |name, (old, new)| name.replace(old, new))
}

/// Names of columns in MySQL's present words.
pub(super) fn record(names: &[String], row: Vec<Option<Vec<u8>>>) -> Record {
    names.iter().map(|name| modern(name)).zip(row.into_iter().map(text)).collect()
}

fn is_empty(record: &Record, name: &str) -> bool {
    record.get(name).is_none_or(String::is_empty)
}

fn source_of(mariadb: bool, record: &Record) -> Result<Source, Failure> {
    let word = |name: &str| record.get(name).cloned().unwrap_or_default();
    let errors = ["Last_IO_Error", "Last_SQL_Error"].map(word);
    let error = errors.into_iter().find(|error| !error.is_empty());
    let received = word(if mariadb { "Gtid_IO_Pos" } else { "Retrieved_Gtid_Set" });
    let position = |text: &str| Position::parse(mariadb, text).map_err(|error| lost(std::io::Error::other(error)));
    let mut received = position(&received)?;
    if !mariadb {
        received.add(&position(&word("Executed_Gtid_Set"))?);
    }
    let by_gtid = match mariadb {
        true => !["", "No"].contains(&word("Using_Gtid").as_str()),
        false => word("Auto_Position") == "1",
    };
    Ok(Source {
        host: word("Source_Host"),
        port: word("Source_Port").parse().unwrap_or_default(),
        receives: word("Replica_IO_Running") == "Yes",
        applies: word("Replica_SQL_Running") == "Yes",
        by_gtid,
        error,
        received: Arc::new(received),
        heartbeats: word("Replica_received_heartbeats").parse().unwrap_or_default(),
    })
}

/// The server's refusal as a text; what broke the connection stays an error.
fn unless_refused<T>(answer: Result<T, Failure>) -> Result<Result<T, String>, Failure> {
    match answer {
        Ok(answer) => Ok(Ok(answer)),
        Err(failure) if failure.fault == Fault::Server && failure.code == codes::CR_SERVER_LOST => Err(failure),
        Err(failure) => Ok(Err(failure.message)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record_of(cells: &[(&str, &str)]) -> Record {
        let names: Vec<_> = cells.iter().map(|(name, _)| (*name).to_owned()).collect();
        record(&names, cells.iter().map(|(_, cell)| Some(cell.as_bytes().to_vec())).collect())
    }

    #[test]
    fn both_kinds_words_for_a_source_are_read() {
        let mariadb = record_of(&[
            ("Connection_name", ""),
            ("Master_Host", "10.0.0.1"),
            ("Master_Port", "3306"),
            ("Slave_IO_Running", "Connecting"),
            ("Slave_SQL_Running", "Yes"),
            ("Last_IO_Error", "can't connect"),
            ("Using_Gtid", "Slave_Pos"),
            ("Gtid_IO_Pos", "0-1-7"),
            ("Slave_received_heartbeats", "12"),
        ]);
        let source = source_of(true, &mariadb).expect("it is read");
        assert_eq!((source.host.as_str(), source.port, source.heartbeats), ("10.0.0.1", 3306, 12));
        assert_eq!((source.receives, source.applies, source.by_gtid), (false, true, true));
        assert_eq!((source.error.as_deref(), source.received.to_string().as_str()), (Some("can't connect"), "0-1-7"));
        let uuid = "3e11fa47-71ca-11e1-9e33-c80aa9429562";
        let mysql = record_of(&[
            ("Source_Host", "db1"),
            ("Source_Port", "3307"),
            ("Replica_IO_Running", "Yes"),
            ("Replica_SQL_Running", "No"),
            ("Retrieved_Gtid_Set", &format!("{uuid}:6-9")),
            ("Executed_Gtid_Set", &format!("{uuid}:1-5")),
            ("Auto_Position", "1"),
        ]);
        let source = source_of(false, &mysql).expect("it is read");
        assert_eq!((source.receives, source.applies, source.by_gtid, source.error), (true, false, true, None));
        assert_eq!(source.received.to_string(), format!("{uuid}:1-9"));
    }

    #[test]
    fn a_refusal_is_a_gap_and_a_broken_connection_an_error() {
        let refused = Failure::server(1227, "Access denied");
        assert_eq!(unless_refused::<()>(Err(refused)).expect("no error"), Err("Access denied".to_owned()));
        assert!(unless_refused::<()>(Err(lost(std::io::ErrorKind::BrokenPipe.into()))).is_err());
    }
}
