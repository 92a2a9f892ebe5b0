//! Indexes, views, databases, sequences, DROP, RENAME and what holds no rows.

use bumpalo::Bump;

use super::{BOTH, one, refused, text, variant};
use crate::ast::{KeyKind, SequenceSettingKind, ServerObjectKind, StatementKind, Verb, ViewKind};
use crate::mode::Dialect;

#[test]
fn statements_have_kinds() {
    let cases: &[(Dialect, &str, &str)] = &[
        (Dialect::Either, "CREATE INDEX i ON t (a)", "CreateIndex"),
        (Dialect::Either, "DROP INDEX i ON d.t ALGORITHM=COPY LOCK=NONE", "DropIndex"),
        (Dialect::MariaDb, "DROP INDEX IF EXISTS i ON t WAIT 3", "DropIndex"),
        (Dialect::Either, "DROP TABLES IF EXISTS t, d.u CASCADE", "DropTables"),
        (Dialect::MariaDb, "DROP TABLE t WAIT 5 RESTRICT", "DropTables"),
        (Dialect::Either, "DROP VIEW v", "DropTables"),
        (Dialect::MariaDb, "DROP SEQUENCE s, u", "DropTables"),
        (Dialect::Either, "TRUNCATE t", "Truncate"),
        (Dialect::MariaDb, "TRUNCATE TABLE d.t NOWAIT", "Truncate"),
        (Dialect::Either, "RENAME TABLE t TO d.u, v TO w", "RenameTables"),
        (Dialect::MariaDb, "RENAME TABLES IF EXISTS t WAIT 3 TO u", "RenameTables"),
        (Dialect::Either, "CREATE SCHEMA IF NOT EXISTS d DEFAULT CHARACTER SET = utf8mb4 COLLATE x", "CreateDatabase"),
        (Dialect::MariaDb, "CREATE OR REPLACE DATABASE d COMMENT 'x'", "CreateDatabase"),
        (Dialect::Either, "DROP DATABASE IF EXISTS d", "DropDatabase"),
        (Dialect::MariaDb, "ALTER DATABASE `#mysql50#a-b` UPGRADE DATA DIRECTORY NAME", "AlterDatabase"),
        (Dialect::MariaDb, "CREATE OR REPLACE SEQUENCE s ENGINE=InnoDB", "DefineSequence"),
        (Dialect::MySql, "CREATE MATERIALIZED VIEW v AS SELECT 1", "CreateView"),
        (Dialect::MySql, "CREATE EXTERNAL TABLE t (a INT) FILES = (URI 'x')", "CreateTable"),
    ];
    for (dialect, sql, meaning) in cases {
        let arena = Bump::new();
        assert_eq!(variant(&one(&arena, sql, *dialect)), *meaning, "{sql}");
    }
}

#[test]
fn an_index_has_a_kind_and_a_table() {
    let sql = "CREATE OR REPLACE UNIQUE UNCHECKED INDEX IF NOT EXISTS i USING BTREE ON d.t (a(5), b DESC) COMMENT 'x' \
               ALGORITHM=INPLACE LOCK NONE WAIT 5";
    let arena = Bump::new();
    let StatementKind::CreateIndex(index) = one(&arena, sql, Dialect::MariaDb) else { panic!("{sql}") };
    assert!(index.or_replace && index.if_not_exists && index.unchecked.is_some());
    assert_eq!((index.kind, text(sql, index.table.span)), (KeyKind::Unique, "d.t"));
    assert_eq!((index.parts.len(), index.options.len()), (2, 2));
    let how: Vec<_> = index.how.iter().map(|span| text(sql, *span)).collect();
    assert_eq!(how, ["ALGORITHM=INPLACE", "LOCK NONE", "WAIT 5"]);
}

#[test]
fn a_view_has_a_query() {
    let sql = "CREATE OR REPLACE ALGORITHM = MERGE DEFINER = 'a'@'%' SQL SECURITY INVOKER VIEW d.v (a, b) AS \
               SELECT 1, count(*) FROM t GROUP BY a WITH LOCAL CHECK OPTION";
    for dialect in BOTH {
        let arena = Bump::new();
        let StatementKind::CreateView(view) = one(&arena, sql, dialect) else { panic!("{sql}") };
        assert!(view.or_replace && !view.alter && view.definer.is_some());
        assert_eq!((view.kind, text(sql, view.name.span), view.columns.len()), (ViewKind::Plain, "d.v", 2));
        assert!(view.algorithm.is_some_and(|word| word.is("merge")));
        assert!(view.security.is_some_and(|word| word.is("invoker")));
        assert_eq!(text(sql, view.query.span), "SELECT 1, count(*) FROM t GROUP BY a");
        assert_eq!(view.check_option.map(|span| text(sql, span)), Some("WITH LOCAL CHECK OPTION"));
    }
    let sql = "ALTER VIEW v AS (SELECT 1)";
    let arena = Bump::new();
    let StatementKind::CreateView(view) = one(&arena, sql, Dialect::Either) else { panic!("{sql}") };
    assert!(view.alter && view.check_option.is_none());
}

#[test]
fn a_database_may_be_the_default_one() {
    let cases: &[(&str, Option<&str>, &[&str])] = &[
        ("ALTER DATABASE CHARSET utf8mb4", None, &["CHARSET utf8mb4"]),
        (
            "ALTER DATABASE d DEFAULT CHARACTER SET latin1 COLLATE = x",
            Some("d"),
            &["DEFAULT CHARACTER SET latin1", "COLLATE = x"],
        ),
        ("ALTER SCHEMA charset CHARSET x", Some("charset"), &["CHARSET x"]),
        ("ALTER DATABASE d READ ONLY = 1", Some("d"), &["READ ONLY = 1"]),
    ];
    for (sql, name, options) in cases {
        let arena = Bump::new();
        let StatementKind::AlterDatabase(database) = one(&arena, sql, Dialect::MySql) else { panic!("{sql}") };
        assert_eq!(database.name.map(|name| text(sql, name.span)), *name, "{sql}");
        let found: Vec<_> = database.options.iter().map(|option| text(sql, option.span)).collect();
        assert_eq!(found, *options);
    }
}

#[test]
fn a_sequence_has_settings() {
    let sql = "CREATE SEQUENCE s START WITH -5 INCREMENT BY 2 MINVALUE = 1 NO MAXVALUE NOCACHE CYCLE COMMENT 'x'";
    let arena = Bump::new();
    let StatementKind::DefineSequence(sequence) = one(&arena, sql, Dialect::MariaDb) else { panic!("{sql}") };
    let found: Vec<_> = sequence
        .settings
        .iter()
        .map(|setting| (setting.kind, setting.value.map_or("", |value| text(sql, value))))
        .collect();
    assert_eq!(
        found,
        [
            (SequenceSettingKind::Start, "-5"),
            (SequenceSettingKind::Increment, "2"),
            (SequenceSettingKind::MinValue, "1"),
            (SequenceSettingKind::NoMaxValue, ""),
            (SequenceSettingKind::NoCache, ""),
            (SequenceSettingKind::Cycle, ""),
        ]
    );
    assert_eq!(sequence.options.len(), 1);
    let sql = "ALTER SEQUENCE IF EXISTS s RESTART 7";
    let StatementKind::DefineSequence(sequence) = one(&arena, sql, Dialect::MariaDb) else { panic!("{sql}") };
    assert!(sequence.alter && sequence.conditional);
    assert_eq!(sequence.settings[0].value.map(|value| text(sql, value)), Some("7"));
}

#[test]
fn objects_without_rows_have_names_and_options() {
    use ServerObjectKind::{LogfileGroup, ResourceGroup, Server, SpatialReferenceSystem, Tablespace, UndoTablespace};
    let cases: &[(&str, Verb, ServerObjectKind, &str, Option<&str>)] = &[
        ("CREATE TABLESPACE x ADD DATAFILE 'x'", Verb::Create, Tablespace, "x", Some("ADD DATAFILE 'x'")),
        ("DROP UNDO TABLESPACE x", Verb::Drop, UndoTablespace, "x", None),
        ("ALTER LOGFILE GROUP g ADD UNDOFILE 'x'", Verb::Alter, LogfileGroup, "g", Some("ADD UNDOFILE 'x'")),
        (
            "CREATE SERVER 's' FOREIGN DATA WRAPPER mysql OPTIONS (HOST 'x')",
            Verb::Create,
            Server,
            "'s'",
            Some("FOREIGN DATA WRAPPER mysql OPTIONS (HOST 'x')"),
        ),
        ("DROP SERVER IF EXISTS s", Verb::Drop, Server, "s", None),
        (
            "CREATE OR REPLACE SPATIAL REFERENCE SYSTEM 4120 NAME 'x'",
            Verb::Create,
            SpatialReferenceSystem,
            "4120",
            Some("NAME 'x'"),
        ),
        (
            "CREATE RESOURCE GROUP g TYPE = USER VCPU = 0-3",
            Verb::Create,
            ResourceGroup,
            "g",
            Some("TYPE = USER VCPU = 0-3"),
        ),
    ];
    for (sql, verb, kind, name, options) in cases {
        let arena = Bump::new();
        let StatementKind::ServerObject(object) = one(&arena, sql, Dialect::MySql) else { panic!("{sql}") };
        assert_eq!((object.verb, object.kind), (*verb, *kind), "{sql}");
        assert_eq!((text(sql, object.name.span), object.options.map(|span| text(sql, span))), (*name, *options));
    }
}

#[test]
fn what_no_server_reads_is_refused() {
    let cases: &[(&str, &str)] = &[
        ("CREATE INDEX ON t (a)", "ON t (a)"),
        ("CREATE INDEX i ON t", ""),
        ("DROP INDEX i", ""),
        ("DROP TABLE", ""),
        ("DROP TABLE t u", "u"),
        ("RENAME TABLE t u", "u"),
        ("CREATE VIEW v SELECT 1", "SELECT 1"),
        ("CREATE VIEW v () AS SELECT 1", ") AS SELECT 1"),
        ("CREATE DATABASE d, COLLATE x", ", COLLATE x"),
        ("ALTER DATABASE d", ""),
        ("TRUNCATE t, u", ", u"),
    ];
    for (sql, rest) in cases {
        for dialect in BOTH {
            assert_eq!(refused(sql, dialect), *rest, "{sql}");
        }
    }
}
