//! A worker: one thread, one single-threaded runtime, its own pools, and the sessions dealt to it.

mod scheduling;

use std::cell::RefCell;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::mpsc;
use weir_admin::WorkerStatistics;
use weir_admin::sessions::{Interrupt, SessionHandle};
use weir_backend::counts::PoolCounts;
use weir_backend::lanes::LaneSettings;
use weir_backend::pool::PoolSettings;
use weir_backend::prepared::StatementKeys;
use weir_backend::{Lanes, Pool, Replaceable, Server};
use weir_exec::hot_rows::heat::RowsOfWorker;
use weir_exec::read::Collations;
use weir_topology::Positions;

use crate::backends::{Backend, Backends};
use crate::beginning::Beginnings;
use crate::client::SharedContexts;
use crate::endpoint::Endpoint;
use crate::idle::IdleWatch;
use crate::incoming::Incoming;
use crate::plans::Plans;
use crate::session;
use crate::shared::Shared;
use crate::texts::Texts;

/// The stack of a worker's thread. A CALL that Weir runs statement by statement polls those that it calls on top of its own frames, 64
/// deep at most; without optimisation each takes half a megabyte. Only what is touched is memory.
const STACK_BYTES: usize = 64 * 1024 * 1024;

/// How often a worker looks after its pools.
const TICK: Duration = Duration::from_secs(1);

/// Which of how many workers one is.
#[derive(Debug, Clone, Copy)]
pub struct WorkerIndex {
    /// Its number, from 0.
    pub index: usize,
    /// All of them.
    pub workers: usize,
}

/// Bounds of a worker's server connections.
#[derive(Debug, Clone)]
pub struct WorkerSettings {
    /// Of its pools.
    pub pool: Replaceable<PoolSettings>,
    /// Of its lanes.
    pub lanes: LaneSettings,
    /// Whether the worker's thread is scheduled as a batch job.
    pub batch_scheduling: bool,
}

/// How long a worker that ends waits for sessions that do not end although they have been told.
const GIVE_UP_AFTER: Duration = Duration::from_secs(15);

/// A worker thread.
#[derive(Debug)]
pub struct Worker {
    door: Door,
    thread: JoinHandle<()>,
}

/// What else runs on a worker's thread.
pub type Task = Box<dyn FnOnce() -> Pin<Box<dyn Future<Output = ()>>> + Send>;

enum Arrival {
    Client(Incoming, Arc<SessionHandle>),
    Task(Task),
}

/// Where a worker's clients come in. The worker ends when all its doors are gone.
#[derive(Debug, Clone)]
pub struct Door {
    arrivals: mpsc::UnboundedSender<Arrival>,
    sessions: Arc<AtomicUsize>,
}

impl Door {
    /// Deals a client to the worker. False when the worker has ended.
    pub fn deal(&self, client: Incoming, handle: Arc<SessionHandle>) -> bool {
        self.sessions.fetch_add(1, Ordering::Relaxed);
        let dealt = self.arrivals.send(Arrival::Client(client, handle)).is_ok();
        if !dealt {
            self.sessions.fetch_sub(1, Ordering::Relaxed);
        }
        dealt
    }

    /// Has a task run on the worker's thread. False when the worker has ended.
    pub fn run(&self, task: Task) -> bool {
        self.arrivals.send(Arrival::Task(task)).is_ok()
    }

    /// The sessions that were dealt to the worker and have not ended.
    pub fn sessions(&self) -> usize {
        self.sessions.load(Ordering::Relaxed)
    }
}

impl Worker {
    /// Starts a worker.
    ///
    /// # Errors
    /// When no thread or runtime can be made.
    pub fn start(place: WorkerIndex, endpoint: Arc<Endpoint>, settings: WorkerSettings) -> io::Result<Worker> {
        // Bounded by the registry: a client is entered there before it is dealt to a worker.
        let (arrivals, incoming) = mpsc::unbounded_channel();
        let sessions = Arc::new(AtomicUsize::new(0));
        let door = Door { arrivals, sessions: sessions.clone() };
        // A local runtime belongs to the thread that makes it, which tells here whether it could.
        let (made, is_made) = std::sync::mpsc::sync_channel(1);
        let builder = std::thread::Builder::new().name(format!("weir-worker-{}", place.index)).stack_size(STACK_BYTES);
        let thread = builder.spawn(move || {
            if settings.batch_scheduling {
                scheduling::batch();
            }
            let mut builder = tokio::runtime::Builder::new_current_thread();
            match builder.enable_all().build_local(tokio::runtime::LocalOptions::default()) {
                Ok(runtime) => {
                    let _ = made.send(Ok(()));
                    runtime.block_on(run(place, endpoint, settings, incoming, sessions));
                }
                Err(error) => drop(made.send(Err(error))),
            }
        })?;
        is_made.recv().unwrap_or_else(|_| Err(io::Error::other("a worker thread ended at its start")))?;
        Ok(Worker { door, thread })
    }

    /// Where its clients come in.
    pub fn door(&self) -> &Door {
        &self.door
    }

    /// Lets workers end when their sessions have, or after a while without them, and waits for it.
    pub fn join_all(workers: impl IntoIterator<Item = Worker>) {
        let threads: Vec<_> = workers.into_iter().map(|worker| worker.thread).collect();
        threads.into_iter().for_each(|thread| drop(thread.join()));
    }
}

async fn run(
    place: WorkerIndex,
    endpoint: Arc<Endpoint>,
    settings: WorkerSettings,
    mut incoming: mpsc::UnboundedReceiver<Arrival>,
    sessions: Arc<AtomicUsize>,
) {
    let metrics = endpoint.backend_metrics.clone();
    let way = |server: &Arc<Server>| {
        let pool = Pool::new(server.clone(), place.index, settings.pool.clone(), metrics.clone());
        let lanes = Lanes::new(pool.clone(), settings.lanes.clone(), place.workers, metrics.clone());
        tokio::task::spawn_local(pool.clone().serve_other_workers());
        tokio::task::spawn_local(lanes.clone().look_after());
        Backend::new(pool, lanes)
    };
    let mut shards = Vec::with_capacity(endpoint.groups.len());
    let mut before = 0;
    for group in &endpoint.groups {
        let ways: Vec<_> = group.servers.iter().map(way).collect();
        let servers = ways.len();
        let positions = Positions::new(group.clone(), endpoint.monitor.clone());
        shards.push(Backends::new(group.clone(), positions, ways, before));
        before += servers;
    }
    let (statistics, asks) = WorkerStatistics::of(&endpoint.oversight.statistics, place.index);
    let shared = Rc::new(Shared {
        hot_rows: RowsOfWorker::new(endpoint.hot_rows.clone()),
        endpoint,
        shards,
        routes: before > 1,
        contexts: SharedContexts::default(),
        known_databases: RefCell::default(),
        beginnings: Beginnings::default(),
        idle: IdleWatch::new(),
        texts: Texts::default(),
        statement_keys: StatementKeys::default(),
        plans: Plans::default(),
        collations: Collations::default(),
        statistics: statistics.clone(),
        sessions,
    });
    tokio::task::spawn_local({
        let shared = shared.clone();
        async move { shared.idle.run(|| shared.endpoint.settings.load().leave_after).await }
    });
    tokio::task::spawn_local(statistics.answer(asks));
    tokio::task::spawn_local(look_after(shared.clone(), place.index));
    while let Some(arrival) = incoming.recv().await {
        match arrival {
            Arrival::Client(client, handle) => drop(tokio::task::spawn_local(serve(shared.clone(), client, handle))),
            Arrival::Task(task) => drop(tokio::task::spawn_local(task())),
        }
    }
    // The acceptor is gone, and the sessions have been told. A COMMIT over several shards, or a definition, is not told to stop where it may
    // be done on some of them: recovery knows what to do with either, but not whether the servers ever answer.
    let ended = async {
        while shared.sessions.load(Ordering::Relaxed) > 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    if tokio::time::timeout(GIVE_UP_AFTER, ended).await.is_err() {
        let sessions = shared.sessions.load(Ordering::Relaxed);
        tracing::warn!(
            sessions,
            "sessions whose servers do not answer are given up: what they did is recovered at the next start"
        );
    }
}

async fn look_after(shared: Rc<Shared>, index: usize) {
    let mut tick = tokio::time::interval(TICK);
    loop {
        tick.tick().await;
        for Backend { pool, lanes, .. } in shared.shards.iter().flat_map(Backends::iter) {
            pool.close_expired();
            if pool.server.refusal().is_some() {
                pool.close_idle_of(None);
            }
            pool.server.publish_counts(index, PoolCounts { lanes: lanes.counts(), ..pool.counts() });
        }
    }
}

/// Leaves the registry and the counts however the session ends.
struct Entered {
    shared: Rc<Shared>,
    handle: Arc<SessionHandle>,
}

impl Drop for Entered {
    fn drop(&mut self) {
        self.shared.idle.leave(&self.handle);
        self.shared.endpoint.registry.leave(&self.handle);
        self.shared.endpoint.metrics.sessions.dec();
        self.shared.sessions.fetch_sub(1, Ordering::Relaxed);
    }
}

async fn serve(shared: Rc<Shared>, client: Incoming, handle: Arc<SessionHandle>) {
    shared.endpoint.metrics.sessions.inc();
    let entered = Entered { shared, handle };
    if entered.handle.has(Interrupt::Shutdown) {
        return;
    }
    // On the heap: the state machine of a session is large, and there are many.
    Box::pin(session::begin::serve(entered.shared.clone(), client, entered.handle.clone())).await;
}
