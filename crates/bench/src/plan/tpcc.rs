//! The plan of `tpcc`: its mix of transactions on one server, directly and through HAProxy, and over shards through Weir.

use super::{Plan, PointPlan, SPARE_CONNECTIONS, Variation, Workload, budget, by_length, chosen};
use crate::selection::{Length, Prepared, Selection};
use crate::target::TargetKind;
use crate::tpcc::ITEMS;

/// What a length means.
struct Scale {
    items: u32,
    seconds: u32,
    rounds: u32,
    clients: &'static [u32],
}

/// Shards of the tables behind Weir.
const SHARDS: u32 = 2;

const FULL: Scale = Scale { items: ITEMS, seconds: 10, rounds: 3, clients: &[8, 64] };
const QUICK: Scale = Scale { items: 10_000, seconds: 5, rounds: 1, clients: &[8, 64] };
const SMOKE: Scale = Scale { items: 500, seconds: 2, rounds: 1, clients: &[8] };

pub(super) fn plan(length: Length, selection: &Selection) -> Plan {
    let scale = by_length(length, [FULL, QUICK, SMOKE]);
    let clients = chosen(&selection.clients, scale.clients);
    let modes = selection.prepared.unwrap_or(Prepared::No).modes();
    let each = modes.iter().flat_map(|mode| clients.iter().map(move |clients| (*mode, *clients)));
    let is_wanted = chosen(&selection.workloads, &[Workload::Tpcc]).contains(&Workload::Tpcc);
    let each = each.filter(|_| is_wanted);
    let points = each.flat_map(|(mode, clients)| scale.compared(mode, clients, selection)).collect();
    let rows = selection.rows.unwrap_or(scale.items);
    Plan { rows, tables: 0, datasets: Vec::new(), points, budget: budget(length) }
}

impl Scale {
    /// What is compared with each other: one server, and Weir over shards.
    fn compared(&self, prepared: bool, clients: u32, selection: &Selection) -> Vec<PointPlan> {
        let point = |targets: Vec<TargetKind>, variation| PointPlan {
            workload: Workload::Tpcc,
            prepared: Some(prepared),
            clients,
            variation,
            targets,
            seconds: selection.seconds.unwrap_or(self.seconds),
            rounds: selection.rounds.unwrap_or(self.rounds),
            server_connections: clients + SPARE_CONNECTIONS,
        };
        let own = [TargetKind::Direct, TargetKind::HaProxy, TargetKind::Weir];
        let wanted = chosen(&selection.targets, &own);
        let (sharded, plain): (Vec<TargetKind>, Vec<TargetKind>) =
            own.into_iter().filter(|target| wanted.contains(target)).partition(|target| *target == TargetKind::Weir);
        let points = [point(plain, None), point(sharded, Some(Variation::Shards(SHARDS)))];
        points.into_iter().filter(|point| !point.targets.is_empty()).collect()
    }
}
