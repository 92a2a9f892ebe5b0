//! Values of prepared statements that come in pieces.

use libtest_mimic::Failed;

use super::{DATABASE, Settings, Shards, SharedCase};
use crate::driver::{connect, expect_equal, run, value};
use crate::lab::{APP, Endpoint};
use crate::login::Login;
use crate::step::Session;

pub(super) const CASES: &[(&str, Settings, SharedCase)] = &[
    ("values_in_pieces_are_those_of_one_execution", &[], pieces),
    ("values_in_pieces_are_bounded_for_a_session", SMALL, bounded),
];

/// Statements that Weir sends elsewhere, or changes, by their values.
const STEPS: &[&str] = &[
    "!prepare generated INSERT INTO pieced (k, b) VALUES (?, ?)",
    "!long generated 1 some",
    "!long generated 1 thing",
    "!exec generated 1, ''",
    "!exec generated 2, 'whole'",
    "!prepare keyed INSERT INTO pieced (id, k, b) VALUES (?, ?, ?), (?, ?, ?), (?, ?, ?)",
    "!long keyed 2 first",
    "!long keyed 8 third",
    "!exec keyed 2001, 3, '', 2002, 4, NULL, 2003, 5, ''",
    "!prepare update UPDATE pieced SET b = CONCAT(b, ?) WHERE k > ?",
    "!long update 0 +",
    "!exec update '', 2",
    "!prepare delete DELETE FROM pieced WHERE b = ?",
    "!long delete 0 whole",
    "!exec delete ''",
    // Forgotten by COM_STMT_RESET.
    "!long generated 1 nothing",
    "!unlong generated",
    "!exec generated 6, 'new'",
    // There is no such parameter: the next execution says so, and only that one.
    "!long generated 2 nothing",
    "!exec generated 7, 'refused'",
    "!exec generated 8, 'again'",
];

/// Weir's bound for the test of what a session may send in pieces.
const SMALL: Settings = &[("clients.max_allowed_packet", "\"64KiB\"")];

/// All that a session's statements keep is bounded, not only the values of each.
fn bounded(_: &Shards, endpoint: &Endpoint) -> Result<(), Failed> {
    let mut reader = connect(endpoint.port, APP, Some(DATABASE))?;
    run(&mut reader, "CREATE TABLE bounded (id INT PRIMARY KEY, b MEDIUMBLOB) /*weir: shard by hash(id) */")?;
    let mut session = Session::new(&endpoint.address, &Login::new(APP.0, APP.1), DATABASE);
    let piece = "x".repeat(60_000);
    for id in 1..=5 {
        session.run(&format!("!prepare s{id} INSERT INTO bounded VALUES (?, ?)"));
        session.run(&format!("!long s{id} 1 {piece}"));
    }
    for id in 1..=5 {
        session.run(&format!("!exec s{id} {id}, ''"));
    }
    // The fifth was one too many; now that the others have run, it may be sent again.
    session.run(&format!("!long s5 1 {piece}"));
    session.run("!exec s5 6, ''");
    let rows = value(&mut reader, "SELECT GROUP_CONCAT(CONCAT(id, ' ', LENGTH(b)) ORDER BY id) FROM bounded")?;
    expect_equal("rows", rows, "1 60000,2 60000,3 60000,4 60000,6 60000".to_owned())?;
    run(&mut reader, "DROP TABLE bounded")?;
    Ok(())
}

fn pieces(_: &Shards, endpoint: &Endpoint) -> Result<(), Failed> {
    let mut reader = connect(endpoint.port, APP, Some(DATABASE))?;
    run(
        &mut reader,
        "CREATE TABLE pieced (id INT AUTO_INCREMENT PRIMARY KEY, k INT, b BLOB) /*weir: shard by hash(id) */",
    )?;
    let mut session = Session::new(&endpoint.address, &Login::new(APP.0, APP.1), DATABASE);
    for step in STEPS {
        session.run(step);
    }
    let rows = value(&mut reader, "SELECT GROUP_CONCAT(CONCAT(k, ' ', COALESCE(b, 'NULL')) ORDER BY k) FROM pieced")?;
    expect_equal("rows", rows, "1 something,3 first+,4 NULL,5 third+,6 new,8 again".to_owned())?;
    run(&mut reader, "DROP TABLE pieced")?;
    Ok(())
}
