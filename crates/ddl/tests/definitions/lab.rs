//! Shards for these tests: real servers, connections to them, and a catalog that is kept in memory.
//!
//! Each test has servers of its own, which end with it (the kernel kills them when the test's thread ends).

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use tempfile::TempDir;
use tokio::sync::Notify;
use weir_backend::pool::{PoolSettings, Request};
use weir_backend::server::Tls;
use weir_backend::{Address, ConnectSettings, Pool, PoolKey, Profile, ServerSettings};
use weir_catalog::{Catalog, CollationWeights, Object, ShardId, Weights};
use weir_ddl::define::{self, Asked, Cancelled, Records};
use weir_ddl::show::{self, Client};
use weir_exec::{MultiShardResult, ShardLease, Sink};
use weir_local::{Flavor, Installation, Server, ServerSpec};
use weir_shards::Locks;
use weir_shards::ask::{Reply, Row, ask};
use weir_sql::{Bump, Dialect, LexMode};
use weir_wire::auth::Password;
use weir_wire::error::codes;
use weir_wire::{Capabilities, Failure};

/// Servers and a catalog.
pub(crate) struct Lab {
    pub(crate) flavor: Flavor,
    pub(crate) servers: RefCell<Vec<Server>>,
    pools: Vec<Rc<Pool>>,
    catalog: RefCell<Arc<Catalog>>,
    pub(crate) locks: Locks,
    weights: RefCell<Weights>,
    /// What sequences were set to.
    pub(crate) sequences: RefCell<BTreeMap<Object, u64>>,
    /// Versions of the catalog that were stored before the store is gone, as by a SIGKILL.
    pub(crate) changes_left: Cell<Option<usize>>,
    /// After these the store is there still, and has no room.
    pub(crate) is_full: Cell<bool>,
    /// Rung when one more was wanted.
    pub(crate) killed: Notify,
    _directory: TempDir,
}

impl Lab {
    pub(crate) fn start(flavor: Flavor, shards: usize) -> Lab {
        let directory = tempfile::tempdir().expect("a temporary directory can be made");
        let installation = Installation::find(flavor, None).expect("both kinds of server are installed");
        let names: Vec<String> = (1..=shards).map(|n| format!("s{n}")).collect();
        let start = |name: &String| {
            let mut spec = ServerSpec { die_with_parent: true, ..ServerSpec::new(name) };
            spec.options = ["innodb-flush-log-at-trx-commit=2", "sync-binlog=0"].map(str::to_owned).into();
            Server::start(&installation, directory.path(), &spec).expect("a server starts")
        };
        let servers: Vec<Server> = names.iter().map(start).collect();
        let pools = servers.iter().map(pool).collect();
        let catalog = Catalog { shards: names, ..Catalog::default() };
        Lab {
            flavor,
            servers: RefCell::new(servers),
            pools,
            catalog: RefCell::new(Arc::new(catalog)),
            locks: Locks::default(),
            weights: RefCell::default(),
            sequences: RefCell::default(),
            changes_left: Cell::new(None),
            is_full: Cell::new(false),
            killed: Notify::new(),
            _directory: directory,
        }
    }

    pub(crate) async fn part(&self, shard: usize) -> Result<ShardLease, Failure> {
        let key = PoolKey { user: Arc::from(&b"root"[..]), capabilities: Capabilities::empty() };
        let (password, profile) = (Password::new(""), Profile::default());
        let request =
            Request { key: &key, password: &password, profile: &profile, patient: false, may_lack_database: false };
        let lease = self.pools[shard].lend(request).await?;
        let id = ShardId(u16::try_from(shard).expect("a test has few shards"));
        Ok(ShardLease { shard: id, index: 0, lease })
    }

    /// Connections to the shards that answer.
    pub(crate) async fn parts(&self) -> Vec<ShardLease> {
        let mut parts = Vec::new();
        for shard in 0..self.pools.len() {
            parts.extend(self.part(shard).await);
        }
        parts
    }

    /// Runs a definition as a session whose default database is `shop`.
    pub(crate) async fn define(&self, text: &str) -> Result<Option<MultiShardResult>, Failure> {
        self.define_with(text, &mut self.parts().await).await
    }

    pub(crate) fn mode(&self) -> LexMode {
        let dialect = match self.flavor {
            Flavor::MariaDb => Dialect::MariaDb,
            Flavor::MySql => Dialect::MySql,
        };
        LexMode { dialect, ..LexMode::default() }
    }

    /// The rows that a session whose default database is `shop` is told.
    pub(crate) async fn told(&self, text: &str) -> Vec<Row> {
        let (arena, mode, settings) = (Bump::new(), self.mode(), BTreeMap::new());
        let parsed = weir_sql::parse(&arena, text.as_bytes(), mode).expect("the test's statements can be read");
        let statement = &parsed.statements[0];
        assert!(show::shows(&statement.kind), "{text}");
        let database = Some(&b"shop"[..]);
        let asked = Asked { text: text.as_bytes(), statement, database, mode, settings: &settings, under_locks: false };
        let mut parts = self.parts().await;
        for part in &mut parts {
            ask(&mut part.lease, b"USE shop").await.ok().expect("the database is there");
        }
        let client = Client { capabilities: Capabilities::empty(), binary: false };
        let mut sink = Packets::default();
        let outcome = show::answer(&asked, self, client, &mut parts, &mut sink).await.expect("the sink takes all");
        assert_eq!(outcome.error, None, "{text}");
        sink.rows()
    }

    pub(crate) async fn define_with(
        &self,
        text: &str,
        parts: &mut [ShardLease],
    ) -> Result<Option<MultiShardResult>, Failure> {
        let mode = self.mode();
        let arena = Bump::new();
        let parsed = weir_sql::parse(&arena, text.as_bytes(), mode).expect("the test's statements can be read");
        let statement = &parsed.statements[0];
        assert!(define::is_definition(&statement.kind), "{text}");
        for part in parts.iter_mut() {
            // There may be no such database yet.
            let _ = ask(&mut part.lease, b"USE shop").await;
        }
        let (database, settings) = (Some(&b"shop"[..]), BTreeMap::new());
        let asked = Asked { text: text.as_bytes(), statement, database, mode, settings: &settings, under_locks: false };
        define::define(&asked, self, &self.locks, parts, &define::Stage::default()).await.map_err(Failure::from)
    }

    pub(crate) async fn done(&self, text: &str) -> MultiShardResult {
        match self.define(text).await {
            Ok(Some(outcome)) => outcome,
            other => panic!("{text}: {other:?}"),
        }
    }

    pub(crate) async fn refused(&self, text: &str) -> Failure {
        match self.define(text).await {
            Err(failure) => failure,
            other => panic!("{text}: {other:?}"),
        }
    }

    pub(crate) async fn resume(&self, id: u64) -> Result<(), Failure> {
        let mut parts = self.parts().await;
        for part in &mut parts {
            let _ = ask(&mut part.lease, b"USE shop").await;
        }
        define::resume(self, &self.locks, id, &mut parts[..]).await
    }

    pub(crate) async fn cancel(&self, id: u64) -> Result<Vec<Cancelled>, Failure> {
        define::cancel(self, &self.locks, id, &mut self.parts().await[..]).await
    }

    /// Asks one shard.
    pub(crate) async fn on(&self, shard: usize, text: &str) -> Result<Reply, Failure> {
        let mut part = self.part(shard).await?;
        ask(&mut part.lease, text.as_bytes()).await.ok()
    }

    /// The names of the tables and views of `shop` on one shard.
    pub(crate) async fn tables_on(&self, shard: usize) -> Vec<String> {
        let reply = self.on(shard, "SHOW TABLES FROM shop").await.expect("the database is there");
        reply.rows.into_iter().map(|row| String::from_utf8(row[0].clone().expect("a name")).expect("UTF-8")).collect()
    }
}

/// What a client would get.
#[derive(Default)]
struct Packets(Vec<Vec<u8>>);

impl Packets {
    /// The rows of a result with EOFs: after the count, the definitions and an EOF.
    fn rows(&self) -> Vec<Row> {
        let columns = usize::from(self.0[0][0]);
        let rows = &self.0[columns + 2..self.0.len() - 1];
        rows.iter().map(|row| weir_wire::resultset::parse_text_row(row).expect("a text row")).collect()
    }
}

impl Sink for Packets {
    fn put(&mut self, payload: &[u8]) {
        self.0.push(payload.to_vec());
    }

    fn is_full(&self) -> bool {
        false
    }

    async fn flush(&mut self) -> Result<(), Failure> {
        Ok(())
    }
}

fn pool(server: &Server) -> Rc<Pool> {
    let settings = ServerSettings {
        name: server.name().to_owned(),
        address: Address::Unix(server.socket().to_path_buf()),
        max_connections: 20,
        max_user_connections: 0,
        track_gtids: false,
    };
    let reach = ConnectSettings { tls: Tls::Off, connect_timeout: Duration::from_secs(10) };
    let bounds = PoolSettings {
        max_queue: 10,
        queue_timeout: Duration::from_secs(10),
        idle_timeout: Duration::from_secs(60),
        prepared_statements: std::num::NonZeroUsize::MIN,
    };
    let server = Arc::new(weir_backend::Server::new(settings, reach, 1));
    Pool::new(server, 0, Arc::new(ArcSwap::from_pointee(bounds)), weir_backend::Metrics::default())
}

impl Records for Lab {
    fn catalog(&self) -> Arc<Catalog> {
        self.catalog.borrow().clone()
    }

    async fn change(
        &self,
        change: impl FnOnce(&mut Catalog) -> Result<(), Failure> + Send + 'static,
    ) -> Result<Arc<Catalog>, Failure> {
        if let Some(left) = self.changes_left.get() {
            if left == 0 && self.is_full.get() {
                return Err(Failure::weir(codes::ER_UNKNOWN_ERROR, "No space left on device"));
            }
            if left == 0 {
                // A process that was killed awaits for ever.
                self.killed.notify_one();
                std::future::pending::<()>().await;
            }
            self.changes_left.set(Some(left.saturating_sub(1)));
        }
        let mut next = Catalog::clone(&self.catalog.borrow());
        change(&mut next)?;
        next.version += 1;
        let next = Arc::new(next);
        *self.catalog.borrow_mut() = next.clone();
        Ok(next)
    }

    async fn ask(&self, shard: ShardId, sql: String) -> Result<Vec<Row>, Failure> {
        self.on(usize::from(shard.0), &sql).await.map(|reply| reply.rows)
    }

    fn weights(&self) -> Weights {
        self.weights.borrow().clone()
    }

    fn learnt(&self, collation: &str, more: &CollationWeights) {
        let more = self.weights.borrow().with(collation, more.clone());
        *self.weights.borrow_mut() = more;
    }

    async fn sequence(&self, table: &Object) -> Result<u64, Failure> {
        Ok(self.sequences.borrow().get(table).copied().unwrap_or(1))
    }

    async fn set_sequence(&self, table: &Object, next: Option<u64>) -> Result<(), Failure> {
        let mut sequences = self.sequences.borrow_mut();
        match next {
            Some(next) => sequences.insert(table.clone(), next),
            None => sequences.remove(table),
        };
        Ok(())
    }

    async fn rename_sequence(&self, from: &Object, to: &Object) -> Result<(), Failure> {
        let mut sequences = self.sequences.borrow_mut();
        if let Some(next) = sequences.remove(from) {
            sequences.insert(to.clone(), next);
        }
        Ok(())
    }
}
