//! Prepared statements with user variables, of sessions that share one connection: a server takes a variable for what it is when the
//! statement is prepared, and each session's is what that session had then.

use libtest_mimic::Failed;
use mysql::prelude::Queryable;
use weir_local::Flavor;

use crate::Collector;
use crate::compare::{self, Pair};
use crate::driver::{connect, expect_equal, value};
use crate::lab::{APP, Lab};
use crate::login::Login;

/// One connection for two sessions: what one has prepared is there for the other.
const SETTINGS: [(&str, &str); 2] = [("pool.max_connections", "1"), ("workers.threads", "1")];

const TABLES: [&str; 4] = [
    "DROP DATABASE IF EXISTS {db}",
    "CREATE DATABASE {db}",
    "CREATE TABLE {db}.counted (id INT PRIMARY KEY, c BIGINT NOT NULL, t TINYINT NOT NULL, w VARCHAR(9) COLLATE utf8mb4_general_ci NOT NULL) CHARACTER SET utf8mb4",
    "INSERT INTO {db}.counted VALUES (1, 0, 0, '2')",
];

const STATEMENTS: [&str; 5] = [
    "UPDATE counted SET c = c + COALESCE(@x, 1) WHERE id = 1",
    "UPDATE counted SET t = t + @x WHERE id = 1",
    "UPDATE counted SET w = CONCAT(@X, '') WHERE id = 1",
    "SELECT id, c + @`x` FROM counted",
    "SELECT @x, id FROM counted WHERE w = @x",
];

/// What the variable is when a session prepares. (One that is not set has a type that only a new connection can give it.)
const FIRST: [&str; 5] = ["5", "-1.5", "2e0", "'a'", "'bcd'"];
/// What it is when the session executes.
const THEN: [&str; 4] = ["'2x'", "7", "2.5", "NULL"];

/// Adds this module's tests.
pub(crate) fn collect(tests: &mut Collector) {
    tests.add("a_prepared_statement_has_user_variables_of_the_types_that_they_had", types_at_preparation);
    tests.add("a_view_leaves_its_functions_user_variables_to_nobody", out_of_sight);
    tests.add_for_weir("thousands_of_user_variables_go_along_to_other_shards", thousands);
    tests.add_for_weir("functions_leave_nothing_on_connections_that_weir_made_tables_on", after_the_workbench);
    tests.add_for_weir("nobody_is_told_of_the_diagnostics_of_others", diagnostics_of_others);
}

fn types_at_preparation(lab: &Lab, flavor: Flavor) -> Result<(), Failed> {
    let site = lab.site(flavor)?;
    lab.with_endpoint(site, &SETTINGS, |endpoint| {
        let sides = compare::sides(site, endpoint, &format!("{}uservars", compare::letter(flavor)));
        compare::fill(site, &sides, &TABLES)?;
        let login = Login::new(APP.0, APP.1);
        for one in FIRST {
            for other in FIRST {
                let mut pairs = [one, other].map(|first| (first, Pair::new(&sides, &login, false)));
                let mut run = || {
                    for (first, pair) in &mut pairs {
                        pair.run("SET sql_mode = ''")?;
                        pair.run(&format!("SET @x = {first}"))?;
                        for (number, statement) in STATEMENTS.iter().enumerate() {
                            pair.run(&format!("!prepare s{number} {statement}"))?;
                        }
                    }
                    for value in THEN {
                        for (_, pair) in &mut pairs {
                            pair.run(&format!("SET @x = {value}"))?;
                            for number in 0..STATEMENTS.len() {
                                pair.run(&format!("!exec s{number}"))?;
                                pair.run("SHOW WARNINGS")?;
                            }
                        }
                    }
                    Ok::<(), String>(())
                };
                run().map_err(|difference| format!("{one} beside {other}: {difference}"))?;
            }
        }
        Ok(())
    })
}

const OUT_OF_SIGHT: [&str; 4] = [
    "DROP DATABASE IF EXISTS {db}",
    "CREATE DATABASE {db}",
    "CREATE FUNCTION {db}.f() RETURNS INT DETERMINISTIC BEGIN SET @seen = 9; SET SESSION sort_buffer_size = 262144; RETURN 1; END",
    "CREATE VIEW {db}.v AS SELECT {db}.f() AS one",
];

/// A function that a view calls sets a variable of the server, of which the reply tells, and one of the user, of which it says only that
/// something has changed.
fn out_of_sight(lab: &Lab, flavor: Flavor) -> Result<(), Failed> {
    let site = lab.site(flavor)?;
    lab.with_endpoint(site, &SETTINGS, |endpoint| {
        let sides = compare::sides(site, endpoint, &format!("{}outofsight", compare::letter(flavor)));
        compare::fill(site, &sides, &OUT_OF_SIGHT)?;
        let login = Login::new(APP.0, APP.1);
        let mut session = Pair::new(&sides, &login, false);
        session.run("SELECT one FROM v")?;
        session.run("SELECT @seen")?;
        drop(session);
        Ok(Pair::new(&sides, &login, false).run("SELECT @seen")?)
    })
}

/// Connections that a failed statement, or a question of Weir's own, has left are lent to sessions that have run nothing yet.
fn diagnostics_of_others(lab: &Lab, flavor: Flavor) -> Result<(), Failed> {
    lab.over_two_shards(flavor, |endpoint| {
        let mut session = connect(endpoint.port, APP, None)?;
        session.query_drop("CREATE DATABASE t_told")?;
        session.query_drop("CREATE TABLE t_told.t (id INT PRIMARY KEY, v INT)")?;
        session.query_drop("INSERT INTO t_told.t VALUES (1, 0), (2, 0), (3, 0), (4, 0)")?;
        for text in [
            "SELECT secret FROM t_told.t ORDER BY id",
            "SELECT t_told.secret(1) FROM t_told.t",
            "CREATE TABLE t_told.t (id INT)",
        ] {
            expect_equal(text, session.query_drop(text).is_err(), true)?;
            for _ in 0..4 {
                let mut other = connect(endpoint.port, APP, None)?;
                expect_equal(text, value(&mut other, "SELECT @@error_count")?, "0".into())?;
                expect_equal(text, other.query::<mysql::Row, _>("SHOW WARNINGS")?.len(), 0)?;
                let mut other = connect(endpoint.port, APP, None)?;
                expect_equal(text, other.query::<mysql::Row, _>("SHOW WARNINGS")?.len(), 0)?;
            }
        }
        Ok(())
    })
}

/// A MariaDB server says that a function has changed something; what it was is asked for, on a connection on which Weir has had temporary
/// tables of its own.
fn after_the_workbench(lab: &Lab, flavor: Flavor) -> Result<(), Failed> {
    const SESSIONS: usize = 10;
    lab.over_two_shards(flavor, |endpoint| {
        let mut session = connect(endpoint.port, APP, None)?;
        session.query_drop("CREATE DATABASE t_bench")?;
        session.query_drop("USE t_bench")?;
        session.query_drop("CREATE TABLE spread (id INT PRIMARY KEY, n INT) /*weir: shard by hash(id) */")?;
        session.query_drop("INSERT INTO spread VALUES (1, 1), (2, 2), (3, 3), (4, 4)")?;
        let rows: Vec<String> = (0..SESSIONS).map(|id| format!("({id}, 0)")).collect();
        for shard in ["s1", "s2"] {
            let place = format!("/*weir: single on shard '{shard}' */");
            session.query_drop(format!("CREATE TABLE counter_{shard} (id INT PRIMARY KEY, n INT) {place}"))?;
            session.query_drop(format!("INSERT INTO counter_{shard} VALUES {}", rows.join(", ")))?;
            session.query_drop(format!(
                "CREATE FUNCTION counted_{shard}(i INT) RETURNS INT MODIFIES SQL DATA \
                 BEGIN UPDATE counter_{shard} SET n = n + 1 WHERE id = i; RETURN (SELECT n FROM counter_{shard} WHERE id = i); END"
            ))?;
        }
        for (round, shard) in ["s1", "s2", "s1", "s2"].iter().enumerate() {
            session.query_drop(format!("CREATE TABLE filled_{round} AS SELECT id, n FROM spread"))?;
            session.query_drop("SELECT a.id FROM spread a JOIN spread b ON a.id <> b.n ORDER BY a.id, b.id")?;
            // One of these has the connection of that query's workbench, on whichever shard it was.
            let mut sessions = Vec::new();
            for id in 0..SESSIONS {
                let mut session = connect(endpoint.port, APP, Some("t_bench"))?;
                for time in 1..=2 {
                    let counted = value(&mut session, &format!("SELECT counted_{shard}({id})"))?;
                    expect_equal("counted", counted, (round / 2 * 2 + time).to_string())?;
                    session.query_drop("BEGIN")?;
                }
                sessions.push(session);
            }
            for session in &mut sessions {
                session.query_drop("UPDATE spread SET n = n + 1")?;
                session.query_drop("COMMIT")?;
            }
            expect_equal("of all", value(&mut session, "SELECT SUM(n) FROM spread")?, (10 + 4 * SESSIONS * (round + 1)).to_string())?;
        }
        Ok(())
    })
}

/// Servers have stacks of some hundred KB, and descend into a text that is made of many items.
fn thousands(lab: &Lab, flavor: Flavor) -> Result<(), Failed> {
    const MANY: usize = 3000;
    lab.over_two_shards(flavor, |endpoint| {
        let mut session = connect(endpoint.port, APP, None)?;
        session.query_drop("CREATE DATABASE t_many")?;
        session.query_drop("CREATE TABLE t_many.t (id INT PRIMARY KEY, v INT)")?;
        session.query_drop("INSERT INTO t_many.t VALUES (1, 0), (2, 0), (3, 0), (4, 0)")?;
        let items = |sign: &str| -> Vec<String> { (0..MANY).map(|n| format!("@v{n} = {sign}{n}")).collect() };
        // In one text, of which the values are read; and one by one, as literals that Weir knows.
        session.query_drop(format!("SET {}", items("").join(", ")))?;
        expect_the_last(&mut session, "2999")?;
        session.query_drop(format!("SET {}", items("1 + ").join(", ")))?;
        expect_the_last(&mut session, "3000")?;
        for item in items("-") {
            session.query_drop(format!("SET {item}"))?;
        }
        expect_the_last(&mut session, "-2999")
    })
}

/// The variable has its value in statements of all shards, and of each.
fn expect_the_last(session: &mut mysql::Conn, last: &str) -> Result<(), Failed> {
    expect_equal("of all", value(session, "SELECT MIN(v + @v2999) FROM t_many.t")?, last.into())?;
    for id in 1..=4 {
        session.query_drop(format!("UPDATE t_many.t SET v = @v2999 WHERE id = {id}"))?;
        let read = value(session, &format!("SELECT v FROM t_many.t WHERE id = {id}"))?;
        expect_equal("of one", read, last.into())?;
        session.query_drop(format!("UPDATE t_many.t SET v = 0 WHERE id = {id}"))?;
    }
    Ok(())
}
