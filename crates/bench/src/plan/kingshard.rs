//! The plan of `kingshard`: more clients than the server takes, then the limit of Weir's pool.

use super::{
    Plan, PointPlan, SPARE_CONNECTIONS, STOCK_MAX_CONNECTIONS, Variation, Workload, budget, by_length, chosen, targets,
};
use crate::selection::{Length, Prepared, Selection};
use crate::target::TargetKind;

/// What a length means.
struct Scale {
    rows: u32,
    seconds: u32,
    rounds: u32,
    workloads: &'static [Workload],
    clients: &'static [u32],
    limits: &'static [u32],
    /// Clients while the limit is varied: enough to use any of the limits.
    clients_at_limits: u32,
}

const FULL: Scale = Scale {
    rows: 1_000_000,
    seconds: 4,
    rounds: 3,
    workloads: &[Workload::PointSelect, Workload::Mixed, Workload::Insert],
    clients: &[16, 32, 64, 128, 256, 512],
    limits: &[16, 32, 64, 128, 256, 512],
    clients_at_limits: 512,
};

const QUICK: Scale =
    Scale { rows: 100_000, seconds: 2, rounds: 1, clients: &[16, 128, 512], limits: &[16, 64, 256], ..FULL };

const SMOKE: Scale = Scale {
    rows: 1_000,
    seconds: 1,
    rounds: 1,
    clients: &[4, 200],
    limits: &[4],
    workloads: &[Workload::PointSelect, Workload::Mixed],
    clients_at_limits: 16,
};

pub(super) fn plan(length: Length, selection: &Selection) -> Plan {
    let scale = by_length(length, [FULL, QUICK, SMOKE]);
    let wanted = chosen(&selection.workloads, scale.workloads);
    let has = |workload: &Workload| wanted.contains(workload) && FULL.workloads.contains(workload);
    let points = Workload::ALL.into_iter().filter(has).flat_map(|workload| scale.points(workload, selection)).collect();
    Plan { rows: selection.rows.unwrap_or(scale.rows), tables: 1, datasets: Vec::new(), points, budget: budget(length) }
}

impl Scale {
    fn points(&self, workload: Workload, selection: &Selection) -> Vec<PointPlan> {
        let targets = targets(selection);
        let point = |prepared, clients, pool_limit: Option<u32>| PointPlan {
            workload,
            prepared: Some(prepared),
            clients,
            variation: pool_limit.map(Variation::PoolLimit),
            targets: if pool_limit.is_some() { vec![TargetKind::Weir] } else { targets.clone() },
            seconds: selection.seconds.unwrap_or(self.seconds),
            rounds: selection.rounds.unwrap_or(self.rounds),
            // That direct connections fail beyond it is what is shown; a pool must fit into it.
            server_connections: pool_limit.map_or(0, |limit| limit + SPARE_CONNECTIONS).max(STOCK_MAX_CONNECTIONS),
        };
        let mut points = Vec::new();
        for prepared in selection.prepared.unwrap_or(Prepared::No).modes() {
            let clients = chosen(&selection.clients, self.clients);
            points.extend(clients.iter().map(|clients| point(*prepared, *clients, None)));
            if targets.contains(&TargetKind::Weir) {
                let limits = self.limits.iter().map(|limit| point(*prepared, self.clients_at_limits, Some(*limit)));
                points.extend(limits);
            }
        }
        points
    }
}
