//! ALTER TABLE.

use bumpalo::Bump;

use super::{BOTH, one, refused, text, variant};
use crate::ast::{AlterActionKind, AlterTable, ColumnPosition, PartitionOperation, PartitionSet, StatementKind};
use crate::mode::Dialect;

fn alter<'a>(arena: &'a Bump, sql: &'a str, dialect: Dialect) -> &'a AlterTable<'a> {
    match one(arena, sql, dialect) {
        StatementKind::AlterTable(table) => table,
        other => panic!("{sql} was read as {other:?}"),
    }
}

/// The actions' kinds; each action's span must be its text.
fn kinds(sql: &str, dialect: Dialect) -> String {
    let arena = Bump::new();
    let actions = alter(&arena, sql, dialect).actions;
    actions.iter().map(|action| variant(&action.kind)).collect::<Vec<_>>().join(" ")
}

#[test]
fn actions_of_both_servers_have_kinds() {
    let cases: &[(&str, &str)] = &[
        ("ADD a INT", "AddColumn"),
        ("ADD COLUMN a INT FIRST, ADD b INT AFTER a", "AddColumn AddColumn"),
        ("ADD (a INT, KEY (a))", "AddElements"),
        ("ADD PRIMARY KEY (a), ADD UNIQUE k (a), ADD FULLTEXT (b)", "AddKey AddKey AddKey"),
        ("ADD CONSTRAINT c FOREIGN KEY (a) REFERENCES t (b)", "AddForeignKey"),
        ("ADD CONSTRAINT c CHECK (a > 1)", "AddCheck"),
        ("DROP a, DROP COLUMN b RESTRICT", "DropColumn DropColumn"),
        (
            "DROP PRIMARY KEY, DROP KEY k, DROP FOREIGN KEY f, DROP CONSTRAINT c",
            "DropPrimaryKey DropKey DropForeignKey DropConstraint",
        ),
        ("MODIFY a INT NOT NULL FIRST, CHANGE a b INT", "ModifyColumn ChangeColumn"),
        ("ALTER a SET DEFAULT 1, ALTER COLUMN a DROP DEFAULT", "AlterColumn AlterColumn"),
        ("RENAME TO d.u", "RenameTable"),
        ("RENAME = u", "RenameTable"),
        ("RENAME COLUMN a TO b, RENAME KEY k TO l", "RenameColumn RenameKey"),
        ("ORDER BY a, b DESC", "OrderBy"),
        ("CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_bin", "ConvertCharset"),
        ("ENABLE KEYS, FORCE, DISABLE KEYS", "EnableKeys Force DisableKeys"),
        ("DISCARD TABLESPACE", "DiscardTablespace"),
        ("IMPORT TABLESPACE", "ImportTablespace"),
        ("ALGORITHM=INPLACE, LOCK NONE", "Algorithm Lock"),
        ("ENGINE=InnoDB COMMENT 'x', AUTO_INCREMENT 5", "Option Option Option"),
        ("ADD a INT PARTITION BY HASH (a)", "AddColumn PartitionBy"),
        ("REMOVE PARTITIONING", "RemovePartitioning"),
        ("ADD PARTITION (PARTITION p VALUES LESS THAN (5))", "Partitions"),
        ("SINGLE ON SHARD 's1'", "Place"),
        ("", ""),
    ];
    for (actions, meaning) in cases {
        for dialect in BOTH {
            assert_eq!(kinds(format!("ALTER TABLE t {actions}").trim_end(), dialect), *meaning, "{actions}");
        }
    }
}

#[test]
fn actions_of_one_server_have_kinds() {
    let cases: &[(Dialect, &str, &str)] = &[
        (Dialect::MySql, "DROP CHECK c, ALTER CHECK c NOT ENFORCED", "DropCheck AlterConstraint"),
        (Dialect::MySql, "ALTER INDEX k INVISIBLE, ALTER a SET VISIBLE", "AlterKey AlterColumn"),
        (Dialect::MySql, "SECONDARY_LOAD", "SecondaryLoad"),
        (Dialect::MySql, "SECONDARY_UNLOAD PARTITION (p)", "Partitions"),
        (Dialect::MySql, "WITHOUT VALIDATION, ADD a INT", "Validation AddColumn"),
        (Dialect::MariaDb, "ADD COLUMN IF NOT EXISTS (a INT)", "AddElements"),
        (Dialect::MariaDb, "ADD IF NOT EXISTS a INT, DROP COLUMN IF EXISTS a", "AddColumn DropColumn"),
        (Dialect::MariaDb, "ADD CONSTRAINT IF NOT EXISTS c CHECK (a > 1)", "AddCheck"),
        (Dialect::MariaDb, "ADD PERIOD IF NOT EXISTS FOR p (a, b), DROP PERIOD FOR p", "AddPeriod DropPeriod"),
        (Dialect::MariaDb, "ADD SYSTEM VERSIONING, DROP SYSTEM VERSIONING", "AddSystemVersioning DropSystemVersioning"),
        (Dialect::MariaDb, "MODIFY IF EXISTS a INT, ALTER KEY IF EXISTS k NOT IGNORED", "ModifyColumn AlterKey"),
        (Dialect::MariaDb, "CONVERT TO CHARACTER SET DEFAULT COLLATE DEFAULT", "ConvertCharset"),
        (Dialect::MariaDb, "encrypted=YES, page_compressed=1", "Option Option"),
        (Dialect::MariaDb, "DROP CONSTRAINT PRIMARY KEY", "DropPrimaryKey"),
    ];
    for (dialect, actions, meaning) in cases {
        assert_eq!(kinds(&format!("ALTER TABLE t {actions}"), *dialect), *meaning, "{actions}");
    }
}

#[test]
fn operations_on_partitions_have_kinds() {
    let cases: &[(Dialect, &str, &str)] = &[
        (Dialect::Either, "ADD PARTITION LOCAL PARTITIONS 2", "AddCount"),
        (Dialect::Either, "DROP PARTITION p, q", "Drop"),
        (Dialect::Either, "COALESCE PARTITION 3", "Coalesce"),
        (Dialect::Either, "REORGANIZE PARTITION", "Reorganize"),
        (Dialect::Either, "REORGANIZE PARTITION p, q INTO (PARTITION r VALUES IN (1))", "Reorganize"),
        (Dialect::Either, "EXCHANGE PARTITION p WITH TABLE d.u", "Exchange"),
        (Dialect::Either, "TRUNCATE PARTITION ALL", "Truncate"),
        (Dialect::Either, "REBUILD PARTITION NO_WRITE_TO_BINLOG p", "Rebuild"),
        (Dialect::Either, "OPTIMIZE PARTITION p", "Optimize"),
        (Dialect::Either, "ANALYZE PARTITION p", "Analyze"),
        (Dialect::Either, "CHECK PARTITION ALL FOR UPGRADE QUICK", "Check"),
        (Dialect::Either, "REPAIR PARTITION p QUICK EXTENDED", "Repair"),
        (Dialect::MySql, "DISCARD PARTITION ALL TABLESPACE", "DiscardTablespace"),
        (Dialect::MySql, "IMPORT PARTITION p, q TABLESPACE", "ImportTablespace"),
        (Dialect::MariaDb, "DROP PARTITION IF EXISTS p", "Drop"),
        (Dialect::MariaDb, "CONVERT PARTITION p TO TABLE u", "ToTable"),
        (Dialect::MariaDb, "CONVERT TABLE u TO PARTITION p VALUES LESS THAN (1)", "FromTable"),
    ];
    for (dialect, action, meaning) in cases {
        let (arena, sql) = (Bump::new(), format!("ALTER TABLE t {action}"));
        let [only] = alter(&arena, &sql, *dialect).actions else { panic!("{sql}") };
        assert_eq!(text(&sql, only.span), *action);
        let AlterActionKind::Partitions(operation) = only.kind else { panic!("{sql}") };
        assert_eq!(variant(operation), *meaning);
    }
}

#[test]
fn an_action_says_what_it_changes() {
    let sql = "ALTER ONLINE IGNORE TABLE IF EXISTS d.t NOWAIT CHANGE COLUMN IF EXISTS a b INT NOT NULL AFTER c, \
               EXCHANGE PARTITION p WITH TABLE u, TRUNCATE PARTITION q, r";
    let arena = Bump::new();
    let table = alter(&arena, sql, Dialect::MariaDb);
    assert!(table.online && table.ignore && table.if_exists && table.wait.is_some());
    assert_eq!(text(sql, table.table.span), "d.t");
    let AlterActionKind::ChangeColumn(old, to) = table.actions[0].kind else { panic!("{sql}") };
    assert_eq!((old.name, to.definition.name.name, to.conditional), (&b"a"[..], &b"b"[..], true));
    assert_eq!(text(sql, to.definition.span), "b INT NOT NULL");
    assert!(matches!(to.position, Some(ColumnPosition::After(name)) if name.name == b"c"));
    let AlterActionKind::Partitions(PartitionOperation::Exchange(exchange)) = table.actions[1].kind else {
        panic!("{sql}")
    };
    assert_eq!(text(sql, exchange.table.span), "u");
    let AlterActionKind::Partitions(PartitionOperation::Truncate(PartitionSet::Named(names))) = table.actions[2].kind
    else {
        panic!("{sql}")
    };
    assert_eq!(names.len(), 2);
}

#[test]
fn what_no_server_reads_is_refused() {
    let cases: &[(&str, &str)] = &[
        ("ALTER TABLE t ADD a INT ADD b INT", "ADD b INT"),
        ("ALTER TABLE t ADD a INT,", ""),
        ("ALTER TABLE t MODIFY a", ""),
        ("ALTER TABLE t RENAME COLUMN a b", "b"),
        ("ALTER TABLE t ORDER BY a + 1", "+ 1"),
        ("ALTER TABLE t ADD KEY type BTREE (a)", "BTREE (a)"),
        ("ALTER TABLE t ALTER a SET DEFAULT 1 + 1", "+ 1"),
        ("ALTER TABLE t DROP PARTITION p, ADD b INT", "ADD b INT"),
        ("ALTER TABLE t packed_keys 1", "packed_keys 1"),
        ("ALTER TABLE", ""),
    ];
    for (sql, rest) in cases {
        for dialect in BOTH {
            assert_eq!(refused(sql, dialect), *rest, "{sql}");
        }
    }
}
