//! The steps on real servers, with Weir's own account, in the words of each kind.
//!
//! What must always hold: each step has a bound; a connection whose step ran into it is not used again. While a group is worked on, a lock is held
//! on every server that was reached, so that two Weirs never work on one group at once.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use weir_backend::monitor::{MonitorSettings, Probe};
use weir_backend::patience::within;
use weir_backend::server::{Observation, Tls};
use weir_backend::{Address, Position, Server, Standing};
use weir_wire::Failure;

use super::hands::{Hands, Look};

/// Bound on connecting to a server in an action.
const REACH_BOUND: Duration = Duration::from_secs(2);
/// Bound on one step, but for those that wait for something.
const STEP_BOUND: Duration = Duration::from_secs(15);

type Row = Vec<Option<Vec<u8>>>;

/// The servers of a group, at work.
#[derive(Debug)]
pub(crate) struct Servers {
    servers: Vec<Arc<Server>>,
    account: Arc<MonitorSettings>,
    lock: String,
    probes: HashMap<usize, Probe>,
}

impl Servers {
    pub(crate) fn new(group: &str, servers: Vec<Arc<Server>>, account: Arc<MonitorSettings>) -> Servers {
        // MySQL's names of locks have at most 64 characters.
        let lock = format!("weir.group.{group}").chars().take(64).collect();
        Servers { servers, account, lock, probes: HashMap::new() }
    }

    fn unreachable(&self, server: usize, why: &str) -> Failure {
        self.servers[server].unreachable(why)
    }

    /// Runs a statement on a server that was reached.
    pub(crate) async fn run(&mut self, server: usize, sql: &str) -> Result<Vec<Row>, Failure> {
        self.run_within(server, sql, STEP_BOUND).await
    }

    /// The same, with a bound of its own.
    pub(crate) async fn run_within(&mut self, server: usize, sql: &str, bound: Duration) -> Result<Vec<Row>, Failure> {
        let missing = || self.servers[server].unreachable("it was not reached");
        let mut probe = self.probes.remove(&server).ok_or_else(missing)?;
        let answer = within(bound, probe.query(sql)).await;
        let answer = answer.ok_or_else(|| self.unreachable(server, &format!("no answer within {bound:?}")))?;
        self.probes.insert(server, probe);
        answer
    }

    /// The first cell of the first row.
    pub(crate) async fn value(&mut self, server: usize, sql: &str) -> Result<String, Failure> {
        let cell = self.run(server, sql).await?.into_iter().next().and_then(|row| row.into_iter().next().flatten());
        Ok(String::from_utf8_lossy(&cell.unwrap_or_default()).into_owned())
    }

    fn is_mariadb(&self, server: usize) -> bool {
        self.probes.get(&server).is_some_and(Probe::is_mariadb)
    }

    pub(crate) async fn standing(&mut self, server: usize) -> Result<Standing, Failure> {
        let missing = || self.servers[server].unreachable("it was not reached");
        let mut probe = self.probes.remove(&server).ok_or_else(missing)?;
        let answer = within(STEP_BOUND, probe.standing()).await;
        let standing = answer.ok_or_else(|| self.unreachable(server, "it did not tell its state"))?;
        self.probes.insert(server, probe);
        standing
    }

    async fn observe(&mut self, server: usize) -> Result<Observation, Failure> {
        let missing = || self.servers[server].unreachable("it was not reached");
        let mut probe = self.probes.remove(&server).ok_or_else(missing)?;
        let observation = within(STEP_BOUND, probe.observe()).await;
        let observation = observation.ok_or_else(|| self.unreachable(server, "it did not tell its position"))??;
        self.probes.insert(server, probe);
        Ok(observation)
    }

    async fn position(&mut self, server: usize, sql: &str) -> Result<Position, Failure> {
        let mariadb = self.is_mariadb(server);
        let text = self.value(server, sql).await?;
        Position::parse(mariadb, &text).map_err(|error| self.unreachable(server, &error.to_string()))
    }

    /// By which address others reach a server.
    async fn address(&mut self, server: usize) -> Result<(String, u16), Failure> {
        let standing = match self.servers[server].standing() {
            Some(standing) => standing,
            None => Arc::new(self.standing(server).await?),
        };
        Ok(match (&standing.report_host, &self.servers[server].settings.address) {
            (Some(host), _) => (host.clone(), standing.port),
            (None, Address::Tcp { host, port }) => (host.clone(), *port),
            (None, Address::Unix(_)) => ("127.0.0.1".to_owned(), standing.port),
        })
    }

    /// How commits wait for replicas follows what a server is, if semi-synchronous replication is in use there.
    async fn set_semi_sync(&mut self, server: usize, writes: bool) -> Result<(), Failure> {
        let semi_sync = self.standing(server).await?.semi_sync;
        if !semi_sync.available || !(semi_sync.enabled || semi_sync.acknowledges) {
            return Ok(());
        }
        let (source, replica) = match self.is_mariadb(server) {
            true => ("master", "slave"),
            false => ("source", "replica"),
        };
        for (side, on) in [(source, writes), (replica, !writes)] {
            let on = if on { "ON" } else { "OFF" };
            self.run(server, &format!("SET GLOBAL rpl_semi_sync_{side}_enabled = {on}")).await?;
        }
        Ok(())
    }
}

/// A text as a literal, in the sql_mode of these connections, in which backslashes escape.
pub(super) fn literal(text: &[u8]) -> String {
    format!("'{}'", String::from_utf8_lossy(text).replace('\\', "\\\\").replace('\'', "''"))
}

impl Hands for Servers {
    async fn reach(&mut self, server: usize) -> Result<bool, Failure> {
        if self.probes.contains_key(&server) {
            return Ok(true);
        }
        let opening = Probe::open(&self.servers[server], &self.account);
        let probe = within(REACH_BOUND, opening).await;
        let probe = probe.ok_or_else(|| self.unreachable(server, "it does not answer"))??;
        self.probes.insert(server, probe);
        // Texts are read in one way, whatever the server's default is.
        self.run_within(server, "SET SESSION sql_mode = ''", REACH_BOUND).await?;
        let lock = literal(self.lock.as_bytes());
        let locked = self.value(server, &format!("SELECT GET_LOCK({lock}, 0)")).await?;
        if locked != "1" {
            self.probes.remove(&server);
        }
        Ok(locked == "1")
    }

    async fn look(&mut self, server: usize) -> Result<Look, Failure> {
        let standing = self.standing(server).await?;
        let observation = self.observe(server).await?;
        let mut received = Position::clone(&observation.visible);
        if let Some(source) = &standing.source {
            received.add(&source.received);
        }
        Ok(Look { read_only: observation.read_only, has: observation.visible, received: Arc::new(received) })
    }

    async fn stop_receiving(&mut self, server: usize) -> Result<(), Failure> {
        let sql = if self.is_mariadb(server) { "STOP SLAVE IO_THREAD" } else { "STOP REPLICA IO_THREAD" };
        self.run(server, sql).await.map(drop)
    }

    async fn start_receiving(&mut self, server: usize) -> Result<(), Failure> {
        let sql = if self.is_mariadb(server) { "START SLAVE IO_THREAD" } else { "START REPLICA IO_THREAD" };
        self.run(server, sql).await.map(drop)
    }

    async fn wait_for(&mut self, server: usize, position: &Position, bound: Duration) -> Result<bool, Failure> {
        // MASTER_GTID_WAIT() waits for what a server has got from others, and never returns for what it wrote itself while it was a writer.
        if self.is_mariadb(server) && self.observe(server).await?.visible.covers(position) {
            return Ok(true);
        }
        let sql = position.wait_query(bound.as_secs_f64());
        let rows = self.run_within(server, &sql, bound + STEP_BOUND).await?;
        if rows.into_iter().next().and_then(|row| row.into_iter().next().flatten()).as_deref() == Some(b"0") {
            return Ok(true);
        }
        // An applier that has stopped never gets there.
        let source = self.standing(server).await?.source;
        match source.filter(|source| !source.applies) {
            Some(source) => {
                let why = source.error.unwrap_or_else(|| "its applying thread does not run".to_owned());
                Err(self.unreachable(server, &why))
            }
            None => Ok(false),
        }
    }

    async fn open_transactions(&mut self, server: usize) -> Result<Vec<String>, Failure> {
        const OPEN: &str = "SELECT CONCAT('connection ', trx_mysql_thread_id, ', since ', trx_started, ', ', trx_state, ', ', \
                            trx_rows_modified, ' rows changed') FROM information_schema.innodb_trx";
        let word = |cell: Option<Vec<u8>>| String::from_utf8_lossy(&cell.unwrap_or_default()).into_owned();
        Ok(self.run(server, OPEN).await?.into_iter().flatten().map(word).collect())
    }

    async fn set_read_only(&mut self, server: usize, on: bool) -> Result<(), Failure> {
        let sql = match (on, self.is_mariadb(server)) {
            (true, false) => "SET GLOBAL super_read_only = ON",
            (true, true) => "SET GLOBAL read_only = ON",
            (false, _) => "SET GLOBAL read_only = OFF",
        };
        self.run(server, sql).await.map(drop)
    }

    async fn stop_following(&mut self, server: usize) -> Result<(), Failure> {
        let steps: [&str; 2] = match self.is_mariadb(server) {
            true => ["STOP SLAVE", "RESET SLAVE ALL"],
            false => ["STOP REPLICA", "RESET REPLICA ALL"],
        };
        for sql in steps {
            self.run(server, sql).await?;
        }
        self.set_semi_sync(server, true).await
    }

    async fn follow(&mut self, server: usize, source: usize) -> Result<(), Failure> {
        let (host, port) = self.address(source).await?;
        let (host, user) = (literal(host.as_bytes()), literal(&self.account.user));
        let password = literal(self.account.password.as_bytes());
        let required = matches!(self.servers[source].reach().tls, Tls::Required(_));
        self.set_semi_sync(server, false).await?;
        if self.is_mariadb(server) {
            let tls = if required { ", MASTER_SSL = 1" } else { "" };
            self.run(server, "STOP SLAVE").await?;
            // What it wrote itself while it was the writer counts as received.
            let position = self.value(server, "SELECT @@GLOBAL.gtid_current_pos").await?;
            let position = literal(position.as_bytes());
            self.run(server, &format!("SET GLOBAL gtid_slave_pos = {position}")).await?;
            let sql = format!(
                "CHANGE MASTER TO MASTER_HOST = {host}, MASTER_PORT = {port}, MASTER_USER = {user}, MASTER_PASSWORD = {password}, \
                 MASTER_USE_GTID = slave_pos, MASTER_CONNECT_RETRY = 1, MASTER_HEARTBEAT_PERIOD = 1{tls}"
            );
            self.run(server, &sql).await?;
            return self.run(server, "START SLAVE").await.map(drop);
        }
        let tls = if required { ", SOURCE_SSL = 1" } else { "" };
        self.run(server, "STOP REPLICA").await?;
        let sql = format!(
            "CHANGE REPLICATION SOURCE TO SOURCE_HOST = {host}, SOURCE_PORT = {port}, SOURCE_USER = {user}, \
             SOURCE_PASSWORD = {password}, SOURCE_AUTO_POSITION = 1, GET_SOURCE_PUBLIC_KEY = 1, SOURCE_CONNECT_RETRY = 1, \
             SOURCE_RETRY_COUNT = 86400, SOURCE_HEARTBEAT_PERIOD = 1{tls}"
        );
        self.run(server, &sql).await?;
        self.run(server, "START REPLICA").await.map(drop)
    }

    async fn errant(&mut self, server: usize, of: usize) -> Result<Option<String>, Failure> {
        if !self.is_mariadb(server) {
            let own = self.position(server, "SELECT @@GLOBAL.gtid_executed").await?;
            let others = self.position(of, "SELECT @@GLOBAL.gtid_executed").await?;
            return Ok(own.beyond(&others).map(|(count, what)| format!("{count}: {what}")));
        }
        let own = self.value(server, "SELECT @@GLOBAL.gtid_binlog_pos").await?;
        let state = self.value(
            of,
            "SELECT CONCAT_WS(',', NULLIF(@@GLOBAL.gtid_binlog_state, ''), NULLIF(@@GLOBAL.gtid_slave_pos, ''))",
        );
        Ok(beyond_state(&own, &state.await?))
    }

    async fn pause(&mut self, time: Duration) {
        tokio::time::sleep(time).await;
    }
}

/// The last transactions of each domain that are not in another server's history: for each domain and server its last one
/// (`gtid_binlog_state` in MariaDB's manual). A position alone does not tell: two histories may have parted.
fn beyond_state(own: &str, state: &str) -> Option<String> {
    let split = |gtid: &str| -> Option<(String, u64)> {
        let (of, sequence) = gtid.trim().rsplit_once('-')?;
        Some((of.to_owned(), sequence.parse().ok()?))
    };
    let mut last: HashMap<String, u64> = HashMap::new();
    for (of, sequence) in state.split(',').filter_map(split) {
        let known = last.entry(of).or_default();
        *known = sequence.max(*known);
    }
    let lacks =
        |gtid: &&str| split(gtid).is_some_and(|(of, sequence)| last.get(&of).is_none_or(|known| *known < sequence));
    let lacking: Vec<_> = own.split(',').map(str::trim).filter(lacks).collect();
    (!lacking.is_empty()).then(|| format!("up to {}", lacking.join(",")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn histories_that_have_parted_are_told_apart() {
        let cases = [
            ("0-1-10", "0-1-10", None),
            ("0-1-10", "0-1-12,0-2-13", None),
            ("0-1-10", "0-1-8,0-2-12", Some("up to 0-1-10")),
            ("0-1-10,5-1-3", "0-2-11,0-1-10", Some("up to 5-1-3")),
            ("", "0-2-11", None),
        ];
        for (own, state, lacking) in cases {
            assert_eq!(beyond_state(own, state).as_deref(), lacking, "{own} against {state}");
        }
    }

    #[test]
    fn a_literal_ends_where_its_text_ends() {
        assert_eq!(literal(b"it's"), "'it''s'");
        assert_eq!(literal(b"a\\"), "'a\\\\'");
    }
}
