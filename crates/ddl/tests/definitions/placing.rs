//! Where new tables are, on real servers of both kinds: keys and methods that are taken, and those that are refused.

use weir_catalog::{Constant, Located, Method, ShardId, locate_stored};
use weir_ddl::define::Records;

use crate::lab::Lab;
use crate::on_both;

fn date(text: &str) -> Constant {
    Constant::Temporal(text.to_owned())
}

/// Where a row of a table of `shop` is put.
fn located(lab: &Lab, table: &str, key: Constant) -> Located {
    let catalog = lab.catalog();
    let (_, database) = catalog.database(b"shop").expect("it was made");
    let (_, table) = catalog.table(b"shop", table.as_bytes()).expect("it was made");
    locate_stored(database, table, &[key], &lab.weights())
}

#[test]
fn tables_of_all_methods_are_made_and_have_places_for_their_rows() {
    on_both(2, |lab| async move {
        lab.done("CREATE DATABASE shop").await;
        let (one, two) = (Located::Shard(ShardId(0)), Located::Shard(ShardId(1)));
        let range = "SHARD BY RANGE(id) (s2 VALUES LESS THAN (10), s1 VALUES LESS THAN (20))";
        lab.done(&format!("CREATE TABLE ranges (id INT PRIMARY KEY) {range}")).await;
        assert_eq!(located(&lab, "ranges", Constant::Integer(9)), two);
        assert_eq!(located(&lab, "ranges", Constant::Integer(10)), one);
        assert_eq!(located(&lab, "ranges", Constant::Integer(20)), Located::Nowhere);
        let list = "SHARD BY LIST(id) (s1 VALUES IN (1, 2), s2 DEFAULT)";
        lab.done(&format!("CREATE TABLE lists (id INT PRIMARY KEY, a INT) {list}")).await;
        assert_eq!(located(&lab, "lists", Constant::Integer(2)), one);
        assert_eq!(located(&lab, "lists", Constant::Integer(3)), two);
        for method in ["YEAR", "MONTH", "DAY"] {
            lab.done(&format!("CREATE TABLE by_{method} (d DATE NOT NULL, n INT) SHARD BY {method}(d)")).await;
            let place = |text: &str| located(&lab, &format!("by_{method}"), date(text));
            assert!(matches!(place("2024-02-01"), Located::Shard(_)), "{method}");
        }
        assert_eq!(located(&lab, "by_YEAR", date("2024-01-01")), located(&lab, "by_YEAR", date("2024-12-31")));
        assert_eq!(located(&lab, "by_MONTH", date("2024-01-01")), located(&lab, "by_MONTH", date("2024-01-31")));
        lab.done("CREATE TABLE pairs (a INT, b VARCHAR(9) CHARSET ascii, PRIMARY KEY (a, b)) SHARD BY HASH(a, b)")
            .await;
        let catalog = lab.catalog();
        let key = catalog.table(b"shop", b"pairs").expect("it was made").1.shard_key().expect("it is sharded").clone();
        assert_eq!((key.columns, key.method), (vec![0, 1], Method::Hash));
        lab.done("CREATE TABLE ranges2 LIKE ranges").await;
        assert_eq!(located(&lab, "ranges2", Constant::Integer(9)), two);
        assert_eq!(lab.tables_on(0).await, lab.tables_on(1).await);
        assert_eq!(lab.tables_on(0).await.len(), 7);
    });
}

/// SHOW CREATE TABLE is a statement that makes the same table again.
#[test]
fn what_is_shown_of_a_table_places_it_again() {
    on_both(2, |lab| async move {
        lab.done("CREATE DATABASE shop").await;
        for (columns, clause) in [
            (
                "id INT PRIMARY KEY, `a b` INT",
                "SHARD BY RANGE(id) (s1 VALUES LESS THAN (10), s2 VALUES LESS THAN MAXVALUE)",
            ),
            ("id INT AUTO_INCREMENT PRIMARY KEY", "SHARD BY LIST(id) (s1 VALUES IN (1, 2), s2 DEFAULT)"),
            ("d DATETIME NOT NULL, a INT", "SHARD BY MONTH(d)"),
            ("id INT, `a b` INT, PRIMARY KEY (id, `a b`)", "SHARD BY HASH(`a b`)"),
            ("id INT PRIMARY KEY", "GLOBAL"),
            ("id INT PRIMARY KEY", "SINGLE ON SHARD 's2'"),
        ] {
            lab.done(&format!("CREATE TABLE t ({columns}) {clause}")).await;
            let before = lab.catalog().databases["shop"].tables["t"].clone();
            let shown = lab.told("SHOW CREATE TABLE t").await[0][1].clone().expect("it is there");
            lab.done("DROP TABLE t").await;
            lab.done(std::str::from_utf8(&shown).expect("UTF-8")).await;
            assert_eq!(lab.catalog().databases["shop"].tables["t"], before, "{clause}");
            lab.done("DROP TABLE t").await;
        }
    });
}

#[test]
fn keys_whose_equality_is_not_exact_are_refused_with_the_way_out() {
    on_both(2, |lab| async move {
        lab.done("CREATE DATABASE shop CHARACTER SET utf8mb4 COLLATE utf8mb4_czech_ci").await;
        for (columns, reason) in [
            ("f FLOAT PRIMARY KEY) SHARD BY HASH (f", "use DECIMAL"),
            ("f TIMESTAMP PRIMARY KEY) SHARD BY HASH (f", "use DATETIME"),
            ("f ENUM('a', 'b') PRIMARY KEY) SHARD BY HASH (f", "use VARCHAR"),
            ("f VARCHAR(9) PRIMARY KEY) SHARD BY HASH (f", "use utf8mb4_bin or utf8mb4_general_ci"),
            ("id INT, f INT AS (id + 1) STORED) SHARD BY HASH (f", "it is generated"),
            ("id INT PRIMARY KEY, a INT, UNIQUE u (a)) SHARD BY HASH (id", "UNIQUE UNCHECKED"),
            ("id INT PRIMARY KEY) SHARD BY RANGE (id", "SHARD BY RANGE and LIST need their parts"),
            ("id INT PRIMARY KEY) SHARD BY YEAR (id", "DATE or DATETIME"),
        ] {
            let text = format!("CREATE TABLE t ({columns})");
            let failure = lab.refused(&text).await;
            assert_eq!(failure.code, 1235, "{text}: {failure}");
            assert!(failure.message.contains(reason), "{text}: {failure}");
            assert_eq!(lab.tables_on(0).await, [""; 0], "{text}");
            assert!(lab.catalog().definitions.is_empty(), "{text}");
        }
        let unknown = lab.refused("CREATE TABLE t (id INT PRIMARY KEY) SINGLE ON SHARD 's9'").await;
        assert!(unknown.message.contains("it has s1, s2"), "{unknown}");
        assert_eq!(lab.refused("CREATE TABLE t (id INT PRIMARY KEY) SHARD BY HASH(no)").await.code, 1072);
        lab.done("CREATE TABLE t (f VARCHAR(9) PRIMARY KEY) CHARSET latin1").await;
        assert!(lab.weights().of("latin1_swedish_ci").is_some(), "it was checked");
        lab.done("CREATE TABLE u (id INT PRIMARY KEY, a INT UNIQUE UNCHECKED)").await;
        assert_eq!(lab.catalog().databases["shop"].tables["u"].unchecked, ["a"]);
        lab.done("ALTER TABLE u ADD COLUMN b INT, ADD UNIQUE UNCHECKED twice (b, a)").await;
        assert_eq!(lab.catalog().databases["shop"].tables["u"].unchecked, ["a", "twice"]);
    });
}

#[test]
fn foreign_keys_stay_within_shards_however_they_come() {
    on_both(2, |lab| async move {
        lab.done("CREATE DATABASE shop").await;
        lab.done("CREATE TABLE parent (id INT PRIMARY KEY) SHARD BY HASH(id)").await;
        lab.done("CREATE TABLE other (id INT PRIMARY KEY, a INT, KEY (a)) SHARD BY HASH(id)").await;
        lab.done("CREATE TABLE child (id INT PRIMARY KEY, p INT, KEY (p)) SHARD BY HASH(id)").await;
        for text in [
            "CREATE TABLE x (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES parent (id))",
            "ALTER TABLE child ADD FOREIGN KEY (p) REFERENCES parent (id)",
            "ALTER TABLE child ADD (q INT, FOREIGN KEY (q) REFERENCES parent (id))",
            "ALTER TABLE child ADD FOREIGN KEY (id) REFERENCES parent (id) ON DELETE SET NULL",
        ] {
            let failure = lab.refused(text).await;
            assert_eq!(failure.code, 1235, "{text}: {failure}");
        }
        lab.done("ALTER TABLE child ADD CONSTRAINT f FOREIGN KEY (id) REFERENCES parent (id) ON DELETE CASCADE").await;
        let refers = |catalog: &weir_catalog::Catalog| {
            let key = &catalog.databases["shop"].tables["child"].foreign_keys[0];
            (key.name.clone(), key.table.clone())
        };
        assert_eq!(refers(&lab.catalog()), ("f".to_owned(), ("shop".to_owned(), "parent".to_owned())));
        lab.done("RENAME TABLE parent TO elder").await;
        assert_eq!(refers(&lab.catalog()).1.1, "elder", "it follows the table");
        lab.done("ALTER TABLE child ADD COLUMN z INT").await;
        assert_eq!(refers(&lab.catalog()).1.1, "elder", "servers say the same");
    });
}

/// What installers do: tables first, then their unique and foreign keys, and triggers.
#[test]
fn tables_without_a_clause_become_single_where_their_keys_need_it() {
    on_both(2, |lab| async move {
        lab.done("CREATE DATABASE shop CHARACTER SET utf8mb4 COLLATE utf8mb4_czech_ci").await;
        let single = |table: &str| {
            lab.catalog().databases["shop"].tables[table].placement == weir_catalog::Placement::Single(ShardId(0))
        };
        for (table, text) in [
            ("odd", "CREATE TABLE odd (name VARCHAR(9) PRIMARY KEY)"),
            ("users", "CREATE TABLE users (id INT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(9) UNIQUE)"),
            ("posts", "CREATE TABLE posts (id INT PRIMARY KEY, u INT, FOREIGN KEY (u) REFERENCES users (id))"),
            ("tree", "CREATE TABLE tree (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES tree (id))"),
        ] {
            let outcome = lab.done(text).await;
            assert!(outcome.note.is_some_and(|note| note.contains("SINGLE")) && outcome.warnings == 1, "{text}");
            assert!(single(table), "{text}");
        }
        for table in ["parents", "children", "log", "many"] {
            let text = format!("CREATE TABLE {table} (id INT AUTO_INCREMENT PRIMARY KEY, p INT, KEY (p))");
            assert_eq!(lab.done(&text).await.note, None);
        }
        lab.done("CREATE TABLE events (id INT PRIMARY KEY)").await;
        lab.done("CREATE TABLE problems (id INT PRIMARY KEY, r INT, FOREIGN KEY (id) REFERENCES events (id))").await;
        let tied = lab.done("ALTER TABLE problems ADD FOREIGN KEY (r) REFERENCES events (id)").await;
        assert!(tied.note.is_some() && single("events") && single("problems"), "the child goes before its parent");
        lab.sequences.borrow_mut().insert(weir_catalog::Object::within("shop", "parents"), 7);
        for text in [
            "ALTER TABLE children ADD CONSTRAINT c FOREIGN KEY (p) REFERENCES parents (id)",
            "CREATE TRIGGER t AFTER INSERT ON posts FOR EACH ROW INSERT INTO log (p) VALUES (NEW.id)",
        ] {
            assert!(lab.done(text).await.note.is_some_and(|note| note.contains("SINGLE")), "{text}");
        }
        assert!(single("parents") && single("children") && single("log") && !single("many"));
        assert_eq!(lab.tables_on(1).await, ["many"]);
        assert!(lab.catalog().definitions.is_empty());
        lab.on(0, "INSERT INTO shop.parents (p) VALUES (1)").await.expect("it is there");
        let next = lab.on(0, "SELECT id FROM shop.parents").await.expect("it is there").rows;
        assert_eq!(next, [[Some(b"7".to_vec())]], "the values of the sequence don't come again");

        // A row on any shard keeps it where it is.
        lab.on(1, "INSERT INTO shop.many VALUES (4, 4)").await.expect("it is there");
        let failure = lab.refused("CREATE UNIQUE INDEX u ON many (p)").await;
        assert_eq!(failure.code, 1235);
        assert!(failure.message.contains("UNIQUE UNCHECKED") && failure.message.contains("it has rows"), "{failure}");
        assert!(!single("many") && lab.catalog().definitions.is_empty());
        assert_eq!(
            lab.on(1, "SELECT COUNT(*) FROM shop.many").await.expect("it is there").rows,
            [[Some(b"1".to_vec())]]
        );
    });
}

#[test]
fn a_database_says_what_its_tables_are_without_a_clause() {
    on_both(2, |lab| async move {
        lab.done("CREATE DATABASE shop /*weir: default single */").await;
        let clause = |table: &str| lab.catalog().databases["shop"].tables[table].clause.clone();
        lab.done("CREATE TABLE a (id INT PRIMARY KEY)").await;
        assert_eq!(clause("a"), "single on shard 's1'");
        let shown = lab.told("SHOW CREATE DATABASE shop").await[0][1].clone().expect("it is there");
        assert!(shown.ends_with(b" /*weir: default single */"));
        lab.done("ALTER DATABASE shop /*weir: default sharded */").await;
        lab.done("CREATE TABLE b (id INT PRIMARY KEY)").await;
        assert_eq!(clause("b"), "shard by hash(id)");
        lab.done("ALTER DATABASE shop COLLATE utf8mb4_bin /*weir: default single */").await;
        assert!(lab.catalog().databases["shop"].default_single);
        let failure = lab.refused("ALTER DATABASE shop /*weir: default singel */").await;
        assert!(failure.code == 1064 && failure.message.contains("/*weir: default single */"), "{failure}");
        lab.done("CREATE TABLE c AS SELECT id FROM a").await;
        assert_eq!(clause("c"), "single on shard 's1'");
    });
}
