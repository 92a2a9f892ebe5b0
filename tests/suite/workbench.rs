//! Statements whose rows are gathered on one server, and locks on tables of several: what becomes of them when something ends them, and
//! that nothing of them stays.
//!
//! Each test ends with a look at the servers: no temporary table, no open transaction.

mod bounds;
mod cursors;
mod kills;
mod locks;
mod lost;
mod pieces;
mod procedures;
mod rights;

use std::path::Path;
use std::time::Duration;

use libtest_mimic::Failed;
use mysql::Conn;
use mysql::prelude::Queryable;
use weir_local::{Flavor, Server};

use crate::Collector;
use crate::driver::{connect, expect_error, run};
use crate::held::Held;
use crate::lab::{APP, Endpoint, Lab, MONITOR, Site, eventually};
use crate::weir::Weir;

const BOUND: Duration = Duration::from_secs(60);
const LIST_LASTS: Duration = Duration::from_millis(150);
const DATABASE: &str = "t_bench";
/// Rows of the large table.
const MANY: usize = 20_000;

/// A join off the keys, of which the answer is known.
const JOIN: &str = "SELECT COUNT(*) FROM orders o JOIN people p ON o.person = p.id WHERE p.name < 'z'";
/// The same, with locks: it waits on the shard for a row that is locked.
const LOCKING: &str = "SELECT o.id, p.name FROM orders o JOIN people p ON o.person = p.id FOR UPDATE";
/// Little is gathered; then the workbench is busy until it is killed.
const ENDLESS: &str = "SELECT COUNT(*) FROM few a, few b, few c, few d, few e, few f, few g, few h, few i \
    WHERE a.v + b.v + c.v + d.v + e.v + f.v + g.v + h.v + i.v < 0";
/// Much is gathered, and much is sent.
const LARGE: &str = "SELECT a.id, a.v, b.v FROM large a JOIN large b ON a.k = b.k";

/// Two shards.
struct Shards {
    sites: [Site; 2],
    /// The catalog, which outlives each Weir.
    catalog: String,
}

/// A test on servers that all tests share.
type SharedCase = fn(&Shards, &Endpoint) -> Result<(), Failed>;
/// A test that may harm its servers.
type PrivateCase = fn(&mut Shards, &Endpoint) -> Result<(), Failed>;
type Settings = &'static [(&'static str, &'static str)];

/// Adds this module's tests.
pub(crate) fn collect(tests: &mut Collector) {
    let held = std::sync::Arc::new(Held::new(Shards::start));
    let shared =
        [kills::CASES, locks::CASES, bounds::CASES, cursors::CASES, rights::CASES, procedures::CASES, pieces::CASES];
    for (word, settings, case) in shared.into_iter().flatten() {
        let held = held.clone();
        tests.add_for_weir(&format!("workbench::{word}"), move |lab: &Lab, flavor| {
            held.with(lab, flavor, |shards| {
                let weir = shards.weir(lab, settings)?;
                lab.judge(Endpoint::of(weir), |endpoint| {
                    fill(endpoint)?;
                    case(shards, endpoint)?;
                    shards.clean(endpoint)
                })
            })
        });
    }
    tests.add_for_weir(
        "workbench::a_procedure_reads_on_replicas_and_writes_where_writers_are",
        procedures::beside_replicas,
    );
    for (word, settings, case) in lost::CASES.iter().chain(procedures::PRIVATE) {
        tests.add_for_weir(&format!("workbench::{word}"), move |lab: &Lab, flavor| {
            let mut shards = Shards::start(flavor, &lab.directory()?)?;
            let weir = shards.weir(lab, settings)?;
            lab.judge(Endpoint::of(weir), |endpoint| {
                fill(endpoint)?;
                case(&mut shards, endpoint)?;
                shards.clean(endpoint)
            })
        });
    }
}

impl Shards {
    fn start(flavor: Flavor, parent: &Path) -> Result<Shards, Failed> {
        let sites = [Site::start(flavor, parent, "b1", &[])?, Site::start(flavor, parent, "b2", &[])?];
        for site in &sites {
            site.server.execute(&format!("GRANT ALL ON *.* TO '{}'@'%' WITH GRANT OPTION", MONITOR.0))?;
        }
        Ok(Shards { sites, catalog: format!("\"{}\"", parent.join("catalog").display()) })
    }

    fn weir(&self, lab: &Lab, settings: Settings) -> Result<Weir, Failed> {
        let [first, second] = &self.sites;
        let servers = [("s1", vec![&first.server]), ("s2", vec![&second.server])];
        let settings = [settings, &[("sharding.directory", &*self.catalog)]].concat();
        Weir::start_shards(&lab.directory()?, &servers, &settings)
    }

    /// Waits until no server has a temporary table or an open transaction.
    fn clean(&self, endpoint: &Endpoint) -> Result<(), Failed> {
        for (site, shard) in self.sites.iter().zip(["s1", "s2"]) {
            let mut left = String::new();
            let gone = eventually(BOUND, "nothing is left on the servers", || {
                // InnoDB shows the same list again to whoever asks within 0.1 s.
                std::thread::sleep(LIST_LASTS);
                left = left_on(&site.server).unwrap_or_else(|error| format!("{error:?}"));
                left.is_empty()
            });
            gone.map_err(|error| format!("{error:?}: {left}"))?;
            pooled_are_clean(&site.server, endpoint, shard)?;
        }
        Ok(())
    }
}

/// What there is of statements that should be gone: open transactions, and temporary tables (MariaDB can't list them).
fn left_on(server: &Server) -> Result<String, Failed> {
    let mut left =
        server.query("SELECT trx_mysql_thread_id, trx_state, trx_query FROM information_schema.innodb_trx")?;
    if server.installation().flavor() == Flavor::MySql {
        left.extend(server.query("SELECT name FROM information_schema.innodb_temp_table_info")?);
    }
    Ok(left.iter().map(|row| format!("{row:?} ")).collect())
}

/// On none of the connections that are kept for the user there is a table: so many sessions at once have all of them.
fn pooled_are_clean(server: &Server, endpoint: &Endpoint, shard: &str) -> Result<(), Failed> {
    let kept = format!("SELECT COUNT(*) FROM information_schema.processlist WHERE user = '{}'", APP.0);
    let kept: usize = server.query_value(&kept)?.ok_or("no count")?.parse()?;
    let mut sessions = Vec::new();
    for nth in 0..kept {
        let mut session = app(endpoint)?;
        session.query_drop(format!("SET weir_shard = '{shard}'"))?;
        // It keeps the connection. Transactions may not have all that there are.
        session.query_drop(format!("DO GET_LOCK('kept {nth}', 0)"))?;
        for left in TABLES {
            expect_error("a table that is left", &run(&mut session, left), 1146, "42S02")?;
        }
        sessions.push(session);
    }
    Ok(())
}

/// Only where the table was left there is an answer.
const TABLES: [&str; 2] = ["SELECT 1 FROM `weir fragment 1`", "SELECT 1 FROM `weir stepwise`"];

fn app(endpoint: &Endpoint) -> mysql::Result<Conn> {
    connect(endpoint.port, APP, Some(DATABASE))
}

/// Makes the tables, unless an earlier test has: every table has rows on both shards.
fn fill(endpoint: &Endpoint) -> Result<(), Failed> {
    eventually(BOUND, "a sharded database can be made", || {
        connect(endpoint.port, APP, None)
            .is_ok_and(|mut session| session.query_drop(format!("CREATE DATABASE IF NOT EXISTS {DATABASE}")).is_ok())
    })?;
    let mut session = app(endpoint)?;
    if session.query_first::<String, _>("SHOW TABLES LIKE 'large'")?.is_some() {
        return Ok(());
    }
    let tables = [
        "people (id INT PRIMARY KEY, name VARCHAR(20), secret VARCHAR(20))",
        "orders (id INT PRIMARY KEY, person INT NOT NULL, v INT NOT NULL DEFAULT 0)",
        "few (id INT PRIMARY KEY, v INT NOT NULL)",
        "large (id INT PRIMARY KEY, k INT NOT NULL, v VARCHAR(100) NOT NULL)",
    ];
    for table in tables {
        session.query_drop(format!("CREATE TABLE {table} SHARD BY HASH(id)"))?;
    }
    let rows = |count: usize, row: &dyn Fn(usize) -> String| (0..count).map(row).collect::<Vec<_>>().join(",");
    let people = rows(50, &|id| format!("({id}, 'p{id}', 'hidden')"));
    let orders = rows(200, &|id| format!("({id}, {}, 0)", (id * 7) % 50));
    session.query_drop(format!("INSERT INTO people VALUES {people}"))?;
    session.query_drop(format!("INSERT INTO orders VALUES {orders}"))?;
    session.query_drop(format!("INSERT INTO few VALUES {}", rows(20, &|id| format!("({id}, {id})"))))?;
    for chunk in 0..MANY / 1000 {
        let large = rows(1000, &|nth| {
            let id = chunk * 1000 + nth;
            format!("({id}, {id}, REPEAT('x', 100))")
        });
        session.query_drop(format!("INSERT INTO large VALUES {large}"))?;
    }
    Ok(())
}

/// The answer to [`JOIN`].
const JOINED: &str = "200";

/// Whether a server runs a statement with this text in it.
fn runs(server: &Server, text: &str) -> bool {
    let count = format!(
        "SELECT COUNT(*) FROM information_schema.processlist WHERE id <> CONNECTION_ID() AND info LIKE '%{text}%'"
    );
    server.query_value(&count).is_ok_and(|count| count.is_some_and(|count| count != "0"))
}

/// Where a statement is when something happens to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Moment {
    /// The workbench has its tables; rows of a shard are waited for, as one of them is locked.
    Gathering,
    /// The query runs on the workbench.
    Running,
}

impl Moment {
    const ALL: [Moment; 2] = [Moment::Gathering, Moment::Running];

    fn statement(self) -> &'static str {
        match self {
            Moment::Gathering => LOCKING,
            Moment::Running => ENDLESS,
        }
    }

    /// Has `work` done while a statement is at this moment; `session` runs it in a thread. Returns how it ended.
    fn meet(
        self,
        shards: &Shards,
        endpoint: &Endpoint,
        mut session: Conn,
        work: impl FnOnce() -> Result<(), Failed>,
    ) -> Result<(mysql::Result<()>, Conn), Failed> {
        let mut holder = app(endpoint)?;
        if self == Moment::Gathering {
            // All rows of both shards.
            holder.query_drop("BEGIN")?;
            holder.query_drop("UPDATE orders SET v = v + 1")?;
            session.query_drop("SET innodb_lock_wait_timeout = 100")?;
        }
        std::thread::scope(|scope| {
            let running = scope.spawn(move || (run(&mut session, self.statement()), session));
            let met = self.await_in(shards).and_then(|()| work());
            if met.is_err() {
                // Nothing else ends it.
                shards.end_all();
            }
            let ended = running.join().map_err(|_| Failed::from("the session panicked"))?;
            // If its shard was killed, the holder's transaction has ended, too.
            let _over = holder.query_drop("ROLLBACK");
            met.map(|()| ended)
        })
    }

    /// Waits until a statement is there.
    fn await_in(self, shards: &Shards) -> Result<(), Failed> {
        eventually(BOUND, &format!("it is {self:?}"), || match self {
            Moment::Gathering => shards.sites.iter().any(|site| runs(&site.server, "FOR UPDATE")),
            Moment::Running => shards.sites.iter().any(|site| runs(&site.server, "SELECT COUNT(*)%weir fragment 9")),
        })
    }
}

impl Shards {
    /// Ends whatever a failed test has left running.
    fn end_all(&self) {
        for site in &self.sites {
            let running = "SELECT id FROM information_schema.processlist WHERE info LIKE '%FOR UPDATE%' OR info LIKE '%weir fragment%'";
            for row in site.server.query(running).unwrap_or_default() {
                if let Some(Some(id)) = row.first() {
                    let _ended = site.server.execute(&format!("KILL {id}"));
                }
            }
        }
    }
}
