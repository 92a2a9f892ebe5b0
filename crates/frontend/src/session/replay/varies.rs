//! Which statements of a transaction can't be run again, by their texts.
//!
//! What must always hold: a statement that changes data does so by the data, its parameters and its session alone. One that only reads
//! need not: its whole effect is its reply, which is compared.

use weir_sql::facts::{Varies, varies};
use weir_sql::{Bump, Class, Effects, LexMode, TextKind};

use super::super::transaction::may_change;

/// Why running a statement again may change other data, or the same data otherwise, if it may. `clock_stands`: the session has set
/// `timestamp`.
pub(super) fn may_change_otherwise(
    text: &[u8],
    class: &Class,
    lex: LexMode,
    clock_stands: bool,
) -> Option<&'static str> {
    if !may_change(class) {
        return None;
    }
    if class.kind == TextKind::Select && !class.effects.contains(Effects::LOCKING_READ) {
        return Some("writes a file, or runs what Weir does not know");
    }
    let arena = Bump::new();
    let parsed = weir_sql::parse(&arena, text, lex);
    let Ok([statement]) = parsed.as_ref().map(|parsed| parsed.statements) else {
        return Some("is none that Weir can read");
    };
    let varies = varies(statement, text, lex);
    let reasons = [
        (Varies::TIME, "depends on the time (NOW()): send the time as a value"),
        (Varies::CLOCK, "depends on the time (SYSDATE())"),
        (Varies::RANDOM, "depends on chance (RAND(), UUID())"),
        (Varies::SERVER, "depends on the server that runs it"),
        (Varies::SETTING, "depends on the server that runs it"),
        (Varies::STORED, "calls a function of which Weir knows nothing"),
        (Varies::SEQUENCE, "takes a sequence's values"),
        (Varies::UNORDERED, "has a LIMIT without ORDER BY"),
    ];
    let stands = if clock_stands { Varies::TIME } else { Varies::empty() };
    reasons.into_iter().find(|(flag, _)| (varies - stands).contains(*flag)).map(|(_, reason)| reason)
}

#[cfg(test)]
mod tests {
    use weir_sql::classify;

    use super::*;

    #[test]
    fn a_change_depends_on_the_data_alone() {
        let cases = [
            ("UPDATE t SET a = a + 1 WHERE id = 3", None),
            ("INSERT INTO t VALUES (NULL, LAST_INSERT_ID(), DATABASE())", None),
            ("SELECT NOW(), RAND() FROM t", None),
            ("SELECT * FROM t LIMIT 1 FOR UPDATE", None),
            ("SAVEPOINT s", None),
            ("UPDATE t SET a = NOW()", Some("time (NOW())")),
            ("UPDATE t SET a = SYSDATE()", Some("SYSDATE")),
            ("INSERT INTO t VALUES (UUID())", Some("chance")),
            ("INSERT INTO t VALUES (@@server_id)", Some("server")),
            ("DELETE FROM t LIMIT 3", Some("LIMIT")),
            ("DELETE FROM t ORDER BY id LIMIT 3", None),
            ("INSERT INTO t VALUES (own(1))", Some("function")),
            ("SELECT 1 INTO OUTFILE '/tmp/x'", Some("file")),
            ("UPDATE t SET", Some("read")),
        ];
        for (text, part) in cases {
            let class = classify(text.as_bytes(), LexMode::default());
            let reason = may_change_otherwise(text.as_bytes(), &class, LexMode::default(), false);
            let fits = match (reason, part) {
                (None, None) => true,
                (Some(reason), Some(part)) => reason.contains(part),
                _ => false,
            };
            assert!(fits, "{text}: {reason:?}");
        }
    }

    #[test]
    fn a_clock_that_stands_is_no_reason() {
        let text = b"UPDATE t SET a = NOW()";
        let class = classify(text, LexMode::default());
        assert_eq!(may_change_otherwise(text, &class, LexMode::default(), true), None);
    }
}
