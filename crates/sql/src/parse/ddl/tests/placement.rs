//! Weir's own clauses.

use bumpalo::Bump;

use super::{BOTH, one, read, refused, text};
use crate::ast::{CreateTable, PartitionMethod, PartitionValues, Placement, PlacementKind, StatementKind};
use crate::mode::Dialect;

fn create<'a>(arena: &'a Bump, sql: &'a str) -> &'a CreateTable<'a> {
    let StatementKind::CreateTable(table) = one(arena, sql, Dialect::Either) else { panic!("{sql}") };
    table
}

fn described(sql: &str, placement: &Placement<'_>) -> String {
    match placement.kind {
        PlacementKind::Global => "global".to_owned(),
        PlacementKind::Single(shard) => {
            format!("single {}", shard.map_or("-".to_owned(), |shard| String::from_utf8_lossy(shard.name).into_owned()))
        }
        PlacementKind::Sharded(by) => {
            let columns: Vec<_> = by.columns.iter().map(|name| text(sql, name.span)).collect();
            let parts: Vec<_> = by.parts.iter().map(|part| text(sql, part.span)).collect();
            format!(
                "{:?} {} {} {parts:?}",
                by.method,
                columns.join("+"),
                by.count.map_or("-", |count| text(sql, count))
            )
        }
    }
}

#[test]
fn clauses_say_where_rows_are() {
    let cases: &[(&str, &str)] = &[
        ("GLOBAL", "global"),
        ("SINGLE", "single -"),
        ("SINGLE ON SHARD 's1'", "single s1"),
        ("SINGLE ON SHARD s1", "single s1"),
        ("DISTRIBUTED BY (s1)", "single s1"),
        ("SHARD BY HASH(id)", "Hash id - []"),
        ("shard by hash (a, b) partitions 64", "Hash a+b 64 []"),
        (
            "SHARD BY RANGE(id) (s1 VALUES LESS THAN (10), s2 VALUES LESS THAN MAXVALUE)",
            "Range id - [\"s1 VALUES LESS THAN (10)\", \"s2 VALUES LESS THAN MAXVALUE\"]",
        ),
        (
            "SHARD BY LIST(r) (s1 VALUES IN ('a', 'b'), 's2' DEFAULT)",
            "List r - [\"s1 VALUES IN ('a', 'b')\", \"'s2' DEFAULT\"]",
        ),
        ("SHARD BY YEAR(d)", "Year d - []"),
        ("SHARD BY MONTH(d)", "Month d - []"),
        ("SHARD BY DAY(d)", "Day d - []"),
    ];
    for (clause, meaning) in cases {
        for (before, after) in [
            ("(a INT) ", ""),
            ("(a INT) ENGINE=InnoDB ", " COMMENT 'x'"),
            ("(a INT) ", " AS SELECT 1"),
            ("LIKE u ", ""),
        ] {
            let (arena, sql) = (Bump::new(), format!("CREATE TABLE t {before}{clause}{after}"));
            let placement = create(&arena, &sql).placement().expect("a clause");
            assert_eq!(described(&sql, placement), *meaning, "{sql}");
            assert_eq!(text(&sql, placement.span), *clause);
            assert!(!placement.in_comment);
        }
    }
}

#[test]
fn a_comment_stands_for_a_clause() {
    let comments = ["/*weir: shard by hash(id) */", "/* WEIR:global*/", "/*weir:single on shard 's1'*/"];
    let meanings = ["Hash id - []", "global", "single s1"];
    for (comment, meaning) in comments.into_iter().zip(meanings) {
        for sql in [
            format!("CREATE TABLE t (id INT) {comment}"),
            format!("CREATE TABLE t (id INT) /* x */ -- /*weir: nothing*/\n ENGINE=InnoDB /* y */ {comment}"),
            format!("CREATE TABLE t (id INT) /*!50100 PARTITION BY HASH (id) */ {comment}"),
            format!("CREATE TABLE t LIKE u {comment}"),
        ] {
            let arena = Bump::new();
            let placement = create(&arena, &sql).placement().expect("a clause");
            assert!(placement.in_comment);
            assert_eq!(described(&sql, placement), meaning, "{sql}");
            assert_eq!(text(&sql, placement.span), comment);
        }
    }
}

#[test]
fn other_comments_stand_for_nothing() {
    for comment in
        ["/* shard by hash(id) */", "/*weird: x */", "-- weir: global", "# /*weir: global*/", "/*weir*/", "/**/"]
    {
        let (arena, sql) = (Bump::new(), format!("CREATE TABLE t (id INT) {comment}"));
        let parsed = read(&arena, &sql, Dialect::MySql).expect("it is read");
        let StatementKind::CreateTable(table) = parsed.statements[0].kind else { panic!("{sql}") };
        assert!(table.placement().is_none(), "{sql}");
    }
    let (arena, sql) = (Bump::new(), "CREATE TABLE t (id INT); /*weir: global*/");
    let parsed = read(&arena, sql, Dialect::MySql).expect("it is read");
    let StatementKind::CreateTable(table) = parsed.statements[0].kind else { panic!("{sql}") };
    assert!(table.placement().is_none());
}

#[test]
fn a_comment_that_says_nothing_known_is_refused() {
    assert_eq!(refused("CREATE TABLE t (id INT) /*weir: shard by magic(id) */", Dialect::MySql), "magic(id) */");
    assert_eq!(refused("CREATE TABLE t (id INT) /*weir: global x*/", Dialect::MySql), "x*/");
    assert_eq!(refused("CREATE TABLE t (id INT) /*weir: */", Dialect::MySql), "*/");
}

#[test]
fn errors_tell_the_form_of_what_was_meant() {
    for (clause, form) in [
        ("SHARD BY MAGIC(id)", "SHARD BY HASH(column, …), SHARD BY RANGE"),
        ("SHARDED BY HASH(id)", "SHARD BY HASH(column, …), SHARD BY RANGE"),
        ("SHARD (id)", "SHARD BY HASH(column, …), SHARD BY RANGE"),
        ("SHARD BY HASH id", "SHARD BY HASH(column, …)"),
        ("SHARD BY HASH(id + 1)", "SHARD BY HASH(column, …)"),
        ("SHARD BY RANGE(id) (s1 LESS THAN 10)", "SHARD BY RANGE(column) (shard VALUES LESS THAN (value), …)"),
        ("SHARD BY RANGE(id) (s1 VALUES LESS THAN (10)", "SHARD BY RANGE(column) (shard VALUES LESS THAN (value), …)"),
        ("SHARD BY LIST(id) (s1 VALUES (1))", "SHARD BY LIST(column) (shard VALUES IN (value, …), …)"),
        ("SHARD BY MONTH d", "SHARD BY YEAR(column)"),
        ("SINGLE ON s1", "SINGLE or SINGLE ON SHARD 'shard'"),
        ("DISTRIBUTED BY s1", "DISTRIBUTED BY (shard)"),
        ("/*weir: global x */", "/*weir: clause */"),
        ("/*weir: shard by list(id) (s1 in (2)) */", "SHARD BY LIST(column) (shard VALUES IN (value, …), …)"),
        ("/*weir: */", "/*weir: clause */"),
    ] {
        let (arena, sql) = (Bump::new(), format!("CREATE TABLE t (id INT) {clause}"));
        let error = read(&arena, &sql, Dialect::Either).expect_err(&sql);
        assert!(error.form().is_some_and(|told| told.starts_with(form)), "{sql}: {:?}", error.form());
    }
    for sql in ["CREATE TABLE t (id INT) nonsense", "CREATE TABLE t (id INTT) SHARD BY HASH(id)", "SELECT FROM WHERE"] {
        let arena = Bump::new();
        assert_eq!(read(&arena, sql, Dialect::MySql).err().and_then(|error| error.form()), None, "{sql}");
    }
}

#[test]
fn radondbs_partitioning_is_the_servers_own() {
    for dialect in BOTH {
        let (arena, sql) = (Bump::new(), "CREATE TABLE t (id INT) PARTITION BY HASH(id) PARTITIONS 64");
        let StatementKind::CreateTable(table) = one(&arena, sql, dialect) else { panic!("{sql}") };
        let definition = table.definition().expect("a definition");
        assert!(definition.placement.is_none());
        let partitioning = definition.partitioning.expect("partitions");
        assert!(matches!(partitioning.method, PartitionMethod::Hash(_)));
    }
}

#[test]
fn the_words_stay_names_elsewhere() {
    let sql = "CREATE TABLE shard (single INT, global INT, distributed INT) single=1";
    let (arena, table_sql) = (Bump::new(), sql);
    let table = create(&arena, table_sql);
    assert!(table.placement().is_none());
    assert_eq!(table.definition().expect("a definition").columns().count(), 3);
}

#[test]
fn parts_hold_values() {
    let (arena, sql) = (Bump::new(), "CREATE TABLE t (r INT) SHARD BY LIST(r) (s1 VALUES IN (1, 2), s2 DEFAULT)");
    let placement = create(&arena, sql).placement().expect("a clause");
    let PlacementKind::Sharded(by) = placement.kind else { panic!("{sql}") };
    assert!(matches!(by.parts[0].values, PartitionValues::In([_, _])));
    assert_eq!(by.parts[1].values, PartitionValues::Default);
    assert_eq!(refused("CREATE TABLE t (r INT) SHARD BY LIST(r) (s1 HISTORY)", Dialect::Either), ")");
}
