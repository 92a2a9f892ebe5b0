//! What merging costs: rows of four shards sorted by a number and by a text's weights, rows concatenated, and the fixed cost of a scatter
//! that finds a few rows. Replies are in memory: system calls are not in these figures.

use std::hint::black_box;
use std::rc::Rc;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use weir_catalog::ShardId;
use weir_exec::read::{FeedStep, Format, Memory, MergeSettings, Rows, Space};
use weir_plan::{Compare, Merge, Read, SortKey};
use weir_wire::Capabilities;
use weir_wire::codec::put_lenenc_bytes;

const SHARDS: usize = 4;
const ROWS: usize = 100_000;
/// What a connection reads at a time.
const PIECE: usize = 64 * 1024;

fn definition(name: &str, code: u8) -> Vec<u8> {
    let mut out = Vec::new();
    for text in ["def", "d", "t", "t", name, name] {
        put_lenenc_bytes(&mut out, text.as_bytes());
    }
    out.push(0x0c);
    out.extend_from_slice(&[45, 0, 20, 0, 0, 0, code, 0, 0, 0, 0, 0]);
    out
}

/// A shard's rows as of sysbench's table: a number, a text of 120 bytes, the text's weights as a hidden column.
fn reply(shard: usize, rows: usize) -> Memory {
    let definitions = [definition("id", 8), definition("c", 0xfe), definition("w", 0xfd)];
    let row = |at: usize| {
        let id = at * SHARDS + shard;
        let text = format!("{id:0>12}-{}", "0123456789-".repeat(9));
        let weights: Vec<u8> = text.bytes().flat_map(|byte| [0, byte]).collect();
        let mut row = Vec::new();
        put_lenenc_bytes(&mut row, id.to_string().as_bytes());
        put_lenenc_bytes(&mut row, text.as_bytes());
        put_lenenc_bytes(&mut row, &weights);
        row
    };
    let rows: Vec<_> = (0..rows).map(row).collect();
    Memory::new(Capabilities::DEPRECATE_EOF, &definitions, &rows, PIECE)
}

fn read(merge: Merge) -> Read {
    Read {
        shards: (0..SHARDS as u16).map(ShardId).collect(),
        text: Vec::new(),
        parameters: Vec::new(),
        columns: Some(2),
        hidden: 1,
        merge,
        skip: 0,
        take: None,
        locks: false,
        pin_time: false,
        reason: String::new(),
    }
}

/// Copies all rows into one buffer, as a client's sink does.
fn pump(links: Vec<Memory>, read: &Read, known: &MergeSettings, out: &mut Vec<u8>) -> usize {
    let mut rows = Rows::new(links, read, Format::Text, known).expect("the plan can be run");
    let mut waker = std::task::Context::from_waker(std::task::Waker::noop());
    let mut count = 0;
    loop {
        match rows.step().expect("no shard fails") {
            FeedStep::Row => {
                count += 1;
                if out.len() > PIECE {
                    out.clear();
                }
                out.extend_from_slice(rows.payload());
            }
            FeedStep::Wait => {
                let filled = std::pin::pin!(rows.fill()).poll(&mut waker);
                assert!(filled.is_ready(), "memory is always ready");
            }
            FeedStep::End => return black_box(count),
        }
    }
}

fn merge(criterion: &mut Criterion) {
    let known = MergeSettings {
        weights: Rc::new([("utf8mb4_general_ci".into(), Space::new(&[0, 0x20]))].into()),
        ..MergeSettings::default()
    };
    let by = |column, by| Merge::Sorted(vec![SortKey { column, descending: false, by }]);
    let plans = [
        ("sorted by a number", by(0, Compare::Value)),
        ("sorted by weights", by(2, Compare::Weights { collation: "utf8mb4_general_ci".to_owned() })),
        ("concatenated", Merge::Concatenate),
    ];
    let mut group = criterion.benchmark_group("merge of 4 shards, per row");
    group.sample_size(10).throughput(Throughput::Elements((SHARDS * ROWS) as u64));
    let mut out = Vec::with_capacity(2 * PIECE);
    for (name, plan) in &plans {
        let read = read(plan.clone());
        let replies = || (0..SHARDS).map(|shard| reply(shard, ROWS)).collect();
        group.bench_function(*name, |bencher| {
            bencher.iter_batched(replies, |links| pump(links, &read, &known, &mut out), BatchSize::PerIteration);
        });
    }
    group.finish();
    let mut group = criterion.benchmark_group("scatter of 5 rows from each of 4 shards, per shard");
    group.throughput(Throughput::Elements(SHARDS as u64));
    let read = read(by(0, Compare::Value));
    let replies = || (0..SHARDS).map(|shard| reply(shard, 5)).collect();
    group.bench_function("sorted by a number", |bencher| {
        bencher.iter_batched(replies, |links| pump(links, &read, &known, &mut out), BatchSize::SmallInput);
    });
    group.finish();
}

criterion_group!(benches, merge);
criterion_main!(benches);
