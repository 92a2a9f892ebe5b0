//! Ranges, lists and periods.

use super::*;
use crate::colocated;

fn ranges(kind: &str, bounds: &[Option<&str>]) -> Table {
    let part = |(at, bound): (usize, &Option<&str>)| (bound.map(str::to_owned), ShardId(at as u16));
    table(&[kind], Method::Range(bounds.iter().enumerate().map(part).collect()))
}

fn at(table: &Table, constant: Constant) -> Located {
    locate_stored(&database(), table, &[constant], &weights())
}

fn shard(at: u16) -> Located {
    Located::Shard(ShardId(at))
}

#[test]
fn values_are_in_the_part_below_whose_bound_they_are() {
    let ids = ranges("int", &[Some("-5"), Some("10"), None]);
    for (id, part) in [(-100, 0), (-6, 0), (-5, 1), (9, 1), (10, 2), (1 << 30, 2)] {
        assert_eq!(at(&ids, Constant::Integer(id)), shard(part), "{id}");
    }
    assert_eq!(at(&ids, Constant::Null), shard(0));
    assert_eq!(locate(&database(), &ids, &[decimal("9.5")], &weights()), Located::Nowhere);
    let open = ranges("decimal(10,2)", &[Some("1.50")]);
    assert_eq!(at(&open, decimal("1.495")), Located::Nowhere, "1.50 when it is stored");
    assert_eq!(at(&open, decimal("1.494")), shard(0));
    let dates = ranges("date", &[Some("'2024-01-01'"), None]);
    assert_eq!(at(&dates, text("2023-12-31")), shard(0));
    assert_eq!(at(&dates, text("2024-1-1")), shard(1));
}

#[test]
fn lists_know_values_nulls_and_all_others() {
    let list = |default| {
        let members =
            vec![(Some("'it''s'".to_owned()), ShardId(1)), (None, ShardId(2)), (Some("'b'".to_owned()), ShardId(3))];
        table(&["varchar(9) collate utf8mb4_general_ci"], Method::List(members, default))
    };
    let with = list(Some(ShardId(4)));
    assert_eq!(at(&with, text("IT'S ")), shard(1));
    assert_eq!(at(&with, Constant::Null), shard(2));
    assert_eq!(at(&with, text("B")), shard(3));
    assert_eq!(at(&with, text("c")), shard(4));
    assert_eq!(at(&list(None), text("c")), Located::Nowhere);
    let unknown = table(
        &["varchar(9) collate latin1_swedish_ci"],
        Method::List(vec![(Some("'b'".to_owned()), ShardId(3))], None),
    );
    assert!(matches!(at(&unknown, text("b")), Located::NeedsWeights(..)));
}

/// All ranges with ends near the bounds, against what counting finds.
#[test]
fn ranges_reach_every_part_that_has_a_value() {
    let table = ranges("int", &[Some("-5"), Some("0"), Some("7"), Some("8"), None]);
    let bounds = |value: i128| {
        [Bound::Open, Bound::Including(Constant::Integer(value)), Bound::Excluding(Constant::Integer(value))]
    };
    let database = database();
    for (low, high) in (-12..12).flat_map(|low| (-12..12).map(move |high| (low, high))) {
        for (from, low_end) in bounds(low).into_iter().enumerate() {
            for (to, high_end) in bounds(high).into_iter().enumerate() {
                let matches =
                    |value: i128| [true, value >= low, value > low][from] && [true, value <= high, value < high][to];
                let mut needed: Vec<ShardId> = (-20..20)
                    .filter(|value| matches(*value))
                    .map(|value| ShardId(slot(at_in(&database, &table, value))))
                    .collect();
                needed.dedup();
                let RangeShards::Shards(found) = locate_range(&database, &table, &low_end, &high_end) else { panic!() };
                assert!(needed.iter().all(|shard| found.contains(shard)), "{low_end:?} {high_end:?} {found:?}");
                // A part too many only where an open end of integers leaves out the part's last value.
                assert!(found.len() <= needed.len() + 1, "{low_end:?} {high_end:?} {found:?}");
            }
        }
    }
}

fn at_in(database: &Database, table: &Table, value: i128) -> Located {
    locate(database, table, &[Constant::Integer(value)], &Weights::default())
}

#[test]
fn ends_that_no_value_equals_lie_somewhere_too() {
    let table = ranges("int", &[Some("0"), Some("10"), None]);
    let reach = |low: Bound, high: Bound| locate_range(&database(), &table, &low, &high);
    let shards = |all: &[u16]| RangeShards::Shards(all.iter().map(|at| ShardId(*at)).collect());
    assert_eq!(reach(Bound::Excluding(decimal("9.5")), Bound::Open), shards(&[1, 2]));
    assert_eq!(reach(Bound::Open, Bound::Including(decimal("-0.5"))), shards(&[0]));
    assert_eq!(reach(Bound::Including(text("3")), Bound::Including(Constant::Float(4.0))), shards(&[1]));
    assert_eq!(reach(Bound::Including(Constant::Null), Bound::Open), shards(&[]));
    assert_eq!(reach(Bound::Including(Constant::Integer(5)), Bound::Including(Constant::Integer(-5))), shards(&[]));
    assert_eq!(reach(Bound::Including(text("3x")), Bound::Open), RangeShards::Unsure);
    assert_eq!(reach(Bound::Open, Bound::Open), shards(&[0, 1, 2]));
}

#[test]
fn dates_are_where_their_period_is() {
    for (method, same, other) in [
        (Method::Year, "2024-12-31 23:59:59", "2025-01-01"),
        (Method::Month, "2024-02-29", "2024-03-01"),
        (Method::Day, "2024-02-01 12:00:00", "2024-02-02"),
    ] {
        let table = table(&["datetime"], method.clone());
        assert_eq!(at(&table, text("2024-02-01")), at(&table, text(same)), "{method:?}");
        assert_ne!(at(&table, text("2024-02-01")), at(&table, text(other)), "{method:?}");
        assert!(matches!(at(&table, Constant::Null), Located::Shard(_)));
    }
}

#[test]
fn few_periods_are_counted_out() {
    let database = database();
    let ends = |low: &str, high: &str| (Bound::Including(text(low)), Bound::Excluding(text(high)));
    for (method, low, high, days) in [
        (Method::Day, "2024-02-27", "2024-03-02 00:00:00.5", ["2024-02-27", "2024-02-29", "2024-03-01", "2024-03-02"]),
        (Method::Month, "2023-11-30", "2024-02-01 10:00:00", ["2023-11-30", "2023-12-31", "2024-01-01", "2024-02-01"]),
        (Method::Year, "2021-12-31", "2024-01-01", ["2021-12-31", "2022-06-01", "2023-01-01", "2023-12-31"]),
    ] {
        let table = table(&["datetime"], method);
        let (low, high) = ends(low, high);
        let RangeShards::Shards(found) = locate_range(&database, &table, &low, &high) else { panic!() };
        for day in days {
            assert!(found.contains(&ShardId(slot(at(&table, text(day))))), "{day}");
        }
        assert!(found.len() <= 5);
        assert_eq!(locate_range(&database, &table, &low, &Bound::Open), RangeShards::Unsure);
        assert_eq!(locate_range(&database, &table, &high, &low), RangeShards::Shards(Vec::new()));
    }
    let days = table(&["date"], Method::Day);
    let (low, high) = ends("2000-01-01", "2024-01-01");
    assert_eq!(locate_range(&database, &days, &low, &high), RangeShards::Unsure);
    let (low, high) = ends("9999-12-30", "9999-12-31");
    assert_eq!(locate_range(&database, &days, &low, &high), RangeShards::Unsure, "the calendar ends");
}

#[test]
fn equal_keys_of_equal_types_meet() {
    let colocated =
        |one: &[&str], two: &[&str]| colocated(&database(), &table(one, Method::Hash), &table(two, Method::Hash));
    let same: [(&[&str], &[&str]); 8] = [
        (&["int"], &["bigint unsigned"]),
        (&["int"], &["decimal(10,2)"]),
        (&["date"], &["datetime(6)"]),
        (&["time"], &["time(3)"]),
        (&["binary(3)"], &["binary(5)"]),
        (&["char(3) collate latin1_bin"], &["varchar(5) collate latin1_bin"]),
        (&["varchar(3) collate utf8mb4_0900_ai_ci"], &["varchar(5) collate utf8mb4_0900_ai_ci"]),
        (&["int", "date"], &["bigint", "date"]),
    ];
    for (one, two) in same {
        assert!(colocated(one, two), "{one:?} {two:?}");
    }
    let other: [(&[&str], &[&str]); 8] = [
        (&["int"], &["varchar(5) collate utf8mb4_bin"]),
        (&["int"], &["int", "int"]),
        (&["date"], &["time"]),
        (&["binary(3)"], &["varbinary(3)"]),
        (&["char(3) collate latin1_bin"], &["char(3) collate utf8mb4_bin"]),
        (&["char(3) collate utf8mb4_0900_bin"], &["varchar(3) collate utf8mb4_0900_bin"]),
        (&["float"], &["float"]),
        (&["int", "date"], &["date", "int"]),
    ];
    for (one, two) in other {
        assert!(!colocated(one, two), "{one:?} {two:?}");
    }
}
