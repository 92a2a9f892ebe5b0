use weir_catalog::ShardId;
use weir_plan::{Compare, Merge, Read};
use weir_wire::Capabilities;
use weir_wire::codec::put_lenenc_bytes;

use super::*;
use crate::read::columns::testing::definition;
use crate::read::{Memory, MergeSettings, Rows};

const BIGINT: u8 = 8;
const DOUBLE: u8 = 5;
const TEXT: u8 = 0xfd;

fn key(column: usize) -> SortKey {
    SortKey { column, descending: false, by: Compare::Value }
}

fn grouped(keys: usize, columns: Vec<Fold>) -> Grouped {
    Grouped { keys: (0..keys).map(key).collect(), columns, having: None, order: None, rollup: None }
}

/// The rows that come of shards' rows: cells are texts, `-` is NULL.
async fn folded(
    types: &[u8],
    hidden: usize,
    plan: Grouped,
    take: Option<u64>,
    known: &MergeSettings,
    shards: &[&[&str]],
) -> Result<(Vec<String>, u16), Failure> {
    let definitions: Vec<_> = types.iter().map(|code| definition("c", *code, 0, 31)).collect();
    let links = shards.iter().map(|rows| {
        let row = |row: &&str| {
            let mut payload = Vec::new();
            for cell in row.split(' ') {
                if cell == "-" { payload.push(0xfb) } else { put_lenenc_bytes(&mut payload, cell.as_bytes()) }
            }
            payload
        };
        Memory::new(Capabilities::empty(), &definitions, &rows.iter().map(row).collect::<Vec<_>>(), 50)
    });
    let read = Read {
        shards: vec![ShardId(0)],
        text: Vec::new(),
        parameters: Vec::new(),
        columns: Some(types.len() - hidden),
        hidden,
        merge: Merge::Grouped(plan),
        skip: 0,
        take,
        locks: false,
        pin_time: false,
        reason: String::new(),
    };
    let mut rows = Rows::new(links.collect(), &read, Format::Text, known)?;
    let mut out = Vec::new();
    while let Some(row) = rows.next_row().await? {
        let cell = |cell: Option<&[u8]>| cell.map_or("-".to_owned(), |cell| String::from_utf8_lossy(cell).into_owned());
        out.push(row.fields().map(cell).collect::<Vec<_>>().join(" "));
    }
    Ok((out, rows.end().warnings - shards.len() as u16))
}

async fn rows(types: &[u8], hidden: usize, plan: Grouped, shards: &[&[&str]]) -> Vec<String> {
    folded(types, hidden, plan, None, &MergeSettings::default(), shards).await.expect("the plan fits").0
}

#[tokio::test]
async fn parts_of_a_variance_are_combined() {
    // Of 1, 2, 3, 4 in one shard and of 10 and 20 in another, none in a third.
    let shards: [&[&str]; 3] = [&["0 0 0 0 4 2.5 1.25"], &["0 0 0 0 2 15 25"], &["- - - - 0 - -"]];
    let fold = |sample, root| Fold::Variance { count: 4, mean: 5, variance: 6, sample, root };
    let folds = vec![fold(false, false), fold(true, false), fold(false, true), fold(true, true)];
    let types = [DOUBLE, DOUBLE, DOUBLE, DOUBLE, BIGINT, DOUBLE, DOUBLE];
    let got = rows(&types, 3, grouped(0, folds.clone()), &shards).await;
    let got: Vec<f64> = got[0].split(' ').map(|cell| cell.parse().expect("a number")).collect();
    let all = [1.0, 2.0, 3.0, 4.0, 10.0, 20.0];
    let mean = all.iter().sum::<f64>() / 6.0;
    let squares: f64 = all.iter().map(|x| (x - mean) * (x - mean)).sum();
    let expected = [squares / 6.0, squares / 5.0, (squares / 6.0).sqrt(), (squares / 5.0).sqrt()];
    assert!(
        got.iter().zip(expected).all(|(got, expected)| (got - expected).abs() < 1e-12 * expected),
        "{got:?} {expected:?}"
    );
    let one: [&[&str]; 2] = [&["0 0 0 0 1 7 0"], &["- - - - 0 - -"]];
    assert_eq!(rows(&types, 3, grouped(0, folds.clone()), &one).await, ["0 - 0 -"]);
    assert_eq!(rows(&types, 3, grouped(0, folds), &[&["- - - - 0 - -"]]).await, ["- - - -"]);
}

#[tokio::test]
async fn group_concat_is_cut_at_a_character() {
    let shards: [&[&str]; 3] = [&["1 ab 6", "2 äöü 5"], &["1 - 6", "2 - 5", "3 - 9"], &["1 cdef 6"]];
    let concat = Fold::Concat { column: 1, separator: b",".to_vec(), limit: 2 };
    let plan = grouped(1, vec![Fold::First(0), concat]);
    let got = folded(&[BIGINT, TEXT, BIGINT], 1, plan, None, &MergeSettings::default(), &shards).await;
    let expected = ["1 ab,cde", "2 äö", "3 -"].map(str::to_owned).to_vec();
    assert_eq!(got, Ok((expected, 2)), "with a warning for each text that was cut");
}

#[tokio::test]
async fn each_prefix_of_the_keys_has_its_row_with_rollup() {
    let shards: [&[&str]; 2] = [&["1 1 5", "1 2 1", "3 1 1"], &["1 1 2", "2 7 4", "3 1 1"]];
    let mut plan = grouped(2, vec![Fold::First(0), Fold::First(1), Fold::Count(2)]);
    plan.rollup = Some(vec![vec![0], vec![1]]);
    let got = rows(&[BIGINT; 3], 0, plan.clone(), &shards).await;
    assert_eq!(got, ["1 1 7", "1 2 1", "1 - 8", "2 7 4", "2 - 4", "3 1 2", "3 - 2", "- - 14"]);
    let kind = |mariadb| MergeSettings { mariadb, ..MergeSettings::default() };
    let none = folded(&[BIGINT; 3], 0, plan.clone(), None, &kind(false), &[&[], &[]]).await;
    assert_eq!(none, Ok((vec!["- - 0".to_owned()], 0)));
    assert_eq!(folded(&[BIGINT; 3], 0, plan, None, &kind(true), &[&[], &[]]).await, Ok((vec![], 0)));
}

#[tokio::test]
async fn folded_rows_are_sorted_within_a_bound() {
    let texts: Vec<String> = (0..5000).map(|k| format!("{k} {}", (k * 7919) % 5000)).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let plan = || {
        let mut plan = grouped(1, vec![Fold::First(0), Fold::Count(1)]);
        plan.order = Some(vec![SortKey { descending: true, ..key(1) }]);
        plan
    };
    let sorted = |take, sort_limit| {
        let known = MergeSettings { sort_limit, ..MergeSettings::default() };
        let (plan, texts) = (plan(), texts.clone());
        async move { folded(&[BIGINT; 2], 0, plan, take, &known, &[&texts]).await }
    };
    let (all, _) = sorted(None, 1 << 20).await.expect("there is room");
    assert_eq!((all.len(), all[0].ends_with(" 4999"), all[4999].ends_with(" 0")), (5000, true, true));
    let failure = sorted(None, 1 << 16).await.expect_err("there is no room");
    assert_eq!((failure.code, &failure.sqlstate), (1038, b"HY001"));
    assert!(failure.message.contains("65536 bytes") && failure.message.contains("LIMIT"), "{failure}");
    // The first rows fit, whatever the number of groups.
    let (first, _) = sorted(Some(3), 1 << 16).await.expect("three rows fit");
    assert_eq!(first, all[..3]);
}

#[tokio::test]
async fn plans_that_can_not_be_folded_are_refused() {
    let distinct = |column| Fold::Distinct { by: vec![key(column)], fold: Box::new(Fold::Count(0)) };
    let two = grouped(0, vec![distinct(0), distinct(1)]);
    assert!(folded(&[BIGINT; 2], 0, two, None, &MergeSettings::default(), &[&[]]).await.is_err());
    let beyond = grouped(0, vec![Fold::Sum(7), Fold::Sum(0)]);
    assert!(folded(&[BIGINT; 2], 0, beyond, None, &MergeSettings::default(), &[&["1 2"]]).await.is_err());
    let few = grouped(0, vec![Fold::Sum(0)]);
    assert!(folded(&[BIGINT; 2], 0, few, None, &MergeSettings::default(), &[&["1 2"]]).await.is_err());
}
