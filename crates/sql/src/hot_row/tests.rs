use super::*;
use crate::mode::Dialect;

fn modes() -> [LexMode; 2] {
    [Dialect::MariaDb, Dialect::MySql].map(|dialect| LexMode { dialect, ..LexMode::default() })
}

fn hot(text: &str, mode: LexMode) -> Option<HotText> {
    HotText::of(text.as_bytes(), mode, &classify(text.as_bytes(), mode)).ok()
}

#[test]
fn changes_of_one_table_by_values_of_the_text_may_join() {
    for text in [
        "update seckill set num=num-1 where id=1 and num>1",
        "UPDATE db.t SET a = a + 3, b = NOW() WHERE id = 'x' ORDER BY id LIMIT 1;",
        "UPDATE t SET id = LAST_INSERT_ID(id + 1)",
        "DELETE FROM t WHERE id = 5",
        "INSERT INTO t (id, n) VALUES (7, 1) ON DUPLICATE KEY UPDATE n = n + 1",
        "UPDATE IGNORE t SET a = ? WHERE id = ?",
        "/* trace */ UPDATE t SET a = 1 /*traceparent='00-ab'*/ WHERE id = 1 -- why",
        "UPDATE t SET a = '/*' WHERE id = 1",
    ] {
        for mode in modes() {
            let hot = hot(text, mode).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(hot.framing, Framing::Alone, "{text}");
            assert_eq!(hot.statement(text.as_bytes()), text.trim_end_matches(';').as_bytes());
        }
    }
}

#[test]
fn a_text_of_a_transaction_around_one_statement_may_join() {
    let update = "update seckill set num=num-1 where id=1 and num>1";
    for (text, framing) in [
        (format!("begin;{update};commit;"), Framing::Transaction),
        (format!("START TRANSACTION; {update} ; COMMIT"), Framing::Transaction),
        (format!("{update};COMMIT WORK"), Framing::Commit),
    ] {
        for mode in modes() {
            let hot = hot(&text, mode).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(hot.framing, framing, "{text}");
            assert_eq!(hot.statement(text.as_bytes()), update.as_bytes());
            assert_eq!(hot.class, classify(update.as_bytes(), mode));
        }
    }
}

#[test]
fn what_reads_its_session_or_other_tables_or_waits_may_not_join() {
    for text in [
        "SELECT 1",
        "UPDATE t SET a = @x WHERE id = 1",
        "UPDATE t SET a = @@autocommit",
        "UPDATE t SET a = LAST_INSERT_ID()",
        "UPDATE t SET a = ROW_COUNT() WHERE id = 1",
        "UPDATE t SET a = CONNECTION_ID() WHERE id = 1",
        "UPDATE t SET a = (SELECT 1)",
        "UPDATE t SET a = 1 WHERE EXISTS (SELECT 1)",
        "UPDATE t, u SET t.a = 1",
        "UPDATE t SET a = f(1)",
        "UPDATE t SET a = db.f(1)",
        "UPDATE t SET a = GET_LOCK('x', 1)",
        "UPDATE t SET a = SLEEP(1) WHERE id = 1",
        "UPDATE /*+ MAX_EXECUTION_TIME(1) */ t SET a = 1",
        "UPDATE t SET a = 1 /*!50000 WHERE id = 1 */",
        "INSERT INTO t VALUES (1)",
        "INSERT INTO t VALUES (1), (2) ON DUPLICATE KEY UPDATE a = 1",
        "INSERT INTO t SELECT 1 ON DUPLICATE KEY UPDATE a = 1",
        "REPLACE INTO t VALUES (1)",
        "DELETE t FROM t JOIN u",
        "begin; update t set a = 1",
        "begin; update t set a = 1; rollback",
        "begin; update t set a = 1; commit and chain",
        "start transaction read only; update t set a = 1; commit",
        "begin; update t set a = 1; update t set a = 2; commit",
    ] {
        for mode in modes() {
            assert!(hot(text, mode).is_none(), "{text}");
        }
    }
    let returning = LexMode { dialect: Dialect::MariaDb, ..LexMode::default() };
    assert!(hot("DELETE FROM t WHERE id = 5 RETURNING a", returning).is_none());
}

#[test]
fn a_row_is_known_by_the_values_in_where_and_not_by_new_values_and_guards() {
    let mode = LexMode::default();
    let text = "UPDATE t SET n = n - 1, s = 'a' WHERE id = 1 AND n > 2";
    let one = hot(text, mode).expect("it may join");
    let row = |text: &str| one.row(text.as_bytes(), mode);
    assert_eq!(row(text), row("UPDATE t SET n = n - 25, s = 'other' WHERE id = 1 AND n > 30"));
    assert_ne!(row(text), row("UPDATE t SET n = n - 1, s = 'a' WHERE id = 2 AND n > 2"));
    assert_ne!(row(text), row("UPDATE t SET n = n - 1, s = 'a' WHERE id = 11 AND n > 2"));
    assert_eq!(row("UPDATE t SET n = n + 1, s = 'a' WHERE id = 1 AND n > 2"), None, "it is of another shape");

    let begun = "begin;UPDATE t SET n = n - 1, s = 'a' WHERE id = 1 AND n > 2;commit";
    let framed = hot(begun, mode).expect("it may join");
    assert_eq!(framed.row(begun.as_bytes(), mode), row(text), "alone or framed, it is the same row");

    let insert = "INSERT INTO t VALUES (5, 6) ON DUPLICATE KEY UPDATE n = n + 7";
    let hot = hot(insert, mode).expect("it may join");
    let row = |text: &str| hot.row(text.as_bytes(), mode);
    assert_eq!(row(insert), row("INSERT INTO t VALUES (5, 8) ON DUPLICATE KEY UPDATE n = n + 9"));
    assert_ne!(row(insert), row("INSERT INTO t VALUES (6, 6) ON DUPLICATE KEY UPDATE n = n + 7"));
}

#[test]
fn comments_do_not_tell_rows_apart_and_stay_with_their_statement() {
    let mode = LexMode::default();
    let text = "UPDATE t SET n = n - 1 WHERE id = 1 AND n > 2";
    let one = hot(text, mode).expect("it may join");
    let row = |text: &str| one.row(text.as_bytes(), mode);
    let commented = "/* a 5 */ UPDATE t SET n = n - 4 /* b; */ WHERE id = 1 AND n > 2 -- c 'd'";
    assert_eq!(row(commented), row(text));
    assert_eq!(one.statement(commented.as_bytes()), commented.as_bytes());
    assert_eq!(one.plain_statement(commented.as_bytes())[..], b"UPDATE t SET n = n - 4 WHERE id = 1 AND n > 2"[..]);
    assert_eq!(one.values(commented.as_bytes(), mode), one.values(text.as_bytes(), mode));
    assert_ne!(row("UPDATE t SET n = n - 4 WHERE id = /* 1 */ 2 AND n > 2"), row(text));
    let other = hot(commented, mode).expect("it may join");
    assert_eq!(other.row(text.as_bytes(), mode), row(text), "the one that comes first may have comments too");
    let begun = "begin; /* a */ UPDATE t SET n = n - 1 WHERE id = 1 AND n > 2 /* b */; commit /* c */";
    let framed = hot(begun, mode).expect("it may join");
    assert_eq!(framed.row(begun.as_bytes(), mode), row(text));
    assert_eq!(framed.statement(begun.as_bytes()), b" /* a */ UPDATE t SET n = n - 1 WHERE id = 1 AND n > 2 /* b */");
}

#[test]
fn parameters_name_a_row_unless_they_are_new_values_or_guards() {
    for (text, parameters) in [
        ("UPDATE t SET n = n - ? WHERE id = ? AND n >= ?", &[1][..]),
        ("UPDATE t SET n = ? WHERE a = ? OR b = ?", &[1, 2]),
        ("DELETE FROM t WHERE id IN (?, ?)", &[0, 1]),
        ("INSERT INTO t VALUES (?, ?) ON DUPLICATE KEY UPDATE n = n + ?", &[0]),
    ] {
        assert_eq!(hot(text, LexMode::default()).expect("it may join").parameters(), parameters, "{text}");
    }
}

#[test]
fn what_keeps_a_statement_from_riding_is_told() {
    let mode = LexMode { dialect: Dialect::MariaDb, ..LexMode::default() };
    for (text, unfit) in [
        ("INSERT INTO t VALUES (1)", Unfit::Clause),
        ("UPDATE t, u SET t.a = 1", Unfit::Clause),
        ("DELETE FROM t WHERE id = 5 RETURNING a", Unfit::Clause),
        ("UPDATE t SET a = @x", Unfit::Computes),
        ("UPDATE t SET a = (SELECT 1)", Unfit::Computes),
        ("UPDATE t SET a = LAST_INSERT_ID()", Unfit::Session),
        ("UPDATE t SET a = 1 /*! + 1 */", Unfit::Comment),
        ("DELETE t FROM", Unfit::Text),
        ("REPLACE INTO t VALUES (1)", Unfit::Statement),
        ("begin; update t set a = 1; rollback", Unfit::Statement),
    ] {
        let class = classify(text.as_bytes(), mode);
        assert_eq!(HotText::of(text.as_bytes(), mode, &class).err(), Some(unfit), "{text}");
        assert!(!unfit.reason().is_empty());
    }
}
