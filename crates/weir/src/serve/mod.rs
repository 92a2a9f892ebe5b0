//! `weir serve`: the server itself, from a checked configuration to a graceful stop.
//!
//! What must always hold: everything is bound before anything is served, so that a start either works whole or fails
//! with a reason; worker threads do nothing but serve clients, all else runs on the control runtime.

mod backend_tls;
mod listen;
mod stop;

use std::io;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use prometheus_client::registry::Registry as MetricsRegistry;
use weir_admin::Commands;
use weir_admin::sessions::{Interrupt, Registry};
use weir_backend::lanes::LaneSettings;
use weir_backend::monitor::{MonitorSettings, watch};
use weir_backend::pool::PoolSettings;
use weir_backend::server::Health;
use weir_backend::{Role, Server, ServerSettings};
use weir_frontend::{Accounts, Compression, ConfiguredUser, Endpoint, Place, Settings, Worker, WorkerSettings};
use weir_wire::auth::{AuthPlugin, Password};

use crate::config::CheckedConfig;
use crate::config::checked;
use listen::Listeners;

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
    /// No runtime, thread or signal handler could be made.
    #[error("the process can't be set up: {0}")]
    Process(#[from] io::Error),
}

/// Bound on clearing a server connection after its session.
const RESET_TIMEOUT: Duration = Duration::from_secs(10);

/// Runs the server until it is told to stop.
pub(crate) fn run(config: CheckedConfig) -> Result<(), ServeError> {
    stop::raise_file_limit();
    let mut listeners = Listeners::bind(&config.listen)?;
    let metrics_listener = config.metrics_address.map(listen::bind_http).transpose()?;
    let endpoint = Arc::new(endpoint(&config)?);
    let control = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .thread_name("weir-control")
        .enable_all()
        .build()?;
    let _inside = control.enter();
    watch_servers(&control, &config, &endpoint);
    if let Some(listener) = metrics_listener {
        serve_metrics(&control, listener, &endpoint);
    }
    let workers = start_workers(&config, &endpoint)?;
    tracing::info!(addresses = ?listeners.addresses(), workers = workers.len(), "weir is ready for connections");
    let grace = config.shutdown_grace;
    control.block_on(async {
        let mut signals = stop::Signals::new()?;
        listeners.accept_until(signals.stop(), &endpoint, &workers).await;
        tracing::info!(?grace, "stopping: no new connections, open transactions may end");
        drop(listeners);
        stop::drain(&endpoint.registry, grace, &mut signals).await;
        Ok::<(), io::Error>(())
    })?;
    for worker in workers {
        worker.join();
    }
    tracing::info!("stopped");
    Ok(())
}

fn start_workers(config: &CheckedConfig, endpoint: &Arc<Endpoint>) -> io::Result<Vec<Worker>> {
    let count = config.worker_threads.get();
    let settings = WorkerSettings {
        pool: PoolSettings {
            max_queue: config.pool.max_queue.max(1),
            queue_timeout: config.pool.queue_timeout,
            idle_timeout: config.pool.idle_timeout,
            prepared_statements: config.pool.prepared_statements,
        },
        lanes: LaneSettings {
            enabled: config.lanes.enabled,
            max_lanes: config.lanes.max_lanes.get() as usize,
            max_depth: config.lanes.max_depth.get() as usize,
            stall_timeout: config.lanes.stall_timeout,
        },
        batch_scheduling: config.scheduling == checked::Scheduling::Batch,
    };
    let place = |index| Place { index, workers: count };
    (0..count).map(|index| Worker::start(place(index), endpoint.clone(), settings.clone())).collect()
}

fn endpoint(config: &CheckedConfig) -> Result<Endpoint, ServeError> {
    let servers = servers(config)?;
    let writer = servers.iter().find(|server| server.settings.role == Role::Writer);
    let server = writer.expect("a checked configuration has a writer").clone();
    let clients = &config.clients;
    let max_user = clients.max_user_connections.map_or(0, |n| n.get() as usize);
    let registry = Arc::new(Registry::new(clients.max_connections.get() as usize, max_user));
    let offers = |algorithm| clients.compression.contains(&algorithm);
    Ok(Endpoint {
        settings: Settings {
            handshake_timeout: clients.handshake_timeout,
            wait_timeout: clients.wait_timeout,
            write_timeout: clients.write_timeout,
            max_allowed_packet: clients.max_allowed_packet,
            compression: Compression {
                zlib: offers(checked::Compression::Zlib),
                zstd: offers(checked::Compression::Zstd),
            },
            require_compression: !offers(checked::Compression::Uncompressed),
            require_tls: config.tls.require,
            reset_timeout: RESET_TIMEOUT,
        },
        accounts: accounts(&config.accounts),
        server,
        commands: Commands::new(registry.clone(), servers),
        registry,
        tls: client_tls(&config.tls.certificate)?,
        metrics: weir_frontend::Metrics::default(),
        backend_metrics: weir_backend::Metrics::default(),
        rsa: OnceLock::new(),
    })
}

fn servers(config: &CheckedConfig) -> Result<Vec<Arc<Server>>, ServeError> {
    let tls = backend_tls::policy(&config.server_tls)?;
    let server = |server: &checked::Server| {
        let settings = ServerSettings {
            name: server.name.clone(),
            address: server.address.clone(),
            role: match server.role {
                checked::Role::Writer => Role::Writer,
                checked::Role::Replica => Role::Replica,
            },
            tls: tls.clone(),
            max_connections: config.pool.max_connections.get() as usize,
            max_user_connections: config.pool.max_user_connections.map_or(0, |n| n.get() as usize),
            connect_timeout: config.pool.connect_timeout,
        };
        Arc::new(Server::new(settings, config.worker_threads.get()))
    };
    Ok(config.servers.iter().map(server).collect())
}

fn plugin(plugin: checked::AuthPlugin) -> AuthPlugin {
    match plugin {
        checked::AuthPlugin::CachingSha2Password => AuthPlugin::CachingSha2,
        checked::AuthPlugin::MysqlNativePassword => AuthPlugin::NativePassword,
        checked::AuthPlugin::ClientEd25519 => AuthPlugin::Ed25519,
    }
}

fn accounts(accounts: &checked::Accounts) -> Accounts {
    let user = |user: &checked::User| ConfiguredUser {
        name: user.name.clone(),
        password: Password::new(user.password.expose().as_bytes()),
        plugin: plugin(user.plugin),
        admin: user.admin,
        max_connections: user.max_connections.map_or(0, |n| n.get() as usize),
    };
    Accounts::new(accounts.users.iter().map(user).collect(), accounts.learn, plugin(accounts.default_plugin))
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

fn watch_servers(control: &tokio::runtime::Runtime, config: &CheckedConfig, endpoint: &Arc<Endpoint>) {
    let monitor = &config.monitor;
    let settings = MonitorSettings {
        user: monitor.user.as_bytes().into(),
        password: Password::new(monitor.password.expose().as_bytes()),
        interval: monitor.interval,
        timeout: monitor.timeout,
        hang_timeout: monitor.hang_timeout,
    };
    for server in endpoint.commands.servers() {
        let endpoint = endpoint.clone();
        let lost = move |server: &Server, health: &Health| {
            if *health == Health::Hung {
                endpoint.registry.server_lost(&server.settings.name);
            }
        };
        control.spawn(watch(server.clone(), settings.clone(), lost));
    }
}

fn serve_metrics(control: &tokio::runtime::Runtime, listener: std::net::TcpListener, endpoint: &Arc<Endpoint>) {
    let mut registry = MetricsRegistry::default();
    endpoint.metrics.register(&mut registry);
    endpoint.backend_metrics.register(&mut registry);
    endpoint.commands.register_gauges(&mut registry);
    let server = endpoint.server.clone();
    let health = Arc::new(move || match server.refusal() {
        None => Ok(()),
        Some(failure) => Err(failure.message),
    });
    control.spawn(async move {
        let forever = std::future::pending::<()>();
        if let Err(error) = weir_admin::http::serve(listener, Arc::new(registry), health, forever).await {
            tracing::error!(%error, "the metrics endpoint ended");
        }
    });
}

/// Tells every session that Weir stops.
fn announce(registry: &Registry, now: bool) {
    registry.interrupt_all(if now { Interrupt::ShutdownNow } else { Interrupt::Shutdown });
}
