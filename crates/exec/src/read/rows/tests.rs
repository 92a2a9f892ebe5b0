use weir_catalog::ShardId;
use weir_plan::{Compare, Merge as Plan, Read, SortKey};
use weir_wire::Capabilities;
use weir_wire::codec::put_lenenc_bytes;
use weir_wire::packets::ErrPacket;

use super::*;
use crate::read::columns::testing::definition;
use crate::read::memory::Memory;
use crate::read::testing::Random;

type Cells = Vec<Option<Vec<u8>>>;

fn text_row(cells: &Cells) -> Vec<u8> {
    let mut row = Vec::new();
    for cell in cells {
        match cell {
            Some(value) => put_lenenc_bytes(&mut row, value),
            None => row.push(0xfb),
        }
    }
    row
}

fn read(merge: Plan, hidden: usize, skip: u64, take: Option<u64>) -> Read {
    let shards = vec![ShardId(0)];
    let columns = Some(2 - hidden);
    let (text, reason) = (Vec::new(), String::new());
    Read {
        shards,
        text,
        parameters: Vec::new(),
        columns,
        hidden,
        merge,
        skip,
        take,
        locks: false,
        pin_time: false,
        reason,
    }
}

/// Columns `v` (text) and `k` (BIGINT).
fn definitions() -> Vec<Vec<u8>> {
    vec![definition("v", 0xfd, 0, 0), definition("k", 8, 0, 0)]
}

fn by_k(descending: bool) -> Plan {
    Plan::Sorted(vec![SortKey { column: 1, descending, by: Compare::Value }])
}

/// All rows of a plan over these shards' rows, which come in pieces.
async fn merged(shards: &[Vec<Cells>], read: &Read, capabilities: Capabilities, piece: usize) -> Vec<Cells> {
    let links = shards.iter().map(|rows| {
        let rows: Vec<_> = rows.iter().map(text_row).collect();
        Memory::new(capabilities, &definitions(), &rows, piece)
    });
    let mut rows =
        Rows::new(links.collect(), read, Format::Text, &MergeSettings::default()).expect("the plan can be run");
    let mut out = Vec::new();
    while let Some(row) = rows.next_row().await.expect("no shard fails") {
        out.push(row.fields().map(|field| field.map(<[u8]>::to_vec)).collect());
    }
    rows.drain(&|_| Box::pin(async { false })).await;
    for feed in rows.merge.feeds() {
        assert!(feed.link.done, "a reply was not read to its end");
    }
    assert_eq!(rows.end().warnings, shards.len() as u16);
    out
}

/// Shards with random rows, sorted by the key; the value says the key and the shard.
fn shards(random: &mut Random, count: usize, descending: bool) -> Vec<Vec<Cells>> {
    (0..count)
        .map(|shard| {
            let rows = random.next() % 30;
            let mut keys: Vec<Option<i64>> =
                (0..rows).map(|_| (!random.next().is_multiple_of(8)).then(|| random.next() as i64 % 20)).collect();
            keys.sort();
            if descending {
                keys.reverse();
            }
            keys.iter()
                .map(|key| {
                    let value = format!("{key:?}@{shard}{}", "x".repeat((random.next() % 400) as usize));
                    vec![Some(value.into_bytes()), key.map(|key| key.to_string().into_bytes())]
                })
                .collect()
        })
        .collect()
}

fn key_of(row: &Cells) -> Option<i64> {
    row[1].as_ref().map(|key| String::from_utf8_lossy(key).parse().expect("a number"))
}

#[tokio::test]
async fn a_sorted_merge_is_the_sort_of_all_rows_however_they_come() {
    let mut random = Random::new(7);
    for round in 0..60 {
        let descending = round % 2 == 1;
        let shards = shards(&mut random, 1 + round % 5, descending);
        let mut expected: Vec<Cells> = shards.concat();
        expected.sort_by_key(key_of);
        if descending {
            expected = shards.concat();
            expected.sort_by_key(|row| std::cmp::Reverse(key_of(row)));
        }
        let (skip, take) = ((random.next() % 20), (round % 3 == 0).then(|| random.next() % 30));
        let most = take.map_or(usize::MAX, |take| take as usize);
        let hidden = round % 2;
        let expected: Vec<Cells> =
            expected.into_iter().skip(skip as usize).take(most).map(|row| row[..2 - hidden].to_vec()).collect();
        let capabilities = if round % 4 < 2 { Capabilities::DEPRECATE_EOF } else { Capabilities::empty() };
        let piece = 1 + (random.next() % 300) as usize;
        let read = read(by_k(descending), hidden, skip, take);
        assert_eq!(merged(&shards, &read, capabilities, piece).await, expected, "round {round}");
    }
}

#[tokio::test]
async fn a_concatenation_has_all_rows_once_and_stops_at_its_limit() {
    let mut random = Random::new(8);
    for round in 0..30 {
        let shards = shards(&mut random, 1 + round % 4, false);
        let mut expected: Vec<Cells> = shards.concat();
        let whole = merged(&shards, &read(Plan::Concatenate, 0, 0, None), Capabilities::empty(), 100).await;
        let mut sorted = whole.clone();
        sorted.sort();
        expected.sort();
        assert_eq!(sorted, expected, "round {round}");
        let (skip, take) = (random.next() % 10, random.next() % 40);
        let part = merged(&shards, &read(Plan::Concatenate, 1, skip, Some(take)), Capabilities::empty(), 100).await;
        let count = (expected.len() as u64).saturating_sub(skip).min(take);
        assert_eq!(part.len() as u64, count, "round {round}");
        assert!(part.iter().all(|row| expected.iter().any(|whole| whole[..1] == row[..])));
    }
}

#[tokio::test]
async fn a_row_of_several_frames_is_one_row() {
    let large = |key: &str, len: usize| vec![Some(vec![b'x'; len]), Some(key.as_bytes().to_vec())];
    let shards = vec![
        vec![large("1", 0xff_ffff + 10), large("4", 3)],
        // The payload ends just where a frame does.
        vec![large("2", 0xff_ffff - 6), large("3", 5)],
    ];
    let rows = merged(&shards, &read(by_k(false), 0, 0, None), Capabilities::DEPRECATE_EOF, 1 << 20).await;
    let lengths: Vec<_> = rows.iter().map(|row| row[0].as_ref().map(Vec::len)).collect();
    assert_eq!(lengths, [Some(0xff_ffff + 10), Some(0xff_ffff - 6), Some(5), Some(3)]);
}

#[tokio::test]
async fn a_shard_that_fails_ends_the_result_with_its_error() {
    let rows: Vec<_> = (0..5).map(|k: i32| text_row(&vec![Some(b"v".to_vec()), Some(k.to_string().into())])).collect();
    let memory = || Memory::new(Capabilities::empty(), &definitions(), &rows, 64);
    let error = ErrPacket { code: 1317, sqlstate: *b"70100", message: b"Query execution was interrupted" }.encode();
    let links = vec![memory(), memory().ending(&error)];
    let mut merged = Rows::new(links, &read(by_k(false), 0, 0, None), Format::Text, &MergeSettings::default())
        .expect("the plan can be run");
    let mut seen = 0;
    let failure = loop {
        match merged.next_row().await {
            Ok(Some(_)) => seen += 1,
            Ok(None) => panic!("the result ended without an error"),
            Err(failure) => break failure,
        }
    };
    assert_eq!(
        (failure.code, failure.sqlstate, failure.message.as_str()),
        (1317, *b"70100", "Query execution was interrupted")
    );
    assert!(seen >= 8, "{seen} rows came before the error");
    merged.drain(&|_| Box::pin(async { false })).await;
    assert!(merged.merge.feeds().all(|feed| feed.link.done));
}

#[tokio::test]
async fn shards_whose_columns_differ_are_told_apart() {
    let row = text_row(&vec![Some(b"v".to_vec()), Some(b"1".to_vec())]);
    let good = Memory::new(Capabilities::empty(), &definitions(), std::slice::from_ref(&row), 64);
    for other in [vec![definition("v", 0xfd, 0, 0), definition("k", 8, 0x20, 0)], definitions()[..1].to_vec()] {
        let other = Memory::new(Capabilities::empty(), &other, std::slice::from_ref(&row), 64);
        let links = vec![Memory::new(Capabilities::empty(), &definitions(), std::slice::from_ref(&row), 64), other];
        let mut rows = Rows::new(links, &read(by_k(false), 0, 0, None), Format::Text, &MergeSettings::default())
            .expect("the plan can be run");
        let failure = rows.next_row().await.expect_err("the columns differ");
        assert!(failure.message.contains("can't be merged") && failure.message.contains("column"), "{failure}");
    }
    // A server that has no rows for an expression may find another type for it.
    let nothing =
        Memory::new(Capabilities::empty(), &[definition("v", 0xfd, 0, 0), definition("k", 0xfd, 0, 0)], &[], 64);
    let rowed = Memory::new(Capabilities::empty(), &definitions(), std::slice::from_ref(&row), 64);
    let mut rows =
        Rows::new(vec![nothing, rowed], &read(by_k(false), 0, 0, None), Format::Text, &MergeSettings::default())
            .expect("the plan can be run");
    assert!(rows.next_row().await.expect("columns of no rows don't count").is_some());
    let beyond = Plan::Sorted(vec![SortKey { column: 2, descending: false, by: Compare::Value }]);
    let mut rows = Rows::new(
        vec![good],
        &Read { columns: None, ..read(beyond, 0, 0, None) },
        Format::Text,
        &MergeSettings::default(),
    )
    .expect("the plan can be run");
    assert!(rows.next_row().await.is_err(), "there is no third column");
}
