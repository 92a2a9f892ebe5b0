//! Real servers of one kind as shards, each private to a test, and what a test does with them.

use std::sync::mpsc;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use weir_backend::connect::{Connected, Login, connect};
use weir_backend::server::{ConnectSettings, Tls};
use weir_backend::{Address, Server as Reach, ServerSettings};
use weir_catalog::{ShardId, Table, reading};
use weir_local::mysql::prelude::Queryable;
use weir_local::{Flavor, Installation, Server, ServerSpec, own_grants};
use weir_reshard::{
    Connector, Controls, Engine, Handle, Later, MoveError, Plan, RowPlacement, Site, TablePlan, key_of,
};
use weir_wire::auth::Password;
use weir_wire::{Capabilities, Failure};

/// The longest wait for anything.
pub(crate) const BOUND: Duration = Duration::from_secs(60);
const PASSWORD: &str = "own";

/// Servers, by shard.
pub(crate) struct Lab {
    servers: Vec<Keeper>,
    reach: Mutex<Vec<Arc<Reach>>>,
    pub(crate) runtime: tokio::runtime::Runtime,
    _dir: TempDir,
}

/// A thread that a server lives as long as.
struct Keeper {
    server: Arc<Mutex<Server>>,
    end: Option<mpsc::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Keeper {
    fn drop(&mut self) {
        let _gone = self.server.lock().unwrap_or_else(PoisonError::into_inner).kill();
        drop(self.end.take());
        self.thread.take().map(JoinHandle::join);
    }
}

fn keep(installation: Installation, dir: std::path::PathBuf, spec: ServerSpec) -> mpsc::Receiver<Keeper> {
    let (started, server) = mpsc::channel();
    let (end, ended) = mpsc::channel::<()>();
    let thread = std::thread::spawn(move || {
        let server = Server::start(&installation, &dir, &spec).expect("a server starts");
        let server = Arc::new(Mutex::new(server));
        started.send(server).expect("the test waits");
        let _end_of_test = ended.recv();
    });
    let (keepers, keeper) = mpsc::channel();
    std::thread::spawn(move || {
        if let Ok(server) = server.recv() {
            let _gone = keepers.send(Keeper { server, end: Some(end), thread: Some(thread) });
        }
    });
    keeper
}

impl Lab {
    /// So many servers, with these options.
    pub(crate) fn new(flavor: Flavor, shards: usize, options: &[&str]) -> Lab {
        Lab::with_bare(flavor, shards, 0, options)
    }

    /// The same, with some more that have neither databases nor accounts, as replicas begin.
    pub(crate) fn with_bare(flavor: Flavor, shards: usize, bare: usize, options: &[&str]) -> Lab {
        let dir = tempfile::tempdir().expect("a directory");
        let installation =
            Installation::find(flavor, None).expect("the tests need both kinds of server (scripts/install-deps)");
        let started: Vec<_> = (0..shards + bare)
            .map(|shard| {
                let spec = ServerSpec {
                    die_with_parent: true,
                    options: options.iter().map(|&option| option.to_owned()).collect(),
                    ..ServerSpec::new(&format!("s{shard}"))
                };
                keep(installation.clone(), dir.path().to_owned(), spec)
            })
            .collect();
        let servers: Vec<Keeper> =
            started.into_iter().map(|one| one.recv_timeout(BOUND * 2).expect("it starts")).collect();
        let mut grants = own_grants(flavor);
        // Here tables are filled that stand for those in use, too.
        grants.push("INSERT, UPDATE, DELETE ON `d`.*");
        for one in &servers[..shards] {
            let server = one.server.lock().expect("it is free");
            server.create_user("weir_own", PASSWORD, &grants, None).expect("an account");
            server.execute("CREATE DATABASE d").expect("a database");
            server.execute("CREATE DATABASE weir_move_1").expect("a database");
        }
        let reach = servers.iter().map(|one| Arc::new(reach(&one.server.lock().expect("it is free")))).collect();
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
        Lab { servers, reach: Mutex::new(reach), runtime, _dir: dir }
    }

    /// A server.
    pub(crate) fn with<T>(&self, shard: usize, what: impl FnOnce(&mut Server) -> T) -> T {
        what(&mut self.servers[shard].server.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// A client's connection.
    pub(crate) fn client(&self, shard: usize) -> weir_local::mysql::Conn {
        self.with(shard, |server| server.admin().expect("a connection"))
    }

    /// Runs statements on a shard.
    pub(crate) fn run(&self, shard: usize, statements: &[&str]) {
        let mut client = self.client(shard);
        for sql in statements {
            client.query_drop(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
        }
    }

    /// The first value of a query.
    pub(crate) fn value(&self, shard: usize, sql: &str) -> String {
        self.with(shard, |server| server.query_value(sql).expect(sql)).unwrap_or_default()
    }

    /// Makes a table in `d` on some shards, and in the move's schema on others.
    pub(crate) fn create(&self, definition: &str, sources: &[usize], targets: &[usize]) {
        for shard in sources {
            self.run(*shard, &["USE d", definition]);
        }
        for shard in targets {
            self.run(*shard, &["USE weir_move_1", definition]);
        }
    }

    /// What a shard says of a table of `d`.
    pub(crate) fn table(&self, shard: usize, name: &str) -> Table {
        let ask = |query: &str| {
            let sql = reading::of_table(query, "d", name);
            self.with(shard, |server| server.query(&sql).expect(&sql))
        };
        let rows = reading::Rows {
            columns: ask(reading::COLUMNS),
            keys: ask(reading::KEYS),
            foreign_keys: ask(reading::FOREIGN_KEYS),
            triggers: ask(reading::TRIGGERS),
        };
        let all = reading::tables(&rows, &|_| Some(reading::adopted(ShardId(0), "s0"))).expect("rows");
        all.into_values().next().expect("the table is there")
    }

    /// The plan of a table.
    pub(crate) fn table_plan(
        &self,
        name: &str,
        sources: &[usize],
        targets: &[usize],
        placement: Arc<dyn RowPlacement>,
    ) -> TablePlan {
        let table = self.table(sources[0], name);
        let sites = |shards: &[usize], schema: &str| {
            let site = |shard: &usize| Site { shard: ShardId(*shard as u16), schema: schema.to_owned() };
            shards.iter().map(site).collect()
        };
        TablePlan {
            name: name.to_owned(),
            key: key_of(name, &table).expect("it has a key"),
            columns: table.columns,
            sources: sites(sources, "d"),
            targets: sites(targets, "weir_move_1"),
            placement,
        }
    }

    /// Where connections come from.
    pub(crate) fn connector(&self) -> Arc<dyn Connector> {
        Arc::new(Reached(self.reach.lock().expect("it is free").clone()))
    }

    /// Another shard's server is this one's writer from now on.
    pub(crate) fn replace(&self, shard: usize, by: usize) {
        let mut reach = self.reach.lock().expect("it is free");
        reach[shard] = reach[by].clone();
    }

    /// Starts an engine.
    pub(crate) fn start(&self, plan: &Plan, checkpoint: Option<weir_reshard::Checkpoint>) -> Result<Handle, MoveError> {
        self.start_with(plan, checkpoint, Controls::default())
    }

    /// The same, with these controls.
    pub(crate) fn start_with(
        &self,
        plan: &Plan,
        checkpoint: Option<weir_reshard::Checkpoint>,
        controls: Controls,
    ) -> Result<Handle, MoveError> {
        self.runtime.block_on(Engine::start(plan.clone(), self.connector(), checkpoint, Arc::new(controls)))
    }

    /// Waits until all is copied.
    pub(crate) fn copied(&self, handle: &Handle) {
        let copied = self.runtime.block_on(async { tokio::time::timeout(BOUND, handle.wait_until_copied()).await });
        copied.expect("it is copied in time").expect("the move goes on");
    }

    /// Waits until all that the sources have now is applied.
    pub(crate) fn caught_up(&self, handle: &Handle) {
        self.runtime.block_on(async {
            let positions = handle.positions().await.expect("positions");
            handle.catch_up(&positions, BOUND).await.expect("it catches up");
        });
    }

    /// Waits for the error that ends a move.
    pub(crate) fn error(&self, handle: &Handle) -> MoveError {
        let failed = self.runtime.block_on(async { tokio::time::timeout(BOUND, handle.failed()).await });
        failed.expect("it fails in time")
    }

    /// All rows of a table over these shards, as texts, in order.
    pub(crate) fn rows(&self, schema: &str, table: &str, shards: &[usize]) -> Vec<Vec<Option<Vec<u8>>>> {
        let mut all: Vec<Vec<Option<Vec<u8>>>> = Vec::new();
        let columns = self.table_columns(schema, table, shards[0]);
        for shard in shards {
            let mut client = self.client(*shard);
            client.query_drop("SET NAMES binary, time_zone='+00:00'").expect("settings");
            let sql = format!("SELECT {columns} FROM {schema}.{table}");
            let rows: Vec<weir_local::mysql::Row> = client.query(&sql).expect(&sql);
            all.extend(rows.into_iter().map(|row| {
                row.unwrap()
                    .into_iter()
                    .map(|value| match value {
                        weir_local::mysql::Value::Bytes(bytes) => Some(bytes),
                        _ => None,
                    })
                    .collect()
            }));
        }
        all.sort();
        all
    }

    /// All columns, the invisible ones too; a FLOAT with all of its digits.
    fn table_columns(&self, schema: &str, table: &str, shard: usize) -> String {
        let sql = format!(
            "SELECT GROUP_CONCAT(IF(data_type='float', CONCAT('CAST(`', name, '` AS DOUBLE)'), CONCAT('`', name, '`')) ORDER BY place) FROM \
             (SELECT data_type AS data_type, REPLACE(column_name, '`', '``') AS name, ordinal_position AS place \
             FROM information_schema.columns WHERE table_schema='{schema}' AND table_name='{table}') AS columns"
        );
        self.value(shard, &sql)
    }

    /// Both sides are equal.
    pub(crate) fn assert_equal(&self, table: &str, sources: &[usize], targets: &[usize]) {
        let (here, there) = (self.rows("d", table, sources), self.rows("weir_move_1", table, targets));
        let differ = || {
            let only = |one: &[Vec<_>], other: &[Vec<_>]| -> Vec<String> {
                let rows = one.iter().filter(|row| other.binary_search(row).is_err()).take(5);
                rows.map(|row: &Vec<Option<Vec<u8>>>| {
                    let text = |cell: &Option<Vec<u8>>| cell.as_ref().map(|b| String::from_utf8_lossy(b).into_owned());
                    format!("{:?}", row.iter().map(text).collect::<Vec<_>>())
                })
                .collect()
            };
            format!(
                "{} and {} rows; only here: {:?}; only there: {:?}",
                here.len(),
                there.len(),
                only(&here, &there),
                only(&there, &here)
            )
        };
        assert!(here == there, "{table}: {}", differ());
    }
}

/// Waits for a condition.
pub(crate) fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !condition() {
        assert!(begun.elapsed() < BOUND, "{what} did not come");
        std::thread::yield_now();
    }
}

struct Reached(Vec<Arc<Reach>>);

impl Connector for Reached {
    fn connect(&self, shard: ShardId) -> Later<'_, Result<(Arc<Reach>, Connected), Failure>> {
        let server = self.0[usize::from(shard.0)].clone();
        Box::pin(async move {
            let login = Login {
                user: Arc::from(&b"weir_own"[..]),
                password: Password::new(PASSWORD.as_bytes()),
                database: None,
                capabilities: Capabilities::empty(),
            };
            let connected = connect(&server, &login).await?;
            Ok((server, connected))
        })
    }
}

fn reach(server: &Server) -> Reach {
    let settings = ServerSettings {
        name: server.name().to_owned(),
        address: Address::Unix(server.socket().to_owned()),
        max_connections: 100,
        max_user_connections: 0,
        track_gtids: false,
    };
    Reach::new(settings, ConnectSettings { tls: Tls::Off, connect_timeout: BOUND }, 1)
}

/// By the remainder of a number: that of shard n comes from `shards`.
#[derive(Debug, Clone)]
pub(crate) struct ByRemainder {
    columns: Vec<usize>,
    shards: Vec<ShardId>,
}

impl ByRemainder {
    /// Of this column.
    pub(crate) fn new(column: usize, shards: &[usize]) -> Arc<ByRemainder> {
        let shards = shards.iter().map(|shard| ShardId(*shard as u16)).collect();
        Arc::new(ByRemainder { columns: vec![column], shards })
    }
}

impl RowPlacement for ByRemainder {
    fn columns(&self) -> &[usize] {
        &self.columns
    }

    fn place(&self, values: &[Option<&[u8]>]) -> Result<weir_reshard::Placed, Failure> {
        // Of texts and NULL: of their bytes.
        let bytes = values[0].unwrap_or_default();
        let number = std::str::from_utf8(bytes).ok().and_then(|text| text.parse::<i64>().ok());
        let number = number.unwrap_or_else(|| bytes.iter().map(|byte| i64::from(*byte)).sum());
        Ok(weir_reshard::Placed::On(self.shards[number.rem_euclid(self.shards.len() as i64) as usize]))
    }

    fn learn<'a>(&'a self, _: &'a str, _: &'a [char]) -> Later<'a, Result<(), Failure>> {
        Box::pin(std::future::ready(Ok(())))
    }
}
