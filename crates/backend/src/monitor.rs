//! Watching a server: is it there, does it answer, what is it.
//!
//! Runs on the control runtime with Weir's own account and a connection of its own, outside all pools and limits.
//! Facts are recorded in [`Server`]; what follows from a change is the caller's.

mod accounts;
pub mod peers;
mod question;
mod standing;
mod start;
mod tables;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use weir_wire::charset::is_wide;

use bytes::BytesMut;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use weir_wire::auth::Password;
use weir_wire::error::codes;
use weir_wire::frame::{PacketReader, put_packet};
use weir_wire::packets::{ErrPacket, OkPacket};
use weir_wire::resultset::parse_text_row;
use weir_wire::stmt::query_payload;
use weir_wire::{Capabilities, Command, Failure};

use accounts::Accounts;
use question::{Answer, Question};
use start::Start;

use crate::Replaceable;
use crate::connect::{Connected, Login, connect, server_failure};
use crate::connection::OwnReply;
use crate::gtid::Position;
use crate::patience::within;
use crate::pulse::SLOW_BEAT;
use crate::server::{Health, Identity, Observation, Server};

/// How a server is watched.
#[derive(Debug, Clone)]
pub struct MonitorSettings {
    /// Weir's own account.
    pub user: Arc<[u8]>,
    /// Its password.
    pub password: Password,
    /// Time between two probes.
    pub interval: Duration,
    /// Bound on one probe.
    pub timeout: Duration,
    /// A server that accepts connections but answers no probe for so long is taken for hung.
    pub hang_timeout: Duration,
}

/// The shortest pause between two beats.
const SHORTEST_PAUSE: Duration = Duration::from_millis(15);

/// Session variables beginning so are global only, or never part of a session's state: tracking them would only make
/// the list longer. MySQL's `statement_id` changes with each statement.
const NOT_TRACKED: [&str; 38] = [
    "innodb_",
    "performance_schema",
    "mysqlx",
    "ssl_",
    "group_replication",
    "replica_",
    "slave_",
    "log_",
    "tls_",
    "admin_",
    "ngram",
    "version",
    "have_",
    "ft_",
    "key_",
    "relay",
    "sync_",
    "character_sets_dir",
    "component",
    "validate_",
    "myisam_",
    "caching_",
    "persist",
    "require_",
    "secure_",
    "skip_",
    "source_",
    "super_",
    "thread_",
    "report_",
    "rpl_",
    "statement_id",
    "gtid_executed",
    "gtid_purged",
    "hostname",
    "wsrep_",
    "aria_",
    "master_",
];

/// Watches `server` until the future is dropped. `changed` is called after each change of its health, and again while it answers nothing: a
/// session may have got a connection to it just before that was known. `asked` is called after each probe.
pub async fn watch(
    server: Arc<Server>,
    settings: Replaceable<MonitorSettings>,
    changed: impl FnMut(&Server, &Health),
    asked: impl Fn(),
) {
    tokio::join!(tables::watch(&server, &settings), watch_health(&server, &settings, changed, asked));
}

async fn watch_health(
    server: &Server,
    settings: &Replaceable<MonitorSettings>,
    mut changed: impl FnMut(&Server, &Health),
    asked: impl Fn(),
) {
    let mut probe = None;
    let mut accounts = Accounts::default();
    let mut settings_then = settings.load_full();
    let mut start = Start::default();
    let mut silent = Duration::ZERO;
    let mut note = |health: Option<Health>| {
        if let Some(health) = health {
            let is_news = health != server.facts().health;
            if is_news {
                tell(server, &health);
                server.set_facts(health.clone(), None);
            }
            if is_news || health == Health::Hung {
                changed(server, &health);
            }
        }
        asked();
    };
    loop {
        let settings = settings.load_full();
        if !Arc::ptr_eq(&settings, &settings_then) {
            // It may be another account.
            probe = None;
            accounts.ask_for_tables();
            settings_then = settings.clone();
        }
        let kept = probe.take();
        let unanswered = |is_hung: bool| note(is_hung.then_some(Health::Hung));
        match Question::new(server, &settings, start).ask(kept, silent, unanswered).await {
            Ok(answer) => {
                start = answer.probe.start;
                probe = take(server, answer, &settings, &mut accounts).await;
                note(Some(Health::Up));
            }
            Err(failure) => {
                server.pulse.lost();
                note(Some(Health::Down(failure.message)));
            }
        }
        let late = beat_until(server, &mut probe, settings.interval, settings.timeout).await;
        silent = if late { settings.timeout } else { Duration::ZERO };
    }
}

fn tell(server: &Server, health: &Health) {
    let name = &server.settings.name;
    match health {
        Health::Up => tracing::info!(server = %name, "server is up"),
        other => tracing::warn!(server = %name, health = other.name(), reason = ?other, "server is not usable"),
    }
}

/// Notes what was answered. Returns the connection, if it can be used again.
async fn take(server: &Server, answer: Answer, settings: &MonitorSettings, accounts: &mut Accounts) -> Option<Probe> {
    let Answer { mut probe, identity, observation } = answer;
    let anew = identity.is_some();
    if let Some(identity) = identity
        && server.facts().identity.as_deref() != Some(&identity)
    {
        server.set_facts(server.facts().health.clone(), Some(Arc::new(identity)));
    }
    // What was asked on another connection was not answered; that this one is says the same of the server.
    server.pulse.answered(Instant::now());
    server.set_observation(observation);
    let looked = within(settings.timeout, look_further(server, &mut probe, accounts, anew)).await;
    matches!(looked, Some(Ok(()))).then_some(probe)
}

/// Sends beats when they are asked for, until it is time for the next probe. Returns whether one was not answered within
/// `timeout`; then it returns early.
async fn beat_until(server: &Server, probe: &mut Option<Probe>, interval: Duration, timeout: Duration) -> bool {
    let next = tokio::time::Instant::now() + interval;
    while let Some(kept) = probe {
        tokio::select! {
            biased;
            () = tokio::time::sleep_until(next) => return false,
            () = server.pulse.wanted() => {}
        }
        let sent = Instant::now();
        server.pulse.sent(sent);
        match within(timeout, kept.ping()).await {
            Some(Ok(())) => server.pulse.answered(Instant::now()),
            Some(Err(_)) => {
                server.pulse.lost();
                *probe = None;
            }
            // The answer may come still.
            None => return true,
        }
        if sent.elapsed() > SLOW_BEAT {
            server.pulse.ask();
        } else {
            tokio::time::sleep_until(next.min(tokio::time::Instant::now() + SHORTEST_PAUSE)).await;
        }
    }
    tokio::time::sleep_until(next).await;
    false
}

/// What is asked less often, or of some servers only. `anew`: the server may be another one than before.
async fn look_further(server: &Server, probe: &mut Probe, accounts: &mut Accounts, anew: bool) -> Result<(), Failure> {
    let recent = server.standing().is_some_and(|standing| standing.asked.elapsed() < standing::INTERVAL);
    if server.settings.track_gtids && (anew || !recent) {
        server.set_standing(probe.standing().await?);
    }
    accounts.look(probe, &server.settings.name, &server.rights).await
}

/// Weir's own connection to a server, without a pool.
#[derive(Debug)]
pub struct Probe {
    connected: Connected,
    input: BytesMut,
    life: u64,
    start: Start,
    /// A ping has not been answered yet.
    awaits_pong: bool,
}

type Row = Vec<Option<Vec<u8>>>;

impl Probe {
    /// Takes over a connection just made.
    pub fn new(connected: Connected) -> Probe {
        Probe { connected, input: BytesMut::new(), life: 0, start: Start::default(), awaits_pong: false }
    }

    /// Makes a connection with Weir's own account.
    ///
    /// # Errors
    /// As [`connect`].
    pub async fn open(server: &Server, settings: &MonitorSettings) -> Result<Probe, Failure> {
        let (user, password) = (settings.user.clone(), settings.password.clone());
        Ok(Probe::new(
            connect(server, &Login { user, password, database: None, capabilities: Capabilities::empty() }).await?,
        ))
    }

    /// Runs a query and returns its rows.
    ///
    /// # Errors
    /// The server's error, or what broke the connection.
    pub async fn query(&mut self, sql: &str) -> Result<Vec<Row>, Failure> {
        Ok(self.run(sql).await?.rows)
    }

    /// Runs a statement with one result. Not cancel-safe: a connection whose reply was not awaited is of no more use.
    ///
    /// # Errors
    /// The server's error, or what broke the connection.
    pub async fn run(&mut self, sql: &str) -> Result<OwnReply, Failure> {
        Ok(self.run_named(sql).await?.0)
    }

    /// The rows of a query by the names of their columns.
    async fn records(&mut self, sql: &str) -> Result<Vec<standing::Record>, Failure> {
        let (reply, names) = self.run_named(sql).await?;
        Ok(reply.rows.into_iter().map(|row| standing::record(&names, row)).collect())
    }

    /// As [`Probe::run`], with the names of the columns.
    async fn run_named(&mut self, sql: &str) -> Result<(OwnReply, Vec<String>), Failure> {
        let mut out = BytesMut::new();
        put_packet(&mut out, 0, &query_payload(sql.as_bytes(), self.connected.capabilities));
        self.connected.stream.write_all(&out).await.map_err(lost)?;
        self.connected.stream.flush().await.map_err(lost)?;
        let mut packets = PacketReader::new();
        packets.set_next_seq(1);
        let first = self.packet(&mut packets).await?;
        match first.first() {
            Some(0x00) => return Ok((self.done(&first)?, Vec::new())),
            Some(0xff) => return Err(refused(&first)),
            _ => {}
        }
        let (mut rows, mut names) = (Vec::new(), Vec::new());
        let mut ends = 0;
        loop {
            let packet = self.packet(&mut packets).await?;
            match packet.first() {
                Some(0xff) => return Err(refused(&packet)),
                Some(0xfe) if packet.len() < 9 => ends += 1,
                _ if ends == 1 => rows.push(parse_text_row(&packet).map_err(|e| lost(std::io::Error::other(e)))?),
                _ => names.push(column_name(&packet)?),
            }
            if ends == 2 {
                return Ok((OwnReply { rows, ..OwnReply::default() }, names));
            }
        }
    }

    /// Asks for a sign of life. Where the answer is not awaited, [`Probe::pong`] takes it.
    ///
    /// # Errors
    /// What broke the connection.
    async fn ping(&mut self) -> Result<(), Failure> {
        self.awaits_pong = true;
        // Sent as often as every few milliseconds while lanes are in use: without allocations.
        self.connected.stream.write_all(&[1, 0, 0, 0, Command::Ping as u8]).await.map_err(lost)?;
        self.connected.stream.flush().await.map_err(lost)?;
        self.pong().await
    }

    /// Takes the answer to a ping, if one is due. Cancel-safe.
    async fn pong(&mut self) -> Result<(), Failure> {
        if !self.awaits_pong {
            return Ok(());
        }
        let mut packets = PacketReader::new();
        packets.set_next_seq(1);
        let answer = self.packet(&mut packets).await?;
        self.awaits_pong = false;
        if answer.first() == Some(&0xff) { Err(refused(&answer)) } else { Ok(()) }
    }

    fn done(&self, payload: &[u8]) -> Result<OwnReply, Failure> {
        let ok = OkPacket::parse(payload, self.connected.capabilities);
        let ok = ok.map_err(|e| lost(std::io::Error::other(e)))?;
        Ok(OwnReply {
            last_insert_id: ok.last_insert_id,
            affected: ok.affected_rows,
            status: ok.status,
            ..OwnReply::default()
        })
    }

    /// Whether the server is MariaDB.
    pub fn is_mariadb(&self) -> bool {
        self.connected.greeting.is_mariadb()
    }

    async fn packet(&mut self, packets: &mut PacketReader) -> Result<BytesMut, Failure> {
        const LIMIT: usize = 1 << 20;
        loop {
            let next = packets.next(&mut self.input, LIMIT).map_err(|e| lost(std::io::Error::other(e)))?;
            if let Some(payload) = next {
                return Ok(payload);
            }
            if self.connected.stream.read_buf(&mut self.input).await.map_err(lost)? == 0 {
                return Err(lost(std::io::ErrorKind::UnexpectedEof.into()));
            }
        }
    }

    /// What the server says of itself as a member of a group.
    ///
    /// # Errors
    /// As [`Probe::query`], or when the answer is not understood.
    pub async fn observe(&mut self) -> Result<Observation, Failure> {
        let mariadb = self.is_mariadb();
        let asked = Instant::now();
        // The order counts: what is no longer owned when it is asked for has been executed by then.
        let (sql, gtids_on) = match mariadb {
            true => (
                "SELECT @@GLOBAL.read_only, @@GLOBAL.log_bin, @@GLOBAL.gtid_slave_pos, @@GLOBAL.gtid_binlog_pos",
                ["1", "ON"],
            ),
            false => (
                "SELECT @@GLOBAL.read_only, @@GLOBAL.gtid_mode, @@GLOBAL.gtid_owned, @@GLOBAL.gtid_executed",
                ["ON", "ON_PERMISSIVE"],
            ),
        };
        let mut cells = self.query(sql).await?.into_iter().next().unwrap_or_default().into_iter().map(text);
        let mut cell = || cells.next().unwrap_or_default();
        let (read_only, mode, first, last) = (cell(), cell(), cell(), cell());
        let position = |text: &str| Position::parse(mariadb, text).map_err(|error| lost(std::io::Error::other(error)));
        let (mut visible, last) = (position(&first)?, position(&last)?);
        let applied = if mariadb { visible.clone() } else { last.clone() };
        visible.add(&last);
        Ok(Observation {
            asked,
            life: self.life,
            start: self.start.number,
            read_only: !matches!(read_only.as_str(), "0" | "OFF"),
            has_gtids: gtids_on.contains(&mode.as_str()),
            applied: Arc::new(applied),
            visible: Arc::new(visible),
        })
    }

    /// For how long the server has been running, in whole seconds.
    async fn uptime(&mut self) -> Result<Duration, Failure> {
        let row = self.query("SHOW GLOBAL STATUS LIKE 'Uptime'").await?.into_iter().next().unwrap_or_default();
        let seconds = row.into_iter().nth(1).map(text).and_then(|seconds| seconds.parse().ok());
        Ok(Duration::from_secs(seconds.unwrap_or_default()))
    }

    async fn identity(&mut self) -> Result<Identity, Failure> {
        let mut collations = HashMap::new();
        let sql = "SELECT ID, CHARACTER_SET_NAME, COLLATION_NAME FROM information_schema.COLLATIONS \
                   WHERE ID IS NOT NULL AND CHARACTER_SET_NAME IS NOT NULL";
        for row in self.query(sql).await? {
            let mut cells = row.into_iter().map(text);
            if let (Some(id), Some(charset), Some(name)) = (cells.next(), cells.next(), cells.next()) {
                // The parser's character sets: a client can't have the others, and the server takes its default.
                if let (Ok(id), false) = (id.parse(), is_wide(&charset)) {
                    collations.insert(id, name);
                }
            }
        }
        let greeting = &self.connected.greeting;
        let mariadb = greeting.is_mariadb();
        let (version, capabilities, collation) = (greeting.version.clone(), greeting.capabilities, greeting.collation);
        let tracked_variables = if mariadb { "*".to_owned() } else { self.mysql_variables().await? };
        let tracked_but_gtid = if mariadb { Some(self.mariadb_variables().await?) } else { None };
        let row = self.query("SELECT @@GLOBAL.session_track_system_variables").await?;
        let tracked = row.into_iter().flatten().next().map(text).unwrap_or_default();
        let row = self.query("SELECT @@GLOBAL.sql_mode").await?;
        let sql_mode = row.into_iter().flatten().next().map(text).unwrap_or_default();
        let client_tracks_gtids = !mariadb && {
            let row = self.query("SELECT @@GLOBAL.session_track_gtids").await?;
            row.into_iter().flatten().next().map(text).is_some_and(|tracked| tracked != "OFF")
        };
        let client_tracked =
            tracked.split(',').map(|name| name.trim().to_ascii_lowercase()).filter(|n| !n.is_empty()).collect();
        Ok(Identity {
            version,
            mariadb,
            capabilities,
            collation,
            sql_mode,
            collations,
            tracked_variables,
            tracked_but_gtid,
            client_tracked,
            client_tracks_gtids,
        })
    }

    /// MySQL reports `statement_id` for each statement when all variables are tracked: the list names the others.
    async fn mysql_variables(&mut self) -> Result<String, Failure> {
        let rows = self.query("SHOW SESSION VARIABLES").await?;
        let names = rows.into_iter().filter_map(|row| row.into_iter().next().map(text));
        let tracked: Vec<_> = names.filter(|name| !NOT_TRACKED.iter().any(|prefix| name.starts_with(prefix))).collect();
        Ok(tracked.join(","))
    }

    async fn mariadb_variables(&mut self) -> Result<String, Failure> {
        const NAMES: &str = "SELECT LOWER(VARIABLE_NAME) FROM information_schema.SYSTEM_VARIABLES \
                             WHERE VARIABLE_SCOPE LIKE 'SESSION%' AND VARIABLE_NAME <> 'LAST_GTID'";
        let rows = self.query(NAMES).await?;
        let names: Vec<_> = rows.into_iter().filter_map(|row| row.into_iter().next().map(text)).collect();
        Ok(names.join(","))
    }
}

fn text(cell: Option<Vec<u8>>) -> String {
    String::from_utf8_lossy(&cell.unwrap_or_default()).into_owned()
}

/// The name in a column's definition: its fifth text. What follows the texts has a length before it, as they have.
fn column_name(definition: &[u8]) -> Result<String, Failure> {
    let parts = parse_text_row(definition).map_err(|e| lost(std::io::Error::other(e)))?;
    Ok(text(parts.into_iter().nth(4).flatten()))
}

fn lost(error: std::io::Error) -> Failure {
    Failure::server(codes::CR_SERVER_LOST, error.to_string())
}

fn refused(payload: &[u8]) -> Failure {
    match ErrPacket::parse(payload) {
        Ok(err) => server_failure(&err),
        Err(e) => lost(std::io::Error::other(e)),
    }
}
