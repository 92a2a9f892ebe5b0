//! What a digest keeps and what it leaves out.

use super::{digest, digest_text};
use crate::lexer::tests::Random;
use crate::mode::LexMode;
use crate::random_texts::{RandomTexts, what_counts};

fn text(sql: &str) -> String {
    digest_text(sql.as_bytes(), LexMode::default(), 1000)
}

fn same(a: &str, b: &str) -> bool {
    digest(a.as_bytes(), LexMode::default()) == digest(b.as_bytes(), LexMode::default())
}

#[test]
fn literals_spaces_comments_and_case_of_keywords_do_not_count() {
    for (a, b) in [
        ("SELECT c FROM t WHERE id=5", "select c /* x */ from t where id = 'abc';"),
        ("SELECT 1.5, 0xAF, b'1', ?", "select ?, 'x', 1e5, 7;;"),
        ("commit", "COMMIT"),
        ("SELECT COUNT(*) FROM t", "SELECT count(*) FROM t"),
    ] {
        assert!(same(a, b), "{a} | {b}");
    }
    for (a, b) in [
        ("SELECT a FROM t", "SELECT b FROM t"),
        ("SELECT a FROM Events", "SELECT a FROM events"),
        ("SELECT a FROM t", "SELECT a FROM T"),
        ("INSERT INTO Date(a) VALUES (1)", "INSERT INTO date(a) VALUES (1)"),
        ("SELECT a FROM t", "SELECT a FROM `t`"),
        ("SELECT 1 IN (1, 2)", "SELECT 1 IN (1, 2, 3)"),
        ("SELECT ab", "SELECT a b"),
        ("SELECT 1; SELECT 2", "SELECT 1 SELECT 2"),
        ("SELECT NULL", "SELECT 1"),
        ("SELECT /*! a */ b", "SELECT a b"),
        ("SELECT /*+ x */ b FROM t", "SELECT b FROM t"),
        ("SELECT -1", "SELECT 1"),
    ] {
        assert!(!same(a, b), "{a} | {b}");
    }
}

#[test]
fn the_hash_is_the_same_in_every_version() {
    let value = digest(b"SELECT c FROM t WHERE id = 5", LexMode::default());
    assert_eq!(value.to_string(), "f3020123865c51a9de7d9fd30eb7778b");
}

#[test]
fn texts_read_well() {
    for (sql, expected) in [
        ("select c from t where id=5", "SELECT c FROM t WHERE id = ?"),
        (
            "SELECT count( * ),`a`.b FROM t WHERE a in(1,-2 , 'x') AND b IN (1)",
            "SELECT COUNT(*), `a`.b FROM t WHERE a IN (...) AND b IN (?)",
        ),
        (
            "INSERT INTO t(a,b) VALUES(1,2),(3,4), (5,6) ON DUPLICATE KEY UPDATE a=1",
            "INSERT INTO t(a, b) VALUES (...) ON DUPLICATE KEY UPDATE a = ?",
        ),
        ("CREATE USER 'u'@'h' IDENTIFIED BY 'secret'", "CREATE USER ?@'h' IDENTIFIED BY ?"),
        ("SET PASSWORD = 'secret'", "SET PASSWORD = ?"),
        ("SELECT 'it''s', _utf8'x', N'y', 'open", "SELECT ?, _utf8 ?, ?, ?"),
        ("SELECT @a:=1, @@session.x;", "SELECT @a := ?, @@session.x"),
        ("SELECT ((1))", "SELECT ((?))"),
        ("", ""),
    ] {
        assert_eq!(text(sql), expected, "{sql}");
    }
}

#[test]
fn secrets_stay_hidden_even_in_the_wrong_mode() {
    let ansi = LexMode { ansi_quotes: true, ..LexMode::default() };
    assert_eq!(digest_text(b"ALTER USER u IDENTIFIED BY \"secret\"", ansi, 100), "ALTER USER u IDENTIFIED BY ?");
}

#[test]
fn long_texts_are_cut() {
    assert_eq!(digest_text(b"SELECT abcdefgh", LexMode::default(), 10), "SELECT ...");
    assert_eq!(digest_text("SELECT éééééé".as_bytes(), LexMode::default(), 13), "SELECT é...");
    assert_eq!(digest_text(b"SELECT a", LexMode::default(), 8), "SELECT a");
    assert_eq!(digest_text(b"SELECT a", LexMode::default(), 0), "");
}

#[test]
fn any_bytes_have_a_digest() {
    let mut random = Random::new(3);
    for _ in 0..50_000 {
        let (sql, mode) = (random.text(), random.mode());
        let max_len = random.below(60);
        assert!(digest_text(&sql, mode, max_len).len() <= max_len, "{sql:?}");
        assert_eq!(digest(&sql, mode), digest(&sql, mode));
    }
}

#[test]
fn a_shape_knows_literal_kinds_and_spaces_but_not_values() {
    let shape = |text: &str| super::shape(text.as_bytes(), LexMode::default());
    for (one, other) in [
        ("SELECT c FROM t WHERE id = 5", "select c FROM t where id = 123456"),
        ("SELECT c FROM t WHERE a = 'x'", "SELECT c FROM t WHERE a = 'it''s'"),
        ("SELECT  c FROM t", "SELECT\n\tc FROM t"),
    ] {
        assert_eq!(shape(one), shape(other), "{one} / {other}");
        assert!(shape(one).is_some());
    }
    for (one, other) in [
        ("SELECT c FROM t WHERE id = 5", "SELECT c FROM t WHERE id = '5'"),
        ("SELECT substr(c, 1) FROM t", "SELECT substr (c, 1) FROM t"),
        ("SELECT a@b", "SELECT a @b"),
        ("SELECT 1", "SELECT 1, 2"),
        ("SELECT c FROM t", "SELECT c FROM T"),
        ("SELECT 1", "SELECT 1; DROP TABLE t"),
    ] {
        assert_ne!(shape(one), shape(other), "{one} / {other}");
    }
    assert_eq!(shape("SELECT 1 /*! FOR UPDATE */"), None);
}

/// Texts of one shape must have one class.
#[test]
fn texts_of_one_shape_have_one_class() {
    let mut classes = std::collections::HashMap::new();
    let mut met_again = 0;
    for text in RandomTexts::new().take(200_000) {
        let known = what_counts(&text);
        let Some(shape) = super::shape(text.as_bytes(), LexMode::default()) else { continue };
        if let Some((before, other)) = classes.insert(shape, (known, text.clone())) {
            met_again += usize::from(other != text);
            assert_eq!(known, before, "{text:?} / {other:?}");
        }
    }
    assert!(met_again > 1000, "{met_again}");
}
