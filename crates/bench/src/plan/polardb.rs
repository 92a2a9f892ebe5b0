//! The plan of `polardb`: reads and writes apart, with more and more replicas, at each level of consistency.

use super::{Level, Plan, PointPlan, SPARE_CONNECTIONS, Tool, Variation, Workload, budget, by_length, chosen, targets};
use crate::selection::{Length, Prepared, Selection};
use crate::target::TargetKind;

/// What a length means.
struct Scale {
    rows: u32,
    seconds: u32,
    rounds: u32,
    workloads: &'static [Workload],
    clients: &'static [u32],
    /// Numbers of replicas at the level `session`; the last is also that of the other levels.
    replicas: &'static [u32],
    /// Clients at which the other levels are compared with `session`.
    clients_at_levels: &'static [u32],
    /// Clients that look for stale reads.
    freshness_clients: u32,
}

const FULL: Scale = Scale {
    rows: 100_000,
    seconds: 4,
    rounds: 2,
    workloads: &[Workload::PointSelect, Workload::Reads, Workload::Freshness, Workload::WriteOnly],
    clients: &[1, 2, 4, 8, 16, 32],
    replicas: &[0, 1, 2, 3],
    clients_at_levels: &[4, 32],
    freshness_clients: 16,
};

const QUICK: Scale = Scale {
    rows: 50_000,
    seconds: 2,
    rounds: 1,
    clients: &[4, 32],
    replicas: &[0, 1, 3],
    clients_at_levels: &[32],
    ..FULL
};

const SMOKE: Scale = Scale {
    rows: 1_000,
    seconds: 1,
    rounds: 1,
    workloads: &[Workload::PointSelect, Workload::Freshness, Workload::WriteOnly],
    clients: &[4],
    replicas: &[2],
    clients_at_levels: &[4],
    freshness_clients: 4,
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
        let is_freshness = workload.tool() == Tool::Freshness;
        let is_named = selection.workloads.contains(&workload);
        let (own_clients, own_modes) = match is_freshness {
            true => (&[self.freshness_clients][..], Prepared::Both),
            false => (self.clients, Prepared::No),
        };
        let chosen_clients: &[u32] = if is_freshness && !is_named { &[] } else { &selection.clients };
        let clients = chosen(chosen_clients, own_clients);
        let modes = selection.prepared.unwrap_or(own_modes).modes();
        let each = modes.iter().flat_map(|mode| clients.iter().map(move |clients| (*mode, *clients)));
        each.flat_map(|(prepared, clients)| self.compared(workload, prepared, clients, selection)).collect()
    }

    /// What is compared with each other: the writer itself, Weir with each number of replicas, and the levels.
    fn compared(&self, workload: Workload, prepared: bool, clients: u32, selection: &Selection) -> Vec<PointPlan> {
        let point = |target, variation| PointPlan {
            workload,
            prepared: Some(prepared),
            clients,
            variation,
            targets: vec![target],
            seconds: selection.seconds.unwrap_or(self.seconds),
            rounds: selection.rounds.unwrap_or(self.rounds),
            server_connections: clients + SPARE_CONNECTIONS,
        };
        let is_freshness = workload.tool() == Tool::Freshness;
        let most = self.replicas.last().copied().unwrap_or(0);
        let has_levels = self.clients_at_levels.contains(&clients) || !selection.clients.is_empty();
        let levels: &[Level] = match workload {
            Workload::Freshness => &Level::ALL,
            // Where a write runs does not depend on the level of reads.
            Workload::PointSelect | Workload::Reads if has_levels => &[Level::Eventual, Level::Strong, Level::Primary],
            _ => &[],
        };
        let at_session: &[u32] = if is_freshness { &[] } else { self.replicas };
        let session = at_session.iter().map(|replicas| (*replicas, Level::Session));
        let splitting = session.chain(levels.iter().map(|level| (most, *level)));
        let wanted = targets(selection);
        let direct = (!is_freshness && wanted.contains(&TargetKind::Direct)).then(|| point(TargetKind::Direct, None));
        let weir = splitting
            .filter(|_| wanted.contains(&TargetKind::Weir))
            .map(|(replicas, level)| point(TargetKind::Weir, Some(Variation::Splitting { replicas, level })));
        direct.into_iter().chain(weir).collect()
    }
}
