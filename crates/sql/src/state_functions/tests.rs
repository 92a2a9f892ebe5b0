//! Replaced calls, and the names of columns.

use super::{StateValues, replace_state_functions};
use crate::lexer::tests::Random;
use crate::mode::{LeadBytes, LexMode};

const VALUES: StateValues = StateValues {
    connection_id: Some(7),
    pseudo_thread_id: Some(7),
    row_count: Some(-1),
    found_rows: Some(3),
    socket: Some("/run/w"),
};

fn replaced(sql: &str) -> Option<String> {
    replace_state_functions(sql.as_bytes(), LexMode::default(), &VALUES)
        .map(|text| String::from_utf8(text).expect("the replaced text is UTF-8 as the original"))
}

#[test]
fn calls_are_replaced_and_columns_keep_their_names() {
    for (sql, expected) in [
        ("SELECT ROW_COUNT()", "SELECT COALESCE(-1, ROW_COUNT()) AS `ROW_COUNT()`"),
        (
            "select  connection_id ( ) ;",
            "select  COALESCE(CAST(7 AS UNSIGNED), CONNECTION_ID()) AS `connection_id ( )` ;",
        ),
        (
            "SELECT DISTINCT FOUND_ROWS(), a FROM t",
            "SELECT DISTINCT COALESCE(3, FOUND_ROWS()) AS `FOUND_ROWS()`, a FROM t",
        ),
        ("SELECT a, ROW_COUNT() + 1", "SELECT a, COALESCE(-1, ROW_COUNT()) + 1 AS `ROW_COUNT() + 1`"),
        ("SELECT ROW_COUNT() n", "SELECT COALESCE(-1, ROW_COUNT()) n"),
        ("SELECT ROW_COUNT() `n`", "SELECT COALESCE(-1, ROW_COUNT()) `n`"),
        ("SELECT ROW_COUNT() 'n'", "SELECT COALESCE(-1, ROW_COUNT()) 'n'"),
        ("SELECT ROW_COUNT() AS n, 1", "SELECT COALESCE(-1, ROW_COUNT()) AS n, 1"),
        ("SELECT ROW_COUNT() + a", "SELECT COALESCE(-1, ROW_COUNT()) + a AS `ROW_COUNT() + a`"),
        ("SELECT ROW_COUNT() = `a`.`b`", "SELECT COALESCE(-1, ROW_COUNT()) = `a`.`b` AS `ROW_COUNT() = ``a``.``b```"),
        ("SELECT ROW_COUNT() IS NULL", "SELECT COALESCE(-1, ROW_COUNT()) IS NULL AS `ROW_COUNT() IS NULL`"),
        ("SELECT ROW_COUNT() IS NULL n", "SELECT COALESCE(-1, ROW_COUNT()) IS NULL n"),
        (
            "SELECT CASE WHEN 1 THEN ROW_COUNT() END, 1",
            "SELECT CASE WHEN 1 THEN COALESCE(-1, ROW_COUNT()) END AS `CASE WHEN 1 THEN ROW_COUNT() END`, 1",
        ),
        ("SELECT CASE WHEN 1 THEN ROW_COUNT() END n", "SELECT CASE WHEN 1 THEN COALESCE(-1, ROW_COUNT()) END n"),
        (
            "SELECT NOW() + INTERVAL ROW_COUNT() DAY",
            "SELECT NOW() + INTERVAL COALESCE(-1, ROW_COUNT()) DAY AS `NOW() + INTERVAL ROW_COUNT() DAY`",
        ),
        ("SELECT ROW_COUNT() = 'a' 'b'", "SELECT COALESCE(-1, ROW_COUNT()) = 'a' 'b' AS `ROW_COUNT() = 'a' 'b'`"),
        ("SELECT ROW_COUNT() = _utf8'a'", "SELECT COALESCE(-1, ROW_COUNT()) = _utf8'a' AS `ROW_COUNT() = _utf8'a'`"),
        ("SELECT ABS(ROW_COUNT()) FROM t", "SELECT ABS(COALESCE(-1, ROW_COUNT())) AS `ABS(ROW_COUNT())` FROM t"),
        ("SELECT ABS(ROW_COUNT()) n FROM t", "SELECT ABS(COALESCE(-1, ROW_COUNT())) n FROM t"),
        (
            "SELECT * FROM (SELECT ROW_COUNT()) x, y",
            "SELECT * FROM (SELECT COALESCE(-1, ROW_COUNT()) AS `ROW_COUNT()`) x, y",
        ),
        (
            "SELECT (SELECT ROW_COUNT()), b",
            "SELECT (SELECT COALESCE(-1, ROW_COUNT()) AS `ROW_COUNT()`) AS `(SELECT ROW_COUNT())`, b",
        ),
        ("(SELECT ROW_COUNT()) UNION SELECT b", "(SELECT COALESCE(-1, ROW_COUNT()) AS `ROW_COUNT()`) UNION SELECT b"),
        (
            "SELECT a FROM t WHERE b = CONNECTION_ID()",
            "SELECT a FROM t WHERE b = COALESCE(CAST(7 AS UNSIGNED), CONNECTION_ID())",
        ),
        ("SELECT ROW_COUNT() INTO @a", "SELECT COALESCE(-1, ROW_COUNT()) AS `ROW_COUNT()` INTO @a"),
        ("SELECT ROW_COUNT(/* x */)", "SELECT COALESCE(-1, ROW_COUNT()) AS `ROW_COUNT(/* x */)`"),
        ("SET @a = ROW_COUNT(), b = 1", "SET @a = COALESCE(-1, ROW_COUNT()), b = 1"),
        (
            "INSERT INTO t VALUES (CONNECTION_ID(), 1)",
            "INSERT INTO t VALUES (COALESCE(CAST(7 AS UNSIGNED), CONNECTION_ID()), 1)",
        ),
        (
            "DO ROW_COUNT(), (SELECT ROW_COUNT())",
            "DO COALESCE(-1, ROW_COUNT()), (SELECT COALESCE(-1, ROW_COUNT()) AS `ROW_COUNT()`)",
        ),
        (
            "SELECT UTC_DATE + ROW_COUNT(), 1",
            "SELECT UTC_DATE + COALESCE(-1, ROW_COUNT()) AS `UTC_DATE + ROW_COUNT()`, 1",
        ),
        ("SELECT a FROM t ORDER BY FOUND_ROWS()", "SELECT a FROM t ORDER BY COALESCE(3, FOUND_ROWS())"),
        ("SELECT @@socket", "SELECT COALESCE(CONVERT(X'2F72756E2F77' USING utf8mb4), @@socket) AS `@@socket`"),
        (
            "SELECT 1, @@GLOBAL.Socket AS s",
            "SELECT 1, COALESCE(CONVERT(X'2F72756E2F77' USING utf8mb4), @@global.socket) AS s",
        ),
        ("EXPLAIN SELECT ROW_COUNT()", "EXPLAIN SELECT COALESCE(-1, ROW_COUNT()) AS `ROW_COUNT()`"),
        ("KILL CONNECTION_ID()", "KILL COALESCE(CAST(7 AS UNSIGNED), CONNECTION_ID())"),
        ("SELECT 1; SELECT ROW_COUNT()", "SELECT 1; SELECT COALESCE(-1, ROW_COUNT()) AS `ROW_COUNT()`"),
        (
            "CREATE TABLE t (a INT DEFAULT (CONNECTION_ID())) SELECT CONNECTION_ID()",
            "CREATE TABLE t (a INT DEFAULT (CONNECTION_ID())) SELECT COALESCE(CAST(7 AS UNSIGNED), CONNECTION_ID()) AS `CONNECTION_ID()`",
        ),
        (
            "WITH x AS (SELECT ROW_COUNT()) SELECT * FROM x",
            "WITH x AS (SELECT COALESCE(-1, ROW_COUNT()) AS `ROW_COUNT()`) SELECT * FROM x",
        ),
    ] {
        assert_eq!(replaced(sql).as_deref(), Some(expected), "{sql}");
    }
}

#[test]
fn other_texts_stay() {
    for sql in [
        "SELECT 1",
        "SELECT 'ROW_COUNT()'",
        "SELECT 1 /* ROW_COUNT() */",
        "SELECT row_count FROM t",
        "SELECT socket, @socket, @@port FROM t",
        "SELECT t.row_count()",
        "SELECT `row_count`()",
        "SELECT ROW_COUNT(1)",
        "SELECT (ROW_COUNT()",
        "SELECT ROW_COUNT() `open",
        "SELECT ROW_COUNT(/*! ) + f( */)",
        "SELECT ROW_COUNT()-",
        "SELECT ROW_COUNT()--FOR x",
        "SELECT ROW_COUNT(), (SELECT ROW_COUNT() <=> FROM t)",
        "CREATE VIEW v AS SELECT CONNECTION_ID()",
        "CREATE PROCEDURE p() BEGIN SELECT ROW_COUNT(); SELECT ROW_COUNT(); END",
        "PREPARE s FROM 'SELECT ROW_COUNT()'",
        "",
    ] {
        assert_eq!(replaced(sql), None, "{sql}");
    }
    assert_eq!(replace_state_functions(b"SELECT ROW_COUNT()", LexMode::default(), &StateValues::default()), None);
}

#[test]
fn long_names_are_cut() {
    let sql = format!("SELECT ROW_COUNT() + '{}'", "é".repeat(200));
    let text = replaced(&sql).expect("there is a call");
    let alias = text.rsplit_once(" AS `").expect("an alias was added").1;
    assert!(alias.len() <= 256 && alias.ends_with("é`"), "{alias}");
}

#[test]
fn quotes_within_wide_characters_are_not_doubled() {
    let gbk = LexMode { lead_bytes: LeadBytes::Gbk, ..LexMode::default() };
    let text = replace_state_functions(b"SELECT ROW_COUNT() = '\x81`'", gbk, &VALUES);
    let expected = b"SELECT COALESCE(-1, ROW_COUNT()) = '\x81`' AS `ROW_COUNT() = '\x81`'`";
    assert_eq!(text.as_deref(), Some(&expected[..]));
    let half = replace_state_functions(b"SELECT ROW_COUNT() + a\x81", gbk, &VALUES);
    assert_eq!(half.as_deref(), Some(&b"SELECT COALESCE(-1, ROW_COUNT()) + a\x81 AS `ROW_COUNT() + a`"[..]));
}

#[test]
fn any_bytes_can_be_searched() {
    let mut random = Random::new(4);
    let mut found = 0;
    for _ in 0..150_000 {
        let (mut sql, mode) = (random.text(), random.mode());
        sql.splice(0..0, *b"SELECT ROW_COUNT(), ");
        if let Some(text) = replace_state_functions(&sql, mode, &VALUES) {
            assert!(text.starts_with(b"SELECT COALESCE(-1, ROW_COUNT()) AS `ROW_COUNT()`, "), "{sql:?}");
            // The new text is as readable as the old: its calls are found again.
            assert!(replace_state_functions(&text, mode, &VALUES).is_some(), "{sql:?}");
            found += 1;
        }
    }
    assert!(found > 5_000, "{found}");
}

/// Callers who split a text must leave the semicolon with what stands before it.
#[test]
fn no_statement_begins_with_a_semicolon() {
    assert!(replaced("SELECT 1;").is_none());
    let rest = " SELECT COALESCE(CAST(7 AS UNSIGNED), CONNECTION_ID()) AS `CONNECTION_ID()`";
    assert_eq!(replaced(" SELECT CONNECTION_ID()").as_deref(), Some(rest));
    assert!(replaced("; SELECT CONNECTION_ID()").is_none());
}
