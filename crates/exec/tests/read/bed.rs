//! Servers for these tests: two shards and one server that has all rows, of one kind, in a private directory.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use weir_backend::pool::{PoolSettings, Request as Ask};
use weir_backend::server::{ConnectSettings, Health, Identity, Server as Backend, ServerSettings, Tls};
use weir_backend::{Address, Metrics, Pool, PoolKey, Profile, kill};
use weir_catalog::ShardId;
use weir_exec::read::{self, Collations, ReadContext, Target};
use weir_exec::{MultiShardResult, Request, ShardLease, Sink};
use weir_local::{Flavor, Installation, Server, ServerSpec};
use weir_plan::{Merge, Read};
use weir_wire::auth::Password;
use weir_wire::{Capabilities, Failure};

/// A result as a client gets it.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct Packets {
    pub(crate) packets: Vec<Vec<u8>>,
}

impl Sink for Packets {
    fn put(&mut self, payload: &[u8]) {
        self.packets.push(payload.to_vec());
    }

    fn is_full(&self) -> bool {
        false
    }

    async fn flush(&mut self) -> Result<(), Failure> {
        Ok(())
    }
}

/// The servers, with a pool of connections to each.
pub(crate) struct Bed {
    pub(crate) flavor: Flavor,
    pub(crate) servers: Vec<Server>,
    pub(crate) pools: Vec<Rc<Pool>>,
    pub(crate) collations: Collations,
    pub(crate) capabilities: Capabilities,
    /// Statements that were killed.
    pub(crate) kills: Rc<RefCell<usize>>,
    _dir: tempfile::TempDir,
}

/// The place of the server that has all rows.
pub(crate) const WHOLE: usize = 2;

impl Bed {
    pub(crate) fn start(flavor: Flavor) -> Bed {
        let dir = tempfile::tempdir().expect("a directory");
        let installation =
            Installation::find(flavor, None).expect("the tests need both kinds of server (scripts/install-deps)");
        let start = |name: &str| {
            let spec = ServerSpec { die_with_parent: true, ..ServerSpec::new(name) };
            Server::start(&installation, dir.path(), &spec).expect("a server")
        };
        let servers: Vec<Server> = ["s1", "s2", "whole"].map(start).into();
        for server in &servers {
            server.execute("CREATE DATABASE d").expect("a database");
        }
        let pools = servers.iter().map(|server| pool(server, flavor)).collect();
        let capabilities = Capabilities::DEPRECATE_EOF;
        let (collations, kills) = (Collations::default(), Rc::default());
        Bed { flavor, servers, pools, collations, capabilities, kills, _dir: dir }
    }

    /// Runs a statement on all servers.
    pub(crate) fn everywhere(&self, sql: &str) {
        for server in &self.servers {
            server.execute(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
        }
    }

    /// Inserts rows, each a list of values that begins with a number: on the server that has all, and on the shard of its parity.
    pub(crate) fn insert(&self, table: &str, rows: &[String]) {
        for (at, row) in rows.iter().enumerate() {
            for server in [at % 2, WHOLE] {
                let sql = format!("INSERT INTO {table} VALUES ({row})");
                self.servers[server].execute(&sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
            }
        }
    }

    pub(crate) async fn part(&self, at: usize) -> ShardLease {
        self.part_with(at, &[]).await
    }

    /// A connection with these session variables.
    pub(crate) async fn part_with(&self, at: usize, variables: &[(&str, &str)]) -> ShardLease {
        let key = PoolKey { user: b"root"[..].into(), capabilities: self.capabilities };
        let profile = Rc::new(Profile::new(Some(b"d"), None).with_variables(variables.iter().copied()));
        let password = Password::new("");
        let ask = Ask { key: &key, password: &password, profile: &profile, patient: false, may_lack_database: false };
        let mut lease = self.pools[at].lend(ask).await.expect("a connection");
        lease.queue_state(&profile, true).expect("there is a way");
        ShardLease { shard: ShardId(at as u16), index: 0, lease }
    }

    pub(crate) async fn shards(&self) -> Vec<ShardLease> {
        vec![self.part(0).await, self.part(1).await]
    }

    /// What a client gets of a read on these parts.
    pub(crate) async fn run(
        &self,
        parts: &mut [ShardLease],
        read: &Read,
        request: &Request<'_>,
    ) -> (MultiShardResult, Packets) {
        let mut sink = Packets::default();
        let outcome = self.run_into(parts, read, request, &mut sink).await.expect("the sink takes all");
        for part in parts.iter().filter(|_| outcome.error.is_none()) {
            assert!(part.lease.is_clean(), "a connection is not clean after a result");
        }
        (outcome, sink)
    }

    pub(crate) async fn run_into(
        &self,
        parts: &mut [ShardLease],
        read: &Read,
        request: &Request<'_>,
        sink: &mut impl Sink,
    ) -> Result<MultiShardResult, Failure> {
        let cancel = self.cancel();
        let session = ReadContext {
            capabilities: self.capabilities,
            collations: &self.collations,
            cancel: &cancel,
            transaction: None,
        };
        read::run(parts, read, request, &session, sink).await
    }

    /// Kills statements, and counts them.
    pub(crate) fn cancel(&self) -> impl Fn(Target) -> std::pin::Pin<Box<dyn Future<Output = bool>>> + 'static {
        let kills = self.kills.clone();
        move |target| {
            *kills.borrow_mut() += 1;
            Box::pin(async move {
                let capabilities = Capabilities::empty();
                let login = weir_backend::connect::Login {
                    user: b"root"[..].into(),
                    password: Password::new(""),
                    database: None,
                    capabilities,
                };
                kill::kill(&target.server, &login, target.thread_id, kill::Kill::Query).await.is_ok()
            })
        }
    }

    /// What the server that has all rows answers.
    pub(crate) async fn expected(&self, text: &str, request: &Request<'_>) -> Packets {
        let mut parts = [self.part(WHOLE).await];
        let (outcome, packets) = self.run(&mut parts, &on_whole(text), request).await;
        assert_eq!(outcome.error, None, "{text}");
        packets
    }
}

/// A plan for the server that has all rows.
pub(crate) fn on_whole(text: &str) -> Read {
    Read { shards: vec![ShardId(WHOLE as u16)], ..plan(text, Merge::Concatenate) }
}

/// A plan without hidden columns and limits.
pub(crate) fn plan(text: &str, merge: Merge) -> Read {
    Read {
        shards: vec![ShardId(0), ShardId(1)],
        text: text.as_bytes().to_vec(),
        parameters: Vec::new(),
        columns: None,
        hidden: 0,
        merge,
        skip: 0,
        take: None,
        locks: false,
        pin_time: false,
        reason: String::new(),
    }
}

fn pool(server: &Server, flavor: Flavor) -> Rc<Pool> {
    let settings = ServerSettings {
        name: server.name().to_owned(),
        address: Address::Unix(server.socket().to_path_buf()),
        max_connections: 10,
        max_user_connections: 0,
        track_gtids: false,
    };
    let backend =
        Backend::new(settings, ConnectSettings { tls: Tls::Off, connect_timeout: Duration::from_secs(20) }, 1);
    let identity = Identity {
        version: b"8.0".to_vec(),
        mariadb: flavor == Flavor::MariaDb,
        capabilities: Capabilities::empty(),
        collation: 45,
        sql_mode: String::new(),
        collations: [(45, "utf8mb4_general_ci".to_owned())].into(),
        tracked_variables: "autocommit".to_owned(),
        tracked_but_gtid: None,
        client_tracked: Vec::new(),
        client_tracks_gtids: false,
    };
    backend.set_facts(Health::Up, Some(Arc::new(identity)));
    let settings = PoolSettings {
        max_queue: 10,
        queue_timeout: Duration::from_secs(20),
        idle_timeout: Duration::from_secs(600),
        prepared_statements: 16.try_into().expect("not 0"),
    };
    Pool::new(Arc::new(backend), 0, Arc::new(ArcSwap::from_pointee(settings)), Metrics::default())
}
