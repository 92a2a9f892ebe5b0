//! Queries on a workbench that fail, and what is left behind: nothing.

use weir_exec::workbench::Bounds;
use weir_exec::{Request, Sink};
use weir_plan::{Fragment, Passed, Workbench};
use weir_wire::Failure;

use super::{Client, Column, ENOUGH, fragment, workbench};
use crate::bed::{Bed, Packets};

const COLUMNS: &[Column] = &[
    ("id", "int NOT NULL", "id", Passed::Number),
    ("v", "varchar(100) COLLATE utf8mb4_bin NULL", "CAST(v AS BINARY)", Passed::Bytes),
];

/// Rows of the large table on each shard: several texts of 64 KiB.
const MANY: usize = 5000;

pub(super) async fn all(bed: &mut Bed) {
    bed.everywhere("CREATE TABLE d.large (id INT PRIMARY KEY, v VARCHAR(100) COLLATE utf8mb4_bin)");
    for server in [0, 1] {
        let rows: Vec<String> = (0..MANY).map(|id| format!("({}, REPEAT('x', 90))", 2 * id + server)).collect();
        let text = format!("INSERT INTO d.large VALUES {}", rows.join(","));
        bed.servers[server].execute(&text).expect("they are inserted");
    }
    all_rows_come(bed).await;
    bounds_are_kept(bed).await;
    a_shard_that_refuses(bed).await;
    a_workbench_that_refuses(bed).await;
    a_query_that_is_wrong(bed).await;
    a_value_that_would_change(bed).await;
    settings_that_forbid_tables(bed).await;
    a_client_that_goes(bed).await;
    a_statement_that_is_dropped(bed).await;
    a_workbench_that_dies(bed).await;
}

fn large() -> Fragment {
    fragment("weir_l", "large", COLUMNS)
}

fn count() -> Workbench {
    workbench(vec![large()], "SELECT COUNT(*), COUNT(DISTINCT id), SUM(LENGTH(v)) FROM d.weir_l AS l")
}

/// The error that a query ends with, of which nothing but the error was told.
async fn refused(client: &Client<'_>, plan: &Workbench) -> Failure {
    let (outcome, packets) = client.run(plan, &Request::Text).await;
    assert_eq!(packets.packets.len(), 1, "the client was told more than the error");
    let error = outcome.error.expect("it is refused");
    assert_eq!(packets.packets[0][..3], [0xff, error.code as u8, (error.code >> 8) as u8]);
    error
}

async fn all_rows_come(bed: &Bed) {
    let (outcome, packets) = Client::new(bed).run(&count(), &Request::Text).await;
    assert_eq!((outcome.error, outcome.sent), (None, 1));
    assert_eq!(packets.packets[4], b"\x0510000\x0510000\x06900000");
}

async fn bounds_are_kept(bed: &Bed) {
    for (bounds, told) in [
        (Bounds { rows: 9999, ..ENOUGH }, "9999 rows (workbench.max_rows)"),
        (Bounds { bytes: 500_000, ..ENOUGH }, "500000 bytes (workbench.max_bytes)"),
        (Bounds { rows: 0, ..ENOUGH }, "0 rows"),
    ] {
        let error = refused(&Client { bounds, ..Client::new(bed) }, &count()).await;
        assert_eq!((error.code, &error.sqlstate), (1038, b"HY001"));
        assert!(error.message.contains(told) && error.message.contains("'d.large'"), "{}", error.message);
    }
    let enough = Client { bounds: Bounds { rows: 10000, ..ENOUGH }, ..Client::new(bed) };
    assert_eq!(enough.run(&count(), &Request::Text).await.0.error, None);
}

async fn a_shard_that_refuses(bed: &Bed) {
    let mut plan = count();
    plan.fragments[0].read.text = b"SELECT id, IF(id = 1001, (SELECT v FROM d.large), v) FROM d.large".to_vec();
    let error = refused(&Client::new(bed), &plan).await;
    assert_eq!((error.code, &error.sqlstate), (1242, b"21000"));
    plan.fragments[0].read.text = b"SELECT id, nothing FROM d.large".to_vec();
    assert_eq!(refused(&Client::new(bed), &plan).await.code, 1054);
    // Another number of columns than planned.
    plan.fragments[0].read.text = b"SELECT id FROM d.large".to_vec();
    assert_eq!(refused(&Client::new(bed), &plan).await.code, 1105);
    // Another type than planned.
    plan.fragments[0].read.text = b"SELECT v, v FROM d.large".to_vec();
    assert_eq!(refused(&Client::new(bed), &plan).await.code, 1105);
}

async fn a_workbench_that_refuses(bed: &Bed) {
    let mut plan = count();
    plan.fragments[0].columns[1].definition = "nonsense".to_owned();
    assert_eq!(refused(&Client::new(bed), &plan).await.code, if is_mariadb(bed) { 4161 } else { 1064 });
    // The second table fails: the first one is dropped, too.
    let mut plan = count();
    plan.fragments.push(Fragment { keys: vec![vec![0, 0]], ..fragment("weir_2", "large", COLUMNS) });
    assert_eq!(refused(&Client::new(bed), &plan).await.code, 1060);
}

fn is_mariadb(bed: &Bed) -> bool {
    bed.flavor == weir_local::Flavor::MariaDb
}

/// Before more than a text of rows is gathered: the bound is not reached.
async fn a_query_that_is_wrong(bed: &Bed) {
    let client = Client { bounds: Bounds { bytes: 150_000, ..ENOUGH }, ..Client::new(bed) };
    for (text, code) in [("SELECT nothing FROM d.weir_l AS l", 1054), ("SELECT id FROM d.weir_l AS l WHERE", 1064)] {
        assert_eq!(refused(&client, &workbench(vec![large()], text)).await.code, code);
        let mut few = workbench(vec![large()], text);
        few.fragments[0].read.text.extend_from_slice(b" WHERE id < 10");
        assert_eq!(refused(&client, &few).await.code, code);
    }
}

/// A table that can't hold a value fails the statement.
async fn a_value_that_would_change(bed: &Bed) {
    // Of an ENUM's values only one that is no member there either is stored with a warning.
    for (column, definition) in [(1, "varchar(89) COLLATE utf8mb4_bin NULL"), (0, "enum('a') COLLATE utf8mb4_bin NULL")]
    {
        let mut plan = count();
        plan.fragments[0].columns[column].definition = definition.to_owned();
        let error = refused(&Client::new(bed), &plan).await;
        assert_eq!(error.code, 1105);
        assert!(error.message.contains("exactly"), "{}", error.message);
    }
}

/// Settings of the session under which it could make no table, and a database whose name is not ASCII.
async fn settings_that_forbid_tables(bed: &Bed) {
    let read_only = if is_mariadb(bed) { "tx_read_only" } else { "transaction_read_only" };
    let variables = [(read_only, "ON"), ("autocommit", "OFF"), ("character_set_client", "latin1")];
    let client = Client { variables: &[("character_set_results", "ucs2")], ..Client::new(bed) };
    let error = refused(&client, &count()).await;
    assert_eq!(error.code, 1235);
    assert!(error.message.contains("ucs2"), "{}", error.message);
    let client = Client { variables: &variables[..1], ..Client::new(bed) };
    assert_eq!(client.run(&count(), &Request::Text).await.0.error, None);
    bed.everywhere("CREATE DATABASE `d\u{e4}`");
    bed.everywhere("CREATE TABLE `d\u{e4}`.t (id INT PRIMARY KEY, v VARCHAR(100) COLLATE utf8mb4_bin)");
    let mut plan = count();
    plan.fragments.push(fragment("weir_t", "t", COLUMNS));
    plan.fragments[1].table.database = "d\u{e4}".to_owned();
    plan.fragments[1].read.text = b"SELECT id, CAST(v AS BINARY) FROM d.large WHERE id < 3".to_vec();
    let client = Client { variables: &variables[2..], ..Client::new(bed) };
    assert_eq!(client.run(&plan, &Request::Text).await.0.error, None);
}

/// Resolves when the second shard sleeps.
async fn asleep(bed: &Bed) {
    let sleeping = "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE '%SLEEP(60)%' AND id <> CONNECTION_ID() \
                    AND state = 'User sleep'";
    until(|| bed.servers[1].query_value(sleeping).expect("it is answered").as_deref() == Some("1")).await;
}

async fn until(mut come: impl FnMut() -> bool) {
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while !come() {
        assert!(std::time::Instant::now() < deadline, "it does not come about");
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
}

/// A client that goes while a shard is waited for.
struct Gone<'b>(&'b Bed, Packets);

impl Sink for Gone<'_> {
    fn put(&mut self, payload: &[u8]) {
        self.1.put(payload);
    }

    fn is_full(&self) -> bool {
        false
    }

    async fn flush(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    async fn gone(&mut self) -> Failure {
        asleep(self.0).await;
        Failure::client(1317, "gone")
    }
}

async fn a_client_that_goes(bed: &Bed) {
    let client = Client::new(bed);
    let mut plan = count();
    plan.fragments[0].read.text = b"SELECT id, IF(id = 5, SLEEP(60), v) FROM d.large".to_vec();
    let (mut parts, mut bench) = client.parts().await;
    let mut sink = Gone(bed, Packets::default());
    bed.kills.take();
    let ran = client.run_into((&mut parts, &mut bench), &plan, &Request::Text, &mut sink).await;
    assert!(ran.is_err_and(|failure| failure.code == 1317));
    assert!(sink.1.packets.is_empty());
    assert!(bed.kills.take() > 0, "the shard goes on");
    assert!(bench.lease.retired && parts.iter().all(|part| part.lease.is_clean()));
}

/// A statement whose future is dropped (the session was killed) leaves a connection that is closed.
async fn a_statement_that_is_dropped(bed: &Bed) {
    let client = Client::new(bed);
    let mut plan = count();
    plan.fragments[0].read.text = b"SELECT id, IF(id = 5, SLEEP(60), v) FROM d.large".to_vec();
    let (mut parts, mut bench) = client.parts().await;
    let thread = bench.lease.thread_id;
    let mut sink = Packets::default();
    {
        let ran = client.run_into((&mut parts, &mut bench), &plan, &Request::Text, &mut sink);
        tokio::select! {
            ran = ran => panic!("it did not wait for the shard: {ran:?}"),
            () = asleep(bed) => {}
        }
    }
    assert!(bench.lease.retired);
    drop((parts, bench));
    let there = format!("SELECT COUNT(*) FROM information_schema.processlist WHERE id = {thread}");
    until(|| bed.servers[0].query_value(&there).expect("it is answered").as_deref() == Some("0")).await;
}

/// The connection to the workbench is lost before the statement, and while a shard is waited for.
async fn a_workbench_that_dies(bed: &Bed) {
    let client = Client::new(bed);
    let mut slow = count();
    slow.fragments[0].read.text = b"SELECT id, IF(id = 5, SLEEP(60), v) FROM d.large".to_vec();
    for (plan, later) in [(count(), false), (slow, true)] {
        let (mut parts, mut bench) = client.parts().await;
        let kill = format!("KILL {}", bench.lease.thread_id);
        let mut sink = Packets::default();
        let kill = async {
            if later {
                asleep(bed).await;
            }
            bed.servers[0].execute(&kill).expect("it is killed");
        };
        let error = match later {
            false => {
                kill.await;
                client.run_into((&mut parts, &mut bench), &plan, &Request::Text, &mut sink).await
            }
            true => {
                let ran = client.run_into((&mut parts, &mut bench), &plan, &Request::Text, &mut sink);
                tokio::join!(ran, kill).0
            }
        };
        let error = error.expect("the client is there").error.expect("it failed");
        assert!(matches!(error.code, 2013 | 1927 | 3169 | 4031), "{error:?}");
        assert_eq!(sink.packets.len(), 1);
        weir_exec::workbench::clear(&mut bench, &plan).await;
        assert!(bench.lease.retired);
        let unharmed = |part: &weir_exec::ShardLease| part.lease.is_clean() || part.lease.only_awaits_state();
        assert!(parts.iter().all(unharmed), "a shard's connection was harmed");
    }
}
