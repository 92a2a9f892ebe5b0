//! How long reading a statement takes, with an arena that is used again.
//!
//! `cargo bench -p weir-sql --bench parse`. What the rows of long INSERTs cost should not depend on their number.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use weir_sql::{Bump, Dialect, LexMode, classify, digest, parse};

const POINT_SELECT: &str = "SELECT c FROM sbtest1 WHERE id=50147";

const INSERT: &str =
    "INSERT INTO sbtest1 (id, k, c, pad) VALUES (50147, 49929, '68487932199-96439406143', '22195207048-70116052123')";

const ANALYTIC: &str = "SELECT
    n_name,
    o_orderdate,
    SUM(l_extendedprice * (1 - l_discount)) AS revenue,
    COUNT(DISTINCT o_orderkey) AS orders
FROM
    customer
    JOIN orders ON c_custkey = o_custkey
    JOIN lineitem ON l_orderkey = o_orderkey
    JOIN supplier ON l_suppkey = s_suppkey AND c_nationkey = s_nationkey
    JOIN nation ON s_nationkey = n_nationkey
WHERE
    c_mktsegment IN ('BUILDING', 'MACHINERY')
    AND o_orderdate >= DATE '1995-03-15'
    AND o_orderdate < DATE '1995-03-15' + INTERVAL 1 YEAR
    AND (l_shipmode = 'AIR' OR l_quantity BETWEEN 10 AND 24)
    AND NOT EXISTS (SELECT 1 FROM region WHERE r_regionkey = n_regionkey AND r_name LIKE 'AFR%')
GROUP BY n_name, o_orderdate
HAVING SUM(l_extendedprice) > 1000.50
ORDER BY revenue DESC, o_orderdate
LIMIT 10";

/// An INSERT of this many rows.
fn insert_of(rows: usize) -> String {
    let row = "(50147, 49929, '68487932199-96439406143', '22195207048-70116052123')";
    format!("INSERT INTO sbtest1 (id, k, c, pad) VALUES {}", vec![row; rows].join(", "))
}

fn parsing(c: &mut Criterion) {
    let mode = LexMode { dialect: Dialect::MySql, ..LexMode::default() };
    let mut group = c.benchmark_group("parse");
    let short = [("point select", POINT_SELECT), ("insert", INSERT), ("analytic query", ANALYTIC)];
    for (name, sql) in short {
        let mut arena = Bump::new();
        group.bench_function(name, |b| {
            b.iter(|| {
                arena.reset();
                black_box(parse(&arena, black_box(sql.as_bytes()), mode).expect("a statement")).parameters
            });
        });
    }
    for rows in [1_000, 10_000] {
        let sql = insert_of(rows);
        let mut arena = Bump::new();
        group.throughput(Throughput::Elements(rows as u64));
        group.bench_function(format!("insert of {rows} rows"), |b| {
            b.iter(|| {
                arena.reset();
                black_box(parse(&arena, black_box(sql.as_bytes()), mode).expect("a statement")).parameters
            });
        });
    }
    group.finish();
}

fn scanning(c: &mut Criterion) {
    let mode = LexMode { dialect: Dialect::MySql, ..LexMode::default() };
    let mut group = c.benchmark_group("scan");
    for (name, sql) in [("point select", POINT_SELECT), ("insert", INSERT), ("analytic query", ANALYTIC)] {
        group.bench_function(format!("digest of {name}"), |b| b.iter(|| digest(black_box(sql.as_bytes()), mode)));
        group.bench_function(format!("class of {name}"), |b| b.iter(|| classify(black_box(sql.as_bytes()), mode)));
    }
    group.finish();
}

criterion_group!(benches, parsing, scanning);
criterion_main!(benches);
