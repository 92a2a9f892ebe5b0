//! Plans: which points, in which order, how long.

use super::*;
use crate::selection::Prepared;

fn plan(bench: Bench, length: Length) -> Plan {
    Plan::make(bench, length, &Selection::default()).expect("the bench's own plan")
}

#[test]
fn targets_take_turns_within_each_round() {
    let selection = Selection {
        targets: vec![TargetKind::Direct, TargetKind::HaProxy, TargetKind::Weir],
        workloads: vec![Workload::PointSelect],
        clients: vec![16, 256],
        prepared: Some(Prepared::No),
        rounds: Some(2),
        ..Selection::default()
    };
    let plan = Plan::make(Bench::Overhead, Length::Full, &selection).expect("a plan");
    let order: Vec<(usize, u32, &str)> =
        plan.jobs().iter().map(|job| (job.point, job.round, job.target.key())).collect();
    let expected = [
        (0, 0, "direct"),
        (0, 0, "haproxy"),
        (0, 0, "weir"),
        (0, 1, "direct"),
        (0, 1, "haproxy"),
        (0, 1, "weir"),
        (1, 0, "direct"),
        (1, 0, "haproxy"),
        (1, 0, "weir"),
        (1, 1, "direct"),
        (1, 1, "haproxy"),
        (1, 1, "weir"),
    ];
    assert_eq!(order, expected);
    assert_eq!(plan.points.iter().map(|point| point.clients).collect::<Vec<_>>(), [16, 256]);
}

#[test]
fn the_full_overhead_covers_what_was_promised() {
    let plan = plan(Bench::Overhead, Length::Full);
    let five = [Workload::PointSelect, Workload::ReadOnly, Workload::WriteOnly, Workload::ReadWrite, Workload::Insert];
    for workload in five {
        for prepared in [false, true] {
            let of_mode = plan.points.iter().filter(|p| (p.workload, p.prepared) == (workload, Some(prepared)));
            assert_eq!(of_mode.map(|point| point.clients).collect::<Vec<_>>(), [1, 16, 64, 256, 1_000], "{workload}");
        }
    }
    let only = |workload| {
        let mut points = plan.points.iter().filter(move |point| point.workload == workload);
        (points.next().map(|point| (point.clients, point.server_connections)), points.count())
    };
    assert_eq!(only(Workload::Churn), (Some((16, 166)), 0));
    assert_eq!(only(Workload::Storm), (Some((5_000, 151)), 0));
    assert_eq!(only(Workload::Idle), (Some((10_000, 10_150)), 0));
    assert!(plan.points.iter().all(|point| point.targets == TargetKind::STANDARD));
    assert_eq!(plan.points.last().map(|point| point.workload), Some(Workload::Insert), "it makes the table larger");
}

#[test]
fn kingshard_goes_past_the_servers_limit_and_then_varies_the_pool() {
    let plan = plan(Bench::Kingshard, Length::Full);
    assert_eq!(plan.rows, 1_000_000);
    for workload in [Workload::PointSelect, Workload::Mixed, Workload::Insert] {
        let of = |limited: bool| {
            plan.points.iter().filter(move |p| p.workload == workload && p.pool_limit().is_some() == limited)
        };
        assert_eq!(of(false).map(|point| point.clients).collect::<Vec<_>>(), [16, 32, 64, 128, 256, 512]);
        assert!(of(false).all(|point| point.server_connections == STOCK_MAX_CONNECTIONS && point.is_exclusive()));
        let limits: Vec<_> = of(true).filter_map(PointPlan::pool_limit).collect();
        assert_eq!(limits, [16, 32, 64, 128, 256, 512]);
        for point in of(true) {
            assert_eq!((point.clients, &*point.targets), (512, &[TargetKind::Weir][..]));
            assert!(Some(point.server_connections) > point.pool_limit(), "the pool fits into the server");
        }
    }
    let variant = plan.points.iter().find_map(PointPlan::variant);
    assert_eq!(variant.as_deref(), Some("pool.max_connections=16"));
}

#[test]
fn quick_stays_under_three_minutes_and_smoke_under_half_a_minute_of_load() {
    for bench in Bench::ALL {
        let quick = plan(bench, Length::Quick);
        let name = bench.name();
        assert!(quick.expected_seconds() < 140.0, "{name}: {}", quick.expected_seconds());
        // A run that was begun in time may end after the budget: no run is long enough to miss the three minutes.
        let longest = quick.points.iter().map(PointPlan::expected_seconds).fold(0.0, f64::max);
        let budget = quick.budget.expect("quick has one").as_secs_f64();
        assert!(budget + 3.0 * longest < 180.0, "{name}: {longest}");
        let smoke = plan(bench, Length::Smoke);
        let load = smoke.expected_seconds() - smoke.setup_seconds();
        assert!(load < 40.0, "{name}: {load}");
        let full = plan(bench, Length::Full);
        assert!(full.expected_seconds() < 5_400.0, "{name}: {}", full.expected_seconds());
    }
}

#[test]
fn a_selection_replaces_what_the_bench_does_by_itself() {
    let selection = Selection {
        targets: vec![TargetKind::Weir, TargetKind::Weir],
        workloads: vec![Workload::Idle, Workload::ReadOnly],
        clients: vec![500],
        prepared: Some(Prepared::Yes),
        seconds: Some(9),
        rounds: Some(7),
        rows: Some(10),
        contended: false,
    };
    let plan = Plan::make(Bench::Overhead, Length::Quick, &selection).expect("a plan");
    let points: Vec<_> = plan.points.iter().map(|p| (p.workload, p.prepared, p.clients, p.seconds, p.rounds)).collect();
    let expected = [(Workload::ReadOnly, Some(true), 500, 9, 7), (Workload::Idle, None, 500, 9, 7)];
    assert_eq!(points, expected);
    assert_eq!((plan.rows, plan.targets()), (10, vec![TargetKind::Weir]));
}

#[test]
fn numbers_of_clients_are_for_throughput_unless_others_are_named() {
    let selection = Selection { clients: vec![8], ..Selection::default() };
    let plan = Plan::make(Bench::Overhead, Length::Full, &selection).expect("a plan");
    for point in &plan.points {
        let own = matches!(point.workload, Workload::Churn | Workload::Storm | Workload::Idle);
        assert_eq!(point.clients != 8, own, "{}", point.describe());
    }
}

#[test]
fn a_workload_of_another_bench_is_refused() {
    let selection = Selection { workloads: vec![Workload::Idle], ..Selection::default() };
    let error = Plan::make(Bench::Kingshard, Length::Full, &selection).expect_err("kingshard has no idle clients");
    assert_eq!(error.to_string(), "kingshard does not have the workload idle");
}

#[test]
fn polardb_compares_replicas_and_levels_at_each_number_of_clients() {
    let plan = plan(Bench::PolarDb, Length::Full);
    let variants = |workload, clients: u32| -> Vec<String> {
        let of = plan.points.iter().filter(|p| (p.workload, p.clients, p.prepared) == (workload, clients, Some(false)));
        of.map(|point| point.variant().unwrap_or_else(|| point.targets[0].key().to_owned())).collect()
    };
    let by_replicas =
        ["direct", "replicas=0, session", "replicas=1, session", "replicas=2, session", "replicas=3, session"];
    let by_level = ["replicas=3, eventual", "replicas=3, strong", "replicas=3, primary"];
    for workload in [Workload::PointSelect, Workload::Reads] {
        assert_eq!(variants(workload, 1), by_replicas, "{workload}");
        assert_eq!(variants(workload, 32), [&by_replicas[..], &by_level[..]].concat(), "{workload}");
    }
    assert_eq!(variants(Workload::WriteOnly, 32), by_replicas, "the level of reads is nothing to a write");
    let clients = plan.points.iter().filter(|p| p.workload == Workload::WriteOnly && p.variation.is_none());
    assert_eq!(clients.map(|point| point.clients).collect::<Vec<_>>(), [1, 2, 4, 8, 16, 32]);
    assert_eq!(plan.replicas(), 3);
}

#[test]
fn stale_reads_are_looked_for_at_every_level_as_text_and_prepared() {
    for length in [Length::Full, Length::Quick, Length::Smoke] {
        let plan = plan(Bench::PolarDb, length);
        for prepared in [false, true] {
            let of = plan.points.iter().filter(|p| (p.workload, p.prepared) == (Workload::Freshness, Some(prepared)));
            let levels: Vec<_> = of
                .map(|point| match point.variation {
                    Some(Variation::Splitting { replicas, level }) if replicas >= 2 => level,
                    other => panic!("{other:?} tells nothing about fresh reads"),
                })
                .collect();
            assert_eq!(levels, Level::ALL, "{length:?}");
        }
    }
}

#[test]
fn points_that_are_compared_take_turns_within_each_round() {
    let selection = Selection {
        workloads: vec![Workload::WriteOnly],
        clients: vec![2, 4],
        rounds: Some(2),
        ..Selection::default()
    };
    let plan = Plan::make(Bench::PolarDb, Length::Quick, &selection).expect("a plan");
    let order: Vec<_> = plan.jobs().iter().map(|job| (job.round, job.point)).collect();
    let of_first = [(0, 0), (0, 1), (0, 2), (0, 3), (1, 0), (1, 1), (1, 2), (1, 3)];
    assert_eq!(order[..8], of_first, "direct, and Weir with 0, 1 and 3 replicas");
    assert_eq!(order[8..], of_first.map(|(round, point)| (round, point + 4)));
    let limits = self::plan(Bench::Kingshard, Length::Quick);
    assert!(limits.jobs().is_sorted_by_key(|job| job.point), "other points have all their rounds one after another");
}

#[test]
fn radon_compares_partitions_with_one_server_at_each_number_of_clients() {
    let plan = plan(Bench::Radon, Length::Full);
    let variants = |workload, clients: u32| -> Vec<String> {
        let of = plan.points.iter().filter(|point| (point.workload, point.clients) == (workload, clients));
        of.map(|point| point.variant().unwrap_or_else(|| point.targets[0].key().to_owned())).collect()
    };
    let mut expected = vec!["haproxy".to_owned()];
    expected.extend([2, 3].iter().flat_map(|s| [8, 32, 64].map(|p| format!("shards={s}, partitions={p}"))));
    for workload in [Workload::PointSelect, Workload::ReadWrite] {
        for clients in [16, 400, 500, 600, 900] {
            assert_eq!(variants(workload, clients), expected, "{workload}");
        }
    }
    assert_eq!(variants(Workload::Merge, 1), ["shards=4, partitions=64"]);
    let of_scatter = ["shards=2, partitions=64", "shards=3, partitions=64", "shards=4, partitions=64"];
    assert_eq!(variants(Workload::Scatter, 16), of_scatter);
    assert_eq!((plan.shards(), plan.tables, plan.datasets.len()), (4, 10, 7));
    let merged = plan.datasets.iter().find(|dataset| dataset.sharding.shards() == 4).expect("what is merged");
    assert_eq!((merged.tables, merged.rows), (1, 1_000_000));
}

#[test]
fn shardings_are_databases_behind_one_process() {
    let sharding = Variation::Sharding { shards: 2, partitions: 64 };
    assert_eq!((sharding.of_process(), sharding.database("app").as_deref()), (None, Some("app_2x64")));
    let limit = Variation::PoolLimit(4);
    assert_eq!((limit.of_process(), limit.database("app")), (Some(limit), None));
}

#[test]
fn troubles_are_met_directly_and_through_weir_by_turns() {
    let selection = Selection { contended: true, ..Selection::default() };
    let plan = Plan::make(Bench::Overhead, Length::Full, &selection).expect("a plan");
    let met: Vec<_> = plan.points.iter().map(|point| (point.clients, point.variant().unwrap_or_default())).collect();
    let told = ["quiet", "4 busy processes", "server gets 34% of the CPU", "server stops for 2 s"];
    let expected: Vec<_> =
        [256, 1_000].iter().flat_map(|clients| told.map(|trouble| (*clients, format!("machine={trouble}")))).collect();
    assert_eq!(met, expected);
    assert!(plan.points.iter().all(|point| point.targets == [TargetKind::Direct, TargetKind::Weir]));
    assert!(plan.points.iter().all(|point| point.pool_limit() == Some(500)));
    assert!(Plan::make(Bench::Radon, Length::Full, &selection).is_err());
}

#[test]
fn a_hot_row_is_changed_at_the_published_numbers_of_clients_in_both_modes() {
    let plan = plan(Bench::HotRow, Length::Full);
    for mode in Durability::ALL {
        let of = |workload| {
            let is_of = move |point: &&PointPlan| {
                (point.workload, point.variation) == (workload, Some(Variation::Durability(mode)))
            };
            plan.points.iter().filter(is_of)
        };
        let clients: Vec<u32> = of(Workload::Seckill).map(|point| point.clients).collect();
        assert_eq!(clients, [36, 48, 56, 64, 72, 96, 144, 192, 256], "{mode:?}");
        let targets = |workload| of(workload).flat_map(|point| point.targets.clone()).collect::<Vec<_>>();
        let cold = [TargetKind::WeirOff, TargetKind::Weir];
        assert_eq!(targets(Workload::UpdateNonIndex), [cold, cold].concat(), "{mode:?}");
        assert!(targets(Workload::SeckillHints).iter().all(|target| *target == TargetKind::Weir));
    }
    assert!(plan.points.iter().all(PointPlan::is_exclusive), "no other Weir holds connections meanwhile");
    assert_eq!(plan.needs_own_server(), Some("changes the server's settings"));
    assert_eq!(self::plan(Bench::Overhead, Length::Full).needs_own_server(), None);
}

#[test]
fn hints_take_turns_with_the_packets_that_they_are_compared_with() {
    let selection = Selection {
        targets: vec![TargetKind::Direct, TargetKind::Weir],
        workloads: vec![Workload::SeckillPackets, Workload::SeckillHints],
        clients: vec![4, 8],
        rounds: Some(2),
        ..Selection::default()
    };
    let plan = Plan::make(Bench::HotRow, Length::Full, &selection).expect("a plan");
    let run = |job: &Job| (plan.points[job.point].workload.key(), job.target.key(), job.round);
    let order: Vec<_> = plan.jobs().iter().map(run).collect();
    let of_round = |round| {
        let (packets, hints) = ("seckill_packets", "seckill_hints");
        [(packets, "direct", round), (packets, "weir", round), (hints, "weir", round)]
    };
    assert_eq!(order[..6], [of_round(0), of_round(1)].concat());
    let hints = Selection { workloads: vec![Workload::SeckillHints], ..selection };
    let plan = Plan::make(Bench::HotRow, Length::Full, &hints).expect("hints alone");
    assert_eq!(plan.points.len(), 4, "two modes, two numbers of clients");
}

#[test]
fn targets_of_hot_rows_are_of_no_other_bench() {
    let selection = Selection { targets: vec![TargetKind::WeirMerge], ..Selection::default() };
    let error = Plan::make(Bench::Overhead, Length::Full, &selection).expect_err("it has no hot rows");
    assert_eq!(error.to_string(), "overhead does not have the target weir-merge");
    assert!(Plan::make(Bench::HotRow, Length::Full, &selection).is_ok());
}

#[test]
fn one_server_and_two_shards_take_turns_with_the_same_terminals() {
    let plan = plan(Bench::Tpcc, Length::Full);
    let run = |job: &Job| (plan.points[job.point].clients, job.round, job.target.key());
    let order: Vec<_> = plan.jobs().iter().map(run).collect();
    let of_round = |round| ["direct", "haproxy", "weir"].map(|target| (8, round, target));
    assert_eq!(order[..9], [of_round(0), of_round(1), of_round(2)].concat());
    assert_eq!(plan.points.iter().map(|point| point.clients).collect::<Vec<_>>(), [8, 8, 64, 64]);
    assert_eq!((plan.shardings(), plan.shards(), plan.tables), (vec![Variation::Shards(2)], 2, 0));
    assert_eq!(plan.tpcc().map(|scale| scale.items), Some(100_000));
    assert_eq!(self::plan(Bench::Radon, Length::Full).tpcc(), None);
}
