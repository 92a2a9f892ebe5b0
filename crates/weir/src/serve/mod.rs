//! `weir serve`: the server itself, from a checked configuration to a graceful stop.
//!
//! What must always hold: everything is bound before anything is served, so that a start either works whole or fails
//! with a reason; worker threads do nothing but serve clients, all else runs on the control runtime.

mod backend_tls;
mod discovery;
mod lifecycle;
mod listen;
mod live;
mod notify;
mod oversight;
mod sharding;
mod stop;
mod takeover;
mod writers;

use std::io;
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use arc_swap::{ArcSwap, ArcSwapOption};
use prometheus_client::registry::Registry as MetricsRegistry;
use weir_admin::Commands;
use weir_admin::rest::Api;
use weir_admin::sessions::Registry;
use weir_backend::lanes::LaneSettings;
use weir_backend::monitor::{MonitorSettings, watch};
use weir_backend::pool::PoolSettings;
use weir_backend::server::Health;
use weir_backend::{Admission, ConnectSettings, Replaceable, Server, ServerSettings};
use weir_exec::hot_rows::{HotRowSettings, HotRows};
use weir_exec::workbench::Bounds;
use weir_frontend::{Accounts, Compression, ConfiguredUser, Endpoint, Settings, Worker, WorkerIndex, WorkerSettings};
use weir_topology::{Failover, Group, GroupKind, GroupSettings, Level, MemberSettings, Promotion, Role};
use weir_txn::{Coordinator, TransactionSettings};
use weir_wire::auth::{AuthPlugin, Password};

use crate::config::CheckedConfig;
use crate::config::checked;
pub(crate) use lifecycle::{Start, run};
pub(crate) use sharding::file as catalog_file;

/// Why the server could not be started.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ServeError {
    /// An address or socket can't be listened on.
    #[error("can't listen on {address}: {source}")]
    Listen {
        /// Where.
        address: String,
        /// What the system said.
        source: io::Error,
    },
    /// TLS can't be set up.
    #[error("TLS: {0}")]
    Tls(String),
    /// The process that was to be taken over from has not let it be done.
    #[error("can't take over at {}: {source}", path.display())]
    Takeover {
        /// The control socket.
        path: PathBuf,
        /// What happened.
        source: io::Error,
    },
    /// The catalog can't be used, or a shard lacks what sharding requires.
    // Boxed for its size.
    #[error("{0}")]
    Sharding(Box<weir_shards::sharding::OpenError>),
    /// A log can't be opened.
    #[error("{0}")]
    Log(#[from] weir_admin::logs::LogError),
    /// No runtime, thread or signal handler could be made.
    #[error("the process can't be set up: {0}")]
    Process(#[from] io::Error),
}

/// Bound on clearing a server connection after its session.
const RESET_TIMEOUT: Duration = Duration::from_secs(10);

fn start_workers(
    config: &CheckedConfig,
    endpoint: &Arc<Endpoint>,
    pool: &Replaceable<PoolSettings>,
) -> io::Result<Vec<Worker>> {
    let count = config.worker_threads.get();
    let settings = WorkerSettings {
        pool: pool.clone(),
        lanes: LaneSettings {
            enabled: config.lanes.enabled,
            max_lanes: config.lanes.max_lanes.get() as usize,
            max_depth: config.lanes.max_depth.get() as usize,
            stall_timeout: config.lanes.stall_timeout,
        },
        batch_scheduling: config.scheduling == checked::Scheduling::Batch,
    };
    let place = |index| WorkerIndex { index, workers: count };
    (0..count).map(|index| Worker::start(place(index), endpoint.clone(), settings.clone())).collect()
}

fn pool_settings(config: &CheckedConfig) -> PoolSettings {
    PoolSettings {
        max_queue: config.pool.max_queue.max(1),
        queue_timeout: config.pool.queue_timeout,
        idle_timeout: config.pool.idle_timeout,
        prepared_statements: config.pool.prepared_statements,
    }
}

/// What all sessions share. `control` runs what shards are asked; `takeover`: another process writes the catalog for now.
fn endpoint(config: &CheckedConfig, control: &tokio::runtime::Runtime, takeover: bool) -> Result<Endpoint, ServeError> {
    let groups = groups(config)?;
    writers::recall(config, &groups);
    let monitor = Arc::new(ArcSwap::from_pointee(monitor_settings(config)));
    let sharding = sharding::open(config, &groups, &monitor, control, takeover)?;
    let (max, max_user) = client_limits(config);
    let registry = Arc::new(Registry::new(config.listen.instance, max, max_user));
    let (users, learns, default_plugin) = users(&config.accounts);
    let oversight = Arc::new(oversight::open(config)?);
    let transactions = Arc::new(Coordinator::new(groups.clone(), monitor.clone(), transaction_settings(config)));
    let commands = Arc::new(Commands::new(registry.clone(), groups.clone(), oversight.clone()));
    commands.tell_of_transactions(transactions.clone());
    let hot_rows = HotRows::new(hot_row_settings(config));
    commands.tell_of_hot_rows(hot_rows.clone());
    let own = match &sharding {
        Some(sharding) => sharding.own.clone(),
        None => weir_shards::Own::new(groups.clone(), monitor.clone(), control.handle().clone()),
    };
    commands.batch_with(weir_batches::Batches::new(own));
    let failover =
        |group: &Arc<Group>| Arc::new(Failover::new(group.clone(), monitor.clone(), control.handle().clone()));
    commands.fail_over_with(groups.iter().map(failover).collect());
    let (max_connections, max_user_connections) = server_limits(config);
    let admission = Arc::new(Admission::new(max_connections, max_user_connections, groups.len()));
    Ok(Endpoint {
        settings: ArcSwap::from_pointee(settings(config)),
        accounts: Accounts::new(users, learns, default_plugin),
        commands,
        groups,
        sharding,
        monitor,
        admission,
        transactions,
        registry,
        oversight,
        tls: ArcSwapOption::new(client_tls(&config.tls.certificate)?),
        metrics: weir_frontend::Metrics::default(),
        backend_metrics: weir_backend::Metrics::default(),
        hot_rows,
        rsa: OnceLock::new(),
    })
}

fn hot_row_settings(config: &CheckedConfig) -> HotRowSettings {
    let hot = &config.hot_rows;
    HotRowSettings {
        enabled: hot.enabled,
        threshold: hot.threshold.get(),
        max_batch: hot.max_batch.get() as usize,
        max_hold: hot.max_hold,
        admission: hot.admission.get() as usize,
        merge: hot.merge.clone(),
    }
}

fn settings(config: &CheckedConfig) -> Settings {
    let clients = &config.clients;
    let offers = |algorithm| clients.compression.contains(&algorithm);
    Settings {
        handshake_timeout: clients.handshake_timeout,
        wait_timeout: clients.wait_timeout,
        write_timeout: clients.write_timeout,
        max_allowed_packet: clients.max_allowed_packet,
        compression: Compression { zlib: offers(checked::Compression::Zlib), zstd: offers(checked::Compression::Zstd) },
        require_compression: !offers(checked::Compression::Uncompressed),
        allow: config.listen.allow.clone(),
        require_tls: config.tls.require,
        socket: config.listen.socket.as_ref().map_or_else(Box::default, |own| own.path.to_string_lossy().into()),
        reset_timeout: RESET_TIMEOUT,
        leave_after: config.takeover.idle,
        gathering: Bounds {
            bytes: config.workbench.max_bytes,
            rows: config.workbench.max_rows.map_or(u64::MAX, NonZeroU64::get),
        },
    }
}

/// The most client connections, in all and of one user; 0: no limit.
fn client_limits(config: &CheckedConfig) -> (usize, usize) {
    let clients = &config.clients;
    (clients.max_connections.get() as usize, clients.max_user_connections.map_or(0, |n| n.get() as usize))
}

/// The most connections to a server, in all and of one user; 0: no limit.
fn server_limits(config: &CheckedConfig) -> (usize, usize) {
    let pool = &config.pool;
    (pool.max_connections.get() as usize, pool.max_user_connections.map_or(0, |n| n.get() as usize))
}

fn level(consistency: checked::Consistency) -> Level {
    match consistency {
        checked::Consistency::Eventual => Level::Eventual,
        checked::Consistency::Session => Level::Session,
        checked::Consistency::Strong => Level::Strong,
        checked::Consistency::Primary => Level::Primary,
    }
}

fn group_settings(instance: u8, group: &checked::Group) -> (GroupSettings, Vec<MemberSettings>) {
    let settings = GroupSettings {
        name: group.name.clone(),
        level: level(group.consistency),
        max_lag: group.max_lag,
        read_wait: group.read_wait,
        writer_wait: group.writer_wait,
        transaction_replay: group.transaction_replay,
        transaction_replay_size: group.transaction_replay_size,
        kind: match group.kind {
            checked::GroupKind::Auto => None,
            checked::GroupKind::Static => Some(GroupKind::Static),
            checked::GroupKind::Async => Some(GroupKind::Async),
            checked::GroupKind::GroupReplication => Some(GroupKind::GroupReplication),
            checked::GroupKind::Galera => Some(GroupKind::Galera),
        },
        automatic_failover: group.failover == checked::FailoverMode::Automatic,
        failover_after: group.failover_after,
        failover_interval: group.failover_interval,
        is_only_weir: instance == 0,
        max_lost: group.max_lost,
    };
    let member = |server: &checked::Server| MemberSettings {
        role: match server.role {
            checked::Role::Writer => Role::Writer,
            checked::Role::Replica => Role::Replica,
        },
        weight: server.weight,
        promotion: match server.promotion {
            checked::Promotion::Prefer => Promotion::Prefer,
            checked::Promotion::Neutral => Promotion::Neutral,
            checked::Promotion::Never => Promotion::Never,
        },
    };
    (settings, group.servers.iter().map(member).collect())
}

pub(crate) fn groups(config: &CheckedConfig) -> Result<Vec<Arc<Group>>, ServeError> {
    let reach =
        ConnectSettings { tls: backend_tls::policy(&config.server_tls)?, connect_timeout: config.pool.connect_timeout };
    let group = |group: &checked::Group| {
        let (settings, members) = group_settings(config.listen.instance, group);
        Arc::new(Group::new(settings, servers(config, group, &reach), members))
    };
    Ok(config.groups.iter().map(group).collect())
}

fn servers(config: &CheckedConfig, group: &checked::Group, reach: &ConnectSettings) -> Vec<Arc<Server>> {
    let (max_connections, max_user_connections) = server_limits(config);
    let server = |server: &checked::Server| {
        let settings = ServerSettings {
            name: server.name.clone(),
            address: server.address.clone(),
            max_connections,
            max_user_connections,
            track_gtids: group.servers.len() > 1,
        };
        Arc::new(Server::new(settings, reach.clone(), config.worker_threads.get()))
    };
    group.servers.iter().map(server).collect()
}

fn plugin(plugin: checked::AuthPlugin) -> AuthPlugin {
    match plugin {
        checked::AuthPlugin::CachingSha2Password => AuthPlugin::CachingSha2,
        checked::AuthPlugin::MysqlNativePassword => AuthPlugin::NativePassword,
        checked::AuthPlugin::ClientEd25519 => AuthPlugin::Ed25519,
    }
}

/// The users, whether others are learnt, and the usual method of authentication.
fn users(accounts: &checked::Accounts) -> (Vec<ConfiguredUser>, bool, Option<AuthPlugin>) {
    let user = |user: &checked::User| ConfiguredUser {
        name: user.name.clone(),
        password: Password::new(user.password.expose().as_bytes()),
        plugin: user.plugin.map(plugin),
        admin: user.admin,
        max_connections: user.max_connections.map_or(0, |n| n.get() as usize),
        level: user.consistency.map(level),
        transaction_replay: user.transaction_replay,
        allow: user.allow.clone(),
    };
    (accounts.users.iter().map(user).collect(), accounts.learn, accounts.default_plugin.map(plugin))
}

fn client_tls(certificate: &checked::ClientTlsCertificate) -> Result<Option<Arc<rustls::ServerConfig>>, ServeError> {
    let config = match certificate {
        checked::ClientTlsCertificate::Off => return Ok(None),
        checked::ClientTlsCertificate::Generate => weir_frontend::tls::generated(),
        checked::ClientTlsCertificate::Files(identity) => {
            weir_frontend::tls::config(identity.chain.clone(), identity.key.clone_key())
        }
    };
    config.map(Some).map_err(|e| ServeError::Tls(e.to_string()))
}

/// How the servers are watched: more often where reads depend on it.
pub(crate) fn monitor_settings(config: &CheckedConfig) -> MonitorSettings {
    let monitor = &config.monitor;
    let splitting = config.groups.iter().filter(|group| group.servers.len() > 1);
    let interval = splitting.map(|group| group.position_interval).fold(monitor.interval, Duration::min);
    MonitorSettings {
        user: monitor.user.as_bytes().into(),
        password: Password::new(monitor.password.expose().as_bytes()),
        interval,
        timeout: monitor.timeout,
        hang_timeout: monitor.hang_timeout,
    }
}

fn transaction_settings(config: &CheckedConfig) -> TransactionSettings {
    let checked::Transactions { recovery_interval, recovery_grace, outcome_timeout, keep_decisions, deadlock_interval } =
        config.transactions;
    TransactionSettings {
        interval: recovery_interval,
        grace: recovery_grace,
        bound: outcome_timeout,
        keep: keep_decisions,
        deadlock_interval,
    }
}

fn watch_servers(control: &tokio::runtime::Runtime, endpoint: &Arc<Endpoint>) {
    for group in &endpoint.groups {
        for server in &group.servers {
            let registry = endpoint.registry.clone();
            let lost = move |server: &Server, health: &Health| {
                if *health == Health::Hung {
                    registry.server_lost(&server.settings.name);
                }
            };
            let observed = group.clone();
            control.spawn(watch(server.clone(), endpoint.monitor.clone(), lost, move || observed.observed()));
        }
        control.spawn(group.clone().watch());
    }
    for failover in endpoint.commands.failovers().iter().filter(|failover| failover.group().may_split()) {
        let registry = endpoint.registry.clone();
        control.spawn(failover.clone().watch(move |server| registry.server_lost(server)));
    }
    if endpoint.groups.len() > 1 {
        control.spawn(endpoint.transactions.clone().recover());
        control.spawn(weir_frontend::deadlocks::watch(endpoint.clone()));
    }
}

/// Whether clients can be served: some shard's writer is there. Tells which are not.
fn health(groups: &[Arc<Group>]) -> Result<String, String> {
    let refusal = |group: &Arc<Group>| Some((group.settings().name.clone(), group.writer().refusal()?.message));
    let refusals: Vec<_> = groups.iter().filter_map(refusal).collect();
    let told =
        |(name, why): &(String, String)| if groups.len() > 1 { format!("shard {name}: {why}") } else { why.clone() };
    let text = refusals.iter().map(told).collect::<Vec<_>>().join("\n");
    match refusals.len() {
        0 => Ok("ok".to_owned()),
        gone if gone < groups.len() => Ok(format!("ok, but for {gone} of {} shards\n{text}", groups.len())),
        _ => Err(text),
    }
}

/// Serves metrics until `stop` resolves.
fn serve_metrics(
    listener: std::net::TcpListener,
    endpoint: &Arc<Endpoint>,
    stop: impl Future<Output = ()> + Send + 'static,
) {
    let mut registry = MetricsRegistry::default();
    endpoint.metrics.register(&mut registry);
    endpoint.backend_metrics.register(&mut registry);
    endpoint.transactions.metrics.register(&mut registry);
    endpoint.commands.register_gauges(&mut registry);
    let groups = endpoint.groups.clone();
    let health = Arc::new(move || health(&groups));
    tokio::spawn(async move {
        if let Err(error) = weir_admin::http::serve(listener, Arc::new(registry), health, stop).await {
            tracing::error!(%error, "the metrics endpoint ended");
        }
    });
}

/// Serves REST until `stop` resolves.
fn serve_api(listener: std::net::TcpListener, api: Arc<Api>, stop: impl Future<Output = ()> + Send + 'static) {
    tokio::spawn(async move {
        if let Err(error) = api.serve(listener, stop).await {
            tracing::error!(%error, "the REST interface ended");
        }
    });
}
