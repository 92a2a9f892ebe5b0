//! The hot path, piece by piece and whole: reading a text (digest, class) or knowing it again, following a reply, learning, and an exchange
//! with a real server over a lane and over a pooled connection.
//!
//! `cargo bench -p weir-tests --bench hot_path`. The exchanges include the client's and the server's share: compare them
//! with each other, not with the pieces.
#![forbid(unsafe_code)]

#[path = "../hot_path/mod.rs"]
mod hot_path;

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use hot_path::{Client, Site, query};
use weir_admin::digests::Run;
use weir_admin::{AnsweredBy, Statistics, WorkerStatistics};
use weir_backend::lanes::learn::{DigestRecord, Rode, Run as LaneRun, Scale};
use weir_sql::{KnownTexts, LexMode, classify, digest};
use weir_wire::Capabilities;
use weir_wire::reply::{Event, ReplyKind, ReplyTracker};

const POINT_SELECT: &[u8] = b"SELECT c FROM sbtest1 WHERE id=50123";
const INSERT: &[u8] = b"INSERT INTO sbtest1 (id, k, c, pad) VALUES (0, 50123, '12345678901-12345678901', 'abc')";

fn texts(c: &mut Criterion) {
    let mode = LexMode::default();
    for (name, text) in [("point select", POINT_SELECT), ("insert", INSERT)] {
        c.bench_function(&format!("digest/{name}"), |b| b.iter(|| digest(black_box(text), mode)));
        c.bench_function(&format!("class/{name}"), |b| b.iter(|| classify(black_box(text), mode)));
        let mut texts = KnownTexts::default();
        texts.keep(text, mode, ());
        c.bench_function(&format!("known/{name}"), |b| b.iter(|| texts.get(black_box(text), mode).is_some()));
    }
}

fn replies(c: &mut Criterion) {
    let reply = point_select_reply();
    let capabilities = Capabilities::PROTOCOL_41 | Capabilities::DEPRECATE_EOF;
    c.bench_function("reply/point select", |b| {
        b.iter(|| {
            let mut tracker = ReplyTracker::new(ReplyKind::Results, capabilities);
            let mut seen = 0;
            while !tracker.is_done() {
                match tracker.advance(&black_box(&reply)[seen..]) {
                    Ok(Event::Pass(n) | Event::Packet(n, _)) => seen += n,
                    Ok(Event::NeedMore) | Err(_) => break,
                }
            }
            assert_eq!(seen, reply.len());
        });
    });
    c.bench_function("learn/a short run", |b| {
        let run = LaneRun { time: Duration::from_micros(100), bytes: 200, clean: true };
        let (scale, now) = (Scale::new(run.time, run.time * 1000), Instant::now());
        let mut learnt = DigestRecord::default();
        b.iter(|| {
            learnt.ran(black_box(run), scale, now);
            learnt.rode(Rode { work: run.time, bytes: run.bytes }, scale, now);
            learnt.rides()
        });
    });
}

/// What counting a statement adds: two looks at the clock and the worker's table.
fn counting(c: &mut Criterion) {
    let all = Arc::new(Statistics::new(1));
    let (statistics, _asks) = WorkerStatistics::of(&all, 0);
    let mode = LexMode::default();
    let entry = statistics.table.entry(POINT_SELECT, mode, &classify(POINT_SELECT, mode));
    c.bench_function("statistics/a statement", |b| {
        b.iter(|| {
            let begun = black_box(Instant::now());
            let ended = Instant::now();
            let time = ended.saturating_duration_since(begun);
            let run = Run {
                ended,
                time,
                rows_sent: 1,
                rows_affected: 0,
                bytes: 200,
                failed: false,
                on_replica: false,
                on_lane: true,
            };
            statistics.note(black_box(&entry), &run, AnsweredBy::Writer);
        });
    });
}

/// A result of one column and one row, as a server sends it.
fn point_select_reply() -> Vec<u8> {
    let mut definition = b"\x03def\x03hot\x05rows_\x05rows_\x01c\x01c\x0c".to_vec();
    definition.extend_from_slice(&[45, 0, 0xe0, 1, 0, 0, 0xfe, 0, 0, 0, 0, 0]);
    let mut row = vec![119];
    row.extend_from_slice(&[b'x'; 119]);
    let mut out = bytes::BytesMut::new();
    for (seq, payload) in [&[1][..], &definition, &row, &[0xfe, 0, 0, 2, 0, 0, 0]].into_iter().enumerate() {
        weir_wire::frame::put_packet(&mut out, seq as u8 + 1, payload);
    }
    out.to_vec()
}

/// All clients ask, then all read: `depth` statements at a time.
fn exchanges(c: &mut Criterion) {
    const DEPTH: usize = 32;
    for (lanes, prepared) in [(true, false), (true, true), (false, false), (false, true)] {
        let site = Site::start(lanes).expect("a server and a worker can be started");
        let mut clients: Vec<(Client, Vec<u8>)> = (0..DEPTH)
            .map(|n| {
                let mut client = site.client().expect("a client can log in");
                client.exchange(&query("USE hot")).expect("the database is there");
                if prepared {
                    let [typed, untyped] =
                        client.prepare("SELECT c FROM rows_ WHERE id = ?", n as u64 + 1).expect("it can be prepared");
                    client.exchange(&typed).expect("it can be executed");
                    return (client, untyped);
                }
                (client, query(&format!("SELECT c FROM rows_ WHERE id = {}", n + 1)))
            })
            .collect();
        let mut group = c.benchmark_group("exchange");
        group.throughput(Throughput::Elements(DEPTH as u64));
        let way = if lanes { "lanes" } else { "pooled connections" };
        let form = if prepared { "prepared" } else { "text" };
        group.bench_function(format!("{DEPTH} point selects, {way}, {form}"), |b| {
            b.iter(|| {
                for (client, packet) in &mut clients {
                    client.send(packet).expect("Weir takes it");
                }
                for (client, _) in &mut clients {
                    let rows = client.receive(ReplyKind::Results).expect("a reply comes");
                    assert_eq!(rows, 1);
                }
            });
        });
        group.finish();
    }
}

criterion_group!(benches, texts, replies, counting, exchanges);
criterion_main!(benches);
