//! The plan of `overhead`.

use super::{
    Plan, PointPlan, SPARE_CONNECTIONS, STOCK_MAX_CONNECTIONS, Tool, Trouble, Variation, Workload, budget, by_length,
    chosen, targets,
};
use crate::selection::{Length, Prepared, Selection};
use crate::target::TargetKind;

/// What a length means.
struct Scale {
    rows: u32,
    seconds: u32,
    rounds: u32,
    /// Rounds of storm and idle, whose result is whether all are served.
    connection_rounds: u32,
    clients: &'static [u32],
    prepared: Prepared,
    workloads: &'static [Workload],
    churn_clients: u32,
    storm_clients: u32,
    idle_clients: u32,
}

const FULL: Scale = Scale {
    rows: 100_000,
    seconds: 4,
    rounds: 3,
    connection_rounds: 2,
    clients: &[1, 16, 64, 256, 1_000],
    prepared: Prepared::Both,
    workloads: &[
        Workload::PointSelect,
        Workload::ReadOnly,
        Workload::Churn,
        Workload::Storm,
        Workload::Idle,
        Workload::ReadWrite,
        Workload::WriteOnly,
        Workload::Insert,
    ],
    churn_clients: 16,
    storm_clients: 5_000,
    idle_clients: 10_000,
};

const QUICK: Scale = Scale {
    rows: 50_000,
    seconds: 2,
    rounds: 2,
    connection_rounds: 1,
    clients: &[16, 256],
    prepared: Prepared::No,
    workloads: &[Workload::PointSelect, Workload::Churn, Workload::Storm, Workload::Idle, Workload::ReadWrite],
    storm_clients: 1_000,
    idle_clients: 2_000,
    ..FULL
};

const SMOKE: Scale = Scale {
    rows: 1_000,
    seconds: 1,
    rounds: 1,
    connection_rounds: 1,
    clients: &[4],
    prepared: Prepared::Both,
    workloads: &[Workload::PointSelect, Workload::Churn, Workload::Storm, Workload::Idle, Workload::Insert],
    churn_clients: 4,
    storm_clients: 200,
    idle_clients: 200,
};

/// What is measured if it is named: single statements of what transactions have anyway.
const NAMED: [Workload; 2] = [Workload::UpdateIndex, Workload::UpdateNonIndex];

pub(super) fn plan(length: Length, selection: &Selection) -> Plan {
    let scale = by_length(length, [FULL, QUICK, SMOKE]);
    let wanted = chosen(&selection.workloads, scale.workloads);
    let can = |workload: &Workload| FULL.workloads.contains(workload) || NAMED.contains(workload);
    let has = |workload: &Workload| wanted.contains(workload) && can(workload);
    let points = Workload::ALL.into_iter().filter(has).flat_map(|workload| scale.points(workload, selection)).collect();
    Plan { rows: selection.rows.unwrap_or(scale.rows), tables: 1, datasets: Vec::new(), points, budget: budget(length) }
}

/// Point selects beside the machine's troubles: on a machine that has other work, and on a server that is slow or stops.
pub(super) fn contended(length: Length, selection: &Selection) -> Plan {
    let (seconds, rounds, rows) = by_length(length, [(10, 3, 100_000), (8, 1, 50_000), (6, 1, 1_000)]);
    let clients = chosen(&selection.clients, by_length(length, [&[256, 1_000][..], &[256, 1_000], &[16]]));
    let wanted = chosen(&selection.workloads, &[Workload::PointSelect]);
    let modes = selection.prepared.unwrap_or(Prepared::No).modes();
    let point = |workload, prepared, clients: u32, trouble| PointPlan {
        workload,
        prepared: Some(prepared),
        clients,
        variation: Some(Variation::Trouble(trouble)),
        targets: chosen(&selection.targets, &[TargetKind::Direct, TargetKind::Weir]),
        seconds: selection.seconds.unwrap_or(seconds),
        rounds: selection.rounds.unwrap_or(rounds),
        server_connections: clients + Trouble::POOL + SPARE_CONNECTIONS,
    };
    let mut points = Vec::new();
    let can = |workload: &&Workload| matches!(workload.tool(), Tool::Sysbench(_)) && !workload.writes();
    for workload in wanted.iter().filter(can) {
        for prepared in modes {
            for clients in &clients {
                points.extend(Trouble::ALL.map(|trouble| point(*workload, *prepared, *clients, trouble)));
            }
        }
    }
    Plan { rows: selection.rows.unwrap_or(rows), tables: 1, datasets: Vec::new(), points, budget: budget(length) }
}

impl Scale {
    fn points(&self, workload: Workload, selection: &Selection) -> Vec<PointPlan> {
        let is_named = selection.workloads.contains(&workload);
        let own_clients = |own: u32| chosen(if is_named { &selection.clients } else { &[] }, &[own]);
        let (clients, rounds) = match workload.tool() {
            Tool::Sysbench(_) => (chosen(&selection.clients, self.clients), self.rounds),
            Tool::Slap => (own_clients(self.churn_clients), self.rounds),
            Tool::Storm => (own_clients(self.storm_clients), self.connection_rounds),
            Tool::Idle => (own_clients(self.idle_clients), self.connection_rounds),
            Tool::Freshness | Tool::Query(_) | Tool::Transaction(_) | Tool::SlapText(_) | Tool::Tpcc => (Vec::new(), 0),
        };
        let modes: Vec<Option<bool>> = if workload.can_prepare() {
            selection.prepared.unwrap_or(self.prepared).modes().iter().copied().map(Some).collect()
        } else {
            vec![None]
        };
        let point = |prepared, clients: u32| PointPlan {
            workload,
            prepared,
            clients,
            variation: None,
            targets: targets(selection),
            seconds: selection.seconds.unwrap_or(self.seconds),
            rounds: selection.rounds.unwrap_or(rounds),
            server_connections: if workload == Workload::Storm {
                STOCK_MAX_CONNECTIONS
            } else {
                (clients + SPARE_CONNECTIONS).max(STOCK_MAX_CONNECTIONS)
            },
        };
        modes.iter().flat_map(|mode| clients.iter().map(|clients| point(*mode, *clients))).collect()
    }
}
