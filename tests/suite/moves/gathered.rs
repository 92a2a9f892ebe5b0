//! Tables that are sharded only by default, and become SINGLE with their rows because a definition needs it.

use libtest_mimic::Failed;
use mysql::Row;
use mysql::prelude::Queryable;
use weir_local::Flavor;

use super::{ON, Shards, all, latest, placement};
use crate::Collector;
use crate::driver::{connect, expect_equal, expect_error, run, value};
use crate::lab::{APP, Lab};

/// Adds this module's tests.
pub(super) fn collect(tests: &mut Collector) {
    tests.add_for_weir("moves::rows_go_where_a_definition_needs_them", needed);
}

fn needed(lab: &Lab, flavor: Flavor) -> Result<(), Failed> {
    let shards = Shards::start(lab, flavor)?;
    let session = &mut shards.app()?;
    let rows: Vec<String> = (1..=500).map(|id| format!("({id}, 'p{id}@x')")).collect();
    all(
        session,
        &[
            "CREATE TABLE people (id INT AUTO_INCREMENT PRIMARY KEY, mail VARCHAR(40))",
            &format!("INSERT INTO people VALUES {}", rows.join(", ")),
            "CREATE TABLE log (id INT PRIMARY KEY, what VARCHAR(20))",
            "INSERT INTO log VALUES (1, 'a'), (2, 'b'), (3, 'c'), (4, 'd')",
        ],
    )?;
    expect_equal("by default", placement(session, "people")?, "sharded".to_owned())?;
    // A statement that fails has moved the rows all the same: they are whole.
    let twice = session.query_drop("ALTER TABLE log ADD UNIQUE (what), ADD COLUMN id INT");
    expect_error("a column that is there", &twice, 1060, "42S21")?;
    expect_equal("all rows", value(session, "SELECT GROUP_CONCAT(id ORDER BY id) FROM log")?, "1,2,3,4".to_owned())?;

    run(session, "ALTER TABLE people ADD UNIQUE by_mail (mail)")?;
    let warned: Vec<(String, u16, String)> = session.query("SHOW WARNINGS")?;
    let told = warned.iter().any(|(_, _, text)| text.contains("people became SINGLE, with all rows"));
    expect_equal(&format!("a note: {warned:?}"), told, true)?;
    expect_equal("it is", placement(session, "people")?, "single".to_owned())?;
    expect_equal(
        "all rows",
        value(session, "SELECT CONCAT(COUNT(*), ' ', SUM(id)) FROM people")?,
        "500 125250".into(),
    )?;
    let again = session.query_drop("INSERT INTO people (mail) VALUES ('p7@x')");
    expect_error("a mail that is there", &again, 1062, "23000")?;
    run(session, "INSERT INTO people (mail) VALUES ('new@x')")?;
    let id: u32 = value(session, "SELECT LAST_INSERT_ID()")?.parse()?;
    expect_equal("a value that was not given before", id > 500, true)?;

    // A new table's foreign key, a trigger: what they refer to goes where they are.
    all(
        session,
        &[
            "CREATE TABLE visits (id INT PRIMARY KEY, v INT)",
            "INSERT INTO visits VALUES (1, 1), (2, 2), (3, 3)",
            "CREATE TABLE notes (id INT PRIMARY KEY, visit INT, FOREIGN KEY (visit) REFERENCES visits (id))",
            "INSERT INTO notes VALUES (1, 3)",
            "CREATE TABLE counted (id INT PRIMARY KEY)",
            "INSERT INTO counted VALUES (1), (2), (3), (4)",
            "CREATE TRIGGER counts AFTER INSERT ON counted FOR EACH ROW INSERT INTO log VALUES (NEW.id, 'counted')",
            "INSERT INTO counted VALUES (11)",
        ],
    )?;
    let orphan = session.query_drop("INSERT INTO notes VALUES (2, 9)");
    expect_error("a visit that is not there", &orphan, 1452, "23000")?;
    expect_equal("the trigger has run", value(session, "SELECT what FROM log WHERE id = 11")?, "counted".to_owned())?;
    expect_equal("nothing is left", shards.hidden()?, Vec::new())?;
    let differences: Vec<Row> = session.query("WEIR CATALOG CHECK")?;
    expect_equal("the catalog is right", format!("{differences:?}"), "[]".to_owned())?;
    without_rights(&shards)
}

/// Where Weir's own account may not move the tables they stay where they are, and the error says why: nothing waits for ever.
fn without_rights(shards: &Shards) -> Result<(), Failed> {
    let session = &mut connect(shards.weir.port, APP, None)?;
    all(
        session,
        &[
            &format!("CREATE DATABASE t_moves_without {ON}"),
            "USE t_moves_without",
            "CREATE TABLE members (id INT PRIMARY KEY, mail VARCHAR(40))",
            "INSERT INTO members VALUES (1, 'a'), (2, 'b'), (3, 'c')",
        ],
    )?;
    super::refuses(session, "ALTER TABLE members ADD UNIQUE (mail)", "ALTER ROUTINE ON `t\\_moves\\_without`.*")?;
    expect_equal("it was given up", latest(session, "phase")?, "cancelled".to_owned())?;
    expect_equal("it stays", placement(session, "members")?, "sharded".to_owned())?;
    all(session, &["INSERT INTO members VALUES (4, 'd')"])?;
    expect_equal("nothing is left", shards.hidden()?, Vec::new())?;
    all(session, &["DROP DATABASE t_moves_without"])
}
