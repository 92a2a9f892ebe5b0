//! The life of a serving process: bind, (take over,) serve, hand over or stop.
//!
//! What must always hold: everything is bound before anything is served, so that a start either works whole or fails
//! with a reason; a start that takes over fails without harm to the process that serves.

use std::io;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use tokio::runtime::Runtime;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use weir_admin::rest::Api;
use weir_backend::server::Health;
use weir_frontend::{Endpoint, Worker};

use super::listen::{self, Listeners};
use super::live::Live;
use super::stop::{self, Asked, Signals};
use super::takeover::{ControlSocket, Inherited, Name, Offer, Predecessor, Successor};
use super::{ServeError, notify, serve_api, serve_metrics};
use crate::config::checked::Takeover;
use crate::config::{CheckedConfig, Loaded};
use crate::logging::LogControl;

/// Bound on writing what is left of the logs at the end.
const LOG_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a process that takes over, or that may find another writer than the configured one, waits to know its servers before it takes clients.
const KNOWN_WITHIN: Duration = Duration::from_secs(15);
/// How often it is looked whether it knows them.
const LOOK: Duration = Duration::from_millis(10);

/// What a process starts with.
pub(crate) struct Start {
    /// The configuration.
    pub(crate) loaded: Loaded,
    /// The log.
    pub(crate) log: LogControl,
    /// The configuration's file.
    pub(crate) file: PathBuf,
    /// Take over from the process that serves.
    pub(crate) takeover: bool,
}

/// Everything that this process listens on.
struct Sockets {
    clients: Listeners,
    metrics: Option<std::net::TcpListener>,
    api: Option<std::net::TcpListener>,
    /// `None`: nobody can take over from this process.
    control: Option<ControlSocket>,
    offer: Offer,
}

impl Sockets {
    fn bind(config: &CheckedConfig, mut inherited: Inherited, takes_over: bool) -> Result<Sockets, ServeError> {
        let offer = Offer::default();
        let clients = Listeners::bind(&config.listen, &mut inherited, &offer)?;
        let metrics = listen::http_listener(config.metrics_address, Name::Metrics, &mut inherited, &offer)?;
        let api_address = config.api.as_ref().map(|api| api.address);
        let api = listen::http_listener(api_address, Name::Api, &mut inherited, &offer)?;
        let control = control_socket(&config.takeover, takes_over)?;
        Ok(Sockets { clients, metrics, api, control, offer })
    }
}

fn control_socket(takeover: &Takeover, takes_over: bool) -> Result<Option<ControlSocket>, ServeError> {
    match ControlSocket::bind(&takeover.socket, takes_over) {
        Ok(socket) => Ok(Some(socket)),
        Err(source) if takeover.named || takes_over => {
            Err(ServeError::Listen { address: takeover.socket.display().to_string(), source })
        }
        Err(error) => {
            let socket = takeover.socket.display();
            tracing::warn!(%socket, %error, "no process can take over from this one: set `socket` in [takeover]");
            Ok(None)
        }
    }
}

/// Runs the server until it is told to stop, or another process has taken over and all sessions have left.
pub(crate) fn run(start: Start) -> Result<(), ServeError> {
    let Start { mut loaded, log, file, takeover } = start;
    stop::raise_file_limit();
    // Before a package manager puts another program in its place.
    let program = std::env::current_exe()?;
    let (predecessor, inherited) = match takeover {
        true => ask_predecessor(&loaded.checked.takeover)?,
        false => (None, Inherited::default()),
    };
    let sockets = Sockets::bind(&loaded.checked, inherited, takeover)?;
    let control = control_runtime()?;
    loaded.checked = super::discovery::with_members(&loaded.checked, &control)?;
    let config = &loaded.checked;
    let endpoint = Arc::new(super::endpoint(config, &control, predecessor.is_some())?);
    let pool = Arc::new(ArcSwap::from_pointee(super::pool_settings(config)));
    let live = Live::new((file.clone(), &loaded), &endpoint, pool.clone(), log, control.handle().clone());
    endpoint.commands.operate_with(live.clone());
    if let Some(sharding) = &endpoint.sharding {
        endpoint.commands.shard_with(sharding.clone());
        let mover = weir_moves::Mover::new(sharding.clone());
        mover.close_gates();
        endpoint.commands.move_with(mover);
    }
    let _inside = control.enter();
    super::watch_servers(&control, &endpoint);
    super::discovery::watch(&control, config, &endpoint.groups, &endpoint.monitor);
    let workers = super::start_workers(config, &endpoint, &pool)?;
    let signals = Signals::new()?;
    let (oversight, sharding) = (endpoint.oversight.clone(), endpoint.sharding.clone());
    let mut process = Process { live, endpoint, workers, signals, program, file, http_stop: watch::channel(()).0 };
    control.block_on(process.serve(sockets, predecessor))?;
    Worker::join_all(process.workers);
    if let Some(sharding) = sharding {
        control.block_on(super::sharding::close(&sharding));
    }
    oversight.logs.close(LOG_TIMEOUT);
    tracing::info!("stopped");
    Ok(())
}

fn ask_predecessor(takeover: &Takeover) -> Result<(Option<Predecessor>, Inherited), ServeError> {
    let path = &takeover.socket;
    let (predecessor, inherited) =
        Predecessor::ask(path).map_err(|source| ServeError::Takeover { path: path.clone(), source })?;
    Ok((Some(predecessor), inherited))
}

fn control_runtime() -> io::Result<Runtime> {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.worker_threads(1).thread_name("weir-control").enable_all().build()
}

/// A process that serves.
struct Process {
    live: Arc<Live>,
    endpoint: Arc<Endpoint>,
    workers: Vec<Worker>,
    signals: Signals,
    program: PathBuf,
    file: PathBuf,
    /// Dropping it ends the HTTP endpoints.
    http_stop: watch::Sender<()>,
}

/// Why a process accepts no more.
enum Ended {
    /// It was told to stop.
    Stop,
    /// Another process is ready to serve.
    Successor(Successor),
}

impl Process {
    async fn serve(&mut self, mut sockets: Sockets, predecessor: Option<Predecessor>) -> Result<(), ServeError> {
        if let Some(predecessor) = predecessor {
            self.take_over(&mut sockets, predecessor).await?;
        } else if self.know_groups().await {
            if let Ok(mover) = self.endpoint.commands.mover() {
                mover.start();
            }
        } else {
            return Ok(());
        }
        let keeping = tokio::spawn(super::writers::keep(self.live.clone(), self.endpoint.groups.clone()));
        let mut successors = match &mut sockets.control {
            Some(control) => control.watch(sockets.offer.clone())?,
            None => mpsc::channel(1).1,
        };
        self.serve_http(&mut sockets);
        let addresses = sockets.clients.addresses();
        let shards = self.endpoint.groups.len();
        if shards > 1 {
            tracing::info!(shards, catalog = %self.live.config().sharding.directory.display(), "several shards");
        }
        tracing::info!(?addresses, workers = self.workers.len(), "weir is ready for connections");
        notify::ready();
        loop {
            match self.accept(&sockets.clients, &mut successors).await {
                Ended::Stop => {
                    notify::stopping();
                    break;
                }
                Ended::Successor(successor) => {
                    if self.hand_over(successor).await {
                        keeping.abort();
                        return self.leave(sockets).await;
                    }
                }
            }
        }
        let grace = self.live.config().shutdown_grace;
        tracing::info!(?grace, "stopping: no new connections, open transactions may end");
        sockets.offer.withdraw();
        drop(sockets);
        stop::drain(&self.endpoint.registry, grace, &mut self.signals).await;
        Ok(())
    }

    /// Accepts clients until there is a reason not to.
    async fn accept(&mut self, clients: &Listeners, successors: &mut mpsc::Receiver<Successor>) -> Ended {
        let Process { live, endpoint, workers, signals, program, file, .. } = self;
        let until = async {
            loop {
                tokio::select! {
                    asked = signals.next() => match asked {
                        Asked::Stop => return Ended::Stop,
                        Asked::Upgrade => start_successor(program, file),
                        // What it has done, it has told the log.
                        Asked::Reload => drop(tokio::task::block_in_place(|| live.reload())),
                    },
                    Some(successor) = successors.recv() => return Ended::Successor(successor),
                }
            }
        };
        clients.accept_until(until, endpoint, workers).await
    }

    /// Becomes the process that serves. The old one has not stopped before this one can.
    async fn take_over(&self, sockets: &mut Sockets, mut predecessor: Predecessor) -> Result<(), ServeError> {
        self.know_servers().await;
        let path = self.live.config().takeover.socket.clone();
        let at = |source| ServeError::Takeover { path, source };
        let taken = tokio::task::block_in_place(|| {
            let next_id = predecessor.ready()?;
            self.endpoint.registry.set_next_id(next_id);
            sockets.control.as_mut().map_or(Ok(()), ControlSocket::take_place)?;
            let pid = predecessor.pid;
            predecessor.serving().map(|()| pid)
        });
        let pid = taken.map_err(at)?;
        if let Some(sharding) = &self.endpoint.sharding {
            super::sharding::take_over(sharding).await;
        }
        if let Ok(mover) = self.endpoint.commands.mover() {
            super::sharding::take_over_moves(mover.clone(), pid);
        }
        tracing::info!(pid, "took over: the old process lets its sessions leave");
        Ok(())
    }

    /// Waits until it is known who writes in each group: it may be another server than the configuration says. False: it is told to stop.
    async fn know_groups(&mut self) -> bool {
        let deadline = Instant::now() + KNOWN_WITHIN;
        let groups: Vec<_> = self.endpoint.groups.iter().filter(|group| group.may_split()).cloned().collect();
        let known = || groups.iter().all(|group| group.is_settled(std::time::Instant::now()));
        while !known() && Instant::now() < deadline {
            tokio::select! {
                () = self.signals.stop() => return false,
                () = tokio::time::sleep(LOOK) => {}
            }
        }
        true
    }

    /// Waits until each server has been asked once: clients are greeted in the writer's name.
    async fn know_servers(&self) {
        let deadline = Instant::now() + KNOWN_WITHIN;
        let unknown = || self.endpoint.servers().any(|server| server.facts().health == Health::Unknown);
        while unknown() && Instant::now() < deadline {
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Gives the sockets to a successor. False: it did not take them, and this process continues.
    async fn hand_over(&self, successor: Successor) -> bool {
        let (pid, next_id) = (successor.pid, self.endpoint.registry.next_id());
        match tokio::task::block_in_place(|| successor.hand_over(next_id)) {
            Ok(()) => true,
            Err(error) => {
                tracing::warn!(pid, %error, "the new process has not taken over: this one continues");
                false
            }
        }
    }

    /// Another process serves: lets the sessions leave.
    async fn leave(&mut self, mut sockets: Sockets) -> Result<(), ServeError> {
        let sessions = self.endpoint.registry.len();
        let config = self.live.config();
        let grace = config.takeover.grace;
        tracing::info!(sessions, ?grace, "another process has taken over: sessions leave when they are idle");
        self.http_stop.send_replace(());
        if let Ok(mover) = self.endpoint.commands.mover() {
            mover.stop().await;
        }
        if let Some(sharding) = &self.endpoint.sharding {
            super::sharding::hand_over(sharding).await;
        }
        if let Some(control) = &mut sockets.control {
            control.give_up_place();
        }
        sockets.offer.withdraw();
        sockets.clients.give_up();
        stop::let_leave(&self.endpoint.registry, grace, &mut self.signals).await;
        stop::drain(&self.endpoint.registry, config.shutdown_grace, &mut self.signals).await;
        Ok(())
    }

    fn serve_http(&self, sockets: &mut Sockets) {
        let stopped = || {
            let mut stopped = self.http_stop.subscribe();
            async move {
                let _ = stopped.changed().await;
            }
        };
        if let Some(listener) = sockets.metrics.take() {
            serve_metrics(listener, &self.endpoint, stopped());
        }
        if let (Some(listener), Some(settings)) = (sockets.api.take(), &self.live.config().api) {
            let api = Arc::new(Api::new(self.endpoint.commands.clone(), settings.token.expose()));
            self.live.follow(api.clone());
            serve_api(listener, api, stopped());
        }
    }
}

/// Starts a new process of the program as it is on disk now, which takes over from this one.
fn start_successor(program: &PathBuf, file: &PathBuf) {
    let mut command = Command::new(program);
    command.arg("serve").arg("--takeover").arg("--config").arg(file);
    let started = command.spawn().and_then(|mut child| {
        let pid = child.id();
        // Its end is only of interest if it comes before this one's.
        let wait = move || match child.wait() {
            Ok(status) => tracing::error!(pid, %status, "the new process has ended"),
            Err(error) => tracing::error!(pid, %error, "the new process can't be watched"),
        };
        std::thread::Builder::new().name("weir-successor".to_owned()).spawn(wait)?;
        Ok(pid)
    });
    match started {
        Ok(pid) => tracing::info!(pid, "a new process was started to take over"),
        Err(error) => tracing::error!(%error, program = %program.display(), "no new process could be started"),
    }
}
