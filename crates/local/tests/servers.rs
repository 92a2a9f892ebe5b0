//! Real servers of both kinds, started, hurt and wired by this crate.
//!
//! Each test has a private directory and ends with its servers: they die with the test's thread at the latest.

use std::path::Path;
use std::time::Duration;

use weir_local::{
    Account, Cluster, ClusterSpec, Flavor, Installation, LocalError, Phase, PortChoice, Quiet, Server, ServerSpec,
    replicate, replication_status, wait_for_replica,
};

const BOUND: Duration = Duration::from_secs(60);

fn installation(flavor: Flavor) -> Installation {
    Installation::find(flavor, None).expect("the tests need both kinds of server (scripts/install-deps)")
}

fn spec(name: &str) -> ServerSpec {
    ServerSpec { die_with_parent: true, ..ServerSpec::new(name) }
}

fn cluster_spec(flavor: Flavor, dir: &Path) -> ClusterSpec {
    ClusterSpec { die_with_parent: true, ..ClusterSpec::new(dir, installation(flavor)) }
}

fn is_process(pid: i32) -> bool {
    weir_local::ProcessId::of(pid).is_some()
}

/// Start, kill, restart, pause, stop; data survives all of it.
fn life_of_a_server(flavor: Flavor) {
    let dir = tempfile::tempdir().expect("dir");
    let mut server = Server::start(&installation(flavor), dir.path(), &spec("one")).expect("start");
    let first_pid = server.pid().expect("pid");
    assert!(server.port() < 32_768);
    assert_eq!(server.query_value("SELECT @@port").expect("port"), Some(server.port().to_string()));
    server.execute("CREATE DATABASE d").expect("database");
    server.execute("CREATE TABLE d.t (id INT PRIMARY KEY, name TEXT)").expect("table");
    server.execute("INSERT INTO d.t VALUES (1, 'it''s'), (2, NULL)").expect("insert");

    let second = Server::start(server.installation(), dir.path(), &spec("one"));
    assert!(matches!(second, Err(LocalError::AlreadyRunning { pid, .. }) if pid == first_pid), "{second:?}");

    server.kill().expect("kill");
    assert!(!is_process(first_pid) && !server.is_running());
    server.restart().expect("restart after a crash");
    assert_ne!(server.pid(), Some(first_pid));
    let rows = server.query("SELECT id, name FROM d.t ORDER BY id").expect("rows");
    let expected = [("1", Some("it's")), ("2", None)];
    assert_eq!(rows, expected.map(|(id, name)| vec![Some(id.to_owned()), name.map(str::to_owned)]));

    assert!(server.pause());
    assert!(!server.answers(Duration::from_millis(200)), "a paused server answered");
    assert!(server.is_running() && server.resume());
    assert!(server.answers(BOUND));

    assert!(server.pause());
    server.stop().expect("stop a paused server");
    assert!(!server.is_running() && server.pid().is_none());
    assert!(server.error_log_tail().to_lowercase().contains("shutdown complete"), "{}", server.error_log_tail());
}

#[test]
fn a_mariadb_server_lives_crashes_and_comes_back() {
    life_of_a_server(Flavor::MariaDb);
}

#[test]
fn a_mysql_server_lives_crashes_and_comes_back() {
    life_of_a_server(Flavor::MySql);
}

fn accounts(flavor: Flavor, plugin: &str) {
    let dir = tempfile::tempdir().expect("dir");
    let server = Server::start(&installation(flavor), dir.path(), &spec("one")).expect("start");
    let log_in = |user: &str, password: &str| {
        let options = mysql_options(server.port(), user, password);
        weir_local::mysql::Conn::new(options).map(|_| ())
    };
    assert!(log_in("root", "").is_err(), "root without a password came in over TCP");
    for (user, plugin) in [("plain", None), ("plugged", Some(plugin))] {
        server.create_user(user, "p'\\w", &["SELECT ON *.*"], plugin).expect(user);
        log_in(user, "p'\\w").expect(user);
        assert!(log_in(user, "wrong").is_err());
        server.create_user(user, "new", &[], plugin).expect(user);
        log_in(user, "new").expect(user);
    }
}

fn mysql_options(port: u16, user: &str, password: &str) -> weir_local::mysql::OptsBuilder {
    weir_local::mysql::OptsBuilder::new()
        .ip_or_hostname(Some("127.0.0.1"))
        .tcp_port(port)
        .prefer_socket(false)
        .user(Some(user))
        .pass(Some(password))
}

#[test]
fn mariadb_accounts_can_log_in_and_root_only_over_the_socket() {
    accounts(Flavor::MariaDb, "mysql_native_password");
}

#[test]
fn mysql_accounts_can_log_in_and_root_only_over_the_socket() {
    accounts(Flavor::MySql, "caching_sha2_password");
}

fn replication(flavor: Flavor) {
    let dir = tempfile::tempdir().expect("dir");
    let installation = installation(flavor);
    let writer = Server::start(&installation, dir.path(), &spec("writer")).expect("writer");
    let mut replica = Server::start(&installation, dir.path(), &spec("replica")).expect("replica");
    assert_eq!(replication_status(&replica).expect("status"), None);
    replicate(&writer, &replica).expect("replicate");

    writer.execute("CREATE DATABASE d").expect("database");
    writer.execute("CREATE TABLE d.t (id INT PRIMARY KEY)").expect("table");
    writer.execute("INSERT INTO d.t VALUES (1)").expect("insert");
    wait_for_replica(&writer, &replica, BOUND).expect("caught up");
    assert_eq!(replica.query_value("SELECT COUNT(*) FROM d.t").expect("count").as_deref(), Some("1"));

    replica.restart().expect("restart");
    assert_eq!(replica.query_value("SELECT @@global.read_only").expect("read_only").as_deref(), Some("1"));
    writer.execute("INSERT INTO d.t VALUES (2)").expect("insert");
    wait_for_replica(&writer, &replica, BOUND).expect("caught up after a restart");
    let status = replication_status(&replica).expect("status").expect("it is a replica");
    assert!(status.is_running(), "{status:?}");
    assert_eq!(status.source, format!("127.0.0.1:{}", writer.port()));

    // A row that is in the way breaks the applier, and that is said at once rather than after the bound.
    replica.set_read_only(false).expect("writable");
    replica.execute("INSERT INTO d.t VALUES (3)").expect("errant");
    writer.execute("INSERT INTO d.t VALUES (3)").expect("insert");
    let broken = wait_for_replica(&writer, &replica, Duration::from_secs(600));
    assert!(matches!(broken, Err(LocalError::NotReplicating { .. })), "{broken:?}");
}

#[test]
fn a_mariadb_replica_catches_up_also_after_a_restart() {
    replication(Flavor::MariaDb);
}

#[test]
fn a_mysql_replica_catches_up_also_after_a_restart() {
    replication(Flavor::MySql);
}

#[test]
fn a_server_that_cannot_start_says_why_with_the_end_of_its_log() {
    let dir = tempfile::tempdir().expect("dir");
    let spec = ServerSpec { options: vec!["no-such-option=1".to_owned()], ..spec("one") };
    let error = Server::start(&installation(Flavor::MariaDb), dir.path(), &spec).expect_err("unknown option");
    let LocalError::NotStarted { log_tail, .. } = &error else { panic!("{error:?}") };
    assert!(log_tail.contains("no-such-option"), "{error}");
}

#[test]
fn a_server_moves_to_another_port_unless_it_was_told_which() {
    let dir = tempfile::tempdir().expect("dir");
    let installation = installation(Flavor::MariaDb);
    let first = Server::start(&installation, dir.path(), &spec("first")).expect("start");
    let from = ServerSpec { port: PortChoice::From(first.port()), ..spec("second") };
    let second = Server::start(&installation, dir.path(), &from).expect("start on another port");
    assert!(second.port() > first.port());
    let exactly = ServerSpec { port: PortChoice::Exactly(first.port()), ..spec("third") };
    let third = Server::start(&installation, dir.path(), &exactly);
    assert!(matches!(third, Err(LocalError::PortTaken { .. })), "{third:?}");
}

#[test]
fn a_deep_directory_works_and_its_short_socket_goes_with_the_server() {
    let dir = tempfile::tempdir().expect("dir");
    let deep = dir.path().join("a directory with spaces and #".repeat(4));
    let mut server = Server::start(&installation(Flavor::MariaDb), &deep, &spec("one")).expect("start");
    let socket = server.socket().to_path_buf();
    assert!(socket.as_os_str().len() < 100 && socket.exists());
    server.stop().expect("stop");
    assert!(!socket.parent().expect("parent").exists());
}

#[test]
fn servers_started_from_one_template_are_distinct() {
    let dir = tempfile::tempdir().expect("dir");
    let identity = |name: &str| {
        let server = Server::start(&installation(Flavor::MySql), dir.path(), &spec(name)).expect("start");
        server.query("SELECT @@server_uuid, @@server_id").expect("identity").remove(0)
    };
    let (first, second) = (identity("first"), identity("second"));
    assert!(first.iter().zip(&second).all(|(one, other)| one != other), "{first:?} {second:?}");
}

fn cluster_life(flavor: Flavor) {
    let parent = tempfile::tempdir().expect("dir");
    let dir = parent.path().join("cluster");
    let spec = cluster_spec(flavor, &dir);
    let cluster = Cluster::up(&spec, &mut Quiet).expect("up");
    assert!(cluster.is_new());
    let group = &cluster.groups[0];
    let app = &spec.application;
    let mut connection =
        weir_local::mysql::Conn::new(mysql_options(group.writer.port(), &app.name, &app.password)).expect("app");
    use weir_local::mysql::prelude::Queryable;
    connection.query_drop("CREATE TABLE app.t (id INT PRIMARY KEY)").expect("table");
    connection.query_drop("CREATE DATABASE app_two").expect("a second database");
    connection.query_drop("INSERT INTO app.t VALUES (1)").expect("insert");
    for own in [
        "CREATE DATABASE newcomers",
        "CREATE TABLE newcomers.t (id INT PRIMARY KEY)",
        "CREATE USER newcomer IDENTIFIED BY 'a secret'",
        "GRANT ALL ON newcomers.* TO newcomer",
        "DROP USER newcomer",
        "DROP DATABASE newcomers",
    ] {
        connection.query_drop(own).unwrap_or_else(|error| panic!("{own}: {error}"));
    }
    assert!(connection.query_drop("SET GLOBAL max_connections = 200").is_err(), "nothing of the server's own");
    group.wait_for_replicas(BOUND).expect("caught up");
    assert_eq!(group.replicas[0].query_value("SELECT id FROM app.t").expect("row").as_deref(), Some("1"));
    monitor_can_watch(&cluster, &spec.monitor);
    assert!(matches!(Cluster::up(&spec, &mut Quiet), Err(LocalError::Busy { .. })));
    cluster.detach();

    let status = Cluster::status(&dir).expect("status");
    assert!(status.servers.iter().all(|server| server.answers), "{status:?}");
    assert!(status.servers[1].replication.as_ref().is_some_and(|replication| replication.is_running()));

    // What has died is started again; what lives is left alone.
    let pids: Vec<_> = status.servers.iter().map(|server| server.pid.expect("alive")).collect();
    Cluster::open(&dir).expect("open").groups[0].replicas[0].kill().expect("kill");
    let woken = Cluster::up(&spec, &mut Quiet).expect("wake");
    assert!(!woken.is_new());
    assert_eq!(woken.groups[0].writer.pid(), Some(pids[0]));
    assert_eq!(woken.groups[0].replicas[0].query_value("SELECT id FROM app.t").expect("row").as_deref(), Some("1"));
    woken.detach();
    let two = ClusterSpec { replicas: 2, ..spec.clone() };
    assert!(matches!(Cluster::up(&two, &mut Quiet), Err(LocalError::OtherCluster { .. })));

    assert_eq!(Cluster::down(&dir, &mut Quiet).expect("down"), 2);
    assert_eq!(Cluster::down(&dir, &mut Quiet).expect("down again"), 0);
    assert!(Cluster::status(&dir).expect("status").servers.iter().all(|server| server.pid.is_none()));
    Cluster::wipe(&dir, &mut Quiet).expect("wipe");
    assert!(!dir.exists());
}

fn monitor_can_watch(cluster: &Cluster, monitor: &Account) {
    use weir_local::mysql::prelude::Queryable;
    for server in cluster.servers() {
        let options = mysql_options(server.port(), &monitor.name, &monitor.password);
        let mut connection = weir_local::mysql::Conn::new(options).expect("monitor logs in");
        let status = match server.installation().flavor() {
            Flavor::MariaDb => "SHOW SLAVE STATUS",
            Flavor::MySql => "SHOW REPLICA STATUS",
        };
        connection.query_drop(status).expect("replication status");
        connection.query_drop("SELECT @@global.read_only").expect("read_only");
        connection.query_drop("XA RECOVER").expect("prepared transactions");
        let tables = "SELECT table_name FROM information_schema.tables WHERE table_schema = 'app'";
        let tables: Vec<String> = connection.query(tables).expect("definitions");
        assert_eq!(tables, ["t"]);
        for refused in ["INSERT INTO app.t VALUES (2)", "DROP TABLE app.t", "CREATE USER other"] {
            assert!(connection.query_drop(refused).is_err(), "{refused}: the monitor may do it");
        }
    }
    let writer = &cluster.groups[0].writer;
    let options = mysql_options(writer.port(), &monitor.name, &monitor.password);
    let mut connection = weir_local::mysql::Conn::new(options).expect("monitor logs in");
    for own in [
        "CREATE DATABASE weir",
        "CREATE TABLE weir.records (id INT PRIMARY KEY)",
        "CREATE PROCEDURE weir.note() SQL SECURITY DEFINER INSERT INTO weir.records VALUES (1)",
        "GRANT EXECUTE ON PROCEDURE weir.note TO app",
        "DROP DATABASE weir",
    ] {
        connection.query_drop(own).unwrap_or_else(|error| panic!("{own}: {error}"));
    }
}

#[test]
fn a_mariadb_cluster_comes_up_wakes_and_goes() {
    cluster_life(Flavor::MariaDb);
}

#[test]
fn a_mysql_cluster_comes_up_wakes_and_goes() {
    cluster_life(Flavor::MySql);
}

fn shards(flavor: Flavor) {
    use weir_local::mysql::prelude::Queryable;
    let parent = tempfile::tempdir().expect("dir");
    let dir = parent.path().join("cluster");
    let spec = ClusterSpec { shards: 2, ..cluster_spec(flavor, &dir) };
    let cluster = Cluster::up(&spec, &mut Quiet).expect("up");
    let names: Vec<_> = cluster.servers().map(Server::name).collect();
    assert_eq!(names, ["s1-writer", "s1-replica1", "s2-writer", "s2-replica1"]);
    for (number, group) in cluster.groups.iter().enumerate() {
        assert_eq!(group.name, format!("s{}", number + 1));
        for account in [&spec.application, &spec.monitor] {
            let options = mysql_options(group.writer.port(), &account.name, &account.password);
            weir_local::mysql::Conn::new(options).expect("the account is on all shards");
        }
        let options = mysql_options(group.writer.port(), &spec.application.name, &spec.application.password);
        let mut connection = weir_local::mysql::Conn::new(options).expect("app");
        connection.query_drop("CREATE TABLE app.t (id INT PRIMARY KEY)").expect("table");
        connection.query_drop(format!("INSERT INTO app.t VALUES ({number})")).expect("insert");
        group.wait_for_replicas(BOUND).expect("caught up");
    }
    // Each replica follows its own writer.
    for (number, group) in cluster.groups.iter().enumerate() {
        let rows = group.replicas[0].query("SELECT id FROM app.t").expect("rows");
        assert_eq!(rows, [[Some(number.to_string())]]);
    }
    cluster.detach();
    let status = Cluster::status(&dir).expect("status");
    let groups: Vec<_> = status.servers.iter().map(|server| (server.group.as_str(), server.role.as_str())).collect();
    assert_eq!(groups, [("s1", "writer"), ("s1", "replica"), ("s2", "writer"), ("s2", "replica")]);
    let one = ClusterSpec { shards: 1, ..spec.clone() };
    let refused = Cluster::up(&one, &mut Quiet).expect_err("another number of shards");
    assert!(refused.to_string().contains("2 shards"), "{refused}");
    assert_eq!(Cluster::down(&dir, &mut Quiet).expect("down"), 4);
    let woken = Cluster::up(&spec, &mut Quiet).expect("wake");
    assert_eq!(woken.groups[1].writer.query_value("SELECT id FROM app.t").expect("row").as_deref(), Some("1"));
    drop(woken);
    std::fs::create_dir(dir.join("weir-catalog")).expect("what Weir keeps there");
    std::fs::write(dir.join("weir-catalog/catalog"), "of shards").expect("written");
    Cluster::wipe(&dir, &mut Quiet).expect("wipe");
    assert!(!dir.exists());
}

#[test]
fn a_mariadb_cluster_of_two_shards_comes_up_wakes_and_goes() {
    shards(Flavor::MariaDb);
}

#[test]
fn a_mysql_cluster_of_two_shards_comes_up_wakes_and_goes() {
    shards(Flavor::MySql);
}

#[test]
fn an_interrupted_up_leaves_nothing_behind() {
    let parent = tempfile::tempdir().expect("dir");
    let dir = parent.path().join("cluster");
    let spec = cluster_spec(Flavor::MariaDb, &dir);
    let mut interrupt = InterruptAt { step: "Waiting for replica1", spec: spec.clone(), pids: Vec::new() };
    let error = Cluster::up(&spec, &mut interrupt).expect_err("interrupted");
    assert!(matches!(error, LocalError::Cancelled), "{error}");
    assert_eq!(interrupt.pids.len(), 2, "both servers were started before the interrupt");
    assert!(!interrupt.pids.iter().any(|pid| is_process(*pid)));
    assert!(!dir.exists());
}

/// Cancels when a step begins, and notes which processes there are by then.
struct InterruptAt {
    step: &'static str,
    spec: ClusterSpec,
    pids: Vec<i32>,
}

impl weir_local::Progress for InterruptAt {
    fn step(&mut self, what: &str) {
        if what == self.step {
            let state = weir_local::ClusterState::load(&self.spec.dir).expect("written before each start");
            self.pids = state.servers().filter_map(|server| Some(server.process?.pid)).collect();
            self.spec.cancel.set();
        }
    }
    fn done(&mut self, _outcome: &str) {}
    fn note(&mut self, _text: &str) {}
}

#[test]
fn what_a_killed_up_left_behind_is_found_without_its_pid_and_begun_anew() {
    let parent = tempfile::tempdir().expect("dir");
    let spec = cluster_spec(Flavor::MariaDb, &parent.path().join("cluster"));
    let cluster = Cluster::up(&spec, &mut Quiet).expect("up");
    let pids: Vec<_> = cluster.servers().filter_map(Server::pid).collect();
    cluster.detach();
    // As if the command had been killed right after it started the servers: not complete, and no pid written.
    let state_file = spec.dir.join("cluster.json");
    let mut state = weir_local::ClusterState::load(&spec.dir).expect("state");
    state.phase = Phase::Creating;
    for group in &mut state.groups {
        group.writer.process = None;
        group.replicas.iter_mut().for_each(|replica| replica.process = None);
    }
    std::fs::write(&state_file, serde_json::to_string(&state).expect("json")).expect("write");

    let again = Cluster::up(&spec, &mut Quiet).expect("up again");
    assert!(again.is_new());
    assert!(!pids.iter().any(|pid| is_process(*pid)), "the old servers still run");
}

#[test]
fn a_directory_with_other_content_is_refused_and_not_touched() {
    let dir = tempfile::tempdir().expect("dir");
    std::fs::write(dir.path().join("thesis.txt"), "years of work").expect("write");
    let spec = cluster_spec(Flavor::MariaDb, dir.path());
    assert!(matches!(Cluster::up(&spec, &mut Quiet), Err(LocalError::NotACluster { .. })));
    assert!(matches!(Cluster::wipe(dir.path(), &mut Quiet), Err(LocalError::NotACluster { .. })));
    assert!(matches!(Cluster::down(dir.path(), &mut Quiet), Err(LocalError::NotACluster { .. })));
    let names: Vec<_> =
        std::fs::read_dir(dir.path()).expect("list").map(|entry| entry.expect("entry").file_name()).collect();
    assert_eq!(names, ["thesis.txt"]);
}
