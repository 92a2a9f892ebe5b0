//! What the table counts and keeps, and what no text shows.

use std::time::{Duration, Instant};

use super::*;

fn entry(table: &Table, text: &str) -> Rc<Digested> {
    let mode = LexMode::default();
    table.entry(text.as_bytes(), mode, &weir_sql::classify(text.as_bytes(), mode))
}

fn run(microseconds: u64) -> Run {
    Run {
        ended: Instant::now(),
        time: Duration::from_micros(microseconds),
        rows_sent: 2,
        rows_affected: 1,
        bytes: 100,
        failed: false,
        on_replica: false,
        on_lane: true,
    }
}

#[test]
fn runs_of_one_digest_are_added_up() {
    let (one, two) = (Table::default(), Table::default());
    for (table, text, times) in [
        (&one, "SELECT c FROM t WHERE id = 1", vec![100, 300]),
        (&one, "select c from t where id=2", vec![200]),
        (&two, "SELECT c FROM t WHERE id = 3", vec![50, 1000]),
        (&two, "DELETE FROM t", vec![10]),
    ] {
        for time in times {
            table.note(&entry(table, text), &run(time));
        }
    }
    two.note(&entry(&two, "DELETE FROM t"), &Run { failed: true, on_lane: false, on_replica: true, ..run(1) });
    let rows = merged(one.rows().into_iter().chain(two.rows()));
    assert_eq!(rows.len(), 2);
    let (select, delete) = (&rows[0], &rows[1]);
    assert_eq!((select.text.as_str(), select.kind), ("SELECT c FROM t WHERE id = ?", Some(StatementKind::Select)));
    let counts = &select.counts;
    assert_eq!((counts.count, counts.total, counts.min(), counts.max), (5, 1_650_000, 50_000, 1_000_000));
    assert_eq!((counts.rows_sent, counts.rows_affected, counts.bytes, counts.on_lanes), (10, 5, 500, 5));
    assert_eq!((counts.percentile(1.0), counts.percentile(0.0) >= 50_000), (1_000_000, true));
    let (first, last) = counts.seen().expect("it was seen");
    assert!(first < last);
    assert_eq!((delete.counts.errors, delete.counts.on_replicas, delete.counts.on_lanes), (1, 1, 1));
}

#[test]
fn those_used_least_make_room_and_the_sums_stay() {
    let table = Table::of_most(16);
    let often = entry(&table, "SELECT often FROM t");
    let statement = |n: usize| format!("SELECT c{n} FROM t");
    let mut runs = 0;
    let mut entries = Vec::new();
    for n in 0..200 {
        let rare = entry(&table, &statement(n));
        table.note(&rare, &run(1));
        entries.push(rare);
        table.note(&often, &run(1));
        table.note(&often, &run(1));
        runs += 3;
    }
    // What had to leave comes back with its next run, and begins anew.
    table.note(&entries[0], &run(1));
    runs += 1;
    let rows = table.rows();
    assert!(rows.len() <= 17, "{}", rows.len());
    assert_eq!(rows.iter().map(|row| row.counts.count).sum::<u64>(), runs);
    let count = |text: &str| rows.iter().find(|row| row.text == text).map(|row| row.counts.count);
    assert_eq!(count("SELECT often FROM t"), Some(400));
    assert_eq!(count("SELECT c0 FROM t"), Some(1));
    assert!(rows.iter().any(|row| row.digest.is_none()), "the others have a row");

    table.reset();
    assert!(table.rows().is_empty());
    table.note(&often, &run(1));
    assert_eq!(table.rows().len(), 1);
}

#[test]
fn no_text_shows_a_secret() {
    let ansi = LexMode { ansi_quotes: true, ..LexMode::default() };
    let statements = [
        "CREATE USER u IDENTIFIED BY 'hunter2'",
        "CREATE USER u IDENTIFIED BY \"hunter2\"",
        "CREATE USER u IDENTIFIED BY hunter2",
        "CREATE USER u@'%' IDENTIFIED WITH mysql_native_password AS 'hunter2'",
        "ALTER USER u IDENTIFIED BY 'hunter2' REPLACE 'hunter2'",
        "ALTER USER u IDENTIFIED VIA ed25519 USING PASSWORD('hunter2')",
        "SET PASSWORD = 'hunter2'",
        "SET PASSWORD FOR u = PASSWORD('hunter2')",
        "SET PASSWORD = \"hunter2\"",
        "SET PASSWORD = hunter2",
        "GRANT ALL ON *.* TO u IDENTIFIED BY PASSWORD '*hunter2'",
        "CHANGE MASTER TO MASTER_PASSWORD='hunter2'",
        "CHANGE REPLICATION SOURCE TO SOURCE_PASSWORD = \"hunter2\"",
        "CREATE SERVER s FOREIGN DATA WRAPPER mysql OPTIONS (USER 'u', PASSWORD 'hunter2')",
        "UPDATE accounts SET password_hash = 'hunter2' WHERE id = 7",
        "SET @secret = 'hunter2'",
        "SET PASSWORD = 'hunter2",
        "CREATE USER u IDENTIFIED BY 0x68756e74657232hunter2",
    ];
    for text in statements {
        for mode in [LexMode::default(), ansi] {
            assert!(holds_secret(text.as_bytes(), mode), "{text}");
            let shown = shown_text(text.as_bytes(), mode);
            assert!(!shown.contains("hunter2"), "{text}: {shown}");
        }
    }
    assert!(!holds_secret(b"SELECT c FROM t WHERE id = 'password'", LexMode::default()));
    assert_eq!(
        shown_text(b"ALTER USER u IDENTIFIED BY 'x' PASSWORD EXPIRE", LexMode::default()),
        "ALTER USER u IDENTIFIED BY ? PASSWORD EXPIRE"
    );
}
