//! Statistics per digest: `WEIR SHOW DIGESTS`.

use std::time::Duration;

use libtest_mimic::Failed;
use mysql::prelude::Queryable;
use mysql::{Conn, Row};

use super::{Case, app, field};
use crate::driver::{expect_equal, expect_error, run, server_error};
use crate::lab::{Endpoint, Site, eventually};

const BOUND: Duration = Duration::from_secs(60);

pub(super) const CASES: &[Case] = &[
    ("digests_count_both_protocols", &[], counted),
    ("digests_count_lanes_errors_and_rows", &[], lanes_and_errors),
    ("digests_show_no_secret", &[], secrets),
];

/// The row of the digest with this text.
fn of(admin: &mut Conn, text: &str) -> Result<Row, Failed> {
    let rows: Vec<Row> = admin.query("WEIR SHOW DIGESTS LIMIT 1000")?;
    let found = rows.iter().find(|row| row.get::<String, _>("text").as_deref() == Some(text)).cloned();
    found.ok_or_else(|| format!("no digest `{text}` in {rows:?}").into())
}

fn counted(_: &Site, endpoint: &mut Endpoint) -> Result<(), Failed> {
    let mut admin = app(endpoint)?;
    admin.query_drop("WEIR RESET DIGESTS")?;
    admin.query_drop("DELETE FROM items")?;
    admin.query_drop("INSERT INTO items VALUES (1, 'one'), (2, 'two')")?;
    // Several clients, so that both workers have seen them.
    for id in 1..=8 {
        let mut client = app(endpoint)?;
        client.query_drop(format!("SELECT name FROM items WHERE id = {id}"))?;
        let _: Vec<Row> = client.exec("select name from items where id = ?", (id,))?;
    }
    let select = of(&mut admin, "SELECT name FROM items WHERE id = ?")?;
    expect_equal("count", field::<u64>(&select, "count")?, 16)?;
    expect_equal("rows sent", field::<u64>(&select, "rows_sent")?, 4)?;
    expect_equal("kind", field::<String>(&select, "kind")?, "select".to_owned())?;
    let time = |name| field::<f64>(&select, name);
    let ordered = [time("min_ms")?, time("p50_ms")?, time("p95_ms")?, time("p99_ms")?, time("max_ms")?];
    expect_equal("times in order", ordered.is_sorted() && ordered[0] > 0.0, true)?;
    expect_equal("times add up", time("total_ms")? >= ordered[0] * 16.0, true)?;
    let digest = field::<String>(&select, "digest")?;
    let expected = weir_sql::digest(b"SELECT name FROM items WHERE id = 1", weir_sql::LexMode::default());
    expect_equal("digest", digest, expected.to_string())?;
    let insert = of(&mut admin, "INSERT INTO items VALUES(...)")
        .or_else(|_| of(&mut admin, "INSERT INTO items VALUES (...)"))?;
    expect_equal("rows affected", field::<u64>(&insert, "rows_affected")?, 2)?;
    expect_equal("seen", field::<String>(&insert, "first_seen")?, field::<String>(&insert, "last_seen")?)?;

    let limited: Vec<Row> = admin.query("WEIR SHOW DIGESTS LIKE 'insert%' LIMIT 1")?;
    expect_equal("LIKE and LIMIT", limited.len(), 1)?;
    admin.query_drop("WEIR RESET DIGESTS")?;
    let none: Vec<Row> = admin.query("WEIR SHOW DIGESTS")?;
    expect_equal("after a reset", none.len(), 0)
}

fn lanes_and_errors(_: &Site, endpoint: &mut Endpoint) -> Result<(), Failed> {
    let mut admin = app(endpoint)?;
    // Whether they ride is learnt, which takes longer on a busy machine.
    eventually(BOUND, "statements ride", || {
        let ran = (0..50).all(|_| admin.query_drop("SELECT name FROM items WHERE id = 3").is_ok());
        let select = of(&mut admin, "SELECT name FROM items WHERE id = ?");
        ran && select.and_then(|select| field::<u64>(&select, "on_lanes")).is_ok_and(|rides| rides > 10)
    })?;
    let select = of(&mut admin, "SELECT name FROM items WHERE id = ?")?;
    expect_equal("on replicas", field::<u64>(&select, "on_replicas")?, 0)?;
    expect_error("no such table", &run(&mut admin, "SELECT * FROM nowhere"), 1146, "42S02")?;
    let failed = of(&mut admin, "SELECT * FROM nowhere")?;
    expect_equal("errors", (field::<u64>(&failed, "count")?, field::<u64>(&failed, "errors")?), (1, 1))?;
    // Weir itself answers these, and the transaction reaches no server.
    for statement in ["BEGIN", "COMMIT"] {
        admin.query_drop(statement)?;
        expect_equal(statement, field::<u64>(&of(&mut admin, statement)?, "count")?, 1)?;
    }
    Ok(())
}

fn secrets(_: &Site, endpoint: &mut Endpoint) -> Result<(), Failed> {
    let mut client = app(endpoint)?;
    // Refused or not: what counts is what is shown of them.
    for statement in [
        "CREATE USER nobody IDENTIFIED BY 'hunter2'",
        "ALTER USER nobody IDENTIFIED BY 'hunter2'",
        "ALTER USER nobody IDENTIFIED BY hunter2",
        "SET PASSWORD FOR nobody = 'hunter2'",
        "GRANT SELECT ON t_observe.* TO nobody IDENTIFIED BY \"hunter2\"",
        "SELECT 'hunter2', 42",
        "SELECT 'hunter2",
    ] {
        let outcome = run(&mut client, statement);
        if outcome.is_err() && server_error(&outcome).is_none() {
            return Err(format!("{statement}: {outcome:?}").into());
        }
    }
    let rows: Vec<Row> = client.query("WEIR SHOW DIGESTS")?;
    expect_equal("statements", rows.len() >= 6, true)?;
    let shown = format!("{rows:?}");
    expect_equal(&shown, shown.contains("hunter2"), false)
}
