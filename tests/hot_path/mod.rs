//! One worker of Weir in this process, in front of a real MariaDB server, and clients that allocate nothing while they
//! ask: for the allocation test and the benches of the hot path.
//!
//! What must always hold: the client side of an exchange makes system calls only, so that what is counted or timed beside
//! them is Weir's.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use arc_swap::{ArcSwap, ArcSwapOption};
use bytes::BytesMut;
use weir_admin::sessions::Registry;
use weir_admin::{Commands, Oversight};
use weir_backend::connect::{Login, connect};
use weir_backend::lanes::LaneSettings;
use weir_backend::monitor::{MonitorSettings, watch};
use weir_backend::pool::PoolSettings;
use weir_backend::server::{Health, Tls};
use weir_backend::{Address, Admission, ConnectSettings, Replaceable, Server, ServerSettings, Stream};
use weir_frontend::incoming::{Peer, Socket};
use weir_frontend::{
    Accounts, Compression, ConfiguredUser, Endpoint, Incoming, Settings, Worker, WorkerIndex, WorkerSettings,
};
use weir_local::{Flavor, Installation, ServerSpec};
use weir_topology::{Group, GroupSettings, MemberSettings, Promotion, Role};
use weir_txn::Coordinator;
use weir_wire::auth::{AuthPlugin, Password};
use weir_wire::frame::put_packet;
use weir_wire::reply::{Event, ReplyKind, ReplyTracker};
use weir_wire::stmt::PrepareOk;
use weir_wire::{Capabilities, Command};

type Failed = Box<dyn std::error::Error>;

const USER: &str = "hot";
const PASSWORD: &str = "path";
const LONG: Duration = Duration::from_secs(3600);

/// A worker and its server. What it starts ends with it.
pub(crate) struct Site {
    _server: weir_local::Server,
    _dir: tempfile::TempDir,
    worker: Option<Worker>,
    listener: TcpListener,
    port: u16,
    /// What the worker shares with others.
    pub(crate) endpoint: Arc<Endpoint>,
    _control: tokio::runtime::Runtime,
}

fn server_at(port: u16) -> Server {
    let settings = ServerSettings {
        name: "writer".to_owned(),
        address: Address::Tcp { host: "127.0.0.1".to_owned(), port },
        max_connections: 64,
        max_user_connections: 0,
        track_gtids: false,
    };
    let reach = ConnectSettings { tls: Tls::Off, connect_timeout: Duration::from_secs(10) };
    Server::new(settings, reach, 1)
}

fn endpoint(server: Arc<Server>, monitor: Replaceable<MonitorSettings>) -> Endpoint {
    let registry = Arc::new(Registry::new(0, 1000, 0));
    let oversight = Arc::new(Oversight::new(1, Default::default()));
    let user = ConfiguredUser {
        name: USER.to_owned(),
        password: Password::new(PASSWORD.as_bytes()),
        plugin: Some(AuthPlugin::NativePassword),
        admin: true,
        max_connections: 0,
        level: None,
        transaction_replay: None,
        allow: Vec::new(),
    };
    let group = GroupSettings::default();
    let groups = vec![Arc::new(Group::new(
        group,
        vec![server],
        vec![MemberSettings { role: Role::Writer, weight: None, promotion: Promotion::Neutral }],
    ))];
    let transactions = Arc::new(Coordinator::new(groups.clone(), monitor.clone(), Default::default()));
    Endpoint {
        hot_rows: weir_exec::hot_rows::HotRows::new(Default::default()),
        admission: Arc::new(Admission::new(64, 0, 1)),
        settings: ArcSwap::from_pointee(Settings {
            handshake_timeout: Duration::from_secs(10),
            wait_timeout: LONG,
            write_timeout: LONG,
            max_allowed_packet: 1 << 24,
            compression: Compression::default(),
            require_compression: false,
            allow: Vec::new(),
            require_tls: false,
            socket: Box::default(),
            reset_timeout: Duration::from_secs(10),
            leave_after: LONG,
            gathering: weir_exec::workbench::Bounds { bytes: u64::MAX, rows: u64::MAX },
        }),
        accounts: Accounts::new(vec![user], false, Some(AuthPlugin::NativePassword)),
        commands: Arc::new(Commands::new(registry.clone(), groups.clone(), oversight.clone())),
        groups,
        sharding: None,
        monitor,
        transactions,
        registry,
        oversight,
        tls: ArcSwapOption::empty(),
        metrics: weir_frontend::Metrics::default(),
        backend_metrics: weir_backend::Metrics::default(),
        rsa: OnceLock::new(),
    }
}

impl Site {
    /// Starts a server with a table of 1,000 rows, and a worker in front of it.
    pub(crate) fn start(lanes: bool) -> Result<Site, Failed> {
        let dir = tempfile::tempdir()?;
        let mut spec = ServerSpec::new("server");
        spec.die_with_parent = true;
        let server = weir_local::Server::start(&Installation::find(Flavor::MariaDb, None)?, dir.path(), &spec)?;
        server.execute("CREATE DATABASE hot")?;
        server.execute("CREATE TABLE hot.rows_ (id INT PRIMARY KEY, c CHAR(120) NOT NULL)")?;
        server.execute("INSERT INTO hot.rows_ SELECT seq, REPEAT('x', 119) FROM hot.seq_1_to_1000")?;
        server.create_user(USER, PASSWORD, &["ALL ON `hot`.*", "PROCESS ON *.*"], None)?;

        let behind = Arc::new(server_at(server.port()));
        let control = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let monitor = Arc::new(ArcSwap::from_pointee(MonitorSettings {
            user: USER.as_bytes().into(),
            password: Password::new(PASSWORD.as_bytes()),
            // Once: what the monitor does later would be counted.
            interval: LONG,
            timeout: Duration::from_secs(10),
            hang_timeout: LONG,
        }));
        control.spawn(watch(behind.clone(), monitor.clone(), |_, _| {}, || {}));
        let begun = Instant::now();
        while behind.facts().health != Health::Up {
            if begun.elapsed() > Duration::from_secs(30) {
                return Err("the server is not seen to be up".into());
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        let endpoint = Arc::new(endpoint(behind, monitor));
        let settings = WorkerSettings {
            pool: Arc::new(ArcSwap::from_pointee(PoolSettings {
                max_queue: 1000,
                queue_timeout: Duration::from_secs(10),
                idle_timeout: LONG,
                prepared_statements: std::num::NonZeroUsize::new(64).ok_or("not zero")?,
            })),
            lanes: LaneSettings { enabled: lanes, max_lanes: 1, max_depth: 512, stall_timeout: LONG },
            batch_scheduling: false,
        };
        let worker = Worker::start(WorkerIndex { index: 0, workers: 1 }, endpoint.clone(), settings)?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let port = listener.local_addr()?.port();
        Ok(Site { _server: server, _dir: dir, worker: Some(worker), listener, port, endpoint, _control: control })
    }

    /// Logs a client in.
    pub(crate) fn client(&self) -> Result<Client, Failed> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let weir = server_at(self.port);
        let login = Login {
            user: USER.as_bytes().into(),
            password: Password::new(PASSWORD.as_bytes()),
            database: None,
            capabilities: Capabilities::DEPRECATE_EOF,
        };
        let connected = std::thread::scope(|scope| {
            let accepting = scope.spawn(|| self.accept().map_err(|error| error.to_string()));
            let connected = runtime.block_on(connect(&weir, &login));
            accepting.join().map_err(|_| "the acceptor panicked".to_owned())??;
            connected.map_err(|failure| failure.message)
        })?;
        let Stream::Tcp(stream) = connected.stream else { return Err("not TCP".into()) };
        let stream = stream.into_std()?;
        stream.set_nonblocking(false)?;
        stream.set_read_timeout(Some(Duration::from_secs(30)))?;
        Ok(Client { stream, capabilities: connected.capabilities, buffer: vec![0; 64 * 1024], filled: 0 })
    }

    fn accept(&self) -> Result<(), Failed> {
        let (socket, peer) = self.listener.accept()?;
        socket.set_nonblocking(true)?;
        socket.set_nodelay(true)?;
        let peer = Peer::Tcp(peer.ip(), peer.port());
        let handle = self.endpoint.registry.enter(peer.shown()).map_err(|_| "too many sessions")?;
        let incoming = Incoming { socket: Socket::Tcp(socket), peer, proxied: false };
        let dealt = self.worker.as_ref().is_some_and(|worker| worker.door().deal(incoming, handle));
        dealt.then_some(()).ok_or_else(|| "the worker has ended".into())
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.endpoint.registry.interrupt_all(weir_admin::sessions::Interrupt::ShutdownNow);
        Worker::join_all(self.worker.take());
    }
}

/// A logged-in client.
pub(crate) struct Client {
    stream: TcpStream,
    capabilities: Capabilities,
    buffer: Vec<u8>,
    filled: usize,
}

/// The packet of a text.
pub(crate) fn query(text: &str) -> Vec<u8> {
    packet(&[&[Command::Query as u8], text.as_bytes()].concat())
}

fn packet(payload: &[u8]) -> Vec<u8> {
    let mut out = BytesMut::new();
    put_packet(&mut out, 0, payload);
    out.to_vec()
}

impl Client {
    /// Sends a packet.
    pub(crate) fn send(&mut self, packet: &[u8]) -> Result<(), Failed> {
        Ok(self.stream.write_all(packet)?)
    }

    /// Reads a whole reply. Returns its rows, or an error if it is one.
    pub(crate) fn receive(&mut self, kind: ReplyKind) -> Result<u64, Failed> {
        let mut tracker = ReplyTracker::new(kind, self.capabilities);
        self.filled = 0;
        let mut seen = 0;
        while !tracker.is_done() {
            match tracker.advance(&self.buffer[seen..self.filled])? {
                Event::Pass(n) => seen += n,
                Event::Packet(_, weir_wire::reply::Ending::Err(error)) => {
                    return Err(String::from_utf8_lossy(error.message).into_owned().into());
                }
                Event::Packet(n, _) => seen += n,
                Event::NeedMore => match self.stream.read(&mut self.buffer[self.filled..])? {
                    0 => return Err("Weir closed the connection, or the reply is larger than expected".into()),
                    n => self.filled += n,
                },
            }
        }
        Ok(tracker.rows())
    }

    /// Sends a packet and reads its reply.
    pub(crate) fn exchange(&mut self, packet: &[u8]) -> Result<u64, Failed> {
        self.send(packet)?;
        self.receive(ReplyKind::Results)
    }

    /// Prepares a text with one integer parameter. Returns the packet that executes it with `value`: with the
    /// parameter's type, and without it as clients send it from the second time on.
    pub(crate) fn prepare(&mut self, text: &str, value: u64) -> Result<[Vec<u8>; 2], Failed> {
        self.send(&packet(&[&[Command::StmtPrepare as u8], text.as_bytes()].concat()))?;
        self.receive(ReplyKind::Prepare)?;
        let id = PrepareOk::parse(&self.buffer[4..16])?.id.to_le_bytes();
        let head = [&[Command::StmtExecute as u8][..], &id, &[0], &1_u32.to_le_bytes(), &[0]].concat();
        let typed = [&head[..], &[1, 8, 0], &value.to_le_bytes()].concat();
        let untyped = [&head[..], &[0], &value.to_le_bytes()].concat();
        Ok([packet(&typed), packet(&untyped)])
    }
}
