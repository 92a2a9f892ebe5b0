//! Writes on real servers of both kinds: what two shards do together, against what one plain server does.

#[path = "../definitions/lab.rs"]
#[expect(dead_code, reason = "the laboratory of definitions can do more")]
mod lab;

use std::cell::Cell;

use lab::Lab;
use weir_catalog::{Constant, Weights};
use weir_ddl::define::Records;
use weir_exec::read::{Cancel, Collations};
use weir_exec::write::{self, Generator};
use weir_exec::{MultiShardResult, ShardLease, read};
use weir_local::Flavor;
use weir_plan::{Generate, Plan, Raise, Refusal, SessionFacts, TemporaryNames, WriteKind};
use weir_shards::ask::ask;
use weir_sql::{Bump, Dialect, LexMode};
use weir_wire::{Capabilities, Failure};

const TABLES: [(&str, &str); 5] = [
    (
        "t (id INT PRIMARY KEY, a INT, b VARCHAR(20), at DATETIME(6) DEFAULT CURRENT_TIMESTAMP(6))",
        "/*weir: shard by hash(id) */",
    ),
    ("u (id INT PRIMARY KEY, a INT, b VARCHAR(20))", "/*weir: shard by hash(id) */"),
    ("g (id INT PRIMARY KEY, a INT, b VARCHAR(40))", "GLOBAL"),
    ("n (id INT AUTO_INCREMENT PRIMARY KEY, b VARCHAR(20))", "/*weir: shard by hash(id) */"),
    ("o (k VARBINARY(10) PRIMARY KEY, v DOUBLE, d DECIMAL(10,3), x TEXT, y BIT(4))", "/*weir: shard by hash(k) */"),
];

/// A session over two shards, and a database of its own for the same tables on one server.
struct Both {
    lab: Lab,
    parts: Vec<ShardLease>,
    plain: ShardLease,
    in_transaction: bool,
    next: Next,
    insert_id: u64,
    differences: Vec<String>,
}

/// The next value of the one sequence.
struct Next(Cell<u64>);

impl Generator for Next {
    async fn take(&self, wanted: &Generate) -> Result<Vec<u64>, Failure> {
        let mut values = Vec::new();
        for run in &wanted.runs {
            let first = self.0.get().max(run.behind.unwrap_or(0) + 1);
            values.extend(first..first + run.count);
            self.0.set(first + run.count);
        }
        Ok(values)
    }

    async fn raise(&self, raise: &Raise) -> Result<(), Failure> {
        self.0.set(self.0.get().max(raise.value + 1));
        Ok(())
    }
}

impl Both {
    async fn start(flavor: Flavor) -> Both {
        let lab = Lab::start(flavor, 2);
        lab.done("CREATE DATABASE shop").await;
        let mut plain = lab.part(0).await.expect("a connection");
        for text in ["CREATE DATABASE plain", "USE plain"] {
            ask(&mut plain.lease, text.as_bytes()).await.ok().expect("a database of its own");
        }
        for (table, clause) in TABLES {
            lab.done(&format!("CREATE TABLE {table} {clause}")).await;
            ask(&mut plain.lease, format!("CREATE TABLE {table}").as_bytes()).await.ok().expect("a table");
        }
        let mut parts = lab.parts().await;
        for part in &mut parts {
            ask(&mut part.lease, b"USE shop").await.ok().expect("the database is there");
        }
        Both {
            lab,
            parts,
            plain,
            in_transaction: false,
            next: Next(Cell::new(1)),
            insert_id: 0,
            differences: Vec::new(),
        }
    }

    async fn everywhere(&mut self, text: &str) {
        for part in self.parts.iter_mut().chain([&mut self.plain]) {
            ask(&mut part.lease, text.as_bytes()).await.ok().unwrap_or_else(|failure| panic!("{text}: {failure}"));
        }
    }

    fn plan(&self, text: &[u8]) -> Result<Plan, Refusal> {
        let mariadb = self.lab.flavor == Flavor::MariaDb;
        let dialect = if mariadb { Dialect::MariaDb } else { Dialect::MySql };
        let mode = LexMode { dialect, ..LexMode::default() };
        let arena = Bump::new();
        let parsed = weir_sql::parse(&arena, text, mode).expect("the test's statements can be read");
        let session = SessionFacts {
            database: Some(b"shop"),
            mode,
            sql_mode: "STRICT_TRANS_TABLES",
            charset: "utf8mb4",
            collation: "utf8mb4_general_ci",
            default_collation: &|_| Some("utf8mb4_general_ci".to_owned()),
            parameters: None,
            variable: &|_| Some(Constant::Null),
            temporary: &TemporaryNames::new(),
            for_write: false,
            in_transaction: self.in_transaction,
            mariadb,
            home: weir_catalog::ShardId(0),
            hinted: None,
            running: &[],
        };
        weir_plan::plan(text, &parsed.statements[0], &self.lab.catalog(), &Weights::default(), &session)
    }

    /// Runs a statement on the shards, as a session would.
    async fn sharded(&mut self, text: &str) -> Result<MultiShardResult, Failure> {
        if !self.in_transaction {
            for part in &mut self.parts {
                ask(&mut part.lease, b"BEGIN").await.ok()?;
            }
        }
        let outcome = self.statement(text).await;
        if !self.in_transaction {
            let end = if outcome.as_ref().is_ok_and(|outcome| outcome.error.is_none()) { "COMMIT" } else { "ROLLBACK" };
            for part in &mut self.parts {
                ask(&mut part.lease, end.as_bytes()).await.ok()?;
            }
        }
        let outcome = outcome?;
        match outcome.error {
            Some(failure) => Err(failure),
            None => Ok(outcome),
        }
    }

    async fn statement(&mut self, text: &str) -> Result<MultiShardResult, Failure> {
        let collations = Collations::default();
        let cancel: &Cancel<'_> = &|_| Box::pin(async { false });
        let reading = read::ReadContext {
            capabilities: Capabilities::empty(),
            collations: &collations,
            cancel,
            transaction: None,
        };
        let bounds = weir_exec::workbench::Bounds { bytes: 1 << 30, rows: u64::MAX };
        let gathering = weir_exec::workbench::Gathering::new(bounds);
        let mut session = write::WriteContext {
            gathering: &gathering,
            reading: &reading,
            in_transaction: self.in_transaction,
            insert_id: Some(self.insert_id),
            sets_id: text.contains("LAST_INSERT_ID("),
            generated: None,
            binary: false,
            sharding: None,
        };
        let mut text = text.as_bytes().to_vec();
        loop {
            let plan = self.plan(&text).map_err(|refusal| match refusal {
                refusal @ (Refusal::Failure(_) | Refusal::NotSupported { .. }) => {
                    refusal.into_failure().expect("no weights are missing")
                }
                other => panic!("{}: {other:?}", String::from_utf8_lossy(&text)),
            })?;
            match plan {
                Plan::Write(write) => {
                    let shards = write.shards();
                    let mut parts: Vec<ShardLease> = Vec::new();
                    let (wanted, others) = self.parts.drain(..).partition(|part| shards.contains(&part.shard));
                    parts.extend::<Vec<ShardLease>>(wanted);
                    let done = match &write.kind {
                        WriteKind::Resolve(resolve) => {
                            match write::resolve(&mut parts, None, resolve, &text, &session, &self.next).await {
                                Err(failure) => Err(failure),
                                Ok(settled) => {
                                    session.generated = session.generated.or(settled.insert_id);
                                    let nothing = settled.nothing();
                                    text = settled.text;
                                    nothing.map_or(Ok(None), |nothing| Ok(Some(nothing)))
                                }
                            }
                        }
                        _ => {
                            if let Some(raise) = &write.raise {
                                self.next.raise(raise).await?;
                            }
                            write::run(&mut parts, None, &write, &session).await.map(Some)
                        }
                    };
                    self.parts.extend(parts);
                    self.parts.extend::<Vec<ShardLease>>(others);
                    self.parts.sort_by_key(|part| part.shard);
                    if let Some(outcome) = done? {
                        return Ok(outcome);
                    }
                }
                Plan::Route(route) => {
                    if let Some(raise) = &route.raise {
                        self.next.raise(raise).await?;
                    }
                    let text = route.text.unwrap_or(text);
                    let part = self.parts.iter_mut().find(|part| part.shard == route.shard).expect("it has all");
                    let reply = ask(&mut part.lease, &text).await;
                    return reply.ok().map(|reply| MultiShardResult {
                        affected: reply.affected,
                        info: reply.info,
                        warnings: reply.warnings,
                        insert_id: session.generated.unwrap_or(reply.insert_id),
                        ..MultiShardResult::default()
                    });
                }
                other => panic!("{}: {other:?}", String::from_utf8_lossy(&text)),
            }
        }
    }

    /// Runs a statement on both sides, which must say the same; then the tables must have the same rows.
    async fn same(&mut self, text: &str) {
        let sharded =
            self.sharded(text).await.map(|done| (done.affected, String::from_utf8_lossy(&done.info).into_owned()));
        let plain = ask(&mut self.plain.lease, text.as_bytes()).await.ok();
        let plain = plain.map(|done| (done.affected, String::from_utf8_lossy(&done.info).into_owned()));
        let code = |failure: Failure| failure.code;
        let (sharded, plain) = (sharded.map_err(code), plain.map_err(code));
        if sharded != plain {
            self.differences.push(format!("{:?}: {text}: {sharded:?}, and one server: {plain:?}", self.lab.flavor));
        }
        self.same_rows(text).await;
    }

    async fn same_rows(&mut self, after: &str) {
        for table in ["t", "u", "g", "n", "o"] {
            let columns = if table == "t" { "id, a, b" } else { "*" };
            let query = format!("SELECT {columns} FROM {table}");
            let mut plain = ask(&mut self.plain.lease, query.as_bytes()).await.ok().expect("rows").rows;
            let mut sharded = Vec::new();
            for part in &mut self.parts {
                let rows = ask(&mut part.lease, query.as_bytes()).await.ok().expect("rows").rows;
                match table {
                    "g" if part.shard.0 > 0 => assert_eq!(rows, sharded, "the copies differ after {after}"),
                    _ => sharded.extend(rows),
                }
            }
            plain.sort();
            sharded.sort();
            if sharded != plain {
                self.differences.push(format!("{:?}: other rows in {table} after {after}", self.lab.flavor));
            }
        }
    }
}

/// Runs a test on both kinds of server, each in a runtime as workers have it.
fn on_both(test: impl AsyncFn(&mut Both)) {
    for flavor in [Flavor::MariaDb, Flavor::MySql] {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let mut both = Both::start(flavor).await;
            test(&mut both).await;
            assert_eq!(both.differences, Vec::<String>::new());
        });
    }
}

#[test]
fn effects_and_counts_are_those_of_one_server() {
    on_both(async |both| {
        for text in [
            "INSERT INTO t (id, a, b) VALUES (1,1,'a'),(2,2,'b'),(3,3,'c'),(4,4,'d'),(5,5,'e'),(6,6,'f'),(7,7,'g'),(8,8,'h')",
            "INSERT INTO t (id, a) VALUES (9,1)",
            "INSERT INTO t (id, a, b) VALUES (10,1,'x'),(1,1,'x'),(11,2,'y')",
            "INSERT IGNORE INTO t (id, a, b) VALUES (10,1,'x'),(1,1,'x'),(11,2,'y'),(12,2,'z')",
            "INSERT INTO t (id, a) VALUES (1,5),(20,6),(2,2) ON DUPLICATE KEY UPDATE a = a + 100",
            "REPLACE INTO t (id, a, b) VALUES (1,7,'r'),(21,8,'s'),(3,9,'t')",
            "INSERT INTO t (id, a) VALUES (ABS(-30), 1), (CHAR_LENGTH('abc') + 28, 2)",
            "INSERT INTO t (id, a, b) VALUES (40, 1, 'too long for the column that it is for'), (41, 1, 'b')",
            "INSERT INTO t VALUES (50, 1)",
            "INSERT INTO t SET id = 51, a = 5",
            "UPDATE t SET a = a + 1",
            "UPDATE t SET a = 5 WHERE id IN (1, 2, 3, 4)",
            "UPDATE t SET a = 5 WHERE a = 5",
            "UPDATE t SET b = 'x' WHERE a > 6 ORDER BY id DESC LIMIT 3",
            "UPDATE t SET b = 'y' WHERE a > 1000 ORDER BY id LIMIT 3",
            "UPDATE t SET nothing = 5",
            "DELETE FROM t WHERE a > 4 ORDER BY a DESC, id LIMIT 2",
            "DELETE FROM t WHERE id IN (1, 2)",
            "INSERT INTO u SELECT id, a, b FROM t",
            "INSERT INTO u SELECT id, a, b FROM t",
            "INSERT IGNORE INTO u SELECT id, a, b FROM t WHERE id > 4",
            "INSERT INTO u (id, a) SELECT id + 1000, a FROM t",
            "INSERT INTO u (id, a) SELECT id + 2000, a FROM t WHERE a > 1000",
            "INSERT INTO g VALUES (1, 1, 'a'), (2, 2, 'b')",
            "INSERT INTO g VALUES (2, 1, 'a')",
            "UPDATE g SET a = a + 1 WHERE id = 1",
            "INSERT INTO g SELECT id + 100, a, b FROM t",
            "UPDATE t JOIN g ON t.a = g.a SET t.b = g.b",
            "DELETE FROM g WHERE id > 100",
            "INSERT INTO n (b) VALUES ('a'), ('b'), ('c')",
            "INSERT INTO n VALUES (NULL, 'd'), (0, 'e'), (DEFAULT, 'f')",
            "INSERT INTO n VALUES (100, 'g'), (200, 'h')",
            "INSERT INTO n SET b = 'i'",
            "INSERT INTO n VALUES ()",
            "INSERT INTO o VALUES (x'00ff', 0.1e0, 12.340, 'ä''\\\\', b'101'), ('b', 1e300, -5, NULL, 1), ('c', NULL, 1, '', 2)",
            "INSERT INTO o SELECT CONCAT(k, 'x'), v, d, x, y FROM o",
            "DELETE FROM o WHERE v > 0 ORDER BY k LIMIT 2",
            "UPDATE u SET id = id + 5000 WHERE id < 8",
            "UPDATE u SET id = 6000, b = 'moved' WHERE id = 8",
            "UPDATE u SET id = 1008 WHERE id = 6000",
            "UPDATE u SET id = id, a = 5 WHERE a = 7",
            "UPDATE u SET id = '7000', a = a + 1 WHERE id = 5004",
            "UPDATE u SET id = id + 1 WHERE id = 100000",
            "DELETE FROM t",
        ] {
            both.same(text).await;
        }
    });
}

#[test]
fn a_statement_that_fails_leaves_what_came_before_it() {
    on_both(async |both| {
        both.same("INSERT INTO t (id, a) VALUES (1, 1), (2, 2), (3, 3), (4, 4)").await;
        both.everywhere("BEGIN").await;
        both.in_transaction = true;
        both.same("INSERT INTO t (id, a) VALUES (11, 1), (12, 2), (13, 3), (14, 4)").await;
        both.same("INSERT INTO t (id, a) VALUES (21, 1), (22, 2), (23, 3), (4, 4)").await;
        both.same("UPDATE t SET a = IF(id = 14, -1, a + 1)").await;
        both.same("DELETE FROM t WHERE id = 1").await;
        both.everywhere("COMMIT").await;
        both.same_rows("COMMIT").await;
    });
}

#[test]
fn a_statement_has_one_time_and_copies_one_chance() {
    on_both(async |both| {
        let rows: Vec<String> = (1..=40).map(|id| format!("({id}, 1)")).collect();
        both.sharded(&format!("INSERT INTO t (id, a) VALUES {}", rows.join(","))).await.expect("it is done");
        both.sharded("INSERT INTO g VALUES (1, 1, UUID()), (2, RAND() * 1000000, NOW(6))").await.expect("it is done");
        let mut times = Vec::new();
        let mut copies = Vec::new();
        for part in &mut both.parts {
            times.extend(ask(&mut part.lease, b"SELECT DISTINCT at FROM t").await.ok().expect("rows").rows);
            copies.push(ask(&mut part.lease, b"SELECT * FROM g ORDER BY id").await.ok().expect("rows").rows);
        }
        assert_eq!((times.len(), &times[0]), (2, &times[1]), "each shard has rows, and all have one time");
        assert_eq!(copies[0], copies[1]);
    });
}

#[test]
fn copies_that_differ_fail_the_statement_and_stay_as_they_are() {
    on_both(async |both| {
        both.same("INSERT INTO g VALUES (1, 1, 'a'), (2, 2, 'b')").await;
        ask(&mut both.parts[1].lease, b"DELETE FROM g WHERE id = 2")
            .await
            .ok()
            .expect("it is deleted behind Weir's back");
        let failure = both.sharded("UPDATE g SET a = 5").await.expect_err("the copies differ");
        assert!(failure.message.contains("copies of a GLOBAL table differ"), "{failure}");
        let left =
            ask(&mut both.parts[0].lease, b"SELECT COUNT(*) FROM g WHERE a = 5").await.ok().expect("a count").rows;
        assert_eq!(left, [[Some(b"0".to_vec())]]);
    });
}
