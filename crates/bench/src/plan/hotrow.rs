//! The plan of `hotrow`: the published flash-sale test in its two modes, other forms of the same transaction, and what the
//! watch for hot rows costs where there are none.

use super::{
    Durability, Plan, PointPlan, SPARE_CONNECTIONS, STOCK_MAX_CONNECTIONS, Variation, Workload, budget, by_length,
    chosen,
};
use crate::selection::{Length, Prepared, Selection};
use crate::target::TargetKind;

/// What a length means.
struct Scale {
    /// Of the table of which all rows are cold.
    rows: u32,
    seconds: u32,
    rounds: u32,
    /// Clients of the published test.
    clients: &'static [u32],
    /// Clients of the other forms of its transaction.
    clients_of_forms: &'static [u32],
    /// Clients that change cold rows.
    clients_of_cold: &'static [u32],
    /// What is measured in each mode.
    durable: &'static [Workload],
    optimised: &'static [Workload],
}

/// The workloads, in their order.
const WORKLOADS: [Workload; 7] = [
    Workload::Seckill,
    Workload::SeckillSlap,
    Workload::SeckillAutocommit,
    Workload::SeckillKey,
    Workload::SeckillPackets,
    Workload::SeckillHints,
    Workload::UpdateNonIndex,
];

const FULL: Scale = Scale {
    rows: 100_000,
    seconds: 4,
    rounds: 3,
    clients: &[36, 48, 56, 64, 72, 96, 144, 192, 256],
    clients_of_forms: &[36, 96, 256],
    clients_of_cold: &[64, 256],
    durable: &WORKLOADS,
    optimised: &WORKLOADS,
};

const QUICK: Scale = Scale {
    rows: 50_000,
    seconds: 2,
    rounds: 1,
    clients: &[64, 256],
    clients_of_forms: &[256],
    clients_of_cold: &[64],
    durable: &[
        Workload::Seckill,
        Workload::SeckillAutocommit,
        Workload::SeckillKey,
        Workload::SeckillPackets,
        Workload::SeckillHints,
    ],
    optimised: &[Workload::Seckill, Workload::UpdateNonIndex],
};

const SMOKE: Scale = Scale {
    rows: 1_000,
    seconds: 1,
    rounds: 1,
    clients: &[8],
    clients_of_forms: &[8],
    clients_of_cold: &[4],
    durable: &[
        Workload::Seckill,
        Workload::SeckillSlap,
        Workload::SeckillKey,
        Workload::SeckillPackets,
        Workload::SeckillHints,
    ],
    optimised: &[Workload::SeckillAutocommit, Workload::UpdateNonIndex],
};

pub(super) fn plan(length: Length, selection: &Selection) -> Plan {
    let scale = by_length(length, [FULL, QUICK, SMOKE]);
    let points = Durability::ALL.into_iter().flat_map(|mode| scale.points(mode, selection)).collect();
    Plan { rows: selection.rows.unwrap_or(scale.rows), tables: 1, datasets: Vec::new(), points, budget: budget(length) }
}

impl Scale {
    /// The points of a mode. Those of a number of clients follow one another where only Weir has the workload, so that it
    /// takes turns with what it is compared with.
    fn points(&self, mode: Durability, selection: &Selection) -> Vec<PointPlan> {
        let own = match mode {
            Durability::Durable => self.durable,
            Durability::Optimised => self.optimised,
        };
        let wanted = chosen(&selection.workloads, own);
        let has = |workload: &&Workload| wanted.contains(workload);
        let (compared, apart): (Vec<Workload>, Vec<Workload>) =
            WORKLOADS.iter().filter(has).partition(|workload| workload.compared_with() != **workload);
        let with = |workload: Workload| {
            let others = compared.iter().copied().filter(move |other| other.compared_with() == workload);
            std::iter::once(workload).chain(others).collect::<Vec<_>>()
        };
        let mut families: Vec<Vec<Workload>> = apart.iter().map(|workload| with(*workload)).collect();
        families.extend(compared.iter().filter(|one| !wanted.contains(&one.compared_with())).map(|one| vec![*one]));
        let of_family = |family: Vec<Workload>| -> Vec<PointPlan> {
            let clients = self.clients(family[0], selection);
            let each = clients.iter().flat_map(|clients| family.iter().map(move |workload| (*workload, *clients)));
            each.flat_map(|(workload, clients)| self.point(mode, workload, clients, selection)).collect()
        };
        families.into_iter().flat_map(of_family).collect()
    }

    fn clients(&self, workload: Workload, selection: &Selection) -> Vec<u32> {
        let own = match workload {
            Workload::Seckill => self.clients,
            Workload::UpdateNonIndex => self.clients_of_cold,
            _ => self.clients_of_forms,
        };
        chosen(&selection.clients, own)
    }

    /// The point of each kind of statements.
    fn point(&self, mode: Durability, workload: Workload, clients: u32, selection: &Selection) -> Vec<PointPlan> {
        let modes: Vec<Option<bool>> = match workload {
            Workload::UpdateNonIndex => {
                selection.prepared.unwrap_or(Prepared::No).modes().iter().copied().map(Some).collect()
            }
            _ => vec![None],
        };
        let targets = targets(workload, selection);
        let point = |prepared| PointPlan {
            workload,
            prepared,
            clients,
            variation: Some(Variation::Durability(mode)),
            targets: targets.clone(),
            seconds: selection.seconds.unwrap_or(self.seconds),
            rounds: selection.rounds.unwrap_or(self.rounds),
            server_connections: (clients + SPARE_CONNECTIONS).max(STOCK_MAX_CONNECTIONS),
        };
        modes.into_iter().map(point).filter(|point| !point.targets.is_empty()).collect()
    }
}

/// Those of the user's targets that tell something about a workload.
fn targets(workload: Workload, selection: &Selection) -> Vec<TargetKind> {
    let own: &[TargetKind] = match workload {
        Workload::UpdateNonIndex => &[TargetKind::WeirOff, TargetKind::Weir],
        Workload::SeckillHints => &[TargetKind::Weir],
        Workload::SeckillPackets => &[TargetKind::Direct, TargetKind::HaProxy, TargetKind::Weir],
        _ => &[TargetKind::Direct, TargetKind::HaProxy, TargetKind::Weir, TargetKind::WeirMerge],
    };
    let wanted = chosen(&selection.targets, own);
    own.iter().copied().filter(|target| wanted.contains(target)).collect()
}
