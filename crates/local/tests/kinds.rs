//! Groups of each kind, of real servers: they come up, replicate, lose a server and get it back, go down, and come up again.
//!
//! Each test has a private directory and ends with its servers: they die with the test's thread at the latest.

use std::path::Path;
use std::time::Duration;

use weir_local::{
    Cancel, Cluster, ClusterSpec, Flavor, Installation, Kind, LocalError, Quiet, Server, Woken, wait_until,
};

const BOUND: Duration = Duration::from_secs(90);

fn installation(flavor: Flavor) -> Installation {
    Installation::find(flavor, None).expect("the tests need both kinds of server (scripts/install-deps)")
}

fn spec(kind: Kind, flavor: Flavor, dir: &Path) -> ClusterSpec {
    let replicas = 2;
    ClusterSpec { kind, replicas, die_with_parent: true, ..ClusterSpec::new(dir, installation(flavor)) }
}

fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let held = wait_until(BOUND, &Cancel::default(), || Ok(holds().then_some(()))).expect("no error");
    assert!(held.is_some(), "not so within {} s: {what}", BOUND.as_secs());
}

fn count(server: &Server) -> Option<String> {
    server.query_value("SELECT COUNT(*) FROM app.t").ok().flatten()
}

fn all_have(cluster: &Cluster, rows: &str) {
    for server in cluster.servers().filter(|server| server.is_running()) {
        eventually(&format!("{} has {rows} rows", server.name()), || count(server).as_deref() == Some(rows));
    }
}

fn roles(dir: &Path) -> Vec<String> {
    Cluster::status(dir).expect("status").servers.into_iter().map(|server| server.role).collect()
}

/// Comes up, replicates, and has each server say its role.
fn comes_up(kind: Kind, flavor: Flavor, dir: &Path, expected: [&str; 3]) -> ClusterSpec {
    let spec = spec(kind, flavor, dir);
    let cluster = Cluster::up(&spec, &mut Quiet).expect("up");
    let writer = &cluster.groups[0].writer;
    writer.execute("CREATE TABLE app.t (id INT PRIMARY KEY)").expect("table");
    writer.execute("INSERT INTO app.t VALUES (1)").expect("insert");
    all_have(&cluster, "1");
    cluster.detach();
    assert_eq!(roles(dir), expected);
    spec
}

/// Removes a cluster when a test ends, however that is: servers that are started again belong to no thread.
struct Wiped<'a>(&'a Path);

impl Drop for Wiped<'_> {
    fn drop(&mut self) {
        let _was_never_made = Cluster::wipe(self.0, &mut Quiet);
    }
}

/// Goes down, and comes up again with all that it had.
fn goes_down_and_comes_back(spec: &ClusterSpec, rows: &str) -> Cluster {
    assert_eq!(Cluster::down(&spec.dir, &mut Quiet).expect("down"), 3);
    let cluster = Cluster::up(spec, &mut Quiet).expect("up again");
    all_have(&cluster, rows);
    cluster
}

/// A server dies or hangs, and comes back.
fn start(dir: &Path, name: &str) -> Woken {
    Cluster::start_server(dir, name, &Cancel::default(), &mut Quiet).expect("start")
}

fn following(kind: Kind, flavor: Flavor) {
    let parent = tempfile::tempdir().expect("dir");
    let dir = parent.path().join("cluster");
    let _wiped = Wiped(&dir);
    let spec = comes_up(kind, flavor, &dir, ["writer", "replica", "replica"]);
    assert!(Cluster::kill_server(&dir, "db2", true).expect("pause"));
    assert_eq!(start(&dir, "db2"), Woken::Resumed);
    assert_eq!(start(&dir, "db2"), Woken::Running);
    assert!(Cluster::kill_server(&dir, "db2", false).expect("kill"));
    assert!(!Cluster::kill_server(&dir, "db2", false).expect("it is dead"));
    assert_eq!(start(&dir, "db2"), Woken::Started);
    let unknown = Cluster::kill_server(&dir, "nobody", false);
    assert!(matches!(unknown, Err(LocalError::NoSuchServer { .. })), "{unknown:?}");
    // Who wrote before does not write again by itself: another one may have taken its place.
    let cluster = goes_down_and_comes_back(&spec, "1");
    cluster.detach();
    assert_eq!(roles(&dir), ["replica", "replica", "replica"]);
    let cluster = Cluster::open(&dir).expect("open");
    if kind == Kind::SemiSync {
        let name = if flavor == Flavor::MariaDb { "slave" } else { "replica" };
        for server in cluster.servers() {
            let acknowledges = server.query_value(&format!("SELECT @@GLOBAL.rpl_semi_sync_{name}_enabled"));
            assert_eq!(acknowledges.expect("a variable").as_deref(), Some("1"), "{}", server.name());
        }
    }
    drop(cluster);
    Cluster::wipe(&dir, &mut Quiet).expect("wipe");
    assert!(!dir.exists());
}

#[test]
fn replicas_of_mariadb_follow_and_come_back_read_only() {
    following(Kind::Async, Flavor::MariaDb);
}

#[test]
fn replicas_of_mysql_follow_and_come_back_read_only() {
    following(Kind::Async, Flavor::MySql);
}

#[test]
fn replicas_of_mariadb_acknowledge() {
    following(Kind::SemiSync, Flavor::MariaDb);
}

#[test]
fn replicas_of_mysql_acknowledge() {
    following(Kind::SemiSync, Flavor::MySql);
}

#[test]
fn a_galera_cluster_comes_up_loses_a_node_and_starts_from_the_one_that_has_the_most() {
    let parent = tempfile::tempdir().expect("dir");
    let dir = parent.path().join("cluster");
    let _wiped = Wiped(&dir);
    let spec = comes_up(Kind::Galera, Flavor::MariaDb, &dir, ["synced", "synced", "synced"]);
    assert!(Cluster::kill_server(&dir, "db1", false).expect("kill"));
    let cluster = Cluster::open(&dir).expect("open");
    let other = &cluster.groups[0].replicas[0];
    eventually("the others go on", || other.execute("INSERT INTO app.t VALUES (2)").is_ok());
    assert_eq!(start(&dir, "db1"), Woken::Started);
    all_have(&Cluster::open(&dir).expect("open"), "2");

    // All die, the one that was made first before the last change.
    assert!(Cluster::kill_server(&dir, "db1", false).expect("kill"));
    eventually("the others go on", || other.execute("INSERT INTO app.t VALUES (3)").is_ok());
    for name in ["db2", "db3"] {
        assert!(Cluster::kill_server(&dir, name, false).expect("kill"));
    }
    let cluster = Cluster::up(&spec, &mut Quiet).expect("up after a crash of all");
    all_have(&cluster, "3");
    cluster.detach();
    drop(goes_down_and_comes_back(&spec, "3"));
}

#[test]
fn a_replication_group_comes_up_loses_a_member_and_starts_again_as_a_whole() {
    let parent = tempfile::tempdir().expect("dir");
    let dir = parent.path().join("cluster");
    let _wiped = Wiped(&dir);
    let spec = comes_up(Kind::GroupReplication, Flavor::MySql, &dir, ["primary", "secondary", "secondary"]);
    assert!(Cluster::kill_server(&dir, "db1", false).expect("kill"));
    let cluster = Cluster::open(&dir).expect("open");
    let others = &cluster.groups[0].replicas;
    eventually("another one takes writes", || {
        others.iter().any(|other| other.execute("INSERT INTO app.t VALUES (2)").is_ok())
    });
    for name in ["db2", "db3"] {
        assert!(Cluster::kill_server(&dir, name, false).expect("kill"));
    }
    let cluster = Cluster::up(&spec, &mut Quiet).expect("up after a crash of all");
    all_have(&cluster, "2");
    cluster.detach();
    let roles = roles(&dir);
    // Who is the primary depends on who had the most.
    assert_eq!(roles.iter().filter(|role| *role == "primary").count(), 1, "{roles:?}");
}

#[test]
fn what_servers_cannot_do_is_refused_with_the_way_out() {
    let cases = [
        (Kind::GroupReplication, Flavor::MariaDb, 3, "--flavor mysql"),
        (Kind::Galera, Flavor::MySql, 3, "--flavor mariadb"),
        (Kind::SemiSync, Flavor::MariaDb, 1, "at least 2 members"),
    ];
    for (kind, flavor, members, way_out) in cases {
        let dir = tempfile::tempdir().expect("dir");
        let spec = ClusterSpec { replicas: members - 1, ..spec(kind, flavor, dir.path()) };
        let error = Cluster::up(&spec, &mut Quiet).expect_err("refused");
        assert!(matches!(error, LocalError::Unsupported { .. }) && error.to_string().contains(way_out), "{error}");
    }
}
