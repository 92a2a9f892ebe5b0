//! What PREPARE, EXECUTE, CALL, DO, HANDLER and statements about conditions mean.

use crate::ast::*;
use crate::parse::testing::{MARIADB, MYSQL, name, stops, with};

fn shown(sql: &str, mode: crate::LexMode) -> String {
    with(sql, mode, |kind, text| {
        let exprs = |list: &[Expr<'_>]| list.iter().map(|of| text(of.span)).collect::<Vec<_>>().join(" ");
        match kind {
            StatementKind::Prepare(of) => format!("prepare {} {}", name(of.name), text(of.text.span)),
            StatementKind::Execute(of) => match of.source {
                ExecuteSource::Prepared(source) => format!("execute {} | {}", name(source), exprs(of.using)),
                ExecuteSource::Immediate(source) => format!("run {} | {}", text(source.span), exprs(of.using)),
            },
            StatementKind::Deallocate(of) => format!("deallocate {}", name(of)),
            StatementKind::Call(of) => {
                let database = of.package_database.map_or(String::new(), |of| format!("{} ", name(of)));
                format!("call {database}{} | {}", text(of.name.span), exprs(of.arguments))
            }
            StatementKind::Do(of) => {
                let items: Vec<_> = of.items.iter().map(|item| text(item.span)).collect();
                format!("do {}", items.join(" | "))
            }
            StatementKind::Handler(Handler::Open(table, alias)) => {
                format!("open {} {}", text(table.span), alias.map_or("-".to_owned(), name))
            }
            StatementKind::Handler(Handler::Close(of)) => format!("close {}", name(*of)),
            StatementKind::Handler(Handler::Read(of)) => {
                let position = match of.position {
                    HandlerPosition::Key(op, values) => format!("{op:?} {}", exprs(values)),
                    other => format!("{other:?}"),
                };
                let index = of.index.map_or("-".to_owned(), name);
                let condition = of.condition.map_or(String::new(), |of| format!(" where {}", text(of.span)));
                let limit = of.limit.map_or(String::new(), |of| format!(" {}", text(of.span)));
                format!("read {} {index} {position}{condition}{limit}", name(of.handler))
            }
            StatementKind::Signal(of) => {
                let condition = match of.condition {
                    None => "-".to_owned(),
                    Some(SignalCondition::State(state)) => text(state),
                    Some(SignalCondition::Named(of)) => name(of),
                };
                let item = |item: &SignalItem<'_>| format!(" {}={}", name(item.name), text(item.value.span));
                format!("{} {condition}{}", of.again, of.items.iter().map(item).collect::<String>())
            }
            StatementKind::GetDiagnostics(of) => {
                let condition = of.condition.map_or("-".to_owned(), |of| text(of.span));
                let item = |item: &DiagnosticsItem<'_>| format!(" {}={}", text(item.target.span), name(item.name));
                format!("{} {condition}{}", of.stacked, of.items.iter().map(item).collect::<String>())
            }
            other => panic!("{sql}: {other:?}"),
        }
    })
}

#[test]
fn prepared_statements_and_calls_have_names_and_values() {
    for (sql, mode, expected) in [
        ("PREPARE s FROM 'SELECT 1'", MYSQL, "prepare s 'SELECT 1'"),
        ("PREPARE s FROM @t", MYSQL, "prepare s @t"),
        ("PREPARE s FROM CONCAT('a', @b)", MARIADB, "prepare s CONCAT('a', @b)"),
        ("EXECUTE s", MYSQL, "execute s | "),
        ("EXECUTE s USING @a, @b", MYSQL, "execute s | @a @b"),
        ("EXECUTE s USING 1 + 1, DEFAULT, IGNORE", MARIADB, "execute s | 1 + 1 DEFAULT IGNORE"),
        ("EXECUTE IMMEDIATE 'SELECT ?' USING 1", MARIADB, "run 'SELECT ?' | 1"),
        ("EXECUTE immediate", MYSQL, "execute immediate | "),
        ("DEALLOCATE PREPARE s", MYSQL, "deallocate s"),
        ("DROP PREPARE s", MARIADB, "deallocate s"),
        ("CALL p", MYSQL, "call p | "),
        ("CALL d.p(1, @x)", MYSQL, "call d.p | 1 @x"),
        ("CALL d.k.p()", MARIADB, "call d k.p | "),
        ("DO 1, SLEEP(0) AS a", MYSQL, "do 1 | SLEEP(0) AS a"),
    ] {
        assert_eq!(shown(sql, mode), expected, "{sql}");
    }
}

#[test]
fn handlers_are_opened_read_and_closed() {
    for mode in [MYSQL, MARIADB] {
        for (sql, expected) in [
            ("HANDLER d.t OPEN", "open d.t -"),
            ("HANDLER t OPEN AS h", "open t h"),
            ("HANDLER t OPEN h", "open t h"),
            ("HANDLER h CLOSE", "close h"),
            ("HANDLER h READ FIRST", "read h - First"),
            ("HANDLER h READ NEXT WHERE a > 1 LIMIT 2, 3", "read h - Next where a > 1 LIMIT 2, 3"),
            ("HANDLER h READ i PREV", "read h i Previous"),
            ("HANDLER h READ first LAST", "read h first Last"),
            ("HANDLER h READ `PRIMARY` = (1, 'x') LIMIT 5", "read h PRIMARY Eq 1 'x' LIMIT 5"),
            ("HANDLER h READ i <= (2)", "read h i Le 2"),
        ] {
            assert_eq!(shown(sql, mode), expected, "{sql}");
        }
    }
}

#[test]
fn conditions_are_raised_and_asked_for() {
    for (sql, mode, expected) in [
        ("SIGNAL SQLSTATE VALUE '45000'", MYSQL, "false '45000'"),
        ("SIGNAL c SET MESSAGE_TEXT = 'no', MYSQL_ERRNO = @n", MYSQL, "false c MESSAGE_TEXT='no' MYSQL_ERRNO=@n"),
        ("SIGNAL SQLSTATE '45000' SET ROW_NUMBER = 3", MARIADB, "false '45000' ROW_NUMBER=3"),
        ("RESIGNAL", MYSQL, "true -"),
        ("RESIGNAL SET TABLE_NAME = 't'", MYSQL, "true - TABLE_NAME='t'"),
        ("GET DIAGNOSTICS @a = NUMBER, b = ROW_COUNT", MYSQL, "false - @a=NUMBER b=ROW_COUNT"),
        ("GET CURRENT DIAGNOSTICS CONDITION 1 @a = MESSAGE_TEXT", MYSQL, "false 1 @a=MESSAGE_TEXT"),
        ("GET STACKED DIAGNOSTICS CONDITION @i @a = CLASS_ORIGIN", MYSQL, "true @i @a=CLASS_ORIGIN"),
    ] {
        assert_eq!(shown(sql, mode), expected, "{sql}");
    }
}

#[test]
fn what_no_server_reads_is_refused() {
    for (sql, near) in [
        ("PREPARE s", ""),
        ("EXECUTE s USING", ""),
        ("HANDLER d.t CLOSE", ""),
        ("HANDLER h READ LAST", "LAST"),
        ("HANDLER h READ i <> (1)", "<> (1)"),
        ("HANDLER h READ i = ()", ")"),
        ("SIGNAL", ""),
        ("GET DIAGNOSTICS @a = ", ""),
        ("CALL p(1", ""),
    ] {
        stops(sql.trim_end(), MYSQL, near);
        stops(sql.trim_end(), MARIADB, near);
    }
}
