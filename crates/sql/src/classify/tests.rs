//! Tables of texts and what they must be taken for.

use super::{Class, Diagnostics, Effects, KillTarget, Pins, TextKind, classify};
use crate::lexer::tests::Random;
use crate::lexer::{Lexer, TokenKind};
use crate::mode::{Dialect, LexMode};

fn class(sql: &str) -> Class {
    classify(sql.as_bytes(), LexMode::default())
}

fn class_on(dialect: Dialect, sql: &str) -> Class {
    classify(sql.as_bytes(), LexMode { dialect, ..LexMode::default() })
}

mod expressions;
mod sets;
mod statements;

#[test]
fn any_bytes_can_be_classified() {
    let mut random = Random::new(2);
    for _ in 0..100_000 {
        let (sql, mode) = (random.text(), random.mode());
        let class = classify(&sql, mode);
        if let TextKind::SetUserVariables(variables) = &class.kind {
            assert!(variables.iter().all(|variable| variable.literal.end <= sql.len()), "{sql:?}");
        }
        if let TextKind::Weir(range) = &class.kind {
            assert!(sql.get(range.clone()).is_some(), "{sql:?}");
        }
        let empty = Lexer::new(&sql, mode).all(|token| is_nothing(token.kind));
        assert!(empty || class.kind != TextKind::Empty, "{sql:?}");
    }
}

/// Whether a token alone makes no statement.
fn is_nothing(kind: TokenKind) -> bool {
    matches!(kind, TokenKind::CodeStart | TokenKind::CodeEnd | TokenKind::Semicolon)
}

#[test]
fn names_of_pins_are_those_of_the_flags() {
    assert_eq!((Pins::USER_LOCK | Pins::LOCK_TABLES).names().collect::<Vec<_>>(), ["LOCK TABLES", "GET_LOCK"]);
    assert_eq!(Pins::all().names().count(), Pins::all().iter().count());
}

#[test]
fn plain_reads_are_known() {
    assert!(class("SELECT c FROM t WHERE id = 5").is_plain_read());
    assert!(class("SELECT LAST_INSERT_ID()").is_plain_read());
    for sql in
        ["SELECT GET_LOCK('a', 1)", "SELECT 1 FOR UPDATE", "SELECT @a := 1", "INSERT INTO t VALUES (1)", "SET @a=1"]
    {
        assert!(!class(sql).is_plain_read(), "{sql}");
    }
}

#[test]
fn deep_nesting_is_classed_on_a_small_stack() {
    let deep = |open: &str, close: &str| format!("SELECT {}1{}", open.repeat(3000), close.repeat(3000));
    for sql in [
        deep("(", ")"),
        deep("(SELECT ", ")"),
        deep("-", ""),
        deep("NOT ", ""),
        deep("ABS(", ")"),
        deep("CASE WHEN ", " THEN 1 END"),
        deep("1 IN (", ")"),
        format!("{}SELECT 1{}", "(".repeat(3000), ")".repeat(3000)),
        format!("SELECT 1 FROM {}t{}", "(".repeat(3000), ")".repeat(3000)),
        format!("SELECT 1 FROM {}t{}", "(SELECT 1 FROM ".repeat(3000), ") AS d".repeat(3000)),
        format!("{}SELECT 1", "EXPLAIN ".repeat(3000)),
        format!("SELECT 1{}", " OR 1".repeat(30_000)),
    ] {
        let class = classify(sql.as_bytes(), LexMode::default());
        assert!(class.kind == TextKind::Select || class.pins.contains(Pins::UNKNOWN_STATEMENT), "{}", &sql[..40]);
    }
}
