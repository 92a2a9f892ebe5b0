//! GROUP BY and aggregates over all types.

use weir_local::Flavor;
use weir_plan::{Compare, Comparison, Condition, Fold, Grouped, Merge, Read, SortKey};

use crate::bed::{Bed, plan};
use crate::same;

fn key(column: usize) -> SortKey {
    SortKey { column, descending: false, by: Compare::Value }
}

fn grouped(keys: Vec<SortKey>, columns: Vec<Fold>) -> Grouped {
    Grouped { keys, columns, having: None, order: None, rollup: None }
}

fn read(text: &str, columns: usize, hidden: usize, grouped: Grouped) -> Read {
    Read { columns: Some(columns), hidden, ..plan(text, Merge::Grouped(grouped)) }
}

pub(crate) async fn all(flavor: Flavor) {
    let bed = Bed::start(flavor);
    bed.everywhere(
        "CREATE TABLE d.t (id INT PRIMARY KEY, g INT, i INT, u BIGINT UNSIGNED, d DECIMAL(20,5), e DECIMAL(65,10), f DOUBLE, \
         v VARBINARY(30), s DATETIME(3), h INT)",
    );
    bed.everywhere("CREATE TABLE d.none LIKE d.t");
    let rows: Vec<String> = (0..40)
        .map(|id: i64| {
            let null = |value: String, each: i64| if id % each == 0 { "NULL".to_owned() } else { value };
            let group = null((id % 5).to_string(), 13);
            let integer = null((id * 7 - 100).to_string(), 6);
            let unsigned = null((u64::MAX - id as u64 * 3).to_string(), 7);
            let decimal = null(format!("{}.{:05}", id - 20, id * 37 % 100_000), 8);
            let wide =
                format!("{}9999999999999999999999999999999999999999999999999999.5", if id % 2 == 0 { "-" } else { "" });
            // Sums of these are exact in any order.
            let float = null(format!("{}.5", id - 10), 9);
            let second = format!("'2024-01-{:02} 10:00:00.5'", id % 28 + 1);
            format!(
                "{id}, {group}, {integer}, {unsigned}, {decimal}, {wide}, {float}, 'v{}', {second}, {}",
                id % 9,
                id % 3
            )
        })
        .collect();
    bed.insert("d.t", &rows);
    for table in ["t", "none"] {
        aggregates(&bed, table).await;
    }
    by_groups(&bed).await;
    distinct(&bed).await;
    rollup(&bed, flavor).await;
}

fn extreme(column: usize, least: bool) -> Fold {
    match least {
        true => Fold::Min { value: column, key: key(column) },
        false => Fold::Max { value: column, key: key(column) },
    }
}

/// Aggregates of all rows, of many and of none.
async fn aggregates(bed: &Bed, table: &str) {
    let list = "COUNT(*), COUNT(i), SUM(i), SUM(u), SUM(d), SUM(e), SUM(f), MIN(i), MAX(u), MIN(d), MAX(e), MIN(f), MAX(v), MIN(s), MAX(s), \
                BIT_AND(u), BIT_OR(u), BIT_XOR(u), AVG(i), AVG(d), AVG(f)";
    let text = format!("SELECT {list} FROM {table}");
    let mut folds = vec![Fold::Count(0), Fold::Count(1)];
    folds.extend((2..6).map(Fold::Sum));
    folds.push(Fold::SumFloat(6));
    folds.extend(
        [(7, true), (8, false), (9, true), (10, false), (11, true), (12, false), (13, true), (14, false)]
            .map(|(at, least)| extreme(at, least)),
    );
    folds.extend([Fold::BitAnd(15), Fold::BitOr(16), Fold::BitXor(17)]);
    folds.extend([(21, 22, false), (23, 24, false), (25, 26, true)].map(|(sum, count, float)| Fold::Average {
        sum,
        count,
        float,
    }));
    let shards = format!("SELECT {list}, SUM(i), COUNT(i), SUM(d), COUNT(d), SUM(f), COUNT(f) FROM {table}");
    same(bed, &text, &read(&shards, 21, 6, grouped(vec![], folds))).await;
}

async fn by_groups(bed: &Bed) {
    let text = "SELECT g, COUNT(*), SUM(d), AVG(d), MAX(v) FROM t GROUP BY g ORDER BY g";
    let shards = "SELECT g, COUNT(*), SUM(d), AVG(d), MAX(v), SUM(d), COUNT(d) FROM t GROUP BY g ORDER BY g";
    let average = Fold::Average { sum: 5, count: 6, float: false };
    let folds = vec![Fold::First(0), Fold::Count(1), Fold::Sum(2), average, extreme(4, false)];
    let plan = grouped(vec![key(0)], folds);
    same(bed, text, &read(shards, 5, 2, plan.clone())).await;

    let having = |column, operator, number: &str| Condition::Compare { column, operator, number: number.to_owned() };
    let text = "SELECT g, COUNT(*), SUM(d), AVG(d), MAX(v) FROM t GROUP BY g HAVING COUNT(*) > 7 AND SUM(d) <= -3.5 OR g = 4 ORDER BY g";
    let both = Condition::And(vec![having(1, Comparison::Greater, "7"), having(2, Comparison::LessOrEqual, "-3.5")]);
    let condition = Condition::Or(vec![both, having(0, Comparison::Equal, "4")]);
    same(bed, text, &read(shards, 5, 2, Grouped { having: Some(condition), ..plan.clone() })).await;

    let text = "SELECT g, COUNT(*), SUM(d), AVG(d), MAX(v) FROM t GROUP BY g ORDER BY SUM(d) DESC LIMIT 1, 3";
    let order = vec![SortKey { descending: true, ..key(2) }];
    let sorted = Read { skip: 1, take: Some(3), ..read(shards, 5, 2, Grouped { order: Some(order), ..plan }) };
    same(bed, text, &sorted).await;

    let text = "SELECT g, GROUP_CONCAT(h SEPARATOR '-') FROM (SELECT g, 7 h FROM t) q GROUP BY g ORDER BY g";
    let shards = "SELECT g, GROUP_CONCAT(h SEPARATOR '-'), @@group_concat_max_len FROM (SELECT g, 7 h FROM t) q GROUP BY g ORDER BY g";
    let concat = Fold::Concat { column: 1, separator: b"-".to_vec(), limit: 2 };
    same(bed, text, &read(shards, 2, 1, grouped(vec![key(0)], vec![Fold::First(0), concat]))).await;

    // SELECT DISTINCT.
    let text = "SELECT DISTINCT h, v FROM t ORDER BY h, v";
    let folds = vec![Fold::First(0), Fold::First(1)];
    same(bed, text, &read(text, 2, 0, grouped(vec![key(0), key(1)], folds))).await;
}

async fn distinct(bed: &Bed) {
    let text = "SELECT h, COUNT(DISTINCT g), SUM(DISTINCT g), AVG(DISTINCT g), COUNT(*) FROM t GROUP BY h ORDER BY h";
    let shards = "SELECT h, COUNT(g) `COUNT(DISTINCT g)`, SUM(g) `SUM(DISTINCT g)`, AVG(g) `AVG(DISTINCT g)`, COUNT(*), g FROM t \
                  GROUP BY h, g ORDER BY h, g";
    let distinct = |fold| Fold::Distinct { by: vec![key(5)], fold: Box::new(fold) };
    let average = Fold::Average { sum: 5, count: 1, float: false };
    let folds =
        vec![Fold::First(0), distinct(Fold::Count(1)), distinct(Fold::Sum(5)), distinct(average), Fold::Count(4)];
    same(bed, text, &read(shards, 5, 1, grouped(vec![key(0)], folds))).await;
    let text = "SELECT COUNT(DISTINCT g, h) FROM none";
    let shards = "SELECT COUNT(*) `COUNT(DISTINCT g, h)`, g, h FROM none GROUP BY g, h ORDER BY g, h";
    let count = Fold::Distinct { by: vec![key(1), key(2)], fold: Box::new(Fold::Count(0)) };
    same(bed, text, &read(shards, 1, 2, grouped(vec![], vec![count.clone()]))).await;
    let (text, shards) = (text.replace("none", "t"), shards.replace("none", "t"));
    same(bed, &text, &read(&shards, 1, 2, grouped(vec![], vec![count]))).await;
}

async fn rollup(bed: &Bed, flavor: Flavor) {
    let rollup = Some(vec![vec![0], vec![1]]);
    let folds = vec![Fold::First(0), Fold::First(1), Fold::Count(2), Fold::Sum(3)];
    let plan = Grouped { rollup, ..grouped(vec![key(0), key(1)], folds) };
    // MariaDB marks grouped columns otherwise WITH ROLLUP: only rows are compared, by giving both the same definitions.
    let shards = "SELECT h, g, COUNT(*), SUM(i) FROM t WHERE g > 0 GROUP BY h, g ORDER BY h, g";
    let client = "SELECT h, g, COUNT(*), SUM(i) FROM t WHERE g > 0 GROUP BY h, g WITH ROLLUP";
    for (client, shards) in
        [(client.to_owned(), shards.to_owned()), (client.replace("> 0", "> 99"), shards.replace("> 0", "> 99"))]
    {
        let expected = bed.expected(&client, &weir_exec::Request::Text).await;
        let mut parts = bed.shards().await;
        let (_, got) = bed.run(&mut parts, &read(&shards, 4, 0, plan.clone()), &weir_exec::Request::Text).await;
        let rows = |packets: &crate::bed::Packets| packets.packets[5..packets.packets.len() - 1].to_vec();
        assert_eq!(rows(&got), rows(&expected), "{flavor:?} {client}");
    }
}
