//! Definitions on real servers of both kinds: two or three shards, and a catalog in memory.

mod lab;
mod placing;
mod reference;
mod stuck;

use lab::Lab;
use weir_catalog::{Placement, Progress, ShardId};
use weir_ddl::define::Records;
use weir_local::Flavor;
use weir_sql::Dialect;

const BOTH: [Flavor; 2] = [Flavor::MariaDb, Flavor::MySql];

/// Runs a test on both kinds of server, each in a runtime as workers have it.
fn on_both<F: Future<Output = ()>>(shards: usize, test: impl Fn(Lab) -> F) {
    for flavor in BOTH {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(test(Lab::start(flavor, shards)));
    }
}

#[test]
fn databases_and_tables_come_and_go_on_all_shards() {
    on_both(2, |lab| async move {
        lab.done("CREATE DATABASE shop").await;
        lab.done("CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR(20)) /*weir: shard by hash(id) */").await;
        lab.done("CREATE TABLE g (id INT PRIMARY KEY) GLOBAL").await;
        lab.done("CREATE TABLE one (a INT) SINGLE ON SHARD 's2'").await;
        lab.done("CREATE VIEW v AS SELECT t.id FROM t JOIN g USING (id)").await;
        assert_eq!(lab.tables_on(0).await, ["g", "t", "v"]);
        assert_eq!(lab.tables_on(1).await, ["g", "one", "t", "v"]);
        let catalog = lab.catalog();
        let (_, t) = catalog.table(b"shop", b"t").expect("it was made");
        assert_eq!(t.clause, "shard by hash(id)");
        assert_eq!((t.columns.len(), t.primary_key.clone()), (2, vec![0]));
        let (_, one) = catalog.table(b"shop", b"one").expect("it was made");
        assert_eq!(one.placement, Placement::Single(ShardId(1)));
        let (_, shop) = catalog.database(b"shop").expect("it was made");
        let view = &shop.views["v"];
        assert!(view.starts_with("select `shop`.`t`.`id` AS `id` from (`shop`.`t` join `shop`.`g`"), "{view}");
        assert!(catalog.definitions.is_empty());

        lab.done("ALTER TABLE t ADD COLUMN c INT NOT NULL DEFAULT 7 FIRST").await;
        lab.done("CREATE UNIQUE INDEX u ON t (id, c)").await;
        let catalog = lab.catalog();
        let (_, t) = catalog.table(b"shop", b"t").expect("it was made");
        assert_eq!(t.shard_key().expect("it is sharded").columns, [1], "the key's column stands elsewhere now");
        assert_eq!(t.unique_keys, [("u".to_owned(), vec![1, 0])]);

        assert_eq!(lab.refused("RENAME TABLE t TO x, x TO one").await.code, 1050, "the name is taken on one shard");
        lab.done("RENAME TABLE t TO x, one TO y").await;
        lab.done("DROP TABLE y").await;
        lab.done("DROP VIEW v").await;
        assert_eq!(lab.tables_on(1).await, ["g", "x"]);
        assert!(lab.catalog().table(b"shop", b"x").is_some() && lab.catalog().table(b"shop", b"t").is_none());
        lab.done("DROP DATABASE shop").await;
        assert!(lab.on(1, "USE shop").await.is_err());
        assert!(lab.catalog().databases.is_empty());
    });
}

#[test]
fn what_the_first_shard_refuses_leaves_no_trace() {
    on_both(2, |lab| async move {
        lab.done("CREATE DATABASE shop").await;
        lab.done("CREATE TABLE t (id INT PRIMARY KEY)").await;
        for (text, code) in [
            ("CREATE TABLE t (id INT PRIMARY KEY)", 1050),
            ("CREATE DATABASE shop", 1007),
            ("CREATE TABLE broken (id INT PRIMARY KEY, id INT)", 1060),
            ("ALTER TABLE t DROP COLUMN nothing", 1091),
            ("DROP TABLE nothing", 1051),
        ] {
            let before = lab.catalog();
            assert_eq!(lab.refused(text).await.code, code, "{text}");
            let after = lab.catalog();
            assert_eq!(after.definitions, [], "{text}");
            assert_eq!(after.databases, before.databases, "{text}");
        }
        let there = lab.done("CREATE TABLE IF NOT EXISTS t (id INT PRIMARY KEY)").await;
        assert_eq!(there.warnings, 1);
        assert_eq!(lab.done("DROP TABLE IF EXISTS nothing").await.warnings, 1);
    });
}

#[test]
fn a_definition_that_a_shard_has_not_is_shown_refused_to_others_and_resumed() {
    on_both(3, |lab| async move {
        lab.done("CREATE DATABASE shop").await;
        lab.done("CREATE TABLE t (id INT PRIMARY KEY)").await;
        lab.servers.borrow_mut()[1].kill().expect("it is killed");
        let failure = lab.refused("ALTER TABLE t ADD COLUMN c INT").await;
        assert!(failure.message.contains("shards with it: s1, s3; without it: s2"), "{failure}");
        let catalog = lab.catalog();
        let id = catalog.definitions[0].id;
        assert!(failure.message.contains(&format!("WEIR RESUME DDL {id}")), "{failure}");
        assert_eq!(catalog.definitions[0].shards[0].1, Progress::Done);
        assert!(matches!(catalog.definitions[0].shards[1].1, Progress::Lost(_)));
        let (_, t) = catalog.table(b"shop", b"t").expect("it was made");
        assert_eq!(t.columns.len(), 1, "what not all have is not known of the table");
        assert!(lab.refused("ALTER TABLE t ADD COLUMN d INT").await.message.contains("has not ended"));
        assert!(lab.resume(id).await.is_err(), "the shard is down still");

        lab.servers.borrow_mut()[1].restart().expect("it starts again");
        lab.resume(id).await.expect("all shards are there");
        assert!(lab.catalog().definitions.is_empty());
        let catalog = lab.catalog();
        let (_, t) = catalog.table(b"shop", b"t").expect("it was made");
        assert_eq!(t.columns.len(), 2);
        assert_eq!(lab.resume(id).await.map_err(|failure| failure.code), Err(1105), "it has ended");
    });
}

/// A Weir that is killed leaves what it had stored; the next one goes on from there, wherever the shards are.
#[test]
fn a_definition_is_resumed_from_wherever_weir_was_killed() {
    on_both(2, |lab| async move {
        lab.done("CREATE DATABASE shop").await;
        let statements = [
            ("CREATE TABLE t (id INT PRIMARY KEY, a INT)", vec!["t"]),
            ("ALTER TABLE t ADD COLUMN b INT", vec!["t"]),
            ("CREATE INDEX by_a ON t (a)", vec!["t"]),
            ("CREATE VIEW v AS SELECT id FROM t", vec!["t", "v"]),
            ("DROP VIEW v", vec!["t"]),
            ("RENAME TABLE t TO u", vec!["u"]),
            ("DROP TABLE u", vec![]),
        ];
        for (text, tables) in statements {
            // Stored: the record; the record and the first shard's success; then the shards have it all, and the end was not stored.
            for stored in [1, 2] {
                let before = lab.catalog();
                lab.changes_left.set(Some(stored));
                let mut parts = lab.parts().await;
                tokio::select! {
                    outcome = lab.define_with(text, &mut parts) => panic!("{text}: the end was stored: {outcome:?}"),
                    () = lab.killed.notified() => {}
                }
                drop(parts);
                lab.changes_left.set(None);
                let id = lab.catalog().definitions[0].id;
                lab.resume(id).await.unwrap_or_else(|failure| panic!("{text}, {stored} stored: {failure}"));
                for shard in 0..2 {
                    assert_eq!(lab.tables_on(shard).await, tables, "{text}, {stored} stored");
                }
                if stored == 1 {
                    undo(&lab, text, &before).await;
                }
            }
        }
    });
}

/// What shards have of a definition is not known where that can't be stored any more: the client hears of the definition, and what ends it.
#[test]
fn who_hears_that_a_definition_can_not_be_recorded_hears_how_it_goes_on() {
    on_both(2, |lab| async move {
        lab.done("CREATE DATABASE shop").await;
        lab.is_full.set(true);
        let statements = [
            "CREATE TABLE t (id INT PRIMARY KEY)",
            "ALTER TABLE t ADD COLUMN b INT",
            "RENAME TABLE t TO u",
            "DROP TABLE u",
        ];
        for text in statements {
            lab.changes_left.set(Some(0));
            let failure = lab.refused(text).await;
            assert!(lab.catalog().definitions.is_empty() && !failure.message.contains("RESUME"), "{text}: {failure}");
            for stored in [1, 2] {
                let before = lab.catalog();
                lab.changes_left.set(Some(stored));
                let failure = lab.refused(text).await;
                let id = lab.catalog().definitions[0].id;
                assert!(failure.message.starts_with("No space left on device"), "{text}, {stored} stored: {failure}");
                assert!(
                    failure.message.contains(&format!("WEIR RESUME DDL {id}")),
                    "{text}, {stored} stored: {failure}"
                );
                lab.changes_left.set(None);
                lab.resume(id).await.unwrap_or_else(|failure| panic!("{text}, {stored} stored: {failure}"));
                if stored == 1 {
                    undo(&lab, text, &before).await;
                }
            }
        }
    });
}

/// Takes a definition back on the shards and in the catalog, so that it can be done once more.
async fn undo(lab: &Lab, text: &str, before: &weir_catalog::Catalog) {
    let undone = match text.split_whitespace().take(2).collect::<Vec<_>>().join(" ").as_str() {
        "CREATE TABLE" => "DROP TABLE shop.t",
        "ALTER TABLE" => "ALTER TABLE shop.t DROP COLUMN b",
        "CREATE INDEX" => "DROP INDEX by_a ON shop.t",
        "CREATE VIEW" => "DROP VIEW shop.v",
        "DROP VIEW" => "CREATE VIEW shop.v AS SELECT id FROM shop.t",
        "RENAME TABLE" => "RENAME TABLE shop.u TO shop.t",
        "DROP TABLE" => "CREATE TABLE shop.u (id INT PRIMARY KEY, a INT, b INT, KEY by_a (a))",
        other => panic!("{other}"),
    };
    for shard in 0..2 {
        lab.on(shard, undone).await.expect("it can be undone");
    }
    let databases = before.databases.clone();
    let changed = lab.change(move |catalog| {
        catalog.databases = databases;
        Ok(())
    });
    changed.await.expect("it is in memory");
}

#[test]
fn a_cancelled_definition_is_forgotten() {
    on_both(2, |lab| async move {
        lab.done("CREATE DATABASE shop").await;
        lab.servers.borrow_mut()[1].kill().expect("it is killed");
        lab.refused("CREATE TABLE t (id INT PRIMARY KEY)").await;
        let id = lab.catalog().definitions[0].id;
        assert!(lab.cancel(id + 1).await.is_err());
        let cancelled = lab.cancel(id).await.expect("it is there");
        assert_eq!(cancelled[0].state, Ok(()), "it was undone");
        assert!(cancelled[1].state.is_err(), "it is not known of the one that is gone");
        assert_eq!(lab.tables_on(0).await, [""; 0]);
        assert!(lab.catalog().definitions.is_empty());
        assert!(lab.catalog().table(b"shop", b"t").is_none());
    });
}

#[test]
fn what_would_move_rows_or_split_uniqueness_is_refused_with_the_way_out() {
    on_both(2, |lab| async move {
        lab.done("CREATE DATABASE shop").await;
        lab.done("CREATE TABLE t (id INT PRIMARY KEY, a INT) SHARD BY HASH(id)").await;
        lab.done("CREATE TABLE g (id INT PRIMARY KEY, a INT) GLOBAL").await;
        for text in [
            "CREATE TABLE x (id INT PRIMARY KEY, a INT UNIQUE) SHARD BY HASH(id)",
            "CREATE TABLE x (f DOUBLE PRIMARY KEY) SHARD BY HASH(f)",
            "ALTER TABLE t DROP COLUMN id",
            "ALTER TABLE t CHANGE id key_id INT",
            "ALTER TABLE t MODIFY id VARCHAR(20)",
            "ALTER TABLE t ADD UNIQUE (a)",
            "CREATE UNIQUE INDEX u ON t (a)",
            "ALTER TABLE t GLOBAL",
            "ALTER TABLE t ADD COLUMN n INT AUTO_INCREMENT, ADD KEY (n)",
            "ALTER TABLE g ADD COLUMN r DOUBLE DEFAULT (RAND())",
            "CREATE TRIGGER tr AFTER INSERT ON t FOR EACH ROW INSERT INTO g VALUES (NEW.id, 1)",
            "CREATE EVENT e ON SCHEDULE EVERY 1 DAY DO DELETE FROM t LIMIT 1",
        ] {
            assert_eq!(lab.refused(text).await.code, 1235, "{text}");
        }
        lab.done("CREATE TABLE names (n VARCHAR(20) COLLATE utf8mb4_general_ci PRIMARY KEY)").await;
        lab.done("CREATE TABLE years (y DATE, a INT) SHARD BY YEAR(y)").await;
        let parts = "SHARD BY RANGE(id) (s1 VALUES LESS THAN (10), s2 VALUES LESS THAN MAXVALUE)";
        lab.done(&format!("CREATE TABLE ranges (id INT PRIMARY KEY) {parts}")).await;
        let shown = lab.told("SHOW CREATE TABLE ranges").await[0][1].clone().expect("it is there");
        lab.done("DROP TABLE ranges").await;
        lab.done(std::str::from_utf8(&shown).expect("UTF-8")).await;
        lab.done("ALTER TABLE t MODIFY id BIGINT").await;
        lab.done("ALTER TABLE t ADD UNIQUE UNCHECKED u (a)").await;
        lab.done("CREATE TRIGGER tr BEFORE INSERT ON t FOR EACH ROW SET NEW.a = 1").await;
        assert!(lab.catalog().table(b"shop", b"t").expect("it is there").1.triggers);
        lab.done("DROP TRIGGER tr").await;
        assert!(!lab.catalog().table(b"shop", b"t").expect("it is there").1.triggers);
    });
}

#[test]
fn accounts_are_made_on_all_shards_and_no_password_is_kept() {
    on_both(2, |lab| async move {
        lab.done("CREATE USER 'ann'@'%' IDENTIFIED BY 'a secret'").await;
        lab.done("GRANT SELECT ON *.* TO 'ann'@'%'").await;
        for shard in 0..2 {
            let grants = lab.on(shard, "SHOW GRANTS FOR 'ann'@'%'").await.expect("it is there");
            assert!(
                String::from_utf8_lossy(&grants.rows.concat().into_iter().flatten().flatten().collect::<Vec<_>>())
                    .contains("SELECT")
            );
        }
        if lab.mode().dialect == Dialect::MariaDb {
            assert_eq!(lab.refused("SET @a = 1, PASSWORD FOR ann = PASSWORD('x')").await.code, 1235);
        }
        for random in ["CREATE USER bob IDENTIFIED BY RANDOM PASSWORD", "SET PASSWORD FOR ann TO RANDOM"] {
            if lab.mode().dialect == Dialect::MySql {
                assert_eq!(lab.refused(random).await.code, 1235, "{random}");
            }
        }
        lab.servers.borrow_mut()[1].kill().expect("it is killed");
        lab.refused("ALTER USER 'ann'@'%' IDENTIFIED BY 'another secret'").await;
        assert!(!format!("{:?}", lab.catalog()).contains("secret"));
        let id = lab.catalog().definitions[0].id;
        assert!(lab.resume(id).await.expect_err("it can't").message.contains("password"));
        let other = lab.refused("GRANT UPDATE ON *.* TO 'ann'@'%'").await;
        assert!(!other.message.contains("has not ended"), "accounts don't stand in each other's way: {other}");
    });
}

#[test]
fn what_is_told_of_a_logical_table_is_that_of_one_with_all_rows() {
    on_both(2, |lab| async move {
        lab.done("CREATE DATABASE shop").await;
        let columns = "(id INT PRIMARY KEY AUTO_INCREMENT, d DECIMAL(9,2), s VARCHAR(20), j JSON, n INT)";
        lab.done(&format!("CREATE TABLE t {columns}")).await;
        lab.done("CREATE TABLE g (id INT PRIMARY KEY) GLOBAL").await;
        lab.done("CREATE TABLE one (a INT) SINGLE ON SHARD 's2'").await;
        let rows = ["(1, 1.50, 'x', '{\"a\": 1}', NULL)", "(2, -3, '', NULL, 7)", "(3, 0, 'yy', '[1]', 8)"];
        for (shard, row) in [(0, rows[0]), (1, rows[1]), (1, rows[2])] {
            lab.on(shard, &format!("INSERT INTO shop.t VALUES {row}")).await.expect("it is stored");
        }
        // All rows in one table of one server, for comparison.
        lab.on(0, "CREATE DATABASE plain").await.expect("it is made");
        lab.on(0, &format!("CREATE TABLE plain.t {columns}")).await.expect("it is made");
        lab.on(0, &format!("INSERT INTO plain.t VALUES {}", rows.join(", "))).await.expect("it is stored");
        let plain = lab.on(0, "CHECKSUM TABLE plain.t").await.expect("it is there").rows[0][1].clone();
        for statement in ["CHECKSUM TABLE t", "CHECKSUM TABLE t EXTENDED"] {
            assert_eq!(lab.told(statement).await[0][1], plain, "{statement}");
        }
        let names = |rows: Vec<Vec<Option<Vec<u8>>>>| -> Vec<String> {
            rows.into_iter().map(|row| String::from_utf8(row[0].clone().expect("a name")).expect("UTF-8")).collect()
        };
        assert_eq!(names(lab.told("SHOW TABLES").await), ["g", "one", "t"]);
        assert_eq!(names(lab.told("SHOW TABLES LIKE 'o%'").await), ["one"]);
        assert_eq!(names(lab.told("SHOW COLUMNS FROM one").await), ["a"]);
        assert_eq!(
            lab.told("ANALYZE TABLE t, one").await.iter().filter(|row| row[3] == Some(b"OK".to_vec())).count(),
            2
        );
        let status = lab.told("SHOW TABLE STATUS").await;
        assert_eq!(status.iter().map(|row| row[4].clone()).collect::<Vec<_>>()[2], Some(b"3".to_vec()), "{status:?}");
        lab.done("ALTER TABLE t AUTO_INCREMENT = 100").await;
        let create = lab.told("SHOW CREATE TABLE t").await[0][1].clone().expect("it is there");
        let create = String::from_utf8(create).expect("UTF-8");
        assert!(
            create.ends_with(" /*weir: shard by hash(id) */") && create.contains(" AUTO_INCREMENT=100 "),
            "{create}"
        );
        // The text makes the same table again, through Weir and on a plain server.
        lab.done("DROP TABLE t").await;
        lab.done(&create).await;
        assert_eq!(lab.catalog().table(b"shop", b"t").expect("it is there").1.clause, "shard by hash(id)");
        assert_eq!(lab.told("SHOW CREATE TABLE t").await[0][1].as_deref(), Some(create.as_bytes()));
        lab.on(0, "DROP TABLE plain.t").await.expect("it was there");
        lab.on(0, &create.replace("`t`", "plain.t")).await.expect("a plain server reads it");
    });
}
