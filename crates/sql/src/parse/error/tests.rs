//! Where reading stops, and the message.
//!
//! The expected texts are those of MySQL 9.7 and MariaDB 10.11, which agree on each of these.

use crate::{Bump, Dialect, LexMode, SyntaxError, parse};

fn error(sql: &str, dialect: Dialect) -> SyntaxError {
    let arena = Bump::new();
    match parse(&arena, sql.as_bytes(), LexMode { dialect, ..LexMode::default() }) {
        Err(error) => error,
        Ok(parsed) => panic!("{sql}: {parsed:?}"),
    }
}

/// A statement, and what the servers show of it: the text from the first token that does not fit, and its line.
const BROKEN: &[(&str, &str, u32)] = &[
    ("SELECT", "", 1),
    ("SELECT * FORM t", "FORM t", 1),
    ("SELECT a, FROM t", "FROM t", 1),
    ("SELECT a FROM t WHERE", "", 1),
    ("SELECT a FROM t WHERE a = 1 AND", "", 1),
    ("SELECT a FROM t GROUP BY", "", 1),
    ("SELECT a FROM t ORDER BY a DESC ASC", "ASC", 1),
    ("SELECT a FROM t LIMIT -1", "-1", 1),
    ("SELECT (1", "", 1),
    ("SELECT 1)", ")", 1),
    ("SELECT 1 +", "", 1),
    ("SELECT a IN () FROM t", ") FROM t", 1),
    ("SELECT a BETWEEN 1 FROM t", "FROM t", 1),
    ("SELECT CASE WHEN 1 THEN 2", "", 1),
    ("SELECT CASE END", "", 1),
    ("SELECT COUNT(*", "", 1),
    ("SELECT `abc", "`abc", 1),
    ("SELECT a FROM t JOIN u ON", "", 1),
    ("SELECT a FROM (SELECT 1", "", 1),
    ("SELECT a FROM t UNION", "", 1),
    ("SELECT a FROM t FOR", "", 1),
    ("SELECT a AS FROM t", "FROM t", 1),
    ("SELECT a FROM select", "select", 1),
    ("SELECT a FROM t;; SELECT 2", "; SELECT 2", 1),
    ("SELECT a IS 3 FROM t", "3 FROM t", 1),
    ("SELECT INTERVAL 1 FROM t", "FROM t", 1),
    ("SELECT EXISTS SELECT 1", "SELECT 1", 1),
    ("INSERT INTO", "", 1),
    ("INSERT INTO t VALUES", "", 1),
    ("INSERT INTO t VALUES (1, 2),", "", 1),
    ("INSERT INTO t (a, 1) VALUES (1, 2)", "1) VALUES (1, 2)", 1),
    ("INSERT INTO t SET", "", 1),
    ("INSERT INTO t SET a = 1, ", "", 1),
    ("INSERT INTO t VALUES (1) ON DUPLICATE KEY a = 1", "a = 1", 1),
    ("REPLACE INTO t VALUES (1) ON DUPLICATE KEY UPDATE a = 1", "ON DUPLICATE KEY UPDATE a = 1", 1),
    ("UPDATE t", "", 1),
    ("UPDATE t SET a", "", 1),
    ("UPDATE t SET a = 1 WHERE", "", 1),
    ("UPDATE SET a = 1", "SET a = 1", 1),
    ("DELETE", "", 1),
    ("DELETE FROM", "", 1),
    ("DELETE * FROM t", "* FROM t", 1),
    ("CREATE", "", 1),
    ("CREATE TABLE t (", "", 1),
    ("CREATE TABLE t (a)", ")", 1),
    ("CREATE TABLE t (a INT,)", ")", 1),
    ("CREATE TABLE t (a INT PRIMARY)", ")", 1),
    ("CREATE TABLE t (PRIMARY KEY a)", ")", 1),
    ("CREATE TABEL t (a INT)", "TABEL t (a INT)", 1),
    ("CREATE INDEX i ON t", "", 1),
    ("CREATE VIEW v", "", 1),
    ("CREATE VIEW v AS INSERT INTO t VALUES (1)", "INSERT INTO t VALUES (1)", 1),
    ("CREATE DATABASE d FOO", "FOO", 1),
    ("CREATE USER u IDENTIFIED", "", 1),
    ("CREATE PROCEDURE p", "", 1),
    ("CREATE PROCEDURE p() BEGIN SELECT 1;", "", 1),
    ("CREATE FUNCTION f() SELECT 1", "SELECT 1", 1),
    ("CREATE TRIGGER t BEFORE INSERT x FOR EACH ROW SET @a = 1", "x FOR EACH ROW SET @a = 1", 1),
    ("ALTER", "", 1),
    ("ALTER TABLE t ADD", "", 1),
    ("ALTER TABLE t DROP", "", 1),
    ("ALTER TABLE t RENAME COLUMN a b", "b", 1),
    ("DROP TABLE", "", 1),
    ("DROP t", "t", 1),
    ("DROP INDEX i", "", 1),
    ("RENAME TABLE t", "", 1),
    ("RENAME TABLE t u", "u", 1),
    ("SET a", "", 1),
    ("SET @a", "", 1),
    ("SET @a = 1,", "", 1),
    ("SET NAMES", "", 1),
    ("SET TRANSACTION", "", 1),
    ("SET TRANSACTION ISOLATION LEVEL FOO", "FOO", 1),
    ("SHOW TABLES FORM d", "FORM d", 1),
    ("SHOW CREATE t", "t", 1),
    ("SHOW COLUMNS t", "t", 1),
    ("GRANT SELECT ON t", "", 1),
    ("GRANT SELECT t TO u", "t TO u", 1),
    ("BEGIN FOO", "FOO", 1),
    ("START TRANSACTION WITH", "", 1),
    ("COMMIT FOO", "FOO", 1),
    ("ROLLBACK TO", "", 1),
    ("RELEASE s", "s", 1),
    ("LOCK TABLES", "", 1),
    ("USE", "", 1),
    ("CALL", "", 1),
    ("CALL p(1,", "", 1),
    ("PREPARE s", "", 1),
    ("EXECUTE", "", 1),
    ("DEALLOCATE s", "s", 1),
    ("KILL QUERY", "", 1),
    ("EXPLAIN", "", 1),
    ("DESCRIBE", "", 1),
    ("HANDLER t OPEN AS", "", 1),
    ("CHECK TABLE", "", 1),
    ("LOAD DATA INFILE t", "t", 1),
    ("WITH a SELECT 1", "SELECT 1", 1),
    ("WITH a AS (SELECT 1)", "", 1),
    ("SLECT 1", "SLECT 1", 1),
    ("'a'", "'a'", 1),
    ("SELECT 1\nFROM t\nWHERE a = = 2", "= 2", 3),
    ("SELECT 1,\n\n2 FORM t", "t", 3),
    ("SELECT 1 /* a\n b */ FROM FROM t", "FROM t", 2),
    ("SELECT a -- x\n FROM t WHER b = 1", "b = 1", 2),
    ("/*!50000 SELECT */ FROM t", "FROM t", 1),
    ("SELECT \"a\" 'b' c d", "d", 1),
    ("SELECT t.* a FROM t", "a FROM t", 1),
    ("SELECT a FROM t WHERE a = 1) AND b = 2", ") AND b = 2", 1),
    ("SELECT a FROM t PARTITION p", "p", 1),
    ("SELECT a FROM t NATURAL u", "u", 1),
    ("SELECT a FROM t JOIN u USING a", "a", 1),
    ("SELECT x'4g'", "x'4g'", 1),
    ("SELECT DATE FROM WHERE", "WHERE", 1),
    ("SELECT SUBSTRING(a FROM)", ")", 1),
    ("SELECT EXTRACT(FOO FROM a)", "FOO FROM a)", 1),
    ("SELECT CONVERT(a USING)", ")", 1),
    ("SELECT BINARY FROM t", "FROM t", 1),
    ("VALUES", "", 1),
    ("SELECT SUM(a) OVER (ORDER a) FROM t", "a) FROM t", 1),
];

#[test]
fn reading_stops_where_the_servers_stop() {
    for dialect in [Dialect::MySql, Dialect::MariaDb] {
        for (sql, near, line) in BROKEN {
            let message = error(sql, dialect).to_string();
            let expected = format!(
                "You have an error in your SQL syntax; check the manual that corresponds to your server version for the \
                 right syntax to use near '{near}' at line {line}: "
            );
            assert!(message.starts_with(&expected), "{sql}: {message}");
        }
    }
}

#[test]
fn long_texts_and_quoted_line_breaks_are_told_as_each_server_does() {
    let sql = "SELECT 'a\nb', `c\nd`, /* e\nf */ 1\nfrm frm frm from from aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
    for (dialect, near, line) in [(Dialect::MySql, "a".repeat(62), 5), (Dialect::MariaDb, "a".repeat(59) + "...", 3)] {
        let message = error(sql, dialect).to_string();
        assert!(message.contains(&format!("near 'frm frm from from {near}' at line {line}:")), "{message}");
    }
}

#[test]
fn a_message_says_what_was_expected() {
    for (sql, expected) in [
        ("CREATE TRIGGER t ON x", "BEFORE, AFTER"),
        ("GRANT SELECT ON t", "TO"),
        ("CREATE PROCEDURE p(", "a name"),
        ("SAVEPOINT", "a name"),
        ("RENAME TABLE t TO u v", "the end of the statement"),
    ] {
        assert_eq!(error(sql, Dialect::MySql).expected(), expected, "{sql}");
    }
}

#[test]
fn long_texts_are_shown_in_part() {
    let sql = format!("DO 1 1 {}", "é".repeat(100));
    let message = error(&sql, Dialect::MySql).to_string();
    assert!(message.contains(&format!("near '1 {}' at line 1", "é".repeat(39))), "{message}");
}

#[test]
fn semicolons_stand_between_statements_and_at_the_end() {
    for (sql, statements) in [("", 0), (";", 0), ("; ;", 0), ("DO 1", 1), ("DO 1; ;; ", 1), ("DO 1; DO 2;", 2)] {
        let arena = Bump::new();
        let parsed = parse(&arena, sql.as_bytes(), LexMode::default()).unwrap_or_else(|error| panic!("{sql}: {error}"));
        assert_eq!(parsed.statements.len(), statements, "{sql}");
    }
    assert_eq!(error(";DO 1", Dialect::MySql).span.start, 0);
    assert_eq!(error("DO 1;; DO 2", Dialect::MariaDb).span.start, 5);
}
