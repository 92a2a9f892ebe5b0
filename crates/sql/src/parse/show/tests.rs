//! What the forms of SHOW, DESCRIBE and EXPLAIN mean.

use crate::ast::*;
use crate::parse::testing::{MARIADB, MYSQL, account, accounts, name, stops, with};
use crate::{Dialect, LexMode};

/// The kind with the texts that it holds, then FULL, EXTENDED, filter and limit as far as they are there.
fn shown(sql: &str, mode: LexMode) -> String {
    with(sql, mode, |kind, text| {
        let StatementKind::Show(show) = kind else { panic!("{sql}: {kind:?}") };
        let database = |of: Option<Ident<'_>>| of.map_or("-".to_owned(), name);
        let table = |of: ShowTable<'_>| format!("{} {}", text(of.table.span), database(of.database));
        let expr = |of: Option<Expr<'_>>| of.map_or("-".to_owned(), |of| text(of.span));
        let span = |of: Option<Span>| of.map_or("-".to_owned(), text);
        let mut out = match show.kind {
            ShowKind::Tables(of) => format!("tables {}", database(of)),
            ShowKind::TableStatus(of) => format!("table status {}", database(of)),
            ShowKind::OpenTables(of) => format!("open tables {}", database(of)),
            ShowKind::Triggers(of) => format!("triggers {}", database(of)),
            ShowKind::Events(of) => format!("events {}", database(of)),
            ShowKind::Columns(of) => format!("columns {}", table(of)),
            ShowKind::Index(of) => format!("index {}", table(of)),
            ShowKind::Create(create) => match create {
                ShowCreate::Table(of) => format!("create table {}", text(of.span)),
                ShowCreate::View(of) => format!("create view {}", text(of.span)),
                ShowCreate::Sequence(of) => format!("create sequence {}", text(of.span)),
                ShowCreate::Trigger(of) => format!("create trigger {}", text(of.span)),
                ShowCreate::Event(of) => format!("create event {}", text(of.span)),
                ShowCreate::Database(of) => format!("create database {}", name(*of)),
                ShowCreate::Routine(kind, of) => format!("create {kind:?} {}", text(of.span)),
                ShowCreate::User(of) => format!("create user {}", of.as_ref().map_or("-".to_owned(), account)),
            },
            ShowKind::Engine(of, what) => format!("engine {} {}", database(of), text(what)),
            ShowKind::Grants(of) => {
                format!("grants {} {}", of.account.as_ref().map_or("-".to_owned(), account), accounts(of.roles))
            }
            ShowKind::PluginsSoname(of) => format!("plugins of {}", span(of)),
            ShowKind::Profile(of) => format!("profile {} {}", span(of.types), expr(of.query)),
            ShowKind::RoutineCode(kind, of) => format!("code {kind:?} {}", text(of.span)),
            ShowKind::LogEvents(of) => {
                format!("events relay={} {} {} {}", of.relay, span(of.log), expr(of.position), span(of.channel))
            }
            ShowKind::ReplicaStatus(of) => format!("replica status all={} {}", of.all, span(of.channel)),
            ShowKind::Explain(of) => {
                format!("explain {} {} {}", of.analyze, database(of.format), text(of.connection.span))
            }
            ShowKind::Other(of) => format!("other {}", name(of)),
            other => format!("{other:?}"),
        };
        out.extend(show.full.then_some(" FULL"));
        out.extend(show.extended.then_some(" EXTENDED"));
        match show.filter {
            Some(ShowFilter::Like(pattern)) => out.push_str(&format!(" like {}", text(pattern))),
            Some(ShowFilter::Where(condition)) => out.push_str(&format!(" where {}", text(condition.span))),
            None => {}
        }
        out.push_str(&show.limit.map_or(String::new(), |limit| format!(" {}", text(limit.span))));
        out
    })
}

#[test]
fn objects_are_shown_by_name_database_and_filter() {
    let either = LexMode::default();
    for (sql, expected) in [
        ("SHOW TABLES", "tables -"),
        ("SHOW FULL TABLES FROM d LIKE 'a%'", "tables d FULL like 'a%'"),
        ("SHOW EXTENDED FULL TABLES IN d WHERE a = 1", "tables d FULL EXTENDED where a = 1"),
        ("SHOW TABLE STATUS FROM d", "table status d"),
        ("SHOW OPEN TABLES", "open tables -"),
        ("SHOW TRIGGERS IN `d`", "triggers d"),
        ("SHOW EVENTS FROM d WHERE a", "events d where a"),
        ("SHOW COLUMNS FROM t", "columns t -"),
        ("SHOW FULL FIELDS IN d.t FROM e LIKE 'x'", "columns d.t e FULL like 'x'"),
        ("SHOW INDEX FROM t", "index t -"),
        ("SHOW KEYS IN t IN d WHERE a = 1", "index t d where a = 1"),
        ("SHOW DATABASES LIKE 'x'", "Databases like 'x'"),
        ("SHOW SCHEMAS", "Databases"),
        ("SHOW VARIABLES LIKE 'x'", "Variables(None) like 'x'"),
        ("SHOW GLOBAL STATUS WHERE a IN (1)", "Status(Some(Global)) where a IN (1)"),
        ("SHOW LOCAL VARIABLES", "Variables(Some(Session))"),
        ("SHOW WARNINGS LIMIT 1, 2", "Warnings LIMIT 1, 2"),
        ("SHOW ERRORS LIMIT 3", "Errors LIMIT 3"),
        ("SHOW COUNT(*) WARNINGS", "CountWarnings"),
        ("SHOW COUNT(*) ERRORS", "CountErrors"),
        ("SHOW FULL PROCESSLIST", "ProcessList FULL"),
        ("SHOW STORAGE ENGINES", "Engines"),
        ("SHOW ENGINE 'InnoDB' STATUS", "engine InnoDB STATUS"),
        ("SHOW ENGINE ALL MUTEX", "engine - MUTEX"),
        ("SHOW CHARACTER SET LIKE 'x'", "CharacterSets like 'x'"),
        ("SHOW CHARSET", "CharacterSets"),
        ("SHOW COLLATION WHERE a", "Collations where a"),
        ("SHOW PRIVILEGES", "Privileges"),
        ("SHOW PROFILE", "profile - -"),
        ("SHOW PROFILE CPU, BLOCK IO FOR QUERY 3 LIMIT 2", "profile CPU, BLOCK IO 3 LIMIT 2"),
        ("SHOW PROCEDURE STATUS LIKE 'x'", "RoutineStatus(Procedure) like 'x'"),
        ("SHOW FUNCTION CODE d.f", "code Function d.f"),
    ] {
        assert_eq!(shown(sql, either), expected, "{sql}");
    }
}

#[test]
fn show_create_names_the_object() {
    for (sql, mode, expected) in [
        ("SHOW CREATE TABLE d.t", MYSQL, "create table d.t"),
        ("SHOW CREATE VIEW v", MYSQL, "create view v"),
        ("SHOW CREATE DATABASE IF NOT EXISTS d", MYSQL, "create database d"),
        ("SHOW CREATE PROCEDURE p", MYSQL, "create Procedure p"),
        ("SHOW CREATE FUNCTION d.f", MYSQL, "create Function d.f"),
        ("SHOW CREATE TRIGGER t", MYSQL, "create trigger t"),
        ("SHOW CREATE EVENT e", MYSQL, "create event e"),
        ("SHOW CREATE LIBRARY l", MYSQL, "create Library l"),
        ("SHOW CREATE SEQUENCE s", MARIADB, "create sequence s"),
        ("SHOW CREATE PACKAGE BODY p", MARIADB, "create PackageBody p"),
        ("SHOW CREATE USER u@h", MYSQL, "create user u@h"),
        ("SHOW CREATE USER", MARIADB, "create user -"),
    ] {
        assert_eq!(shown(sql, mode), expected, "{sql}");
    }
}

#[test]
fn logs_replicas_accounts_and_plugins_are_shown() {
    for (sql, mode, expected) in [
        ("SHOW BINARY LOGS", MYSQL, "BinaryLogs"),
        ("SHOW MASTER LOGS", MARIADB, "BinaryLogs"),
        ("SHOW BINARY LOG STATUS", MYSQL, "BinaryLogStatus"),
        ("SHOW MASTER STATUS", MARIADB, "BinaryLogStatus"),
        ("SHOW BINLOG STATUS", MARIADB, "BinaryLogStatus"),
        ("SHOW BINLOG EVENTS IN 'l' FROM 4 LIMIT 1", MYSQL, "events relay=false 'l' 4 - LIMIT 1"),
        ("SHOW RELAYLOG EVENTS LIMIT 1 FOR CHANNEL 'c'", MYSQL, "events relay=true - - 'c' LIMIT 1"),
        ("SHOW RELAYLOG 'c' EVENTS", MARIADB, "events relay=true - - 'c'"),
        ("SHOW REPLICA STATUS FOR CHANNEL 'c'", MYSQL, "replica status all=false 'c'"),
        ("SHOW SLAVE 'c' STATUS", MARIADB, "replica status all=false 'c'"),
        ("SHOW ALL SLAVES STATUS", MARIADB, "replica status all=true -"),
        ("SHOW REPLICAS", MYSQL, "Replicas"),
        ("SHOW SLAVE HOSTS", MARIADB, "Replicas"),
        ("SHOW GRANTS", MYSQL, "grants - "),
        ("SHOW GRANTS FOR u@h USING r, s", MYSQL, "grants u@h r s"),
        ("SHOW GRANTS FOR CURRENT_ROLE", MARIADB, "grants CurrentRole "),
        ("SHOW PLUGINS SONAME 'x.so'", MARIADB, "plugins of 'x.so'"),
        ("SHOW PLUGINS SONAME LIKE 'x%'", MARIADB, "plugins of - like 'x%'"),
        ("SHOW EXPLAIN FORMAT = JSON FOR 3", MARIADB, "explain false JSON 3"),
        ("SHOW ANALYZE FOR @id", MARIADB, "explain true - @id"),
        ("SHOW CLIENT_STATISTICS", MARIADB, "other CLIENT_STATISTICS"),
        ("SHOW LOCALES WHERE a LIKE 'x'", MARIADB, "other LOCALES where a LIKE 'x'"),
    ] {
        assert_eq!(shown(sql, mode), expected, "{sql}");
    }
}

fn explained(sql: &str, mode: LexMode) -> String {
    with(sql, mode, |kind, text| match kind {
        StatementKind::DescribeTable(of) => {
            format!("table {} {}", text(of.table.span), of.column.map_or("-".to_owned(), name))
        }
        StatementKind::Explain(of) => {
            let part = |of: Option<Ident<'_>>| of.map_or("-".to_owned(), name);
            let target = match of.target {
                ExplainTarget::Statement(statement) => text(statement.span),
                ExplainTarget::Connection(id) => format!("connection {}", text(id.span)),
            };
            let option = of.option.map_or("-".to_owned(), text);
            let (format, database) = (part(of.format), part(of.database));
            format!("{} {option} {format} {} {database}: {target}", of.analyze, of.into.is_some())
        }
        StatementKind::Use(of) => format!("use {}", name(of)),
        StatementKind::Help(of) => format!("help {}", name(of)),
        other => panic!("{sql}: {other:?}"),
    })
}

#[test]
fn a_table_is_described_or_a_statement_explained() {
    for (sql, mode, expected) in [
        ("DESC t", MYSQL, "table t -"),
        ("DESCRIBE d.t `a`", MYSQL, "table d.t a"),
        ("EXPLAIN t 'a%'", MYSQL, "table t a%"),
        ("DESC extended", MYSQL, "table extended -"),
        ("DESC format c", MYSQL, "table format c"),
        ("EXPLAIN SELECT 1", MYSQL, "false - - false -: SELECT 1"),
        ("DESC EXTENDED SELECT 1", MARIADB, "false EXTENDED - false -: SELECT 1"),
        ("EXPLAIN EXTENDED ALL SELECT 1", MARIADB, "false EXTENDED ALL - false -: SELECT 1"),
        ("EXPLAIN PARTITIONS (SELECT 1)", MARIADB, "false PARTITIONS - false -: (SELECT 1)"),
        ("EXPLAIN FORMAT = JSON DELETE FROM t", MYSQL, "false - JSON false -: DELETE FROM t"),
        ("EXPLAIN FORMAT='json' INTO @v SELECT 1", MYSQL, "false - json true -: SELECT 1"),
        ("EXPLAIN FORMAT=JSON FOR SCHEMA d SELECT 1", MYSQL, "false - JSON false d: SELECT 1"),
        ("EXPLAIN ANALYZE FORMAT=TREE SELECT 1", MYSQL, "true - TREE false -: SELECT 1"),
        ("ANALYZE FORMAT=JSON UPDATE t SET a = 1", MARIADB, "true - JSON false -: UPDATE t SET a = 1"),
        ("EXPLAIN FOR CONNECTION 3", MYSQL, "false - - false -: connection 3"),
        ("USE `d e`", MYSQL, "use d e"),
        ("HELP 'select'", MYSQL, "help select"),
    ] {
        assert_eq!(explained(sql, mode), expected, "{sql}");
    }
}

#[test]
fn what_no_server_reads_is_refused() {
    for (sql, near) in [
        ("SHOW", ""),
        ("SHOW COLUMNS t", "t"),
        ("SHOW STATUS LIKE @a", "@a"),
        ("SHOW STATUS LIKE ?", "?"),
        ("SHOW DATABASES FROM d", "FROM d"),
        ("SHOW EVENTS LIKE 'a' FROM d", "FROM d"),
        ("SHOW CREATE TABLE IF NOT EXISTS t", "IF NOT EXISTS t"),
        ("SHOW CREATE ROLE r", "ROLE r"),
        ("SHOW FOO BAR", "BAR"),
        ("SHOW BINARY LOG", ""),
        ("SHOW GLOBAL x", "x"),
        ("EXPLAIN ALTER TABLE t ADD a INT", "ALTER TABLE t ADD a INT"),
        ("EXPLAIN SHOW TABLES", "SHOW TABLES"),
        ("EXPLAIN t a.b", ".b"),
        ("USE 'd'", "'d'"),
        ("USE d.t", ".t"),
        ("HELP 3", "3"),
    ] {
        for dialect in [Dialect::MySql, Dialect::MariaDb] {
            stops(sql, LexMode { dialect, ..MYSQL }, near);
        }
    }
}
