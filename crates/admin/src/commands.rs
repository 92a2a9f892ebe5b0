//! The commands behind `WEIR …`, `SHOW PROCESSLIST` and `KILL`, and their answers.

use std::sync::Arc;
use std::time::Instant;

use weir_backend::Server;
use weir_wire::error::codes;
use weir_wire::resultset::{Column, ResultSet};
use weir_wire::{Failure, Fault};

use crate::sessions::{Interrupt, Registry, SessionHandle};

/// Who gives a command.
#[derive(Debug, Clone, Copy)]
pub struct Caller<'a> {
    /// The user.
    pub user: &'a str,
    /// Whether the user has the admin right.
    pub admin: bool,
}

/// Runs commands.
#[derive(Debug)]
pub struct Commands {
    registry: Arc<Registry>,
    servers: Vec<Arc<Server>>,
    started: Instant,
}

const HELP: [(&str, &str); 5] = [
    ("WEIR STATUS", "Version, uptime, sessions and server connections at a glance"),
    ("WEIR SHOW SESSIONS", "The sessions, what each does, and what binds it to a server connection"),
    ("WEIR SHOW POOLS", "The pools of server connections, by server and worker"),
    ("WEIR SHOW SERVERS", "The servers, and whether they answer"),
    ("WEIR HELP", "This list"),
];

impl Commands {
    /// Commands over these sessions and servers.
    pub fn new(registry: Arc<Registry>, servers: Vec<Arc<Server>>) -> Commands {
        Commands { registry, servers, started: Instant::now() }
    }

    /// The servers behind Weir.
    pub fn servers(&self) -> &[Arc<Server>] {
        &self.servers
    }

    /// Registers the numbers that are read when they are asked for: sessions, pools, limits, health.
    pub fn register_gauges(&self, metrics: &mut prometheus_client::registry::Registry) {
        metrics.register_collector(Box::new(crate::gauges::Gauges::new(self.registry.clone(), self.servers.clone())));
    }

    /// Runs the text after the word WEIR.
    ///
    /// # Errors
    /// 1227 without the admin right, 1064 for what is not a command.
    pub fn run(&self, text: &str, caller: Caller<'_>) -> Result<ResultSet, Failure> {
        if !caller.admin {
            let message =
                "Access denied; you need the admin right of Weir for this operation (admin = true in [[users]])";
            return Err(Failure::new(Fault::Client, codes::ER_SPECIFIC_ACCESS_DENIED_ERROR, b"42000", message));
        }
        let words: Vec<String> =
            text.trim().trim_end_matches(';').split_whitespace().map(str::to_ascii_uppercase).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        match words.as_slice() {
            ["STATUS"] | ["SHOW", "STATUS"] => Ok(self.status()),
            ["SHOW", "SESSIONS"] => Ok(self.sessions()),
            ["SHOW", "POOLS"] => Ok(self.pools()),
            ["SHOW", "SERVERS"] => Ok(self.server_list()),
            ["HELP"] | [] => Ok(help()),
            _ => {
                let near = text.trim();
                let message =
                    format!("You have an error in your WEIR statement near '{near}'; WEIR HELP lists the statements");
                Err(Failure::new(Fault::Client, codes::ER_PARSE_ERROR, b"42000", message))
            }
        }
    }

    fn status(&self) -> ResultSet {
        let open: usize = self.servers.iter().map(|s| s.limits.open()).sum();
        let waiting: usize = self.servers.iter().map(|s| s.limits.waiting()).sum();
        let up = self.servers.iter().filter(|s| s.facts().health.name() == "up").count();
        let rows = [
            ("version", env!("CARGO_PKG_VERSION").to_owned()),
            ("uptime_seconds", self.started.elapsed().as_secs().to_string()),
            ("sessions", self.registry.len().to_string()),
            ("servers", self.servers.len().to_string()),
            ("servers_up", up.to_string()),
            ("server_connections", open.to_string()),
            ("waiting_statements", waiting.to_string()),
        ];
        ResultSet {
            columns: vec![Column::text("name"), Column::text("value")],
            rows: rows.into_iter().map(|(name, value)| vec![cell(name), cell(value)]).collect(),
        }
    }

    fn sessions(&self) -> ResultSet {
        let names = ["user", "host", "db", "command", "state", "server", "pins", "statement"];
        let mut columns = vec![Column::integer("id")];
        columns.extend(names.map(Column::text));
        columns.push(Column::integer("seconds"));
        let row = |handle: &Arc<SessionHandle>| {
            let info = handle.info().clone();
            vec![
                cell(handle.id.to_string()),
                cell(info.user),
                cell(info.host),
                info.database.map(String::into_bytes),
                cell(info.command),
                cell(info.state),
                info.server.map(|(server, thread)| format!("{}/{thread}", server.settings.name).into_bytes()),
                cell(info.pins),
                Some(info.statement).filter(|text| !text.is_empty()),
                cell(seconds(info.since)),
            ]
        };
        ResultSet { columns, rows: self.registry.all().iter().map(row).collect() }
    }

    fn pools(&self) -> ResultSet {
        let mut columns = vec![Column::text("server"), Column::integer("worker")];
        columns.extend(["open", "idle", "held", "waiting", "limit", "lanes", "riding"].map(Column::integer));
        columns.extend(["depth", "batch"].map(Column::text));
        columns.push(Column::integer("stalls"));
        let mut rows = Vec::new();
        for server in &self.servers {
            for (worker, counts) in server.pool_counts().into_iter().enumerate() {
                let lanes = counts.lanes;
                let [open, idle, held, waiting] = [counts.open, counts.idle, counts.held, counts.waiting];
                let numbers = [open, idle, held, waiting, server.limits.max, lanes.lanes, lanes.in_flight];
                let mut row = vec![cell(server.settings.name.as_str()), cell(worker.to_string())];
                row.extend(numbers.map(|n| cell(n.to_string())));
                row.extend([lanes.depth, lanes.batch].map(|n| cell(format!("{n:.1}"))));
                row.push(cell(lanes.stalls.to_string()));
                rows.push(row);
            }
        }
        ResultSet { columns, rows }
    }

    fn server_list(&self) -> ResultSet {
        let mut columns: Vec<_> = ["server", "address", "role", "health", "version", "reason"].map(Column::text).into();
        columns.push(Column::integer("seconds"));
        let row = |server: &Arc<Server>| {
            let facts = server.facts();
            let reason = match &facts.health {
                weir_backend::server::Health::Down(why) => why.clone(),
                _ => String::new(),
            };
            vec![
                cell(server.settings.name.as_str()),
                cell(server.settings.address.to_string()),
                cell(server.settings.role.name()),
                cell(facts.health.name()),
                facts.identity.as_ref().map(|identity| identity.version.clone()),
                cell(reason),
                cell(seconds(Some(facts.since))),
            ]
        };
        ResultSet { columns, rows: self.servers.iter().map(row).collect() }
    }

    /// `SHOW [FULL] PROCESSLIST`: Weir's sessions, whose ids KILL understands. Without the admin right, the user's own.
    pub fn process_list(&self, full: bool, caller: Caller<'_>) -> ResultSet {
        let mut columns = vec![Column::integer("Id")];
        columns.extend(["User", "Host", "db", "Command"].map(Column::text));
        columns.push(Column::integer("Time"));
        columns.extend(["State", "Info"].map(Column::text));
        let shown = if full { usize::MAX } else { 100 };
        let row = |handle: &Arc<SessionHandle>| {
            let info = handle.info().clone();
            vec![
                cell(handle.id.to_string()),
                cell(info.user),
                cell(info.host),
                info.database.map(String::into_bytes),
                cell(info.command),
                cell(seconds(info.since)),
                cell(info.state),
                Some(info.statement).filter(|text| !text.is_empty()).map(|mut text| {
                    text.truncate(shown);
                    text
                }),
            ]
        };
        let all = self.registry.all();
        let visible = all.iter().filter(|handle| caller.admin || handle.info().user == caller.user);
        ResultSet { columns, rows: visible.map(row).collect() }
    }

    /// `KILL [QUERY] id`, by a session's connection id.
    ///
    /// # Errors
    /// 1094 for an unknown id, 1095 for another user's session without the admin right.
    pub fn kill(&self, id: u64, why: Interrupt, caller: Caller<'_>) -> Result<(), Failure> {
        let handle = u32::try_from(id).ok().and_then(|id| self.registry.get(id));
        let Some(handle) = handle else {
            let message = format!("Unknown thread id: {id}");
            return Err(Failure::new(Fault::Client, codes::ER_NO_SUCH_THREAD, b"HY000", message));
        };
        if !caller.admin && handle.info().user != caller.user {
            let message = format!("You are not owner of thread {id}");
            return Err(Failure::new(Fault::Client, codes::ER_KILL_DENIED_ERROR, b"HY000", message));
        }
        handle.interrupt(why);
        Ok(())
    }
}

fn help() -> ResultSet {
    ResultSet {
        columns: vec![Column::text("statement"), Column::text("description")],
        rows: HELP.iter().map(|(statement, text)| vec![cell(*statement), cell(*text)]).collect(),
    }
}

fn cell(text: impl Into<String>) -> Option<Vec<u8>> {
    Some(text.into().into_bytes())
}

fn seconds(since: Option<Instant>) -> String {
    since.map_or(0, |since| since.elapsed().as_secs()).to_string()
}
