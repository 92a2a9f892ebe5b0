//! ORDER BY, LIMIT and concatenation over all types and several collations.

use std::rc::Rc;

use weir_exec::Request;
use weir_local::Flavor;
use weir_plan::{Compare, Merge, Read, SortKey};
use weir_wire::Capabilities;
use weir_wire::stmt::Execute;

use crate::bed::{Bed, WHOLE, on_whole, plan};
use crate::{EXECUTION, same};

const TYPES: [(&str, &[&str]); 14] = [
    ("BIGINT", &["0", "-5", "9223372036854775807", "-9223372036854775808", "17", "9", "10"]),
    ("BIGINT UNSIGNED", &["0", "18446744073709551615", "9223372036854775808", "3"]),
    ("TINYINT", &["-128", "127", "0", "-1"]),
    ("MEDIUMINT UNSIGNED", &["16777215", "0", "70000"]),
    (
        "DECIMAL(65,30)",
        &["0", "-0.000000000000000000000000000001", "99999999999999999999999999999999999", "1.5", "-7", "1.49"],
    ),
    ("DOUBLE", &["0", "-1e300", "1e300", "1e-300", "0.1", "-0.1", "1e16", "123456.789"]),
    ("DATE", &["'2024-02-29'", "'1999-12-31'", "'0001-01-01'", "'9999-12-31'"]),
    (
        "DATETIME(6)",
        &["'2024-02-29 23:59:59.999999'", "'2024-02-29 23:59:59'", "'2024-02-29'", "'1000-01-01 00:00:00.000001'"],
    ),
    ("TIMESTAMP(3) NULL", &["'2024-02-29 23:59:59.999'", "'1999-02-28 00:00:01'"]),
    (
        "TIME(6)",
        &["'-838:59:59'", "'838:59:59'", "'00:00:00.000001'", "'-00:00:00.000001'", "'100:00:00'", "'99:00:00'"],
    ),
    ("YEAR", &["2024", "1999", "2155"]),
    ("VARBINARY(20)", &["''", "X'00'", "X'0001'", "X'FF'", "'a'", "'a '", "'A'"]),
    ("BIT(20)", &["b'0'", "b'101'", "b'11111111111111111111'"]),
    ("MEDIUMBLOB", &["''", "'abc'", "REPEAT('x', 300)", "REPEAT('x', 70000)"]),
];

const TEXTS: [&str; 18] = [
    "''", "' '", "'a'", "'A'", "'a '", "'ä'", "'b'", "'ab'", "'a b'", "'ß'", "'ss'", "'z'", "'a\\tb'", "'a\\t'", "'é'",
    "'e'", "'É'", "'a\\0'",
];

fn collations(flavor: Flavor) -> &'static [&'static str] {
    match flavor {
        Flavor::MariaDb => &[
            "latin1_swedish_ci",
            "utf8mb4_general_ci",
            "utf8mb4_unicode_ci",
            "utf8mb4_bin",
            "utf8mb4_nopad_bin",
            "utf8mb4_uca1400_ai_ci",
            "utf8mb3_unicode_nopad_ci",
        ],
        Flavor::MySql => &[
            "latin1_swedish_ci",
            "utf8mb4_general_ci",
            "utf8mb4_unicode_ci",
            "utf8mb4_bin",
            "utf8mb4_0900_ai_ci",
            "utf8mb4_0900_as_cs",
            "utf8mb4_0900_bin",
        ],
    }
}

fn by(column: usize, descending: bool, by: Compare) -> SortKey {
    SortKey { column, descending, by }
}

/// Rows `id, value` in a new table, NULLs among them.
fn fill(bed: &Bed, table: &str, kind: &str, values: &[&str]) {
    bed.everywhere(&format!("CREATE TABLE d.{table} (id INT PRIMARY KEY, c {kind})"));
    let values = values.iter().chain(["NULL", "NULL"].iter()).chain(values);
    let rows: Vec<String> = values.enumerate().map(|(id, value)| format!("{id}, {value}")).collect();
    bed.insert(&format!("d.{table}"), &rows);
}

pub(crate) async fn all(flavor: Flavor) {
    let mut bed = Bed::start(flavor);
    for (at, (kind, values)) in TYPES.iter().enumerate() {
        let table = format!("t{at}");
        fill(&bed, &table, kind, values);
        for direction in ["", " DESC"] {
            let text = format!("SELECT c, id FROM {table} ORDER BY c{direction}, id");
            let keys = vec![by(0, !direction.is_empty(), Compare::Value), by(1, false, Compare::Value)];
            same(&bed, &text, &plan(&text, Merge::Sorted(keys))).await;
        }
    }
    for (at, collation) in collations(flavor).iter().enumerate() {
        by_collation(&bed, &format!("c{at}"), collation).await;
    }
    limits(&bed).await;
    parameters(&bed).await;
    bed.capabilities = Capabilities::empty();
    limits(&bed).await;
}

async fn by_collation(bed: &Bed, table: &str, collation: &str) {
    let charset = collation.split('_').next().expect("a collation's name begins with its charset");
    // MariaDB sorts 'a' and 'a\0' of a NO PAD collation as equal, though it does not find them equal.
    let texts = if collation.contains("nopad") { &TEXTS[..TEXTS.len() - 1] } else { &TEXTS };
    fill(bed, table, &format!("VARCHAR(20) CHARACTER SET {charset} COLLATE {collation}"), texts);
    for direction in ["", " DESC"] {
        let order = format!("FROM {table} ORDER BY c{direction}, id");
        let text = format!("SELECT c, id {order}");
        let id = by(1, false, Compare::Value);
        let weights = Compare::Weights { collation: collation.to_owned() };
        let keys = vec![by(2, !direction.is_empty(), weights), id.clone()];
        let hidden = format!("SELECT c, id, WEIGHT_STRING(c) {order}");
        same(bed, &text, &Read { hidden: 1, columns: Some(2), ..plan(&hidden, Merge::Sorted(keys)) }).await;
        // What is not known when it is planned.
        let said = Compare::ByCollation { weight: 2, collation: 3 };
        let keys = vec![by(0, !direction.is_empty(), said), id];
        let hidden = format!("SELECT c, id, WEIGHT_STRING(c), COLLATION(c) {order}");
        same(bed, &text, &Read { hidden: 2, columns: Some(2), ..plan(&hidden, Merge::Sorted(keys)) }).await;
    }
}

async fn limits(bed: &Bed) {
    let text = |limit: &str| format!("SELECT c, id FROM t0 ORDER BY c, id LIMIT {limit}");
    let keys = || Merge::Sorted(vec![by(0, false, Compare::Value), by(1, false, Compare::Value)]);
    let limited = |most: &str, skip, take| Read { skip, take: Some(take), ..plan(&text(most), keys()) };
    same(bed, &text("3, 4"), &limited("7", 3, 4)).await;
    same(bed, &text("10, 100"), &limited("110", 10, 100)).await;
    // Enough rows have come before the shards' ends.
    let long = "SELECT c, id FROM t0 ORDER BY c, id";
    same(bed, &text("2"), &Read { take: Some(2), ..plan(long, keys()) }).await;
    let rows = "SELECT 7, REPEAT('x', 10) FROM t0";
    same(bed, rows, &plan(rows, Merge::Concatenate)).await;
    same(bed, &format!("{rows} LIMIT 3, 8"), &Read { skip: 3, take: Some(8), ..plan(rows, Merge::Concatenate) }).await;
}

/// The text that shards get may have the client's parameters in another order, twice, or not at all.
async fn parameters(bed: &Bed) {
    // 4 and 20 (BIGINT), "x" (VAR_STRING), NULL.
    let parameters = [0b1000, 1, 8, 0, 8, 0, 0xfd, 0, 6, 0, 4, 0, 0, 0, 0, 0, 0, 0, 20, 0, 0, 0, 0, 0, 0, 0, 1, b'x'];
    let payload = [&EXECUTION[..], &parameters].concat();
    let execute = Execute::parse(&payload, 4, bed.capabilities).expect("it is well formed");
    let types: Rc<[u8]> = execute.types.expect("it brings types").into();
    let mut whole = [bed.part(WHOLE).await];
    let parsing = Rc::new(whole[0].lease.profile().parsing());
    let (execute, types) = (&execute, Some(&types));
    let request = Request::Execute { parsing: &parsing, execute, types, session: 1 };
    let text = "SELECT c, id FROM t0 WHERE id >= ? AND id < ? AND ? = 'x' AND ? IS NULL ORDER BY id";
    let read = Read { parameters: vec![0, 1, 2, 3], ..on_whole(text) };
    let (_, expected) = bed.run(&mut whole, &read, &request).await;
    let text = "SELECT c, id FROM t0 WHERE id < ? AND id >= ? AND ? IS NULL AND id >= ? ORDER BY id";
    let merge = Merge::Sorted(vec![by(1, false, Compare::Value)]);
    let read = Read { parameters: vec![1, 0, 3, 0], ..plan(text, merge) };
    let mut parts = bed.shards().await;
    // The second time it is prepared there already, and the types are known.
    for _ in 0..2 {
        let (outcome, got) = bed.run(&mut parts, &read, &request).await;
        assert_eq!((outcome.error, outcome.sent), (None, 12));
        assert_eq!(got.packets[..15], expected.packets[..15]);
    }
}
