//! SET in all its forms.

use super::*;

const CHARSET: &[&str] =
    &["character_set_client", "character_set_connection", "character_set_results", "collation_connection"];

fn assigned(sql: &str) -> Vec<String> {
    class(sql).assigned.iter().map(|name| name.to_string()).collect()
}

#[test]
fn assigned_variables_are_named() {
    for (sql, names) in [
        ("SET autocommit=0", &["autocommit"][..]),
        ("SET AUTOCOMMIT := 0, Sql_Mode = ''", &["autocommit", "sql_mode"]),
        ("SET @@session.autocommit=0", &["autocommit"]),
        ("SET @@SESSION . autocommit = 1", &["autocommit"]),
        ("SET @@local.autocommit=0, LOCAL sql_mode=''", &["autocommit", "sql_mode"]),
        (
            "SET SESSION `autocommit`=1, @@session.`sql_mode`='', @@`time_zone`='+00:00'",
            &["autocommit", "sql_mode", "time_zone"],
        ),
        ("SET autocommit=0, @x=1", &["autocommit"]),
        ("SET sql_mode=CONCAT(@@sql_mode, ',ANSI'), time_zone='+00:00'", &["sql_mode", "time_zone"]),
        ("SET sql_mode=(SELECT a FROM t, u), autocommit=1, autocommit=0", &["sql_mode", "autocommit"]),
        ("SET GLOBAL a=1", &[]),
        ("SET GLOBAL a=1, b=2, @x=1, c=2", &[]),
        ("SET GLOBAL a=1, SESSION b=2, c=3", &["b", "c"]),
        ("SET @@global.a=1, b=2", &["b"]),
        ("SET PERSIST a=1, @@persist_only.b=2", &[]),
        ("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED", &["transaction_isolation"]),
        ("SET LOCAL TRANSACTION READ ONLY", &["transaction_read_only"]),
        (
            "SET SESSION TRANSACTION READ WRITE, ISOLATION LEVEL SERIALIZABLE",
            &["transaction_isolation", "transaction_read_only"],
        ),
        (
            "SET tx_isolation='SERIALIZABLE', SESSION tx_read_only=1",
            &["transaction_isolation", "transaction_read_only"],
        ),
        ("SET TRANSACTION READ ONLY", &[]),
        ("SET @@transaction_isolation='SERIALIZABLE'", &[]),
        ("SELECT 1; SET @a=2; SET time_zone='+00:00'", &["time_zone"]),
        ("SELECT @@session.autocommit=0", &[]),
    ] {
        assert_eq!(assigned(sql), names, "{sql}");
    }
    for sql in [
        "SET NAMES utf8mb4",
        "SET NAMES 'utf8mb4' COLLATE 'utf8mb4_bin'",
        "SET NAMES DEFAULT",
        "SET CHARACTER SET utf8mb4",
        "SET CHARSET 'latin1'",
    ] {
        assert_eq!(assigned(sql), CHARSET, "{sql}");
        assert_eq!((class(sql).kind, class(sql).pins), (TextKind::Set, Pins::empty()), "{sql}");
    }
    let mut all = vec!["sql_mode"];
    all.extend(CHARSET);
    assert_eq!(assigned("SET sql_mode='', NAMES utf8mb4"), all);
}

#[test]
fn effects_and_pins_of_sets() {
    let globals = Effects::CHANGES_GLOBALS | Effects::WRITES;
    let password = Effects::WRITES | Effects::IMPLICIT_COMMIT | Effects::CHANGES_ACCOUNTS;
    for (sql, kind, effects, pins) in [
        ("SET autocommit=0", TextKind::Set, Effects::empty(), Pins::empty()),
        ("SET GLOBAL a=1", TextKind::Set, globals, Pins::empty()),
        ("SET GLOBAL TRANSACTION READ ONLY", TextKind::Set, globals, Pins::empty()),
        ("SET TRANSACTION READ ONLY", TextKind::Set, Effects::SET_TRANSACTION_ONCE, Pins::SET_TRANSACTION),
        ("SET @@tx_isolation='SERIALIZABLE'", TextKind::Set, Effects::SET_TRANSACTION_ONCE, Pins::SET_TRANSACTION),
        ("SET @@transaction_read_only=1", TextKind::Set, Effects::SET_TRANSACTION_ONCE, Pins::SET_TRANSACTION),
        ("SET @@session.transaction_read_only=1", TextKind::Set, Effects::empty(), Pins::empty()),
        ("SET timestamp=5", TextKind::Set, Effects::empty(), Pins::SPECIAL_VARIABLE),
        ("SET pseudo_thread_id=5", TextKind::Set, Effects::empty(), Pins::SPECIAL_VARIABLE),
        ("SET SESSION sql_log_bin=0", TextKind::Set, Effects::empty(), Pins::SPECIAL_VARIABLE),
        ("SET GLOBAL server_id=5", TextKind::Set, globals, Pins::empty()),
        ("SET completion_type=1", TextKind::Set, Effects::empty(), Pins::SPECIAL_VARIABLE),
        ("SET completion_type='no_chain'", TextKind::Set, Effects::empty(), Pins::empty()),
        ("SET sql_auto_is_null=1", TextKind::Set, Effects::empty(), Pins::SPECIAL_VARIABLE),
        ("SET sql_auto_is_null=1, sql_auto_is_null=0", TextKind::Set, Effects::empty(), Pins::SPECIAL_VARIABLE),
        ("SET sql_auto_is_null=DEFAULT", TextKind::Set, Effects::empty(), Pins::SPECIAL_VARIABLE),
        ("SET sql_auto_is_null=0+1", TextKind::Set, Effects::empty(), Pins::SPECIAL_VARIABLE),
        ("SET SQL_AUTO_IS_NULL=0", TextKind::Set, Effects::empty(), Pins::empty()),
        ("SET @@SESSION.sql_auto_is_null = off, @@wait_timeout = 9", TextKind::Set, Effects::empty(), Pins::empty()),
        ("SET session_track_gtids=OWN_GTID", TextKind::Set, Effects::empty(), Pins::SESSION_TRACKING),
        ("SET ROLE r", TextKind::Other, Effects::empty(), Pins::ROLE),
        ("SET ROLE = 5", TextKind::Set, Effects::empty(), Pins::empty()),
        ("SET DEFAULT ROLE r TO u", TextKind::Other, password, Pins::empty()),
        ("SET PASSWORD = 'x'", TextKind::Other, password, Pins::empty()),
        ("SET PASSWORD FOR u@h = PASSWORD('x')", TextKind::Other, password, Pins::empty()),
        ("SET a=@b", TextKind::Set, Effects::USES_USER_VARIABLES, Pins::empty()),
    ] {
        let class = class(sql);
        assert_eq!((class.kind, class.effects, class.pins), (kind, effects, pins), "{sql}");
    }
    for sql in [
        "SET",
        "SET 5",
        "SET a",
        "SET a.b=1",
        "SET RESOURCE GROUP g",
        "SET @a",
        "SET @@a.b.c=1",
        "SET é=1",
        "SET PASSWORD='x', a=1",
        "SET TRANSACTION x",
        "SET NAMES",
    ] {
        assert!(class(sql).pins.contains(Pins::UNKNOWN_STATEMENT), "{sql}");
    }
}

#[test]
fn statements_under_set_statement_are_what_counts() {
    let select = class("SET STATEMENT max_statement_time=1, sort_buffer_size=(1+2) FOR SELECT * FROM t FOR UPDATE");
    assert_eq!(select.kind, TextKind::Select);
    let effects = Effects::READS | Effects::WRITES | Effects::LOCKING_READ | Effects::SETS_FOR_STATEMENT;
    assert_eq!(select.effects, effects);
    assert!(select.assigned.is_empty());
    assert_eq!(class("SET STATEMENT a=1 FOR COMMIT").kind, TextKind::Other);
    assert_eq!(class("SET STATEMENT a=f(1) FOR SELECT 1").pins, Pins::UNKNOWN_FUNCTION);
    assert_eq!(class("SET STATEMENT a=1").pins, Pins::UNKNOWN_STATEMENT);
    assert_eq!(assigned("SET statement = 1"), ["statement"]);
}

#[test]
fn plain_literals_of_user_variables_are_found() {
    let literals = |sql: &str| match class(sql).kind {
        TextKind::SetUserVariables(variables) => {
            Some(variables.iter().map(|v| format!("{} {}", v.name, &sql[v.literal.clone()])).collect::<Vec<_>>())
        }
        _ => None,
    };
    for (sql, expected) in [
        ("SET @a=1", &["a 1"][..]),
        ("SET @A := -1.5 , @b = 'x y', @c=\"z\" ;", &["a -1.5", "b 'x y'", "c \"z\""]),
        ("SET @a=NULL, @b=true, @c=0x41, @d=x'41', @e=- 1e5", &["a NULL", "b true", "c 0x41", "d x'41'", "e - 1e5"]),
        ("SET @`B.c`=1, @'d'=2, @e.f=3", &["b.c 1", "d 2", "e.f 3"]),
        ("SET @a=1, @a=2", &["a 1", "a 2"]),
    ] {
        assert_eq!(
            literals(sql).as_deref(),
            Some(expected).map(|e| e.iter().map(|s| s.to_string()).collect::<Vec<_>>()).as_deref(),
            "{sql}"
        );
        let class = class(sql);
        assert_eq!((class.effects, class.pins), (Effects::empty(), Pins::empty()), "{sql}");
    }
    for sql in [
        "SET @a=1+1",
        "SET @a='x' 'y'",
        "SET @a='it''s'",
        "SET @a='\\n'",
        "SET @a='é'",
        "SET @a=_latin1'x'",
        "SET @a=N'x'",
        "SET @a=-'1'",
        "SET @a=-NULL",
        "SET @a=--1",
        "SET @a=b'01'",
        "SET @a=b",
        "SET @a=@b",
        "SET @a=(1)",
        "SET @é=1",
        "SET @``=1",
        "SET @ a = 1",
        "SET @a=1, b=2",
        "SET @a='x' COLLATE utf8mb4_bin",
        "SET @a='x",
        "SET @a=1; SET @b=2",
    ] {
        assert_eq!(literals(sql), None, "{sql}");
        assert!(class(sql).pins.intersects(Pins::COMPUTED_USER_VARIABLE | Pins::UNKNOWN_STATEMENT), "{sql}");
    }
    let ansi = LexMode { ansi_quotes: true, ..LexMode::default() };
    assert!(!matches!(classify(b"SET @a=\"x\"", ansi).kind, TextKind::SetUserVariables(_)));
}

#[test]
fn weirs_own_variables_take_words() {
    for word in ["primary", "PRIMARY", "strong", "'session'", "DEFAULT"] {
        let class = class(&format!("SET weir_consistency = {word}"));
        assert_eq!((class.kind, &class.assigned[..]), (TextKind::Set, &["weir_consistency".into()][..]), "{word}");
    }
}
