//! Where bodies end, and what statements about stored programs mean.

use crate::ast::*;
use crate::{Bump, Dialect, LexMode, parse};

fn mode(dialect: Dialect) -> LexMode {
    LexMode { dialect, ..LexMode::default() }
}

/// The text of each statement, in a mode.
fn split(sql: &str, dialect: Dialect) -> Result<Vec<String>, String> {
    let arena = Bump::new();
    let parsed =
        parse(&arena, sql.as_bytes(), mode(dialect)).map_err(|error| sql[error.span.range().start..].to_owned())?;
    Ok(parsed.statements.iter().map(|statement| sql[statement.span.range()].to_owned()).collect())
}

/// Looks at the only statement of a text.
fn with<T>(sql: &str, dialect: Dialect, look: impl FnOnce(StatementKind<'_>, &dyn Fn(Span) -> String) -> T) -> T {
    let arena = Bump::new();
    let parsed = parse(&arena, sql.as_bytes(), mode(dialect)).unwrap_or_else(|error| panic!("{sql}: {error}"));
    let [statement] = parsed.statements else { panic!("{sql}: {} statements", parsed.statements.len()) };
    assert_eq!(statement.span.range(), 0..sql.len(), "{sql}");
    look(statement.kind, &|span| sql[span.range()].to_owned())
}

/// Bodies, each as long as the server takes it for.
const BODIES: &[&str] = &[
    "SELECT 1",
    "BEGIN END",
    "BEGIN SELECT 1; SELECT 2; END",
    "l: BEGIN LEAVE l; END l",
    "BEGIN DECLARE a INT DEFAULT 1; DECLARE c CURSOR FOR SELECT 1; SELECT a; END",
    "BEGIN DECLARE CONTINUE HANDLER FOR SQLSTATE VALUE '23000', 1062, NOT FOUND, x BEGIN SELECT 1; END; SELECT 2; END",
    "BEGIN DECLARE EXIT HANDLER FOR SQLEXCEPTION ROLLBACK; SELECT 2; END",
    "IF a THEN SELECT 1; ELSEIF b THEN SELECT 2; SELECT 3; ELSE SELECT 4; END IF",
    "IF CASE a WHEN 1 THEN 2 ELSE 3 END THEN SELECT 1; END IF",
    "IF (SELECT IF(1, 2, 3)) THEN SELECT 1; END IF",
    "CASE a WHEN 1 THEN SELECT 1; WHEN 2 THEN SELECT 2; ELSE SELECT 3; END CASE",
    "CASE WHEN CASE WHEN 1 THEN 2 END THEN SELECT 1; END CASE",
    "CASE CASE a WHEN 1 THEN 2 END WHEN 2 THEN SELECT 1; END CASE",
    "LOOP SELECT 1; END LOOP",
    "l: LOOP ITERATE l; END LOOP l",
    "WHILE a DO SELECT 1; END WHILE",
    "WHILE CASE WHEN a THEN 1 END DO SELECT CASE WHEN a THEN 1 END; END WHILE",
    "REPEAT SELECT 1; UNTIL CASE WHEN 1 THEN 1 END END REPEAT",
    "BEGIN l: REPEAT BEGIN IF a THEN LEAVE l; END IF; END; UNTIL 1 END REPEAT l; END",
    "FOR i IN 1..10 DO SELECT i; END FOR",
    "FOR r IN (SELECT 1) DO SELECT r.a; END FOR",
    "SELECT a AS `end`, begin FROM t WHERE `if` = 'x; y' -- ; z",
    "SELECT CASE WHEN 1 THEN 2 END",
    "CREATE EVENT e ON SCHEDULE AT NOW() DO BEGIN SELECT 1; SELECT 2; END",
    "BEGIN CREATE TRIGGER t BEFORE INSERT ON u FOR EACH ROW BEGIN SELECT 1; END; SELECT 2; END",
    "BEGIN BEGIN BEGIN END; END; SELECT t.end FROM t; END",
    "(SELECT 1) UNION (SELECT 2)",
];

#[test]
fn a_body_ends_where_the_server_ends_it() {
    for head in [
        "CREATE PROCEDURE p()",
        "CREATE TRIGGER t BEFORE INSERT ON u FOR EACH ROW",
        "CREATE EVENT e ON SCHEDULE AT NOW() DO",
        "ALTER EVENT e DO",
    ] {
        for body in BODIES {
            let sql = format!("{head} {body}\n; DROP TABLE other");
            let body = body.split(" -- ").next().unwrap_or(body);
            let expected = Ok(vec![format!("{head} {body}"), "DROP TABLE other".to_owned()]);
            assert_eq!(split(&sql, Dialect::MariaDb), expected, "{sql}");
        }
    }
}

#[test]
fn a_body_that_no_server_reads_stops_where_it_does() {
    for (body, near) in [
        ("", ""),
        ("BEGIN ; END", "; END"),
        ("BEGIN SELECT 1", ""),
        ("BEGIN SELECT 1; DECLARE a INT; END", "DECLARE a INT; END"),
        ("BEGIN END l", "l"),
        ("LOOP END LOOP", "END LOOP"),
        ("LOOP SELECT 1; END", ""),
        ("IF 1 THEN END IF", "END IF"),
        ("IF 1 SELECT 1; END IF", "; END IF"),
        ("IF 1 THEN SELECT 1; ELSIF 2 THEN SELECT 2; END IF", "2 THEN SELECT 2; END IF"),
        ("l: SELECT 1", "SELECT 1"),
        ("begin: BEGIN END", ": BEGIN END"),
        ("foo", ""),
        ("DECLARE a INT", "DECLARE a INT"),
        ("BEGIN DECLARE CONTINUE HANDLER FOR SELECT 1; END", "SELECT 1; END"),
        ("BEGIN WORK; END", "; END"),
        ("BEGIN SELECT 'x; END", "'x; END"),
    ] {
        let sql = format!("CREATE PROCEDURE p() {body}");
        assert_eq!(split(&sql, Dialect::MySql), Err(near.to_owned()), "{sql}");
    }
}

#[test]
fn blocks_nest_to_a_bound() {
    let nested = |levels: usize| {
        format!("CREATE PROCEDURE p() {}{}", "BEGIN ".repeat(levels), "END; ".repeat(levels).trim_end_matches("; "))
    };
    assert!(split(&nested(400), Dialect::MySql).is_ok());
    let (arena, deep) = (Bump::new(), nested(100_000));
    let error = parse(&arena, deep.as_bytes(), LexMode::default()).expect_err("too deep");
    assert!(error.to_string().contains("levels of nesting"), "{error}");
}

#[test]
fn routines_have_parameters_and_characteristics() {
    let sql = "CREATE OR REPLACE DEFINER = u@h FUNCTION IF NOT EXISTS d.f(a INT UNSIGNED, IN b VARCHAR(3) CHARSET latin1, \
               INOUT c TYPE OF d.t.x, r ROW TYPE OF t, s ROW(i INT, j TEXT)) RETURNS CHAR(3) COLLATE latin1_bin \
               LANGUAGE SQL NOT DETERMINISTIC READS SQL DATA SQL SECURITY INVOKER COMMENT 'c' RETURN a";
    with(sql, Dialect::MariaDb, |kind, text| {
        let StatementKind::CreateRoutine(routine) = kind else { panic!("{kind:?}") };
        assert!(routine.or_replace && routine.function && routine.if_not_exists && !routine.aggregate);
        assert_eq!(routine.definer.map(|definer| text(definer.span)).as_deref(), Some("u@h"));
        assert_eq!(text(routine.name.span), "d.f");
        let parameters: Vec<String> = routine
            .parameters
            .iter()
            .map(|parameter| format!("{:?} {}", parameter.mode, text(parameter.span)))
            .collect();
        assert_eq!(
            parameters,
            [
                "None a INT UNSIGNED",
                "Some(In) IN b VARCHAR(3) CHARSET latin1",
                "Some(InOut) INOUT c TYPE OF d.t.x",
                "None r ROW TYPE OF t",
                "None s ROW(i INT, j TEXT)",
            ]
        );
        assert!(matches!(routine.parameters[0].data_type, DeclaredType::Type(plain) if plain.unsigned));
        assert!(matches!(routine.parameters[2].data_type, DeclaredType::Of(column) if column.database.is_some()));
        assert!(matches!(routine.parameters[3].data_type, DeclaredType::RowOf(table) if table.name.is("t")));
        assert!(matches!(routine.parameters[4].data_type, DeclaredType::Row([_, _])));
        assert!(matches!(routine.returns, Some(DeclaredType::Type(plain))
            if text(plain.span) == "CHAR(3) COLLATE latin1_bin" && plain.collation.is_some_and(|name| name.is("latin1_bin"))));
        let kinds: Vec<CharacteristicKind<'_>> = routine.characteristics.iter().map(|one| one.kind).collect();
        assert!(matches!(
            kinds[..],
            [
                CharacteristicKind::Language(_),
                CharacteristicKind::Deterministic(false),
                CharacteristicKind::DataAccess(DataAccess::ReadsSqlData),
                CharacteristicKind::Security(SqlSecurity::Invoker),
                CharacteristicKind::Comment(_),
            ]
        ));
        assert!(matches!(routine.body, RoutineBody::Statement(body) if text(body) == "RETURN a"));
    });
}

#[test]
fn other_languages_have_a_text() {
    for (quoted, dialect) in
        [("'return 1;'", Dialect::Either), ("$$ return \"a;'b\" $$", Dialect::MySql), ("$x$ $$ $x$", Dialect::MySql)]
    {
        let sql = format!("CREATE PROCEDURE p() LANGUAGE JAVASCRIPT USING (l, d.m AS n) AS {quoted}");
        with(&sql, dialect, |kind, text| {
            let StatementKind::CreateRoutine(routine) = kind else { panic!("{kind:?}") };
            assert!(matches!(routine.body, RoutineBody::External(body) if text(body) == quoted), "{sql}");
            assert!(matches!(routine.characteristics[1].kind, CharacteristicKind::Using([one, other])
                if one.alias.is_none() && other.alias.is_some_and(|name| name.is("n"))));
        });
    }
    with(
        "CREATE LIBRARY IF NOT EXISTS d.l COMMENT 'c' LANGUAGE JAVASCRIPT AS $$ ; $$",
        Dialect::MySql,
        |kind, text| {
            let StatementKind::CreateLibrary(library) = kind else { panic!("{kind:?}") };
            assert_eq!((text(library.name.span), text(library.body)), ("d.l".to_owned(), "$$ ; $$".to_owned()));
        },
    );
    with("CREATE LIBRARY l LANGUAGE WASM AS _binary X'0061736D'", Dialect::MySql, |kind, text| {
        let StatementKind::CreateLibrary(library) = kind else { panic!("{kind:?}") };
        assert_eq!(text(library.body), "_binary X'0061736D'");
    });
    assert_eq!(split("CREATE PROCEDURE p() LANGUAGE SQL AS 'x'", Dialect::MySql), Err("AS 'x'".to_owned()));
}

#[test]
fn functions_from_files_are_no_routines() {
    with("CREATE AGGREGATE FUNCTION IF NOT EXISTS f RETURNS STRING SONAME 'f.so'", Dialect::MySql, |kind, text| {
        let StatementKind::CreateLoadableFunction(function) = kind else { panic!("{kind:?}") };
        assert!(function.aggregate && function.if_not_exists && function.returns.is("string"));
        assert_eq!(text(function.library), "'f.so'");
    });
    for (sql, near) in [
        ("CREATE FUNCTION d.f RETURNS STRING SONAME 'x'", "RETURNS STRING SONAME 'x'"),
        ("CREATE FUNCTION f RETURNS INT RETURN 1", "RETURN 1"),
        ("CREATE FUNCTION f() RETURNS INT", ""),
        ("CREATE PROCEDURE p(a INT IN) SELECT 1", "IN) SELECT 1"),
        ("CREATE PROCEDURE .p() SELECT 1", ".p() SELECT 1"),
        ("ALTER FUNCTION f DETERMINISTIC", "DETERMINISTIC"),
        ("DROP FUNCTION .f", ".f"),
        ("ALTER EVENT e", ""),
        ("CREATE EVENT e ON SCHEDULE EVERY 1 DAY ENDS NOW() STARTS NOW() DO SELECT 1", "STARTS NOW() DO SELECT 1"),
        ("CREATE TRIGGER t AFTER INSERT OR UPDATE ON x FOR EACH ROW CALL p()", "OR UPDATE ON x FOR EACH ROW CALL p()"),
    ] {
        assert_eq!(split(sql, Dialect::MySql), Err(near.to_owned()), "{sql}");
    }
}

#[test]
fn triggers_say_when_they_run() {
    let sql =
        "CREATE DEFINER=CURRENT_USER() TRIGGER IF NOT EXISTS d.t AFTER UPDATE ON d.u FOR EACH ROW FOLLOWS v SET @a = 1";
    with(sql, Dialect::MySql, |kind, text| {
        let StatementKind::CreateTrigger(trigger) = kind else { panic!("{kind:?}") };
        assert_eq!((trigger.time, trigger.event), (TriggerTime::After, TriggerEvent::Update));
        assert_eq!((text(trigger.name.span), text(trigger.table.span)), ("d.t".to_owned(), "d.u".to_owned()));
        assert!(matches!(trigger.order, Some((TriggerOrder::Follows, other)) if other.is("v")));
        assert_eq!(text(trigger.body), "SET @a = 1");
    });
}

#[test]
fn events_have_a_schedule() {
    let sql = "CREATE EVENT d.e ON SCHEDULE EVERY '1:2' HOUR_MINUTE STARTS NOW() + INTERVAL 1 DAY ENDS '2030-01-01' \
               ON COMPLETION NOT PRESERVE DISABLE ON SLAVE COMMENT 'c' DO DROP TABLE t";
    with(sql, Dialect::MySql, |kind, text| {
        let StatementKind::CreateEvent(event) = kind else { panic!("{kind:?}") };
        let Schedule::Every { every, starts: Some(starts), ends: Some(ends) } = event.schedule else {
            panic!("{:?}", event.schedule)
        };
        assert!(every.unit.is("hour_minute"));
        assert_eq!(text(every.value.span), "'1:2'");
        assert_eq!(
            (text(starts.span), text(ends.span)),
            ("NOW() + INTERVAL 1 DAY".to_owned(), "'2030-01-01'".to_owned())
        );
        assert_eq!(event.options.preserve, Some(false));
        assert_eq!(event.options.status, Some(EventStatus::DisableOnReplica));
        assert_eq!(event.options.comment.map(text).as_deref(), Some("'c'"));
        assert_eq!(text(event.body), "DROP TABLE t");
    });
    with("ALTER DEFINER=u EVENT e ON SCHEDULE AT NOW() RENAME TO d.f ENABLE", Dialect::MySql, |kind, text| {
        let StatementKind::AlterEvent(event) = kind else { panic!("{kind:?}") };
        assert!(event.definer.is_some() && event.body.is_none());
        assert!(matches!(event.schedule, Some(Schedule::At(at)) if text(at.span) == "NOW()"));
        assert_eq!(event.new_name.map(|name| text(name.span)).as_deref(), Some("d.f"));
        assert_eq!(event.options.status, Some(EventStatus::Enable));
    });
}

#[test]
fn programs_are_altered_and_dropped() {
    for (sql, expected) in [
        ("DROP PROCEDURE IF EXISTS d.p", ProgramKind::Procedure),
        ("DROP FUNCTION IF EXISTS d.p", ProgramKind::Function),
        ("DROP TRIGGER IF EXISTS d.p", ProgramKind::Trigger),
        ("DROP EVENT IF EXISTS d.p", ProgramKind::Event),
        ("DROP LIBRARY IF EXISTS d.p", ProgramKind::Library),
        ("DROP PACKAGE IF EXISTS d.p", ProgramKind::Package),
        ("DROP PACKAGE BODY IF EXISTS d.p", ProgramKind::PackageBody),
    ] {
        with(sql, Dialect::Either, |kind, text| {
            let StatementKind::DropProgram(drop) = kind else { panic!("{kind:?}") };
            assert_eq!((drop.kind, text(drop.name.span)), (expected, "d.p".to_owned()), "{sql}");
            assert!(drop.if_exists);
        });
    }
    with("ALTER PROCEDURE d.p COMMENT 'c' SQL SECURITY DEFINER", Dialect::Either, |kind, _| {
        let StatementKind::AlterRoutine(alter) = kind else { panic!("{kind:?}") };
        assert_eq!((alter.kind, alter.characteristics.len()), (ProgramKind::Procedure, 2));
    });
}
