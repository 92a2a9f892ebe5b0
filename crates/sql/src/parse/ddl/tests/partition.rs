//! PARTITION BY.

use bumpalo::Bump;

use super::{BOTH, one, refused, text, variant};
use crate::ast::{PartitionMethod, PartitionValue, PartitionValues, Partitioning, Span, StatementKind, TableBody};
use crate::mode::Dialect;

fn partitioning<'a>(arena: &'a Bump, sql: &'a str, dialect: Dialect) -> &'a Partitioning<'a> {
    let StatementKind::CreateTable(table) = one(arena, sql, dialect) else { panic!("{sql}") };
    let TableBody::Definition(definition) = table.body else { panic!("{sql}") };
    definition.partitioning.expect("partitions")
}

fn method(sql: &str, method: &PartitionMethod<'_>) -> String {
    let names =
        |list: &[crate::ast::Ident<'_>]| list.iter().map(|name| text(sql, name.span)).collect::<Vec<_>>().join(" ");
    let shown = |span: Option<Span>| span.map_or("-", |span| text(sql, span)).to_owned();
    match method {
        PartitionMethod::Hash(hash) => format!("hash {} {}", hash.linear, text(sql, hash.expr.span)),
        PartitionMethod::Key(key) => format!("key {} {} [{}]", key.linear, shown(key.algorithm), names(key.columns)),
        PartitionMethod::Range(expr) => format!("range {}", text(sql, expr.span)),
        PartitionMethod::RangeColumns(list) => format!("range [{}]", names(list)),
        PartitionMethod::List(expr) => format!("list {}", text(sql, expr.span)),
        PartitionMethod::ListColumns(list) => format!("list [{}]", names(list)),
        PartitionMethod::SystemTime(time) => {
            let [interval, starts] = [time.interval, time.starts].map(|expr| shown(expr.map(|expr| expr.span)));
            format!("time {interval} {starts} {} {}", shown(time.limit), time.auto)
        }
    }
}

#[test]
fn methods_say_what_decides() {
    let cases: &[(Dialect, &str, &str)] = &[
        (Dialect::Either, "HASH (a) PARTITIONS 4", "hash false a"),
        (Dialect::Either, "LINEAR HASH (YEAR(a) + 1)", "hash true YEAR(a) + 1"),
        (Dialect::Either, "KEY ()", "key false - []"),
        (Dialect::Either, "LINEAR KEY ALGORITHM = 1 (a, b)", "key true 1 [a b]"),
        (Dialect::Either, "RANGE (a DIV 2) (PARTITION p VALUES LESS THAN (5))", "range a DIV 2"),
        (Dialect::Either, "RANGE COLUMNS (a, b) (PARTITION p VALUES LESS THAN (5, MAXVALUE))", "range [a b]"),
        (Dialect::Either, "LIST (a) (PARTITION p VALUES IN (5, NULL))", "list a"),
        (Dialect::Either, "LIST COLUMNS (a) (PARTITION p VALUES IN ('x'))", "list [a]"),
        (Dialect::MariaDb, "SYSTEM_TIME", "time - - - false"),
        (Dialect::MariaDb, "SYSTEM_TIME LIMIT 100 PARTITIONS 3", "time - - 100 false"),
        (Dialect::MariaDb, "SYSTEM_TIME INTERVAL 1 DAY STARTS '2020-01-01' AUTO", "time 1 '2020-01-01' - true"),
    ];
    for (dialect, clause, meaning) in cases {
        let (arena, sql) = (Bump::new(), format!("CREATE TABLE t (a INT) PARTITION BY {clause}"));
        let found = partitioning(&arena, &sql, *dialect);
        assert_eq!(method(&sql, &found.method), *meaning);
        assert_eq!(text(&sql, found.span), format!("PARTITION BY {clause}"));
    }
}

#[test]
fn partitions_have_values_options_and_subpartitions() {
    let sql = "CREATE TABLE t (a INT) PARTITION BY RANGE (a) PARTITIONS 2 SUBPARTITION BY LINEAR KEY (b) SUBPARTITIONS 2 (\
               PARTITION p0 VALUES LESS THAN (1 + 1) STORAGE ENGINE = InnoDB COMMENT 'x' (SUBPARTITION s0, SUBPARTITION s1 MAX_ROWS 5), \
               PARTITION p1 VALUES LESS THAN MAXVALUE TABLESPACE x)";
    let arena = Bump::new();
    let found = partitioning(&arena, sql, Dialect::MySql);
    assert_eq!(text(sql, found.count.expect("a number")), "2");
    let sub = found.subpartitioning.expect("subpartitions");
    assert_eq!((method(sql, &sub.method).as_str(), text(sql, sub.count.expect("a number"))), ("key true - [b]", "2"));
    let [first, second] = found.definitions else { panic!("two partitions") };
    let Some(PartitionValues::LessThan([PartitionValue::Expr(limit)])) = first.values else { panic!("{first:?}") };
    assert_eq!(text(sql, limit.span), "1 + 1");
    let options: Vec<_> = first.options.iter().map(|option| variant(&option.kind)).collect();
    assert_eq!(options, ["Engine", "Comment"]);
    assert_eq!(text(sql, first.subpartitions[1].span), "SUBPARTITION s1 MAX_ROWS 5");
    assert!(matches!(second.values, Some(PartitionValues::LessThan([PartitionValue::MaxValue(_)]))));
    assert_eq!(text(sql, second.options[0].span), "TABLESPACE x");
}

#[test]
fn partitions_of_mariadb_may_have_words_for_values() {
    let sql =
        "CREATE TABLE t (a INT) PARTITION BY SYSTEM_TIME (PARTITION p0 HISTORY, PARTITION p1 CURRENT ENGINE=InnoDB)";
    let arena = Bump::new();
    let found: Vec<_> = partitioning(&arena, sql, Dialect::MariaDb).definitions.iter().map(|one| one.values).collect();
    assert_eq!(found, [Some(PartitionValues::History), Some(PartitionValues::Current)]);
    let sql = "CREATE TABLE t (a INT) PARTITION BY LIST (a) (PARTITION p0 VALUES IN (1), p1 DEFAULT)";
    let found = partitioning(&arena, sql, Dialect::MariaDb).definitions;
    assert_eq!(found[1].values, Some(PartitionValues::Default));
    assert_eq!(refused(sql, Dialect::MySql), "p1 DEFAULT)");
}

#[test]
fn partitioning_in_an_executable_comment_is_marked() {
    for dialect in BOTH {
        let arena = Bump::new();
        let sql = "CREATE TABLE t (a INT) PARTITION BY HASH (a)";
        assert!(!partitioning(&arena, sql, dialect).in_comment);
        let sql = "CREATE TABLE t (a INT) /*!50100 PARTITION BY HASH (a) */";
        let StatementKind::CreateTable(table) =
            super::read(&arena, sql, dialect).expect("it is read").statements[0].kind
        else {
            panic!("{sql}")
        };
        let found = table.definition().and_then(|definition| definition.partitioning).expect("partitions");
        assert!(found.in_comment);
        assert_eq!(text(sql, found.span), "PARTITION BY HASH (a)");
    }
}

#[test]
fn tuples_may_hold_maxvalue_but_not_nest_without_bound() {
    let sql = "CREATE TABLE t (a INT) PARTITION BY LIST COLUMNS (a, b) (PARTITION p VALUES IN ((1, MAXVALUE), (2, 3)))";
    let arena = Bump::new();
    let found = partitioning(&arena, sql, Dialect::Either).definitions;
    let Some(PartitionValues::In([PartitionValue::Tuple([_, PartitionValue::MaxValue(_)]), PartitionValue::Expr(_)])) =
        found[0].values
    else {
        panic!("{found:?}")
    };
    let deep = "(MAXVALUE, ".repeat(100_000);
    let sql = format!("CREATE TABLE t (a INT) PARTITION BY LIST (a) (PARTITION p VALUES IN ({deep}");
    assert!(refused(&sql, Dialect::Either).starts_with("(MAXVALUE"));
}
