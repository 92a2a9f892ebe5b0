//! No definition stays stuck, and no name blocked: what a shard refuses is taken back on the others, and what one lacks is dropped on the rest.

use weir_ddl::define::Records;

use crate::lab::Lab;
use crate::on_both;

/// What makes the second shard differ, a definition that it refuses for that, the error, and a question that all shards answer with 0 after
/// it.
const REFUSED: [(&str, &str, u16, &str); 17] = [
    (
        "INSERT INTO shop.t (id, a, b, s, e) VALUES (1, 5, 1, 'xxxx', 'b'), (2, 5, 2, 'y', 'a')",
        "ALTER TABLE t ADD UNIQUE UNCHECKED u (a)",
        1062,
        "index u",
    ),
    ("", "CREATE UNIQUE UNCHECKED INDEX u ON t (a)", 1062, "index u"),
    ("", "ALTER TABLE t ADD COLUMN c INT, ADD UNIQUE UNCHECKED u (a)", 1062, "column c"),
    ("", "ALTER TABLE t RENAME COLUMN b TO d, ADD UNIQUE UNCHECKED u (a)", 1062, "column d"),
    ("", "ALTER TABLE t DROP KEY by_a, ADD UNIQUE UNCHECKED u (a)", 1062, "index u"),
    ("", "ALTER TABLE t ADD CONSTRAINT f FOREIGN KEY (id) REFERENCES p (id)", 1452, "index f"),
    (
        "INSERT INTO shop.t (id, a) VALUES (9, 70000)",
        "ALTER TABLE t MODIFY COLUMN a SMALLINT, DROP KEY by_a",
        1264,
        "column x",
    ),
    ("", "ALTER TABLE t MODIFY COLUMN s VARCHAR(3) NOT NULL, ADD COLUMN c INT", 1265, "column c"),
    ("", "ALTER TABLE t MODIFY COLUMN e ENUM('a'), ADD COLUMN c INT", 1265, "column c"),
    ("CREATE TABLE shop.x (y INT)", "CREATE TABLE x (id INT PRIMARY KEY, a INT) GLOBAL", 1050, "on s1: table x"),
    ("", "CREATE TABLE IF NOT EXISTS x (id INT PRIMARY KEY, a INT) GLOBAL", 1050, "on s1: table x"),
    ("", "RENAME TABLE t TO x", 1050, "on s1: table x"),
    ("", "CREATE VIEW x AS SELECT id FROM t", 1050, "on s1: table x"),
    ("CREATE PROCEDURE shop.q() SELECT 1", "CREATE PROCEDURE q() SELECT 2", 1304, "on s1: routine q"),
    (
        "CREATE TRIGGER shop.tr BEFORE INSERT ON shop.t FOR EACH ROW SET NEW.a = 1",
        "CREATE TRIGGER tr BEFORE INSERT ON t FOR EACH ROW SET NEW.b = 1",
        1359,
        "on s1: trigger tr",
    ),
    (
        "CREATE EVENT shop.e ON SCHEDULE EVERY 1 DAY DO SET @a = 1",
        "CREATE EVENT e ON SCHEDULE EVERY 1 DAY DO SET @b = 1",
        1537,
        "on s1: event e",
    ),
    ("CREATE USER stuck", "CREATE USER stuck", 1396, "on s1: user stuck"),
];

fn question(what: &str) -> String {
    let (kind, name) = what.split_once(' ').expect("a kind and a name");
    let from = match kind {
        "index" => format!("statistics WHERE table_schema = 'shop' AND index_name = '{name}'"),
        "column" => format!("columns WHERE table_schema = 'shop' AND column_name = '{name}'"),
        "table" => format!("tables WHERE table_schema = 'shop' AND table_name = '{name}'"),
        "routine" => format!("routines WHERE routine_schema = 'shop' AND routine_name = '{name}'"),
        "trigger" => format!("triggers WHERE trigger_schema = 'shop' AND trigger_name = '{name}'"),
        "event" => format!("events WHERE event_schema = 'shop' AND event_name = '{name}'"),
        "user" => return format!("SELECT COUNT(*) FROM mysql.user WHERE user = '{name}'"),
        other => panic!("{other}"),
    };
    format!("SELECT COUNT(*) FROM information_schema.{from}")
}

async fn nowhere(lab: &Lab, what: &str, text: &str) {
    let (shards, what) = match what.strip_prefix("on s1: ") {
        Some(what) => (1, what),
        None => (2, what),
    };
    for shard in 0..shards {
        let found = lab.on(shard, &question(what)).await.expect("it can be asked").rows[0][0].clone();
        assert_eq!(found.as_deref(), Some(&b"0"[..]), "{what} on shard {shard} after {text}");
    }
}

async fn filled(lab: &Lab) {
    lab.done("CREATE DATABASE shop").await;
    lab.done("CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT, s VARCHAR(9), e ENUM('a', 'b'), KEY by_a (a)) SHARD BY HASH(id)").await;
    lab.done("CREATE TABLE p (id INT PRIMARY KEY) SHARD BY HASH(id)").await;
}

#[test]
fn what_a_shard_refuses_is_taken_back_on_the_others() {
    on_both(2, |lab| async move {
        filled(&lab).await;
        for (before, text, code, what) in REFUSED {
            if !before.is_empty() {
                lab.on(1, before).await.expect("the shard is made to differ");
            }
            let databases = lab.catalog().databases.clone();
            let failure = lab.refused(text).await;
            assert_eq!(failure.code, code, "{text}: {failure}");
            assert!(failure.message.contains("shard s2; it was undone"), "{text}: {failure}");
            assert!(lab.catalog().definitions.is_empty(), "{text}");
            assert_eq!(lab.catalog().databases, databases, "{text}");
            nowhere(&lab, what, text).await;
        }
        // What is there on one shard only is dropped through Weir all the same, and the name is free.
        for text in ["DROP TABLE x", "DROP PROCEDURE q", "DROP TRIGGER tr", "DROP EVENT e", "DROP USER stuck"] {
            lab.done(text).await;
        }
        for (_, text, ..) in REFUSED.iter().skip(9).filter(|(_, text, ..)| !text.starts_with("RENAME")) {
            match text.starts_with("CREATE VIEW") {
                true => lab.done("DROP TABLE x").await,
                false => lab.done(text).await,
            };
        }
    });
}

#[test]
fn a_column_with_the_collation_of_its_database_is_taken_back() {
    on_both(2, |lab| async move {
        lab.done("CREATE DATABASE shop COLLATE utf8mb4_bin").await;
        lab.done("CREATE TABLE t (id INT PRIMARY KEY, e ENUM('a', 'b')) SHARD BY HASH(id)").await;
        lab.on(1, "INSERT INTO shop.t VALUES (1, 'b')").await.expect("the shard is made to differ");
        let failure = lab.refused("ALTER TABLE t MODIFY COLUMN e ENUM('a')").await;
        assert_eq!(failure.code, 1265, "{failure}");
        assert!(failure.message.contains("shard s2; it was undone"), "{failure}");
        assert!(lab.catalog().definitions.is_empty());
        lab.done("ALTER TABLE t ADD COLUMN c INT").await;
    });
}

#[test]
fn a_view_whose_tables_are_gone_or_elsewhere_is_dropped_and_made_again() {
    on_both(2, |lab| async move {
        lab.done("CREATE DATABASE shop").await;
        for (shard, other) in [("s1", "s2"), ("s2", "s1")] {
            lab.done(&format!("CREATE TABLE one (id INT PRIMARY KEY) SINGLE ON SHARD '{shard}'")).await;
            lab.done("CREATE VIEW v AS SELECT id FROM one").await;
            lab.done("DROP TABLE one").await;
            lab.done("DROP VIEW v").await;
            lab.done(&format!("CREATE TABLE one (id INT PRIMARY KEY) SINGLE ON SHARD '{shard}'")).await;
            lab.done("CREATE VIEW v AS SELECT id FROM one").await;
            lab.done("DROP TABLE one").await;
            lab.done(&format!("CREATE TABLE one (id INT PRIMARY KEY) SINGLE ON SHARD '{other}'")).await;
            lab.done("CREATE OR REPLACE VIEW v AS SELECT id FROM one").await;
            let (has, lacks) = if other == "s1" { (0, 1) } else { (1, 0) };
            assert_eq!(lab.tables_on(has).await, ["one", "v"]);
            assert_eq!(lab.tables_on(lacks).await, [""; 0]);
            lab.done("DROP TABLE one").await;
            lab.done("CREATE TABLE one (id INT PRIMARY KEY) GLOBAL").await;
            lab.done("DROP VIEW v").await;
            lab.done("CREATE VIEW v AS SELECT id FROM one").await;
            lab.done("DROP VIEW v").await;
            lab.done("DROP TABLE one").await;
        }
        assert_eq!(lab.refused("CREATE VIEW v AS SELECT id FROM nowhere").await.code, 1146);
        assert!(lab.catalog().definitions.is_empty());
    });
}

#[test]
fn what_no_shard_has_any_more_leaves_the_catalog() {
    on_both(2, |lab| async move {
        filled(&lab).await;
        for shard in 0..2 {
            lab.on(shard, "DROP TABLE shop.t").await.expect("it is there");
        }
        assert!(lab.refused("DROP TABLE t").await.code == 1051);
        assert!(lab.catalog().table(b"shop", b"t").is_none());
        lab.done("CREATE TABLE t (id INT PRIMARY KEY) SHARD BY HASH(id)").await;
        lab.on(0, "DROP TABLE shop.t").await.expect("it is there");
        lab.done("DROP TABLE t").await;
        assert!(lab.on(1, "SELECT 1 FROM shop.t").await.is_err());
        assert!(lab.catalog().definitions.is_empty());
    });
}

#[test]
fn a_cancelled_definition_is_taken_back_where_it_was_done() {
    on_both(2, |lab| async move {
        filled(&lab).await;
        for (text, what) in [
            ("CREATE TABLE x (id INT PRIMARY KEY) SHARD BY HASH(id)", "table x"),
            ("ALTER TABLE t ADD COLUMN c INT", "column c"),
            ("CREATE INDEX u ON t (b)", "index u"),
            ("CREATE VIEW x AS SELECT id FROM t", "table x"),
            ("CREATE PROCEDURE q() SELECT 1", "routine q"),
            ("RENAME TABLE t TO x", "table x"),
            ("CREATE DATABASE more", "table more"),
        ] {
            // The record; the record and the first shard's success: of the other shard nothing is known.
            for stored in [1, 2] {
                lab.changes_left.set(Some(stored));
                let mut parts = lab.parts().await;
                tokio::select! {
                    outcome = lab.define_with(text, &mut parts) => panic!("{text}: the end was stored: {outcome:?}"),
                    () = lab.killed.notified() => {}
                }
                drop(parts);
                lab.changes_left.set(None);
                let id = lab.catalog().definitions[0].id;
                let cancelled = lab.cancel(id).await.expect("it is there");
                assert!(cancelled.iter().all(|shard| shard.state.is_ok()), "{text}: {cancelled:?}");
                nowhere(&lab, what, text).await;
                assert!(lab.catalog().definitions.is_empty());
            }
        }
        assert_eq!(lab.tables_on(1).await, ["p", "t"]);
    });
}

#[test]
fn a_definition_that_can_not_be_taken_back_ends_with_the_drop_of_its_objects() {
    on_both(2, |lab| async move {
        filled(&lab).await;
        for drop in ["DROP TABLE IF EXISTS t", "DROP DATABASE shop"] {
            lab.on(1, "INSERT INTO shop.t (id, a, b) VALUES (1, 5, 1), (2, 5, 2)")
                .await
                .expect("the shard is made to differ");
            let failure = lab.refused("ALTER TABLE t DROP COLUMN b, ADD UNIQUE UNCHECKED u (a)").await;
            assert_eq!(failure.code, 1105, "{failure}");
            assert_eq!(lab.refused("ALTER TABLE t COMMENT 'x'").await.code, 1105);
            assert_eq!(lab.refused("RENAME TABLE t TO x").await.code, 1105);
            lab.done(drop).await;
            assert!(lab.catalog().definitions.is_empty(), "{drop}");
            if drop.starts_with("DROP TABLE") {
                lab.done("DROP TABLE p").await;
                lab.done("DROP DATABASE shop").await;
                filled(&lab).await;
            }
        }
        filled(&lab).await;
        assert_eq!(lab.tables_on(1).await, ["p", "t"]);
    });
}
