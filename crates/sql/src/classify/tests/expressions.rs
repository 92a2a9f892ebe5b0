//! Functions, variables and clauses within statements.

use super::*;

#[test]
fn functions_pin_and_are_reported() {
    for (sql, pins) in [
        ("SELECT GET_LOCK('a', 1)", Pins::USER_LOCK),
        ("SELECT get_lock ('a', 1)", Pins::USER_LOCK),
        ("SELECT `GET_LOCK`('a', 1)", Pins::USER_LOCK),
        ("SELECT /* x */ GET_LOCK/**/('a', 1)", Pins::USER_LOCK),
        ("SELECT /*! GET_LOCK('a', 1) */", Pins::USER_LOCK),
        ("SELECT 1 FROM t WHERE a IN (SELECT GET_LOCK('a', 1))", Pins::USER_LOCK),
        ("INSERT INTO t (a) VALUES (GET_LOCK('a', 1))", Pins::USER_LOCK),
        ("CREATE TABLE t AS SELECT GET_LOCK('a', 1)", Pins::USER_LOCK),
        ("CREATE TABLE t AS VALUES (GET_LOCK('a', 1))", Pins::USER_LOCK),
        ("SET @@autocommit = GET_LOCK('a', 1)", Pins::USER_LOCK),
        ("SELECT ROW_COUNT()", Pins::ROW_COUNT),
        ("SELECT FOUND_ROWS()", Pins::FOUND_ROWS),
        ("SELECT SQL_CALC_FOUND_ROWS * FROM t LIMIT 1", Pins::FOUND_ROWS),
        ("SELECT f(1)", Pins::UNKNOWN_FUNCTION),
        ("SELECT `f`(1)", Pins::UNKNOWN_FUNCTION),
        ("SELECT `if`(1, 2, 3)", Pins::UNKNOWN_FUNCTION),
        ("SELECT `count`(1)", Pins::UNKNOWN_FUNCTION),
        ("SELECT COUNT (1)", Pins::UNKNOWN_FUNCTION),
        ("SELECT db.abs(1)", Pins::UNKNOWN_FUNCTION),
        ("SELECT db . f (1)", Pins::UNKNOWN_FUNCTION),
        ("SELECT * FROM t WHERE status(a) = 1", Pins::UNKNOWN_FUNCTION),
        ("SELECT a, json_table(b) FROM t", Pins::UNKNOWN_FUNCTION),
        ("SELECT {fn f(1)}", Pins::UNKNOWN_FUNCTION),
        ("DO f()", Pins::UNKNOWN_FUNCTION),
        ("SELECT NEXTVAL(s)", Pins::SEQUENCE | Pins::UNKNOWN_FUNCTION),
        ("SELECT NEXT VALUE FOR s", Pins::SEQUENCE),
        ("SELECT PREVIOUS VALUE FOR s", Pins::SEQUENCE),
        ("SELECT s.currval", Pins::SEQUENCE),
    ] {
        assert_eq!(class(sql).pins, pins, "{sql}");
    }
}

#[test]
fn names_elsewhere_are_no_calls() {
    for sql in [
        "SELECT 'GET_LOCK(1)'",
        "SELECT \"GET_LOCK(1)\"",
        "SELECT 1 /* GET_LOCK('a', 1) */",
        "SELECT 1 -- GET_LOCK('a', 1)",
        "SELECT 1 # GET_LOCK('a', 1)",
        "SELECT 'a\\' GET_LOCK(1)'",
        "SELECT a.get_lock, get_lock FROM t",
        "SELECT `GET_LOCK('a', 1)` FROM t",
        "INSERT INTO t (a, b) VALUES (1, 2)",
        "INSERT INTO t(a) VALUES (1) ON DUPLICATE KEY UPDATE a = VALUES(a)",
        "INSERT IGNORE db.t(a) VALUES (1), (2)",
        "INSERT INTO `t`(`a`) VALUE (1)",
        "INSERT INTO t PARTITION (p0) (a) SELECT 1",
        "INSERT INTO t VALUES (1) AS new(a) ON DUPLICATE KEY UPDATE a = new.a",
        "REPLACE t(a) VALUES (1)",
        "REPLACE INTO status(a) VALUES (1)",
        "WITH x(a) AS (SELECT 1), y (b, c) AS (SELECT 1, 2) SELECT * FROM x, y",
        "WITH RECURSIVE x(a) AS (SELECT 1 UNION ALL SELECT a + 1 FROM x) SELECT * FROM x",
        "SELECT * FROM (SELECT 1) AS x(a)",
        "SELECT * FROM (SELECT 1) x(a)",
        "SELECT * FROM t USE INDEX (i) FORCE INDEX FOR JOIN (j) WHERE a IN (1) AND (b) OR NOT (c)",
        "SELECT * FROM t PARTITION (p0) JOIN u USING (a) WHERE EXISTS (SELECT 1) GROUP BY (a)",
        "SELECT SUM(a) OVER (PARTITION BY b), RANK() OVER w FROM t WINDOW w AS (ORDER BY c)",
        "SELECT CAST(a AS CHAR(10)), CONVERT(a, DECIMAL(10, 2)), CONVERT(b USING utf8mb4) FROM t",
        "SELECT IF(a, 1, 2), LEFT (a, 1), DATE(a), CHAR(65), REPLACE(a, 'b', 'c') FROM t",
        "SELECT MATCH (a, b) AGAINST ('x'), MATCH a AGAINST ('x') FROM t",
        "SELECT * FROM JSON_TABLE('[]', '$[*]' COLUMNS (id INT(11) PATH '$', name VARCHAR(10) PATH '$.n')) AS j",
        "SELECT * FROM t, LATERAL (SELECT 1) AS x",
        "SELECT a MEMBER OF ('[1]') FROM t",
        "SELECT /*+ f(1) */ a FROM t",
        "SELECT POINT(1, 2), ST_X(p), COUNT(*), NOW(), CURRENT_TIMESTAMP(6), SLEEP(1) FROM t",
        "SELECT a FROM t WHERE b BETWEEN (1) AND (2) LIMIT 1",
        "UPDATE t SET a = CONCAT(a, 'x') WHERE b = (SELECT MAX(b) FROM u)",
        "LOAD DATA INFILE 'x' INTO TABLE t CHARACTER SET utf8mb4 (a, b) SET c = UPPER(a)",
        "CREATE TABLE t (a INT DEFAULT (f(1)), KEY k (a), FOREIGN KEY fk (a) REFERENCES u (b))",
        "ALTER TABLE t ADD INDEX i (a), ADD CONSTRAINT c CHECK (a > 0)",
        "CREATE INDEX i ON t (a)",
        "GRANT SELECT (a), INSERT (b) ON d.t TO u@localhost",
        "CREATE VIEW v AS SELECT f(1)",
    ] {
        assert_eq!(class(sql).pins, Pins::empty(), "{sql}");
    }
}

#[test]
fn the_server_decides_which_functions_are_built_in() {
    for (sql, mysql, mariadb) in [
        ("SELECT NVL(a, b) FROM t", Pins::UNKNOWN_FUNCTION, Pins::empty()),
        ("SELECT UUID_TO_BIN(a) FROM t", Pins::empty(), Pins::UNKNOWN_FUNCTION),
        ("SELECT ASTEXT(a) FROM t", Pins::UNKNOWN_FUNCTION, Pins::empty()),
        ("SELECT JSON_PRETTY(a), IS_UUID(a) FROM t", Pins::empty(), Pins::UNKNOWN_FUNCTION),
        ("SELECT ANY_VALUE(a), `any_value` (b) FROM t", Pins::empty(), Pins::UNKNOWN_FUNCTION),
        ("SELECT RANK () OVER () FROM t", Pins::empty(), Pins::UNKNOWN_FUNCTION),
        // Each is refused by the other server.
        ("SELECT status(a) FROM t", Pins::UNKNOWN_STATEMENT, Pins::UNKNOWN_FUNCTION),
        ("SELECT VALUES(a) FROM t", Pins::empty(), Pins::UNKNOWN_STATEMENT),
        ("SELECT NEXTVAL(s)", Pins::SEQUENCE | Pins::UNKNOWN_FUNCTION, Pins::SEQUENCE),
        ("SELECT MD5(a), SHA1(a), JSON_OBJECT('a', 1) FROM t", Pins::empty(), Pins::empty()),
    ] {
        assert_eq!(class_on(Dialect::MySql, sql).pins, mysql, "{sql}");
        assert_eq!(class_on(Dialect::MariaDb, sql).pins, mariadb, "{sql}");
        let either = if mysql.is_empty() { mariadb } else { mysql };
        assert!(class(sql).pins.contains(either & Pins::UNKNOWN_FUNCTION), "{sql}");
    }
    let spaced = LexMode { ignore_space: true, ..LexMode::default() };
    assert_eq!(classify(b"SELECT COUNT (*) FROM t", spaced).pins, Pins::empty());
}

#[test]
fn modes_decide_what_is_a_string() {
    let ansi = LexMode { ansi_quotes: true, ..LexMode::default() };
    assert_eq!(classify(b"SELECT \"GET_LOCK\"('a', 1)", ansi).pins, Pins::USER_LOCK);
    assert_eq!(class("SELECT \"GET_LOCK\"('a', 1)").pins, Pins::UNKNOWN_STATEMENT, "no server reads it");
    let no_backslash = LexMode { no_backslash_escapes: true, ..LexMode::default() };
    assert_eq!(classify(b"SELECT '\\', GET_LOCK('a', 1)", no_backslash).pins, Pins::USER_LOCK);
    assert_eq!(class("SELECT '\\', GET_LOCK(', 1").pins, Pins::empty());
    assert_eq!(class("SELECT '\\', GET_LOCK('a', 1)").pins, Pins::UNKNOWN_STATEMENT);
}

#[test]
fn effects_of_selects() {
    let none = Effects::empty();
    let shown = Effects::READS | Effects::SHOWS_SESSION_VARIABLES | Effects::SERVER_STATE;
    for (sql, effects) in [
        ("SELECT 1", none),
        ("SELECT * FROM t", Effects::READS),
        ("SELECT * FROM t FOR UPDATE", Effects::READS | Effects::WRITES | Effects::LOCKING_READ),
        ("SELECT * FROM t FOR SHARE SKIP LOCKED", Effects::READS | Effects::WRITES | Effects::LOCKING_READ),
        ("SELECT * FROM t LOCK IN SHARE MODE", Effects::READS | Effects::WRITES | Effects::LOCKING_READ),
        ("SELECT * FROM t INTO OUTFILE 'x'", Effects::READS | Effects::WRITES),
        ("SELECT a INTO DUMPFILE 'x' FROM t", Effects::READS | Effects::WRITES),
        ("SELECT LAST_INSERT_ID()", Effects::USES_LAST_INSERT_ID),
        ("SELECT LAST_INSERT_ID(5)", Effects::SETS_LAST_INSERT_ID),
        ("SELECT @@last_insert_id, @@session.identity", Effects::USES_LAST_INSERT_ID | Effects::SERVER_STATE),
        ("SELECT CONNECTION_ID()", Effects::USES_CONNECTION_ID),
        ("SELECT @@pseudo_thread_id", Effects::USES_CONNECTION_ID | Effects::SERVER_STATE),
        ("SELECT @@socket, @@global.socket", Effects::USES_CONNECTION_ID | Effects::SERVER_STATE),
        ("SELECT @@warning_count, 1", Effects::USES_WARNINGS | Effects::SERVER_STATE),
        ("SELECT @@global.error_count, 1", Effects::SERVER_STATE),
        ("SELECT @a", Effects::USES_USER_VARIABLES),
        ("SELECT @@session_track_schema", Effects::SHOWS_SESSION_VARIABLES | Effects::SERVER_STATE),
        ("SELECT 'session_track_schema'", none),
        ("SELECT * FROM performance_schema.session_variables", shown),
        ("SELECT * FROM `performance_schema`.`variables_by_thread`", shown),
        ("SELECT f(1)", Effects::READS | Effects::WRITES),
        ("SELECT ROW_COUNT()", Effects::USES_ROW_COUNT),
        ("SELECT FOUND_ROWS()", Effects::USES_FOUND_ROWS),
        ("SELECT SQL_CALC_FOUND_ROWS 1", Effects::CALC_FOUND_ROWS),
        ("TABLE t", Effects::READS),
        ("VALUES ROW(1), ROW(2)", none),
        ("(SELECT 1) UNION (SELECT 2)", none),
        ("WITH x AS (SELECT 1 FROM t) SELECT 2", Effects::READS),
    ] {
        let class = class(sql);
        assert_eq!(class.effects, effects, "{sql}");
        assert_eq!(class.kind, TextKind::Select, "{sql}");
    }
}

#[test]
fn computed_user_variables_pin() {
    for sql in [
        "SELECT @a := 1",
        "SELECT 1 INTO @a",
        "SELECT a, b INTO @a, @b FROM t",
        "SELECT a FROM t INTO @`a`",
        "SELECT @ a := 1",
        "LOAD DATA INFILE 'x' INTO TABLE t (a, @b) SET c = @b",
        "GET DIAGNOSTICS CONDITION 1 @m = MESSAGE_TEXT",
        "EXPLAIN FORMAT=JSON INTO @plan SELECT 1",
        "UPDATE t SET a = (@n := @n + 1)",
        "SET @a = @b",
        "SET @a = 1 + 1",
        "SET @a = 'x', autocommit = 0",
        "SET @a = 1; SELECT 2",
        "SELECT 2; SET @a = 1",
    ] {
        let class = class(sql);
        assert!(class.pins.contains(Pins::COMPUTED_USER_VARIABLE), "{sql}");
        assert!(class.effects.contains(Effects::SETS_USER_VARIABLES), "{sql}");
    }
    for sql in ["SELECT @a = 1", "INSERT INTO t VALUES (@a)", "EXPLAIN INSERT INTO t VALUES (@a)"] {
        let class = class(sql);
        assert_eq!(class.pins, Pins::empty(), "{sql}");
        assert!(class.effects.contains(Effects::USES_USER_VARIABLES), "{sql}");
    }
    assert_eq!(
        class("GRANT SELECT ON d.* TO u@localhost, 'v'@'%'").effects & Effects::USES_USER_VARIABLES,
        Effects::empty()
    );
}

#[test]
fn comments_for_some_servers_count_with_and_without() {
    // The lexer reads GET_LOCK as a part of a string if the comment runs, and as a call if it does not.
    let hidden = class("SELECT 1 /*!99999 ' */, GET_LOCK('a', 1) -- '");
    assert!(hidden.pins.contains(Pins::USER_LOCK | Pins::UNKNOWN_STATEMENT));
    assert_eq!(class("SELECT f/*!80000 , abs */(1)").pins, Pins::UNKNOWN_FUNCTION);
    assert_eq!(class("/*!80000 COMMIT */").kind, TextKind::Other);
    assert_eq!(class("/*!40101 COMMIT */").kind, TextKind::Commit);
    assert_eq!(class("/*!40101 SET NAMES utf8mb4 */;").kind, TextKind::Set);
    assert_eq!(class("SELECT /*!40001 SQL_NO_CACHE */ * FROM t").pins, Pins::empty());
    let set = class("/*!80000 SET SESSION information_schema_stats_expiry = 0 */");
    assert_eq!((set.kind, set.assigned), (TextKind::Other, vec!["information_schema_stats_expiry".into()]));
    assert_eq!(
        class("CREATE DATABASE `x` /*!40100 DEFAULT CHARACTER SET utf8mb4 */ /*!80016 DEFAULT ENCRYPTION='N' */").pins,
        Pins::empty()
    );
    let nested = class("SELECT 1 /*!80000 + /*!80001 1 */ + GET_LOCK('a', 1) */");
    assert!(nested.pins.contains(Pins::UNKNOWN_STATEMENT));
}

#[test]
fn files_and_positions_belong_to_one_server() {
    for call in
        ["LOAD_FILE('/x')", "MASTER_POS_WAIT('x', 4)", "WAIT_FOR_EXECUTED_GTID_SET('x')", "MASTER_GTID_WAIT('x')"]
    {
        assert!(class(&format!("SELECT {call}")).effects.contains(Effects::SERVER_STATE), "{call}");
    }
}
