//! Prepared statements with user variables, of sessions that share one connection: a server takes a variable for what it is when the
//! statement is prepared, and each session's is what that session had then.

use libtest_mimic::Failed;
use weir_local::Flavor;

use crate::Collector;
use crate::compare::{self, Pair};
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
