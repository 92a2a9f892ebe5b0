//! Records for the tests of the report: made up by a formula, close to real figures, and the same every time.

use std::collections::BTreeMap;

use weir_bench::record::{FORMAT, Machine, Point, Record, Run, Target, Usage};

/// What a target costs, from which a point's figures follow.
#[derive(Clone, Copy)]
struct Cost {
    key: &'static str,
    label: &'static str,
    /// CPU of the proxy per query at 16 and at 256 clients, µs; 0 if there is none.
    proxy: (f64, f64),
    /// Its share of the server's CPU under direct load, at 16 and at 256 clients.
    server: (f64, f64),
    memory_mb: f64,
}

const TARGETS: [Cost; 4] = [
    Cost { key: "direct", label: "direct", proxy: (0.0, 0.0), server: (1.0, 1.0), memory_mb: 0.0 },
    Cost { key: "haproxy", label: "HAProxy", proxy: (12.5, 14.3), server: (1.09, 1.1), memory_mb: 14.0 },
    Cost { key: "router", label: "MySQL Router", proxy: (29.0, 34.0), server: (1.12, 1.15), memory_mb: 35.0 },
    Cost { key: "weir", label: "Weir", proxy: (13.1, 9.9), server: (1.05, 0.66), memory_mb: 22.0 },
];

/// The server's CPU per query, µs, and whether it writes.
const WORKLOADS: [(&str, f64, bool); 5] = [
    ("oltp_point_select", 16.3, false),
    ("oltp_read_only", 33.0, false),
    ("oltp_write_only", 52.0, true),
    ("oltp_read_write", 40.5, true),
    ("oltp_insert", 61.0, true),
];

/// The full form of `overhead`, with what goes wrong in real runs: wide spreads, a point that failed, one that stopped early,
/// a target that was left out.
pub(crate) fn overhead() -> Record {
    let mut record = empty("overhead", "What does Weir cost, next to nothing in between and to other proxies?");
    for (workload, server_us, writes) in WORKLOADS {
        for prepared in [false, true] {
            for clients in [1, 16, 64, 256, 1000] {
                for cost in TARGETS {
                    record.points.push(sweep_point((workload, server_us, writes), prepared, clients, cost));
                }
            }
        }
    }
    let churn = [("direct", 9_200.0), ("haproxy", 6_900.0), ("router", 4_100.0), ("weir", 11_300.0)];
    for (target, rate) in churn {
        record.points.push(load_point("churn", 16, target, (rate * 10.0) as u64, 0));
    }
    let served =
        [("direct", 321_000, 4_849), ("haproxy", 242_000, 4_850), ("router", 151_000, 4_488), ("weir", 294_000, 0)];
    for (target, served, errors) in served {
        record.points.push(load_point("storm", 5_000, target, served, errors));
    }
    for (target, served, errors) in [("direct", 151, 9_849), ("haproxy", 10_000, 0), ("weir", 10_000, 0)] {
        record.points.push(load_point("idle", 10_000, target, served, errors));
    }
    spoil(&mut record);
    record.notes.push("MySQL Router was left out of idle clients: it takes at most 5,000 connections here.".to_owned());
    record
}

fn spoil(record: &mut Record) {
    let point = |workload: &str, prepared: bool, clients: u32, target: &str| {
        let found = record.points.iter().position(|point| {
            (point.workload.as_str(), point.prepared, point.clients, point.target.as_str())
                == (workload, Some(prepared), clients, target)
        });
        found.expect("the sample has the point")
    };
    let (failed, short, wide) = (
        point("oltp_point_select", false, 1000, "router"),
        point("oltp_point_select", false, 256, "haproxy"),
        point("oltp_point_select", false, 16, "direct"),
    );
    record.points[failed].runs.clear();
    record.points[failed].failure = Some("sysbench: FATAL: error 1040: Too many connections".to_owned());
    record.points[short].runs.truncate(2);
    record.points[short].failure = Some("sysbench ended with status 1 in round 3".to_owned());
    for (run, factor) in record.points[wide].runs.iter_mut().zip([0.8, 1.0, 1.14]) {
        run.qps *= factor;
    }
}

/// The form of `kingshard`: clients past the point where direct connections fail, then the limit of the pool.
pub(crate) fn kingshard() -> Record {
    let mut record = empty("kingshard", "How does Weir do in the published kingshard report?");
    for workload in ["select", "insert", "select:insert 4:1"] {
        let server_us = if workload == "insert" { 61.0 } else { 24.0 };
        for clients in [16, 32, 64, 128, 256, 512, 1024] {
            for cost in TARGETS.iter().filter(|cost| cost.key != "router") {
                let mut point = sweep_point((workload, server_us, workload != "select"), false, clients, *cost);
                point.prepared = None;
                if clients > 512 && cost.key != "weir" {
                    point.runs.clear();
                    point.failure = Some("Too many connections".to_owned());
                }
                record.points.push(point);
            }
        }
        for limit in [16, 32, 64, 128, 256, 512] {
            let mut point = sweep_point((workload, server_us, workload != "select"), false, 512, TARGETS[3]);
            let factor = 1.0 - (f64::from(limit).log2() - 6.0).powi(2) * 0.02;
            point.runs.iter_mut().for_each(|run| run.qps *= factor);
            point.prepared = None;
            point.variant = Some(format!("pool.max_connections={limit}"));
            record.points.push(point);
        }
    }
    record.targets.retain(|target| target.key != "router");
    record
}

/// The form of `polardb`: more and more replicas, the levels, and clients that look for stale reads.
pub(crate) fn polardb() -> Record {
    let mut record = empty("polardb", "How are reads split over a writer and its replicas?");
    record.targets.retain(|target| ["direct", "weir"].contains(&&*target.key));
    record.settings.insert("replicas".to_owned(), "3".to_owned());
    for (workload, writes) in [("oltp_point_select", false), ("oltp_write_only", true)] {
        for clients in [1, 4, 32] {
            record.points.push(sweep_point((workload, 24.0, writes), false, clients, TARGETS[0]));
            let levels = ["eventual", "strong", "primary"].map(|level| (3, level));
            let has_levels = clients == 32 && !writes;
            let session = (0..4).map(|replicas| (replicas, "session"));
            for (replicas, level) in session.chain(levels.into_iter().filter(|_| has_levels)) {
                record.points.push(split_point((workload, writes), clients, replicas, level));
            }
        }
    }
    for level in ["eventual", "session", "strong", "primary"] {
        record.points.push(freshness_point(level));
    }
    let failed = record.points.iter_mut().find(|point| point.variant.as_deref() == Some("replicas=2, session"));
    let failed = failed.expect("the sample has the point");
    failed.runs.clear();
    failed.failure = Some("not all of its 2 replicas take reads after 60 s".to_owned());
    record
}

fn split_point((workload, writes): (&str, bool), clients: u32, replicas: i64, level: &str) -> Point {
    let mut point = sweep_point((workload, 24.0, writes), false, clients, TARGETS[3]);
    point.variant = Some(format!("replicas={replicas}, {level}"));
    for run in &mut point.runs {
        let queries = run.queries as i64;
        let readers = if level == "primary" { 0 } else { replicas };
        let own = if level == "strong" { queries / 3 } else { 20 };
        let counters = &mut run.counters;
        counters.insert("Com_select".to_owned(), if readers == 0 { queries } else { own });
        for replica in 1..=3 {
            let share = if replica <= readers { queries / readers } else { 20 };
            counters.insert(format!("replica{replica}.Com_select"), share);
        }
        counters.insert("weir.reads_on_readers".to_owned(), if readers == 0 { 0 } else { queries });
        counters.insert("weir.reads_late".to_owned(), 3);
        counters.insert("weir.reads_rerouted".to_owned(), 4);
        for replica in 1..=3 {
            run.processes.insert(format!("replica{replica}"), usage(1.5, 150.0));
        }
    }
    point
}

fn freshness_point(level: &str) -> Point {
    let mut point = split_point(("freshness", true), 16, 3, level);
    for run in &mut point.runs {
        let pairs = run.queries as i64 / 3;
        // One stale read too many at session, so that the report has something to call out.
        let [stale_own, steps_back, behind_others] = match level {
            "eventual" => [pairs / 2, pairs / 9, pairs],
            "session" => [i64::from(run.round == 1), 0, pairs / 3],
            _ => [0, 0, 0],
        };
        let counted = [
            ("pairs", pairs),
            ("reads", pairs * 2),
            ("stale_own", stale_own),
            ("steps_back", steps_back),
            ("behind_others", behind_others),
        ];
        run.counters.extend(counted.map(|(name, count)| (format!("freshness.{name}"), count)));
        run.counters.insert("weir.reads_on_readers".to_owned(), if level == "primary" { 0 } else { pairs * 2 });
    }
    point
}

/// The form of `radon`: shards and partitions, beside one server; a scatter and a merge, one of them short of its aim.
pub(crate) fn radon() -> Record {
    let mut record = empty("radon", "What do shards and partitions cost?");
    record.targets.retain(|target| ["haproxy", "weir"].contains(&&*target.key));
    record.settings.insert("rows, shards=4, partitions=64".to_owned(), "1000".to_owned());
    for clients in [16, 400] {
        record.points.push(sweep_point(("oltp_point_select", 24.0, false), false, clients, TARGETS[1]));
        for partitions in [8, 64] {
            record.points.push(sharded_point("oltp_point_select", clients, 2, partitions));
        }
    }
    record.points.push(sharded_point("scatter", 16, 4, 64));
    record.points.push(sharded_point("merge", 1, 4, 64));
    record
}

fn sharded_point(workload: &'static str, clients: u32, shards: i64, partitions: u32) -> Point {
    let mut point = sweep_point((workload, 24.0, false), false, clients, TARGETS[3]);
    point.variant = Some(format!("shards={shards}, partitions={partitions}"));
    let asked = if workload == "oltp_point_select" { 1 } else { shards };
    for run in &mut point.runs {
        for shard in 1..=shards {
            run.counters.insert(format!("shard{shard}.Questions"), run.queries as i64 * asked / shards);
            run.processes.insert(format!("shard{shard}"), usage(1.5, 150.0));
        }
    }
    point
}

/// A record small enough to read its report: two kinds of points, each kind of trouble once.
pub(crate) fn small() -> Record {
    let mut record = empty("overhead", "What does Weir cost?");
    record.targets.retain(|target| target.key != "router");
    for clients in [16, 256] {
        for cost in TARGETS.iter().filter(|cost| cost.key != "router") {
            record.points.push(sweep_point(WORKLOADS[0], false, clients, *cost));
        }
    }
    record.points[0].runs[0].qps *= 0.7;
    record.points[4].runs.clear();
    record.points[4].failure = Some("sysbench: FATAL: error 2013 | lost".to_owned());
    record.points.push(load_point("storm", 5_000, "direct", 321_000, 4_849));
    record.points.push(load_point("storm", 5_000, "weir", 294_000, 0));
    record.notes.push("MySQL Router is not on this machine.".to_owned());
    record
}

/// A record without points, on a made-up machine.
pub(crate) fn empty(name: &str, title: &str) -> Record {
    let pairs = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
        pairs.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect()
    };
    Record {
        format: FORMAT,
        name: name.to_owned(),
        title: title.to_owned(),
        started: "2026-03-01T12:34:56Z".to_owned(),
        seconds: 5_437.0,
        complete: true,
        command: format!("weir bench run {name} --seconds 10 --rounds 3 --out reports/2026-03-01"),
        machine: Machine {
            cpu: "Example Processor at 2.50GHz".to_owned(),
            cores: 2,
            memory_bytes: 24 << 30,
            kernel: "Linux 6.18.1".to_owned(),
            os: "Debian GNU/Linux 12 (bookworm)".to_owned(),
        },
        versions: pairs(&[
            ("haproxy", "2.6.12-1+deb12u2"),
            ("mariadbd", "10.11.14-MariaDB-0+deb12u2"),
            ("sysbench", "1.0.20"),
            ("weir", "0.1.0"),
        ]),
        settings: pairs(&[
            ("haproxy.nbthread", "2"),
            ("server.innodb_flush_log_at_trx_commit", "1"),
            ("server.max_connections", "2000"),
            ("weir.workers", "2"),
        ]),
        targets: TARGETS.iter().map(|cost| Target { key: cost.key.to_owned(), label: cost.label.to_owned() }).collect(),
        points: Vec::new(),
        notes: Vec::new(),
    }
}

/// A factor near 1 that differs from round to round and from point to point, always the same for the same seed.
fn wobble(seed: &str, round: u32) -> f64 {
    let sum = seed.bytes().fold(u64::from(round) + 7, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
    1.0 + (sum % 101) as f64 / 100.0 * 0.06 - 0.03
}

/// From the value at 16 clients to that at 256, and on at the same pace per doubling, but not below a half.
fn between((few, many): (f64, f64), clients: u32) -> f64 {
    let share = (f64::from(clients.max(4)).log2() - 4.0) / 4.0;
    (few + (many - few) * share).max(few.min(many) * 0.8)
}

fn sweep_point((workload, server_us, writes): (&str, f64, bool), prepared: bool, clients: u32, cost: Cost) -> Point {
    let seed = format!("{workload}{prepared}{clients}{}", cost.key);
    let run = |round| {
        let factor = wobble(&seed, round);
        let crowd = 1.0 + f64::from(clients).log2() * 0.035;
        let server = server_us * between(cost.server, clients) * crowd * if prepared { 0.86 } else { 1.0 } * factor;
        let proxy = between(cost.proxy, clients) * factor;
        let client = 6.0 * crowd;
        // Two cores, that one client can't keep busy.
        let qps = f64::min(2e6 / (server + proxy + client), f64::from(clients) * 1e6 / (server + proxy * 2.0 + 60.0));
        let latency = f64::from(clients) / qps * 1e6 * if writes { 20.0 } else { 1.0 };
        let queries = (qps * 10.0) as u64;
        let seconds = |us: f64| us * queries as f64 / 1e6;
        let mut processes = vec![
            ("server", usage(seconds(server), 180.0 + f64::from(clients) * 0.2)),
            ("client", usage(seconds(client), 9.0 + f64::from(clients) * 0.05)),
        ];
        if cost.proxy.0 > 0.0 {
            processes.push(("proxy", usage(seconds(proxy), cost.memory_mb + f64::from(clients) * 0.02)));
        }
        let commits = if writes { queries as i64 / 20 } else { 0 };
        Run {
            qps_by_second: Vec::new(),
            errors_by_code: BTreeMap::new(),
            kinds: BTreeMap::new(),
            round,
            seconds: 10.0,
            queries,
            qps,
            tps: qps / if writes { 20.0 } else { 1.0 },
            p50_us: latency * 0.9,
            p95_us: latency * (1.6 + f64::from(clients).log2() * 0.1),
            p99_us: latency * (2.2 + f64::from(clients).log2() * 0.3) * factor,
            errors: 0,
            processes: processes.into_iter().map(|(name, usage)| (name.to_owned(), usage)).collect(),
            counters: [
                ("Com_commit".to_owned(), commits),
                ("Innodb_data_fsyncs".to_owned(), commits / 4),
                ("Innodb_row_lock_waits".to_owned(), commits / 90),
                ("Questions".to_owned(), queries as i64 + 12),
            ]
            .into(),
            raw: Some(format!("raw/{seed}-{round}.txt")),
        }
    };
    Point {
        workload: workload.to_owned(),
        prepared: Some(prepared),
        clients,
        variant: None,
        target: cost.key.to_owned(),
        runs: (0..3).map(run).collect(),
        failure: None,
    }
}

fn load_point(workload: &str, clients: u32, target: &str, served: u64, errors: u64) -> Point {
    let cost = TARGETS.iter().find(|cost| cost.key == target).expect("a target of the sample");
    let run = |round| {
        let factor = wobble(&format!("{workload}{target}"), round);
        let seconds = served as f64 * factor / 1e6;
        let mut processes = vec![("server", usage(seconds * 110.0, 210.0)), ("client", usage(seconds * 40.0, 60.0))];
        if cost.proxy.0 > 0.0 {
            let memory = cost.memory_mb + f64::from(clients) * 0.011 * factor;
            processes.push(("proxy", usage(seconds * cost.proxy.0 * 2.0, memory)));
        }
        Run {
            qps_by_second: Vec::new(),
            errors_by_code: BTreeMap::new(),
            kinds: BTreeMap::new(),
            round,
            seconds: 10.0,
            queries: served,
            qps: served as f64 / 10.0 * factor,
            tps: 0.0,
            p50_us: 1_450.0 * factor,
            p95_us: 2_900.0 * factor,
            p99_us: 6_100.0 * factor,
            errors,
            processes: processes.into_iter().map(|(name, usage)| (name.to_owned(), usage)).collect(),
            counters: BTreeMap::new(),
            raw: None,
        }
    };
    Point {
        workload: workload.to_owned(),
        prepared: None,
        clients,
        variant: None,
        target: target.to_owned(),
        runs: (0..3).map(run).collect(),
        failure: None,
    }
}

fn usage(cpu_seconds: f64, megabytes: f64) -> Usage {
    let bytes = (megabytes * 1e6) as u64;
    Usage { cpu_seconds, peak_rss_bytes: bytes, rss_bytes: bytes }
}
