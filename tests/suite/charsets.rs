//! Texts of any character set, and bytes that are none, in statements of several shards: as on one server.

use libtest_mimic::Failed;
use weir_local::Flavor;

use crate::Collector;
use crate::compare::{Pair, Side, letter};
use crate::driver::connect;
use crate::lab::{APP, Lab};
use crate::login::Login;

use mysql::prelude::Queryable;

const TABLE: &str = "CREATE TABLE kept (id INT PRIMARY KEY, b BLOB, t VARCHAR(40)) CHARACTER SET utf8mb4";
const ROWS: &str = "INSERT INTO kept (id) VALUES (1), (2), (3), (4), (5), (6)";

/// Steps of a session, all of whose answers are compared. The rows are on both shards.
const STEPS: &[&str] = &[
    // Clients send what they have for a BLOB as text, whatever it is.
    "!prepare insert INSERT INTO kept (id, b) VALUES (?, ?), (?, ?), (?, ?)",
    "!exec insert 11, t'fffe00', 12, t'80', 13, t'61e4275c'",
    "!prepare change UPDATE kept SET b = CONCAT(b, ?) WHERE id IN (1, 12, 13) AND b = ?",
    "!exec change t'ff', t'80'",
    "SELECT id, HEX(b) FROM kept ORDER BY id",
    // It stays where it is, and hinders no other statement.
    "SET @bytes = '{b:ff}{b:fe}'",
    "SELECT id FROM kept ORDER BY id",
    "SELECT HEX(@bytes), CHARSET(@bytes)",
    "UPDATE kept SET t = 'all' WHERE id < 100",
    "SET @bytes = _binary '{b:ff}{b:fe}'",
    "UPDATE kept SET b = @bytes WHERE id < 100",
    "SELECT id, HEX(b) FROM kept ORDER BY id",
    // The server converts parameters, and Weir does not know how.
    "SET character_set_client = sjis",
    "!prepare text REPLACE INTO kept (id, b, t) VALUES (?, ?, ?), (?, ?, ?), (?, 'x', ?)",
    "!exec text 1, t'955c', t'955c', 2, t'835c5c27', t'835c5c27', 3, t'b1'",
    "SET character_set_client = cp1251",
    "!exec text 4, t'd7', t'd7', 5, t'275c', t'275c', 6, t'd65c'",
    "SET NAMES gbk",
    "!exec text 7, t'bf5c', t'bf5c', 8, t'815c27', t'815c27', 9, t'bf60'",
    "SET NAMES utf8mb4",
    "SELECT id, HEX(b), HEX(t) FROM kept ORDER BY id",
    // A separator is in the client's character set, and results are in another.
    "SET character_set_client = gbk",
    "SELECT GROUP_CONCAT(id SEPARATOR '{b:bf}{b:5c}') FROM kept WHERE id = 4 GROUP BY id",
    "SELECT LENGTH(GROUP_CONCAT(id SEPARATOR '{b:bf}{b:5c}')), COUNT(*) FROM kept",
    "SET NAMES utf8mb4",
    "SET @latin = CONVERT('é' USING latin1), @sjis = CONVERT('表' USING sjis)",
    "PREPARE both FROM 'UPDATE kept SET t = ? WHERE t <> ? AND id < 100'",
    "EXECUTE both USING @latin, @sjis",
    "SELECT id, HEX(t), HEX(@latin), CHARSET(@sjis) FROM kept ORDER BY id",
];

/// Adds this module's tests.
pub(crate) fn collect(tests: &mut Collector) {
    tests.add_for_weir("charsets::texts_of_any_character_set_over_shards", texts);
}

fn texts(lab: &Lab, flavor: Flavor) -> Result<(), Failed> {
    let site = lab.site(flavor)?;
    let name = format!("t_{}charsets", letter(flavor));
    site.fill(&name, &["CREATE DATABASE {db}", "USE {db}", TABLE, ROWS])?;
    lab.over_two(flavor, (&name, ""), |endpoint| {
        let mut session = connect(endpoint.port, APP, Some(&name))?;
        session.query_drop(format!("{TABLE} SHARD BY HASH(id)"))?;
        session.query_drop(ROWS)?;
        let sides = [site.tcp(), endpoint.address.clone()].map(|address| Side { address, database: name.clone() });
        let mut pair = Pair::new(&sides, &Login::new(APP.0, APP.1), false).decoded();
        for step in STEPS {
            pair.run(step)?;
        }
        Ok(())
    })
}
