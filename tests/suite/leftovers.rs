//! What sessions leave on connections, out of a reset's reach or on connections of a statement's own: the next one has nothing of it.

use libtest_mimic::Failed;
use mysql::prelude::Queryable;
use weir_local::Flavor;

use crate::Collector;
use crate::driver::{connect, expect_equal, expect_error, value};
use crate::lab::{APP, Endpoint, Lab};

/// One connection for all sessions.
const SETTINGS: [(&str, &str); 2] = [("pool.max_connections", "1"), ("workers.threads", "1")];

/// Adds this module's tests.
pub(crate) fn collect(tests: &mut Collector) {
    tests.add_for_weir("nobody_sees_what_a_connection_has_recorded_of_others", records_of_others);
    tests.add_for_weir("nobody_has_what_a_definition_has_left_on_its_connection", left_by_definitions);
}

/// Neither COM_RESET_CONNECTION clears MySQL's traces of the optimizer, nor MariaDB's profiles.
fn records_of_others(lab: &Lab, flavor: Flavor) -> Result<(), Failed> {
    let site = lab.site(flavor)?;
    let mut begun = vec![
        "SET optimizer_trace = 'enabled=on'",
        "SET optimizer_trace = 'enabled=on', innodb_lock_wait_timeout = 5",
        "SET profiling = 1",
    ];
    if flavor == Flavor::MariaDb {
        begun.push("SET STATEMENT optimizer_trace = 'enabled=on' FOR SELECT 'secret'");
    }
    lab.with_endpoint(site, &SETTINGS, |endpoint| nobody_sees(endpoint, &begun))?;
    // Over shards Weir asks for the values of variables that a server does not report, so that they do not bind.
    lab.over_two_shards(flavor, |endpoint| {
        connect(endpoint.port, APP, None)?.query_drop("CREATE DATABASE t_recorded")?;
        nobody_sees(endpoint, &begun)
    })
}

/// What a session that has begun with each of these does is seen by no other one, nor by itself after a reset.
fn nobody_sees(endpoint: &Endpoint, begun: &[&str]) -> Result<(), Failed> {
    let ask = ["SHOW PROFILES", "SELECT query FROM information_schema.optimizer_trace"];
    for begin in begun {
        for resets in [false, true] {
            let mut session = connect(endpoint.port, APP, None)?;
            for text in [*begin, "SELECT 'secret' FROM information_schema.ENGINES"] {
                session.query_drop(text)?;
            }
            let mut other = match resets {
                true => {
                    session.reset()?;
                    session
                }
                false => {
                    drop(session);
                    connect(endpoint.port, APP, None)?
                }
            };
            for question in ask {
                let rows: Vec<mysql::Row> = other.query(question)?;
                expect_equal(&format!("{begin}, {question}"), rows.len(), 0)?;
            }
        }
    }
    Ok(())
}

/// Definitions and SHOW over shards run on connections of their own, which others get then.
fn left_by_definitions(lab: &Lab, flavor: Flavor) -> Result<(), Failed> {
    lab.over_two_shards(flavor, |endpoint| {
        let mut session = connect(endpoint.port, APP, None)?;
        for text in ["CREATE DATABASE t_left", "USE t_left", "CREATE TABLE t (id INT PRIMARY KEY)"] {
            session.query_drop(text)?;
        }
        for text in [
            "ALTER EVENT e ON SCHEDULE AT IF((@secret := 5), NOW(), NOW()) DO SELECT 1",
            "CREATE EVENT e ON SCHEDULE AT IF((@secret := 5), NOW() + INTERVAL 1 DAY, NOW()) DO SELECT 1",
            "CREATE TABLE s AS SELECT (@secret := 5) x",
            "SHOW TABLES WHERE (@secret := 5) = 5",
            "SHOW COLUMNS FROM t WHERE (@secret := 5) = 5",
        ] {
            // The first event is not there.
            expect_equal(text, session.query_drop(text).is_err(), text.starts_with("ALTER"))?;
            let mut others = Vec::new();
            for _ in 0..6 {
                let mut other = connect(endpoint.port, APP, None)?;
                // In a transaction it keeps its connection, so that each has another one.
                other.query_drop("BEGIN")?;
                expect_equal(text, value(&mut other, "SELECT @secret IS NULL")?, "1".into())?;
                others.push(other);
            }
        }
        for text in [
            "CREATE EVENT f ON SCHEDULE AT IF(GET_LOCK('left', 0), NOW() + INTERVAL 1 DAY, NOW()) DO SELECT 1",
            "CREATE TABLE u AS SELECT GET_LOCK('left', 0) x",
            "SHOW TABLES WHERE GET_LOCK('left', 0)",
            "SHOW INDEX FROM t WHERE GET_LOCK('left', 0)",
        ] {
            expect_error(text, &session.query_drop(text), 1235, "42000")?;
            expect_equal(text, value(&mut session, "SELECT IS_FREE_LOCK('left')")?, "1".into())?;
        }
        Ok(())
    })
}
