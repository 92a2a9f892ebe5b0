//! Tables that change their placement while they are used: nothing is lost, nobody gets an error, whoever dies.

mod events;
mod gathered;
mod growth;
mod kills;
mod load;
mod programs;
mod servers;
mod stopped;
mod timed;
mod writers;

use std::path::Path;
use std::time::Duration;

use libtest_mimic::Failed;
use mysql::prelude::Queryable;
use mysql::{Conn, Row};
use weir_local::{Flavor, Server, move_grants, wait_for_replica};

use crate::Collector;
use crate::driver::{connect, expect_equal, expect_error, run, value};
use crate::lab::{APP, Lab, MONITOR, Site, eventually};
use crate::weir::Weir;

const BOUND: Duration = Duration::from_secs(60);
const DATABASE: &str = "t_moves";
const ON: &str = "/*weir: shards (s1, s2) */";
/// Whoever waits for a row's lock gets it, unless it is a deadlock.
const OPTIONS: &[&str] = &["binlog-format=ROW", "innodb-lock-wait-timeout=20"];

/// Adds this module's tests.
pub(crate) fn collect(tests: &mut Collector) {
    tests.add_for_weir("moves::a_table_goes_to_each_placement_and_back", to_each_placement);
    tests.add_for_weir("moves::a_definition_stays_as_it_was", definition);
    tests.add_for_weir("moves::tables_tied_by_foreign_keys_move_together", tied);
    tests.add_for_weir("moves::an_open_transaction_delays_the_cutover_without_errors", open_transaction);
    tests.add_for_weir("moves::what_is_cancelled_leaves_nothing", cancelled);
    tests.add_for_weir("moves::what_cannot_move_is_refused", refused);
    tests.add_for_weir("moves::replicas_show_no_state_from_before", replicas);
    load::collect(tests);
    kills::collect(tests);
    growth::collect(tests);
    gathered::collect(tests);
    events::collect(tests);
    programs::collect(tests);
    servers::collect(tests);
    stopped::collect(tests);
    timed::collect(tests);
    writers::collect(tests);
}

/// Weir and its shards.
struct Shards {
    sites: Vec<Site>,
    weir: Weir,
}

impl Shards {
    /// Two shards, with the database.
    fn start(lab: &Lab, flavor: Flavor) -> Result<Shards, Failed> {
        let sites = Shards::sites(flavor, &lab.directory()?)?;
        let weir = Shards::weir(lab, &sites)?;
        Shards::with_database(sites, weir)
    }

    /// Weir over servers that are shards s1, s2 and so on.
    fn weir(lab: &Lab, sites: &[Site]) -> Result<Weir, Failed> {
        let names: Vec<String> = (1..=sites.len()).map(|number| format!("s{number}")).collect();
        let shards: Vec<(&str, Vec<&Server>)> =
            names.iter().map(String::as_str).zip(sites.iter().map(|site| vec![&site.server])).collect();
        Weir::start_shards(&lab.directory()?, &shards, &[])
    }

    /// The servers, where Weir's own account may move the database's tables.
    fn sites(flavor: Flavor, parent: &Path) -> Result<Vec<Site>, Failed> {
        ["s1", "s2"].iter().map(|name| Shards::site(flavor, parent, name)).collect()
    }

    fn site(flavor: Flavor, parent: &Path, name: &str) -> Result<Site, Failed> {
        Shards::site_with(flavor, parent, name, OPTIONS)
    }

    fn site_with(flavor: Flavor, parent: &Path, name: &str, options: &[&str]) -> Result<Site, Failed> {
        let site = Site::start(flavor, parent, name, options)?;
        site.server.execute(&format!("GRANT {} TO '{}'@'%'", move_grants(DATABASE), MONITOR.0))?;
        Ok(site)
    }

    fn with_database(sites: Vec<Site>, weir: Weir) -> Result<Shards, Failed> {
        let shards = Shards { sites, weir };
        eventually(BOUND, "the database can be made", || {
            connect(shards.weir.port, APP, None)
                .and_then(|mut session| run(&mut session, &format!("CREATE DATABASE IF NOT EXISTS {DATABASE} {ON}")))
                .is_ok()
        })?;
        Ok(shards)
    }

    fn app(&self) -> Result<Conn, Failed> {
        Ok(connect(self.weir.port, APP, Some(DATABASE))?)
    }

    /// The schemas of moves that any shard has.
    fn hidden(&self) -> Result<Vec<String>, Failed> {
        Shards::hidden_on(&self.servers())
    }

    fn servers(&self) -> Vec<&Server> {
        self.sites.iter().map(|site| &site.server).collect()
    }

    fn hidden_on(servers: &[&Server]) -> Result<Vec<String>, Failed> {
        let mut all = Vec::new();
        for server in servers {
            let mut root = server.admin()?;
            let sql = "SELECT schema_name FROM information_schema.schemata WHERE schema_name LIKE 'weir\\_%'";
            all.extend(root.query::<String, _>(sql)?);
        }
        Ok(all)
    }
}

/// Runs statements, the failing one named.
fn all(session: &mut Conn, statements: &[&str]) -> Result<(), Failed> {
    for statement in statements {
        run(session, statement).map_err(|error| format!("{statement}: {error}"))?;
    }
    Ok(())
}

/// Passes if a statement is refused as not supported, in these words.
fn refuses(session: &mut Conn, statement: &str, words: &str) -> Result<(), Failed> {
    let refused = session.query_drop(statement);
    expect_error(statement, &refused, 1235, "42000")?;
    let text = refused.map_or_else(|error| error.to_string(), |()| String::new());
    if text.contains(words) { Ok(()) } else { Err(format!("{statement}: {words:?} expected in {text:?}").into()) }
}

/// A column of the latest move.
fn latest(session: &mut Conn, column: &str) -> Result<String, Failed> {
    let rows: Vec<Row> = session.query("WEIR SHOW MOVES")?;
    let row = rows.last().ok_or("there is no move")?;
    Ok(row.get::<Option<String>, _>(column).flatten().unwrap_or_default())
}

/// Waits until the latest move is in a phase.
fn reaches(session: &mut Conn, phase: &str) -> Result<(), Failed> {
    let mut last = String::new();
    let reached = eventually(BOUND, &format!("the move is in phase {phase}"), || {
        last = latest(session, "phase").unwrap_or_default();
        last == phase
    });
    reached.map_err(|failed| {
        let rows: Vec<Row> = session.query("WEIR SHOW MOVES").unwrap_or_default();
        format!("{}: {rows:?}", failed.message().unwrap_or_default()).into()
    })
}

fn placement(session: &mut Conn, table: &str) -> Result<String, Failed> {
    let row: Option<Row> = session.query_first(format!("WEIR SHOW TABLES LIKE '{table}'"))?;
    Ok(row.and_then(|row| row.get("placement")).ok_or("there is no such table")?)
}

fn to_each_placement(lab: &Lab, flavor: Flavor) -> Result<(), Failed> {
    let shards = Shards::start(lab, flavor)?;
    let session = &mut shards.app()?;
    all(
        session,
        &[
            "CREATE TABLE t (id INT AUTO_INCREMENT, region VARCHAR(10) NOT NULL, at DATE NOT NULL, v INT, PRIMARY KEY (id, region)) SINGLE ON SHARD 's1'",
            "INSERT INTO t (region, at, v) VALUES ('north', '2024-01-05', 1), ('south', '2025-02-05', 2), ('east', '2025-03-01', 3), \
         ('west', '2026-07-09', 4), ('north', '2026-08-09', 5)",
        ],
    )?;
    let mut rows = 5;
    let steps = [
        ("SHARD BY HASH(id)", "sharded"),
        ("GLOBAL", "global"),
        ("SINGLE ON SHARD 's2'", "single"),
        ("PARTITION BY HASH(id) PARTITIONS 8", "sharded"),
        ("/*weir: shard by list(region) (s1 VALUES IN ('north'), s2 DEFAULT) */", "sharded"),
    ];
    for (turn, (clause, expected)) in steps.iter().enumerate() {
        let before = value(session, "SELECT GROUP_CONCAT(CONCAT_WS(':', id, region, at, v) ORDER BY id) FROM t")?;
        all(session, &[&format!("ALTER TABLE t {clause}")])?;
        expect_equal(clause, placement(session, "t")?, (*expected).to_owned())?;
        let after = value(session, "SELECT GROUP_CONCAT(CONCAT_WS(':', id, region, at, v) ORDER BY id) FROM t")?;
        expect_equal(clause, after, before)?;
        // The next value is behind all that were given.
        run(session, "INSERT INTO t (region, at, v) VALUES ('new', '2027-01-01', 9)")?;
        rows += 1;
        let id: u64 = value(session, "SELECT LAST_INSERT_ID()")?.parse()?;
        if id < rows {
            return Err(format!("{clause}: value {id} was given before").into());
        }
        expect_equal("no row twice", value(session, "SELECT COUNT(*) FROM t")?, rows.to_string())?;
        if turn == 1 {
            // What was written since the cutover stays.
            run(session, "UPDATE t SET v = 77 WHERE id = 2")?;
            let id = latest(session, "id")?;
            all(session, &[&format!("WEIR MOVE UNDO {id}")])?;
            reaches(session, "undone")?;
            expect_equal("undone", placement(session, "t")?, "sharded".to_owned())?;
            expect_equal("it stays", value(session, "SELECT v FROM t WHERE id = 2")?, "77".to_owned())?;
            expect_equal("all stays", value(session, "SELECT COUNT(*) FROM t")?, rows.to_string())?;
            all(session, &["ALTER TABLE t GLOBAL"])?;
        }
    }
    let id = latest(session, "id")?;
    let refused = session.query_drop("ALTER TABLE t ADD COLUMN more INT");
    expect_error("a definition of a table that has moved", &refused, 1235, "42000")?;
    all(session, &[&format!("WEIR MOVE FINISH {id}")])?;
    reaches(session, "finished")?;
    all(session, &["ALTER TABLE t ADD COLUMN more INT"])?;
    expect_equal("nothing is left", shards.hidden()?, Vec::new())?;
    let differences: Vec<Row> = session.query("WEIR CATALOG CHECK")?;
    expect_equal("the catalog is right", format!("{differences:?}"), "[]".to_owned())
}

fn definition(lab: &Lab, flavor: Flavor) -> Result<(), Failed> {
    let shards = Shards::start(lab, flavor)?;
    let session = &mut shards.app()?;
    all(session, &[
        "CREATE TABLE t (id BIGINT UNSIGNED NOT NULL, name VARCHAR(40) CHARACTER SET latin1 NOT NULL DEFAULT 'x' COMMENT 'it''s a name', \
         price DECIMAL(10,2) CHECK (price >= 0), kind ENUM('a','b') DEFAULT 'b', twice DECIMAL(12,2) GENERATED ALWAYS AS (price * 2) STORED, \
         doc TEXT, hidden INT INVISIBLE DEFAULT 3, changed TIMESTAMP(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3) ON UPDATE CURRENT_TIMESTAMP(3), \
         b BIT(9), bin VARBINARY(20), PRIMARY KEY (id), KEY name_of (name, price), FULLTEXT KEY words (doc)) COMMENT='a table; with -- signs' \
         /*!50100 PARTITION BY RANGE (id) (PARTITION p0 VALUES LESS THAN (100), PARTITION p1 VALUES LESS THAN MAXVALUE) */ SINGLE"
            .replace("FULLTEXT KEY words (doc)", "KEY more (kind)")
            .as_str(),
        "INSERT INTO t (id, name, price, kind, doc, hidden, b, bin) VALUES (18446744073709551615, 'Grö\\'ße', 12.50, 'a', 'long \\\\ text', 8, b'101', x'00ff27'), \
         (5, '', NULL, NULL, NULL, NULL, NULL, NULL), (150, 'z', 0, 'b', '', 1, b'1', '')",
    ])?;
    let shown = |session: &mut Conn| -> Result<String, Failed> {
        let row: Option<(String, String)> = session.query_first("SHOW CREATE TABLE t")?;
        let text = row.ok_or("no definition")?.1;
        Ok(text.rsplit_once(" /*weir:").map_or(text.clone(), |(text, _)| text.to_owned()))
    };
    let rows = |session: &mut Conn| -> Result<String, Failed> {
        let all: Vec<Row> = session
            .query("SELECT id, name, price, kind, twice, doc, hidden, changed, b, HEX(bin) FROM t ORDER BY id")?;
        Ok(format!("{all:?}"))
    };
    let before = (shown(session)?, rows(session)?);
    for clause in ["SHARD BY HASH(id)", "GLOBAL", "SINGLE ON SHARD 's2'"] {
        all(session, &[&format!("ALTER TABLE t {clause}")])?;
        expect_equal(clause, (shown(session)?, rows(session)?), before.clone())?;
    }
    Ok(())
}

fn tied(lab: &Lab, flavor: Flavor) -> Result<(), Failed> {
    let shards = Shards::start(lab, flavor)?;
    let session = &mut shards.app()?;
    all(
        session,
        &[
            "CREATE TABLE products (id INT PRIMARY KEY) GLOBAL",
            "CREATE TABLE customers (id INT PRIMARY KEY, name VARCHAR(20)) SINGLE",
            "CREATE TABLE orders (customer_id INT NOT NULL, id INT NOT NULL, PRIMARY KEY (customer_id, id), \
         CONSTRAINT of_customer FOREIGN KEY (customer_id) REFERENCES customers (id)) SINGLE",
            "CREATE TABLE order_lines (customer_id INT NOT NULL, order_id INT NOT NULL, line INT NOT NULL, product_id INT NOT NULL, \
         PRIMARY KEY (customer_id, order_id, line), CONSTRAINT of_order FOREIGN KEY (customer_id, order_id) REFERENCES orders (customer_id, id), \
         FOREIGN KEY (product_id) REFERENCES products (id)) SINGLE",
            "INSERT INTO products VALUES (1), (2)",
            "INSERT INTO customers VALUES (1, 'a'), (2, 'b'), (3, 'c'), (4, 'd')",
            "INSERT INTO orders VALUES (1, 1), (1, 2), (2, 1), (4, 9)",
            "INSERT INTO order_lines VALUES (1, 1, 1, 1), (1, 1, 2, 2), (4, 9, 1, 2)",
        ],
    )?;
    refuses(session, "ALTER TABLE customers SHARD BY HASH(id)", "orders")?;
    all(
        session,
        &["WEIR MOVE TABLES customers TO SHARD BY HASH(id), orders, order_lines TO SHARD BY HASH(customer_id)"],
    )?;
    reaches(session, "reverse")?;
    let joined = "SELECT COUNT(*) FROM customers c JOIN orders o ON o.customer_id = c.id JOIN order_lines l ON l.customer_id = \
                  o.customer_id AND l.order_id = o.id JOIN products p ON p.id = l.product_id";
    expect_equal("all rows are there", value(session, joined)?, "3".to_owned())?;
    for table in ["customers", "orders", "order_lines"] {
        expect_equal(table, placement(session, table)?, "sharded".to_owned())?;
    }
    let child = session.query_drop("INSERT INTO orders VALUES (99, 1)");
    expect_error("a row that refers to none", &child, 1452, "23000")?;
    let parent = session.query_drop("DELETE FROM customers WHERE id = 4");
    expect_error("a row that is referred to", &parent, 1451, "23000")?;
    let product = session.query_drop("DELETE FROM products WHERE id = 2");
    expect_error("a row of a GLOBAL table that is referred to", &product, 1451, "23000")?;
    all(session, &["INSERT INTO orders VALUES (3, 1)", "INSERT INTO order_lines VALUES (3, 1, 1, 1)"])?;
    let id = latest(session, "id")?;
    all(session, &[&format!("WEIR MOVE UNDO {id}")])?;
    reaches(session, "undone")?;
    expect_equal("all rows are back", value(session, joined)?, "4".to_owned())?;
    let child = session.query_drop("INSERT INTO orders VALUES (99, 1)");
    expect_error("a row that refers to none", &child, 1452, "23000")?;
    expect_equal("nothing is left", shards.hidden()?, Vec::new())
}

fn open_transaction(lab: &Lab, flavor: Flavor) -> Result<(), Failed> {
    let shards = Shards::start(lab, flavor)?;
    let (session, holder, other) = (&mut shards.app()?, &mut shards.app()?, &mut shards.app()?);
    all(
        session,
        &[
            "CREATE TABLE t (id INT PRIMARY KEY, v INT) SINGLE",
            "CREATE TABLE u (id INT PRIMARY KEY, v INT) SINGLE",
            "INSERT INTO t VALUES (1, 1), (2, 2), (3, 3)",
            "INSERT INTO u VALUES (1, 1)",
        ],
    )?;
    all(holder, &["BEGIN", "UPDATE t SET v = 10 WHERE id = 1"])?;
    all(session, &["WEIR MOVE TABLES t TO SHARD BY HASH(id)"])?;
    reaches(session, "follow")?;
    // It uses another table only: nobody waits for it.
    all(other, &["BEGIN", "UPDATE u SET v = 10 WHERE id = 1"])?;
    eventually(BOUND, "the cutover waits", || {
        latest(session, "state").is_ok_and(|state| state.contains("open transactions"))
    })?;
    // Others are not held for as long as it is open.
    for turn in 0..20 {
        all(session, &[&format!("UPDATE t SET v = {turn} WHERE id = 2"), "SELECT * FROM t"])?;
    }
    all(holder, &["UPDATE t SET v = 11 WHERE id = 3", "COMMIT"])?;
    reaches(session, "reverse")?;
    expect_equal("all is there", value(session, "SELECT GROUP_CONCAT(v ORDER BY id) FROM t")?, "10,19,11".to_owned())?;
    // Its snapshot is from before: it would miss rows of the table that came.
    let old = other.query_drop("SELECT * FROM t");
    expect_error("a snapshot from before", &old, 1412, "HY000")?;
    all(other, &["COMMIT", "BEGIN", "SELECT * FROM t", "COMMIT"])?;
    expect_equal("its own change stays", value(session, "SELECT v FROM u")?, "10".to_owned())
}

fn cancelled(lab: &Lab, flavor: Flavor) -> Result<(), Failed> {
    let shards = Shards::start(lab, flavor)?;
    let session = &mut shards.app()?;
    all(session, &["CREATE TABLE t (id INT PRIMARY KEY, v INT) SINGLE", "INSERT INTO t VALUES (1, 1), (2, 2)"])?;
    let holder = &mut shards.app()?;
    all(holder, &["BEGIN", "SELECT * FROM t FOR UPDATE"])?;
    all(session, &["WEIR MOVE TABLES t TO GLOBAL"])?;
    reaches(session, "follow")?;
    let refused = session.query_drop("DROP TABLE t");
    expect_error("a definition meanwhile", &refused, 1235, "42000")?;
    let again = session.query_drop("WEIR MOVE TABLES t TO SHARD BY HASH(id)");
    expect_error("another move meanwhile", &again, 1235, "42000")?;
    let id = latest(session, "id")?;
    all(session, &[&format!("WEIR MOVE CANCEL {id}")])?;
    reaches(session, "cancelled")?;
    expect_equal("nothing is left", shards.hidden()?, Vec::new())?;
    // The same by KILL QUERY of the one who waits.
    let port = shards.weir.port;
    let altering = std::thread::spawn(move || -> Result<mysql::Result<()>, mysql::Error> {
        let mut session = connect(port, APP, Some(DATABASE))?;
        Ok(session.query_drop("ALTER TABLE t SHARD BY HASH(id)"))
    });
    let mut waits = None;
    eventually(BOUND, "the ALTER waits", || {
        let found: Option<u64> = session
            .query_first("SELECT 1")
            .and_then(|_: Option<u8>| session.query::<Row, _>("WEIR SHOW SESSIONS"))
            .ok()
            .and_then(|rows| {
                rows.iter()
                    .find(|row| row.get::<String, _>("state").is_some_and(|state| state == "Moving the table"))
                    .and_then(|row| row.get("id"))
            });
        waits = found;
        waits.is_some() && latest(session, "phase").is_ok_and(|phase| phase == "follow")
    })?;
    all(session, &[&format!("KILL QUERY {}", waits.unwrap_or_default())])?;
    let ended = altering.join().map_err(|_| "it panicked")??;
    expect_error("the ALTER that was killed", &ended, 1317, "70100")?;
    reaches(session, "cancelled")?;
    all(holder, &["COMMIT"])?;
    expect_equal("it is where it was", placement(session, "t")?, "single".to_owned())?;
    expect_equal("nothing is left", shards.hidden()?, Vec::new())?;
    all(session, &["ALTER TABLE t ADD COLUMN w INT"])
}

fn refused(lab: &Lab, flavor: Flavor) -> Result<(), Failed> {
    let shards = Shards::start(lab, flavor)?;
    let session = &mut shards.app()?;
    all(
        session,
        &[
            "CREATE TABLE plain (a INT) SINGLE",
            "CREATE TABLE mails (id INT PRIMARY KEY, mail VARCHAR(20) UNIQUE) SINGLE",
            "CREATE TABLE noted (id INT PRIMARY KEY, v INT) SINGLE",
            "CREATE TABLE seen (id INT PRIMARY KEY) SINGLE",
            "CREATE TABLE fine (id INT PRIMARY KEY) SINGLE",
            "CREATE VIEW looks AS SELECT seen.id FROM seen JOIN fine ON fine.id = seen.id",
            "CREATE TRIGGER notes AFTER INSERT ON noted FOR EACH ROW INSERT INTO plain VALUES (NEW.id)",
        ],
    )?;
    let cases = [
        ("ALTER TABLE plain GLOBAL", "PRIMARY KEY"),
        ("ALTER TABLE mails SHARD BY HASH(id)", "UNIQUE UNCHECKED"),
        ("ALTER TABLE noted SHARD BY HASH(id)", "notes"),
        ("ALTER TABLE seen SINGLE ON SHARD 's2'", "looks"),
        ("ALTER TABLE fine SHARD BY HASH(id), ADD COLUMN b INT", "statement of its own"),
        ("ALTER TABLE fine ADD COLUMN b INT, GLOBAL", "statement of its own"),
        ("WEIR MOVE TABLES fine TO SINGLE ON SHARD 's9'", "s9"),
    ];
    for (statement, words) in cases {
        refuses(session, statement, words)?;
    }
    let moves: Vec<Row> = session.query("WEIR SHOW MOVES")?;
    expect_equal("no move was begun", moves.len(), 0)?;
    all(
        session,
        &["ALTER TABLE mails SHARD BY HASH(id) UNIQUE UNCHECKED (mail)", "ALTER TABLE fine SINGLE ON SHARD 's1'"],
    )
}

fn replicas(lab: &Lab, flavor: Flavor) -> Result<(), Failed> {
    let parent = lab.directory()?;
    let sites = Shards::sites(flavor, &parent)?;
    let replicas: Vec<Server> = sites
        .iter()
        .zip(["r1", "r2"])
        .map(|(site, name)| site.start_replica(&parent, name))
        .collect::<Result<_, _>>()?;
    for (site, replica) in sites.iter().zip(&replicas) {
        wait_for_replica(&site.server, replica, BOUND)?;
    }
    let servers: Vec<(&str, Vec<&Server>)> =
        vec![("s1", vec![&sites[0].server, &replicas[0]]), ("s2", vec![&sites[1].server, &replicas[1]])];
    let weir = Weir::start_shards(&lab.directory()?, &servers, &[])?;
    let shards = Shards::with_database(sites, weir)?;
    let session = &mut shards.app()?;
    all(
        session,
        &["CREATE TABLE t (id INT PRIMARY KEY, v INT) SINGLE", "INSERT INTO t VALUES (1, 1), (2, 2), (3, 3), (4, 4)"],
    )?;
    for turn in 0..6 {
        let clause = if turn % 2 == 0 { "SHARD BY HASH(id)" } else { "SINGLE ON SHARD 's2'" };
        all(session, &[&format!("ALTER TABLE t {clause}")])?;
        for level in ["session", "eventual", "strong"] {
            // It has seen nothing yet, and must not see what was before.
            let fresh = &mut shards.app()?;
            all(fresh, &[&format!("SET weir_consistency = '{level}'")])?;
            for _ in 0..5 {
                expect_equal(level, value(fresh, "SELECT COUNT(*) FROM t")?, "4".to_owned())?;
            }
        }
    }
    Ok(())
}
