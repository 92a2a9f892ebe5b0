//! Running commands: the one place that all doors lead to; and `SHOW PROCESSLIST` and `KILL`, which are not Weir's own.

mod wiring;

use std::sync::{Arc, OnceLock};
use std::time::Instant;

use weir_backend::Server;
use weir_backend::server::Health;
use weir_batches::Batches;
use weir_ddl::{attach, hot_tables};
use weir_exec::hot_rows::HotRows;
use weir_moves::Mover;
use weir_shards::Sharding;
use weir_topology::{Failover, Group};
use weir_txn::Coordinator;
use weir_wire::Failure;
use weir_wire::error::codes;
use weir_wire::resultset::{Column, ResultSet};

use crate::answer::{Answer, Table};
use crate::batches;
use crate::columns;
use crate::command::{CATALOGUE, Command};
use crate::gauges::{Gauges, HotRowNumbers, Statements};
use crate::groups;
use crate::growth;
use crate::like::Pattern;
use crate::logs::{Event, Who};
use crate::moves;
use crate::operations::Operations;
use crate::oversight::Oversight;
use crate::sessions::{self, Interrupt, Registry, SessionHandle};
use crate::shards;
use crate::shown;

/// Who gives a command.
#[derive(Debug, Clone, Copy)]
pub struct Caller<'a> {
    /// The user.
    pub user: &'a str,
    /// Whether the user has the admin right.
    pub admin: bool,
    /// The time zone in which times without an offset are meant, if that is known.
    pub zone: Option<&'a str>,
}

impl<'a> Caller<'a> {
    /// Whose things they may see and command; `None`: everybody's.
    fn owner(&self) -> Option<&'a str> {
        (!self.admin).then_some(self.user)
    }
}

/// Runs commands.
#[derive(Debug)]
pub struct Commands {
    registry: Arc<Registry>,
    groups: Vec<Arc<Group>>,
    oversight: Arc<Oversight>,
    started: Instant,
    operations: OnceLock<Arc<dyn Operations>>,
    sharding: OnceLock<Arc<Sharding>>,
    transactions: OnceLock<Arc<Coordinator>>,
    hot_rows: OnceLock<Arc<HotRows>>,
    failovers: OnceLock<Vec<Arc<Failover>>>,
    mover: OnceLock<Arc<Mover>>,
    batches: OnceLock<Arc<Batches>>,
}

impl Commands {
    /// Commands over these sessions and shards, a group of servers each.
    pub fn new(registry: Arc<Registry>, groups: Vec<Arc<Group>>, oversight: Arc<Oversight>) -> Commands {
        Commands {
            registry,
            groups,
            oversight,
            started: Instant::now(),
            operations: OnceLock::new(),
            sharding: OnceLock::new(),
            transactions: OnceLock::new(),
            hot_rows: OnceLock::new(),
            failovers: OnceLock::new(),
            mover: OnceLock::new(),
            batches: OnceLock::new(),
        }
    }

    /// The servers of all shards.
    fn servers(&self) -> impl Iterator<Item = &Arc<Server>> {
        self.groups.iter().flat_map(|group| &group.servers)
    }

    /// Registers the numbers that are read when they are asked for: sessions, pools, limits, health,
    /// statements.
    pub fn register_gauges(&self, metrics: &mut prometheus_client::registry::Registry) {
        metrics.register_collector(Box::new(Gauges::new(self.registry.clone(), self.groups.clone())));
        metrics.register_collector(Box::new(Statements(self.oversight.clone())));
        if let Some(hot_rows) = self.hot_rows.get() {
            metrics.register_collector(Box::new(HotRowNumbers(hot_rows.clone())));
        }
    }

    /// Runs the text after the word WEIR. Cancel-safe: what has begun is carried out.
    ///
    /// # Errors
    /// 1227 without the admin right, 1064 for what is not a command; else as [`Commands::run`].
    pub async fn run_text(&self, text: &str, caller: Caller<'_>) -> Result<Answer, Failure> {
        match Command::parse(text) {
            Ok(command) => self.run(command, caller).await,
            Err(failure) if caller.admin => Err(failure),
            Err(_) => Err(admin_needed()),
        }
    }

    /// Runs a command. Cancel-safe: what has begun is carried out.
    ///
    /// # Errors
    /// 1227 without the admin right; else the command's own.
    pub async fn run(&self, command: Command, caller: Caller<'_>) -> Result<Answer, Failure> {
        // Of batches, users have their own.
        if !caller.admin && !matches!(command, Command::ShowBatches(_) | Command::Batch { .. }) {
            return Err(admin_needed());
        }
        match command {
            Command::Status => Ok(self.status()),
            Command::ShowServers(like) => Ok(filtered(groups::servers(&self.groups), "server", like)),
            Command::ShowSessions(like) => Ok(filtered(self.sessions(), "user", like)),
            Command::ShowPools(like) => Ok(filtered(self.pools(), "server", like)),
            Command::ShowTransactions(like) => Ok(filtered(self.transactions(), "transaction", like)),
            Command::ShowHotRows(like) => Ok(filtered(shown::hot_rows(self.hot_rows.get()), "table", like)),
            Command::ShowConfig(like) => Ok(filtered(self.config()?, "key", like)),
            Command::ShowDigests { like, limit } => {
                Ok(Answer::Rows(shown::digests(self.oversight.statistics.digests().await?, like, limit)))
            }
            Command::ResetDigests => self.oversight.statistics.reset_digests().await.map(|()| Answer::Done),
            Command::ShowRules(like) => Ok(filtered(shown::rules(&self.oversight.rules.rules()), "rule", like)),
            Command::SetReadOnly(read_only) => Ok(self.set_read_only(read_only, caller)),
            Command::RotateLogs => self.oversight.logs.rotate().await.map(|()| Answer::Done),
            Command::Kill { id, why } => self.kill(id, why, caller).map(|()| Answer::Done),
            Command::Reload => self.reload().await,
            Command::SetLogLevel(level) => self.operations()?.set_log_level(&level).map(|()| Answer::Done),
            Command::SetWriter(server) => {
                tracing::info!(server, user = caller.user, "the writer is set by hand");
                groups::set_writer(&self.groups, &server).map(|()| Answer::Done)
            }
            Command::ShowGroups(like) => Ok(filtered(groups::groups(self.failovers()), "group", like)),
            Command::ShowFailovers(like) => Ok(filtered(groups::failovers(self.failovers()), "group", like)),
            Command::Switchover { group, server } => {
                tracing::info!(server, user = caller.user, "a switchover was asked for");
                groups::switch_over(self.failovers(), group.as_deref(), server).await.map(|()| Answer::Done)
            }
            Command::Failover { group, server } => {
                tracing::info!(server, user = caller.user, "a failover was asked for");
                groups::fail_over(self.failovers(), group.as_deref(), server).await.map(|()| Answer::Done)
            }
            Command::BootGroup(group) => groups::boot(self.failovers(), group.as_deref()).await.map(|()| Answer::Done),
            Command::Advise(group) => groups::advice(self.failovers(), group.as_deref()).await.map(Answer::Rows),
            Command::ShowShards(like) => Ok(filtered(shards::shards(self.sharding()?), "shard", like)),
            Command::ShowTables(like) => Ok(filtered(shards::tables(&self.sharding()?.catalog()), "table", like)),
            Command::CheckCatalog => Ok(Answer::Rows(shards::differences(self.sharding()?).await?)),
            Command::ShowDefinitions => Ok(Answer::Rows(shards::definitions(&self.sharding()?.catalog()))),
            Command::ResumeDefinition(id) => {
                tracing::info!(id, user = caller.user, "a definition is resumed");
                shards::resume(self.sharding()?, id).await.map(|()| Answer::Done)
            }
            Command::CancelDefinition(id) => {
                tracing::info!(id, user = caller.user, "a definition is cancelled");
                shards::cancel(self.sharding()?, id).await.map(Answer::Rows)
            }
            Command::ShowBatches(like) => {
                Ok(filtered(batches::batches(self.batches()?, caller.owner()).await?, "table", like))
            }
            Command::Batch { id, order } => {
                tracing::info!(id, ?order, user = caller.user, "a batch is told what to do");
                self.batches()?.order(id, caller.owner(), order).await.map(|()| Answer::Done)
            }
            Command::ShowMoves(like) => Ok(filtered(moves::moves(self.mover()?), "tables", like)),
            Command::MoveTables(tables) => moves::begin(self.mover()?, &tables, caller.user).await.map(Answer::Rows),
            Command::Move { id, order } => {
                tracing::info!(id, ?order, user = caller.user, "a move is told what to do");
                moves::order(self.mover()?, id, order, caller.zone).await.map(|()| Answer::Done)
            }
            Command::Grow(order) => growth::run(self.mover()?, order, caller.user).await,
            Command::Attach(database) => {
                tracing::info!(database, user = caller.user, "a database is attached");
                attach::attach(self.sharding()?, &database).await.map(|()| Answer::Done)
            }
            Command::Detach(database) => {
                tracing::info!(database, user = caller.user, "a database is detached");
                attach::detach(self.sharding()?, &database).await.map(|()| Answer::Done)
            }
            Command::AlterHot { table, merge } => {
                hot_tables::alter(self.sharding()?, &table, merge).await.map(|()| Answer::Done)
            }
            Command::Help(words) => Ok(help(words.as_deref())),
        }
    }

    fn set_read_only(&self, read_only: bool, caller: Caller<'_>) -> Answer {
        self.oversight.set_read_only(read_only);
        tracing::info!(read_only, by = caller.user, "read-only mode was set by a command");
        Answer::Done
    }

    /// Takes down in the audit log that somebody gave a command.
    pub fn note_admin(&self, who: Who, text: String, error: Option<u16>) {
        if let Some(audit) = &self.oversight.logs.audit {
            audit.event(Event::Admin, || who, |line| line.with_text(text).with_error(error));
        }
    }

    fn status(&self) -> Answer {
        let open: usize = self.servers().map(|s| s.limits.open()).sum();
        let waiting: usize = self.servers().map(|s| s.limits.waiting()).sum();
        let up = self.servers().filter(|s| s.facts().health == Health::Up).count();
        let writers = self.groups.iter().filter(|group| can_write(group)).count();
        let mut table = Table::new(columns::STATUS);
        table.push(vec![
            env!("CARGO_PKG_VERSION").into(),
            u64::from(std::process::id()).into(),
            u64::from(self.registry.instance()).into(),
            self.started.elapsed().as_secs().into(),
            self.registry.len().into(),
            self.groups.len().into(),
            writers.into(),
            self.servers().count().into(),
            up.into(),
            open.into(),
            waiting.into(),
            if self.oversight.is_read_only() { "ON" } else { "OFF" }.into(),
        ]);
        Answer::Record(table)
    }

    fn sessions(&self) -> Table {
        let mut table = Table::new(columns::SESSIONS);
        for handle in self.registry.all() {
            let info = handle.info().clone();
            let connections: Vec<String> =
                info.connections().map(|(server, thread)| format!("{}/{thread}", server.settings.name)).collect();
            table.push(vec![
                u64::from(handle.id).into(),
                info.user.into(),
                info.host.into(),
                info.database.into(),
                info.command.into(),
                info.state.into(),
                Some(connections.join(", ")).filter(|names| !names.is_empty()).into(),
                info.pins.into(),
                Some(info.replay).filter(|replay| !replay.is_empty()).into(),
                info.consistency.into(),
                Some(info.statement).filter(|text| !text.is_empty()).into(),
                seconds(info.since).into(),
            ]);
        }
        table
    }

    fn transactions(&self) -> Table {
        let mut table = Table::new(columns::TRANSACTIONS);
        let name = |shard: u16| match self.groups.get(usize::from(shard)) {
            Some(group) => group.settings().name.clone(),
            None => shard.to_string(),
        };
        let Some(coordinator) = self.transactions.get() else { return table };
        for doubt in coordinator.in_doubt().iter() {
            let id = doubt.branch.transaction;
            table.push(vec![
                id.to_string().into(),
                name(doubt.branch.shard.0).into(),
                name(id.decider.0).into(),
                doubt.seen_for.as_secs().into(),
                doubt.why.clone().into(),
            ]);
        }
        table
    }

    fn pools(&self) -> Table {
        let mut table = Table::new(columns::POOLS);
        let of_group = |group: &Arc<Group>| {
            let name = group.settings().name.clone();
            group.servers.clone().into_iter().map(move |server| (name.clone(), server))
        };
        for (group, server) in self.groups.iter().flat_map(of_group) {
            for (worker, counts) in server.pool_counts().into_iter().enumerate() {
                let lanes = counts.lanes;
                let tenths = |number: f64| (number * 10.0).round() / 10.0;
                table.push(vec![
                    server.settings.name.as_str().into(),
                    worker.into(),
                    counts.open.into(),
                    counts.idle.into(),
                    counts.held.into(),
                    counts.waiting.into(),
                    server.limits.max().into(),
                    lanes.lanes.into(),
                    lanes.in_flight.into(),
                    tenths(lanes.depth).into(),
                    tenths(lanes.batch).into(),
                    lanes.stalls.into(),
                    group.as_str().into(),
                ]);
            }
        }
        table
    }

    async fn reload(&self) -> Result<Answer, Failure> {
        let mut table = Table::new(columns::RELOAD);
        for change in self.operations()?.reload().await? {
            table.push(vec![change.key.into(), change.outcome.name().into(), change.old.into(), change.new.into()]);
        }
        Ok(Answer::Rows(table))
    }

    fn config(&self) -> Result<Table, Failure> {
        let mut table = Table::new(columns::CONFIG);
        for setting in self.operations()?.settings() {
            table.push(vec![setting.key.into(), setting.value.into(), setting.source.into()]);
        }
        Ok(table)
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
                cell(seconds(info.since).to_string()),
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
            return Err(self.no_such_session(id));
        };
        if !caller.admin && handle.info().user != caller.user {
            let message = format!("You are not owner of thread {id}");
            return Err(Failure::client(codes::ER_KILL_DENIED_ERROR, message));
        }
        handle.interrupt(why);
        Ok(())
    }

    fn no_such_session(&self, id: u64) -> Failure {
        let (own, of) = (self.registry.instance(), u32::try_from(id).map(sessions::instance_of));
        let message = match of {
            Ok(of) if own != 0 && of != own => {
                format!("Unknown thread id: {id} (of instance {of}: send the KILL there; this is instance {own})")
            }
            _ => format!("Unknown thread id: {id}"),
        };
        Failure::client(codes::ER_NO_SUCH_THREAD, message)
    }
}

impl Commands {
    /// `KILL [QUERY] USER user[@host]`: all sessions of a user but `by`'s own. Returns how many, and whether that one is among them.
    ///
    /// # Errors
    /// 1095 for another user's sessions without the admin right.
    pub fn kill_user(
        &self,
        user: &str,
        host: Option<&str>,
        why: Interrupt,
        (by, caller): (u32, Caller<'_>),
    ) -> Result<(usize, bool), Failure> {
        let host = host.filter(|host| *host != "%");
        let is_one = |handle: &Arc<SessionHandle>| {
            let info = handle.info();
            // Behind the host of a client on TCP is its port.
            let from = info.host.rsplit_once(':').map_or(&*info.host, |(host, _)| host);
            info.user == user && host.is_none_or(|host| host == from)
        };
        let mut all = self.registry.all();
        all.retain(is_one);
        if !caller.admin && user != caller.user && !all.is_empty() {
            let message = format!("You are not owner of the sessions of user {user}");
            return Err(Failure::client(codes::ER_KILL_DENIED_ERROR, message));
        }
        let found = all.len();
        all.retain(|handle| handle.id != by);
        all.iter().for_each(|handle| handle.interrupt(why));
        Ok((all.len(), all.len() < found))
    }
}

/// Whether a group's writer is there and can write, as far as is known.
fn can_write(group: &Group) -> bool {
    let is_up = |server: &Server| server.facts().health == Health::Up;
    !group.servers.is_empty() && is_up(&group.writer()) && group.view().writer_unusable.is_none()
}

fn admin_needed() -> Failure {
    let message = "Access denied; you need the admin right of Weir for this operation (admin = true in [[users]])";
    Failure::client(codes::ER_SPECIFIC_ACCESS_DENIED_ERROR, message)
}

fn filtered(mut table: Table, column: &str, like: Option<Pattern>) -> Answer {
    if let Some(pattern) = like {
        table.keep_like(column, &pattern);
    }
    Answer::Rows(table)
}

/// What belongs to a session, and so is no command of all doors, though it begins with WEIR.
const OF_SESSIONS: &[(&str, &str)] = &[(
    "EXPLAIN statement",
    "How a statement would run: on which shards, with which text, how their rows become one result, and why (in SQL only)",
)];

/// The commands that begin with `words`, or all.
fn help(words: Option<&str>) -> Answer {
    let words = words.unwrap_or_default().to_ascii_uppercase();
    let mut table = Table::new(columns::HELP);
    for spec in CATALOGUE.iter().filter(|spec| spec.sql.iter().any(|form| form.starts_with(&words))) {
        table.push(vec![format!("WEIR {}", spec.sql[0]).into(), spec.about.into()]);
    }
    for (form, about) in OF_SESSIONS.iter().filter(|(form, _)| form.starts_with(&words)) {
        table.push(vec![format!("WEIR {form}").into(), (*about).into()]);
    }
    Answer::Rows(table)
}

fn cell(text: impl Into<String>) -> Option<Vec<u8>> {
    Some(text.into().into_bytes())
}

fn seconds(since: Option<Instant>) -> u64 {
    since.map_or(0, |since| since.elapsed().as_secs())
}
