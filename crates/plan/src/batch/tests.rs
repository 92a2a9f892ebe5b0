use weir_sql::ast::StatementKind;
use weir_sql::{Bump, LexMode, parse};
use weir_wire::Failure;

use super::{KeyColumn, Split, Splittable};

fn read(sql: &str) -> Result<Splittable, Failure> {
    let arena = Bump::new();
    let parsed = parse(&arena, sql.as_bytes(), LexMode::default()).expect(sql);
    let [statement] = parsed.statements else { panic!("{sql}") };
    let StatementKind::Batch(batch) = statement.kind else { panic!("{sql}") };
    Splittable::of(batch, sql.as_bytes(), LexMode::default(), b"d", parsed.conditional)
}

fn along(sql: &str, unique: bool) -> Result<Split, Failure> {
    read(sql)?.along(KeyColumn { name: b"id".to_vec(), unique })
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8_lossy(&bytes).into_owned()
}

#[test]
fn a_part_is_the_statement_for_a_range_of_keys() {
    for (sql, first, next) in [
        ("BATCH LIMIT 2 DELETE FROM t", "DELETE FROM t WHERE `id` <= 5", "DELETE FROM t WHERE `id` > 5 AND `id` <= 9"),
        (
            "BATCH ON id LIMIT 2 DELETE FROM d.t AS x WHERE a = 1 OR b /* c */ = 2 -- end",
            "DELETE FROM d.t AS x WHERE `id` <= 5 AND (a = 1 OR b /* c */ = 2)",
            "DELETE FROM d.t AS x WHERE `id` > 5 AND `id` <= 9 AND (a = 1 OR b /* c */ = 2)",
        ),
        (
            "BATCH LIMIT 2 UPDATE IGNORE t SET a = a + 1, b = (c) WHERE a < 5",
            "UPDATE IGNORE t SET a = a + 1, b = (c) WHERE `id` <= 5 AND (a < 5)",
            "UPDATE IGNORE t SET a = a + 1, b = (c) WHERE `id` > 5 AND `id` <= 9 AND (a < 5)",
        ),
        (
            "BATCH LIMIT 2 UPDATE t SET a = b",
            "UPDATE t SET a = b WHERE `id` <= 5",
            "UPDATE t SET a = b WHERE `id` > 5 AND `id` <= 9",
        ),
        (
            "BATCH LIMIT 2 INSERT INTO u (id, a) SELECT id, a + 1 FROM t PARTITION (p0) ON DUPLICATE KEY UPDATE a = 3",
            "INSERT INTO u (id, a) SELECT id, a + 1 FROM t PARTITION (p0) WHERE `id` <= 5 ON DUPLICATE KEY UPDATE a = 3",
            "INSERT INTO u (id, a) SELECT id, a + 1 FROM t PARTITION (p0) WHERE `id` > 5 AND `id` <= 9 ON DUPLICATE KEY UPDATE a = 3",
        ),
        (
            "BATCH LIMIT 2 REPLACE u SELECT * FROM t x WHERE a IN (1, 2)",
            "REPLACE u SELECT * FROM t x WHERE `id` <= 5 AND (a IN (1, 2))",
            "REPLACE u SELECT * FROM t x WHERE `id` > 5 AND `id` <= 9 AND (a IN (1, 2))",
        ),
        (
            "BATCH LIMIT 2 insert into sbtest1 select * from sbtest.sbtest1 limit 1000000",
            "insert into sbtest1 select * from sbtest.sbtest1 WHERE `id` <= 5",
            "insert into sbtest1 select * from sbtest.sbtest1 WHERE `id` > 5 AND `id` <= 9",
        ),
        (
            "BATCH LIMIT 2 DELETE FROM t WHERE a = 1 LIMIT 7",
            "DELETE FROM t WHERE `id` <= 5 AND (a = 1)",
            "DELETE FROM t WHERE `id` > 5 AND `id` <= 9 AND (a = 1)",
        ),
    ] {
        let split = along(sql, true).expect(sql);
        assert_eq!(text(split.part(None, b"5")), first, "{sql}");
        assert_eq!(text(split.part(Some(b"5"), b"9")), next, "{sql}");
    }
}

#[test]
fn keys_are_asked_for_with_the_statements_own_condition() {
    let split = along("BATCH LIMIT 100 UPDATE d.t SET a = 1 WHERE b = 2 OR c", true).expect("splittable");
    assert_eq!(text(split.last()), "SELECT `id` FROM d.t WHERE (b = 2 OR c) ORDER BY `id` DESC LIMIT 1");
    assert_eq!(
        text(split.edge(Some(b"-3"), b"9")),
        "SELECT `id` FROM d.t WHERE `id` > -3 AND `id` <= 9 AND (b = 2 OR c) ORDER BY `id` LIMIT 99, 1"
    );
    assert_eq!(text(split.all_keys()), "SELECT `id` FROM d.t WHERE (b = 2 OR c) ORDER BY `id`");
    assert_eq!(split.last_of_limit(), None);
    let split = along("BATCH LIMIT 100 DELETE FROM t LIMIT 250", true).expect("splittable");
    assert_eq!(split.last_of_limit().map(text).as_deref(), Some("SELECT `id` FROM t ORDER BY `id` LIMIT 249, 1"));
    assert_eq!(text(split.all_keys()), "SELECT `id` FROM t ORDER BY `id` LIMIT 250");
    assert!(along("BATCH LIMIT 1 DELETE FROM t LIMIT 0", true).expect("splittable").is_empty());
}

#[test]
fn what_parts_would_do_otherwise_is_refused() {
    for (sql, reason) in [
        ("BATCH LIMIT 2 SELECT 1", "of this statement"),
        ("BATCH LIMIT 2 BATCH LIMIT 2 DELETE FROM t", "of this statement"),
        ("BATCH LIMIT 2 DELETE t FROM t JOIN u", "joined"),
        ("BATCH LIMIT 2 DELETE FROM t ORDER BY id", "ORDER BY"),
        ("BATCH LIMIT 2 DELETE FROM t WHERE a IN (SELECT a FROM u)", "subqueries"),
        ("BATCH LIMIT 2 DELETE FROM t WHERE a = RAND()", "chance"),
        ("BATCH LIMIT 2 DELETE FROM t WHERE a < SYSDATE()", "SYSDATE"),
        ("BATCH LIMIT 2 DELETE FROM t WHERE a = @a", "user variables"),
        ("BATCH LIMIT 2 DELETE FROM t WHERE a = own(1)", "stored functions"),
        ("BATCH LIMIT 2 DELETE FROM t LIMIT ?", "LIMIT"),
        ("BATCH ON u.id LIMIT 2 DELETE FROM t", "another table"),
        ("BATCH LIMIT 2 /*!80000 DELETE FROM t */", "comments"),
        ("BATCH LIMIT 2 DELETE /*+ WEIR_SHARD(s1) */ FROM t", "comments"),
        ("BATCH LIMIT 2 UPDATE t, u SET t.a = 1", "one table"),
        ("BATCH LIMIT 2 UPDATE t SET ID = id + 1", "changes the column"),
        ("BATCH LIMIT 2 UPDATE t SET a = LAST_INSERT_ID()", "of the session"),
        ("BATCH LIMIT 2 INSERT INTO t VALUES (1)", "VALUES"),
        ("BATCH LIMIT 2 INSERT INTO T SELECT * FROM d.t", "later parts"),
        ("BATCH LIMIT 2 INSERT INTO u SELECT * FROM t UNION SELECT 1", "plain SELECT"),
        ("BATCH LIMIT 2 INSERT INTO u SELECT DISTINCT a FROM t", "DISTINCT"),
        ("BATCH LIMIT 2 INSERT INTO u SELECT COUNT(*) FROM t", "aggregates"),
        ("BATCH LIMIT 2 INSERT INTO u SELECT ROW_NUMBER() OVER () FROM t", "windows"),
        ("BATCH LIMIT 2 INSERT INTO u SELECT a FROM t GROUP BY a", "GROUP BY"),
        ("BATCH LIMIT 2 INSERT INTO u SELECT t.a FROM t JOIN v", "one table"),
        ("BATCH LIMIT 2 INSERT INTO u SELECT a FROM t ORDER BY a LIMIT 5", "ORDER BY"),
        ("BATCH LIMIT 2 INSERT INTO u SELECT a FROM t LIMIT 5, 5", "OFFSET"),
        ("BATCH LIMIT 2 INSERT INTO u SELECT a FROM t FOR UPDATE", "locks"),
    ] {
        let failure = along(sql, true).expect_err(sql);
        assert_eq!(failure.code, 1235, "{sql}");
        assert!(failure.message.contains(reason), "{sql}: {}", failure.message);
    }
    let zero = along("BATCH LIMIT 0 DELETE FROM t", true).expect_err("no rows");
    assert_eq!(zero.code, 1210);
}

#[test]
fn a_limit_needs_a_unique_column() {
    let sql = "BATCH LIMIT 2 DELETE FROM t LIMIT 5";
    assert!(along(sql, true).is_ok());
    assert!(along(sql, false).expect_err(sql).message.contains("not unique"));
    assert!(along("BATCH LIMIT 2 DELETE FROM t", false).is_ok());
}

#[test]
fn the_time_is_one_for_all_parts() {
    assert!(read("BATCH LIMIT 2 DELETE FROM t WHERE a < NOW() - INTERVAL 30 DAY").expect("splittable").asks_time);
    assert!(!read("BATCH LIMIT 2 DELETE FROM t").expect("splittable").asks_time);
}
