//! The plan of `radon`: tables over shards, at RadonDB's published numbers of partitions and clients, beside HAProxy in front of
//! one server with the same rows; then what a scatter and a merge cost Weir.

use super::{Dataset, Plan, PointPlan, SPARE_CONNECTIONS, Variation, Workload, budget, by_length, chosen};
use crate::selection::{Length, Prepared, Selection};
use crate::target::TargetKind;

/// Tables of the published test.
const TABLES: u32 = 10;
/// Where rows are merged: the shards, the partitions, and the number of clients.
const MERGE_SHARDS: u32 = 4;
const MERGE_CLIENTS: u32 = 1;

/// What a length means.
struct Scale {
    /// Of each of the tables.
    rows: u32,
    /// Of the table that is merged.
    merged_rows: u32,
    seconds: u32,
    rounds: u32,
    clients: &'static [u32],
    scatter_clients: u32,
    shards: &'static [u32],
    partitions: &'static [u32],
}

const FULL: Scale = Scale {
    rows: 10_000,
    merged_rows: 1_000_000,
    seconds: 4,
    rounds: 2,
    clients: &[16, 400, 500, 600, 900],
    scatter_clients: 16,
    shards: &[2, 3],
    partitions: &[8, 32, 64],
};

const QUICK: Scale = Scale {
    rows: 2_000,
    merged_rows: 100_000,
    seconds: 2,
    rounds: 1,
    clients: &[16, 400],
    shards: &[2],
    partitions: &[8, 64],
    ..FULL
};

const SMOKE: Scale = Scale { rows: 200, merged_rows: 2_000, seconds: 1, clients: &[4], scatter_clients: 4, ..QUICK };

/// The workloads, in their order: Weir is started anew for those that read all rows, and has to learn of the servers what it needs.
const WORKLOADS: [Workload; 5] =
    [Workload::PointSelect, Workload::ReadWrite, Workload::Scatter, Workload::Merge, Workload::MergeText];

pub(super) fn plan(length: Length, selection: &Selection) -> Plan {
    let scale = by_length(length, [FULL, QUICK, SMOKE]);
    let wanted = chosen(&selection.workloads, &WORKLOADS);
    let all = WORKLOADS.into_iter().filter(|workload| wanted.contains(workload));
    let points: Vec<PointPlan> = all.flat_map(|workload| scale.points(workload, selection)).collect();
    let rows = selection.rows.unwrap_or(scale.rows);
    let datasets = scale.datasets(&points, rows);
    Plan { rows, tables: TABLES, datasets, points, budget: budget(length) }
}

impl Scale {
    fn points(&self, workload: Workload, selection: &Selection) -> Vec<PointPlan> {
        match workload {
            Workload::Merge | Workload::MergeText => self.compared(workload, None, MERGE_CLIENTS, selection),
            Workload::Scatter => self.compared(workload, None, self.scatter_clients, selection),
            _ => {
                let modes = selection.prepared.unwrap_or(Prepared::No).modes();
                let clients = chosen(&selection.clients, self.clients);
                let each = modes.iter().flat_map(|mode| clients.iter().map(move |clients| (*mode, *clients)));
                each.flat_map(|(mode, clients)| self.compared(workload, Some(mode), clients, selection)).collect()
            }
        }
    }

    /// What is compared with each other: one server, and Weir over shards with each number of partitions.
    fn compared(
        &self,
        workload: Workload,
        prepared: Option<bool>,
        clients: u32,
        selection: &Selection,
    ) -> Vec<PointPlan> {
        let point = |target, variation| PointPlan {
            workload,
            prepared,
            clients,
            variation,
            targets: vec![target],
            seconds: selection.seconds.unwrap_or(self.seconds),
            rounds: selection.rounds.unwrap_or(self.rounds),
            server_connections: clients + SPARE_CONNECTIONS,
        };
        let wanted = chosen(&selection.targets, &[TargetKind::HaProxy, TargetKind::Weir]);
        let has = |target: &TargetKind| wanted.contains(target);
        let one_server = [TargetKind::Direct, TargetKind::HaProxy].into_iter().filter(has);
        let is_load = prepared.is_some();
        let one_server = one_server.filter(|_| is_load).map(|target| point(target, None));
        let shardings = self.shardings(workload).into_iter().filter(|_| has(&TargetKind::Weir));
        one_server.chain(shardings.map(|sharding| point(TargetKind::Weir, Some(sharding)))).collect()
    }

    fn shardings(&self, workload: Workload) -> Vec<Variation> {
        let last = self.partitions.last().copied().unwrap_or(0);
        let of = |shards: &[u32], partitions: &[u32]| -> Vec<Variation> {
            let each = shards.iter().flat_map(|shards| partitions.iter().map(move |partitions| (*shards, *partitions)));
            each.map(|(shards, partitions)| Variation::Sharding { shards, partitions }).collect()
        };
        match workload {
            Workload::Merge | Workload::MergeText => of(&[MERGE_SHARDS], &[last]),
            Workload::Scatter => of(&[self.shards, &[MERGE_SHARDS]].concat(), &[last]),
            _ => of(self.shards, self.partitions),
        }
    }

    /// The databases that the points need.
    fn datasets(&self, points: &[PointPlan], rows: u32) -> Vec<Dataset> {
        let mut datasets: Vec<Dataset> = Vec::new();
        for sharding in points.iter().filter_map(|point| point.variation) {
            if datasets.iter().all(|known| known.sharding != sharding) {
                let (tables, rows) =
                    if sharding.shards() == MERGE_SHARDS { (1, self.merged_rows) } else { (TABLES, rows) };
                datasets.push(Dataset { sharding, tables, rows });
            }
        }
        datasets
    }
}
