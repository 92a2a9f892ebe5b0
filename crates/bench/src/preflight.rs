//! The checks before anything is started: programs, limits, disk space. Whatever is missing is reported and left out.

use std::collections::BTreeMap;
use std::path::Path;

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::statvfs::statvfs;

use crate::error::BenchError;
use crate::options::Options;
use crate::plan::{Plan, PointPlan, Tool};
use crate::target::{self, TargetKind};
use crate::tools;

const MIB: u64 = 1 << 20;
/// Data directory, redo log, binary log of one run, and a margin.
const MIB_FOR_SERVER: u64 = 1_500;
/// Of a row in the table with its index, several times for page splits and the doublewrite buffer.
const BYTES_PER_ROW: u64 = 1_000;
/// Open files that a process has besides its clients'.
const OTHER_FILES: u64 = 100;
/// The same for the database server: tables, logs.
const SERVER_FILES: u64 = 500;

/// What was found.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// Program to version.
    pub(crate) versions: BTreeMap<String, String>,
    /// What a reader must know.
    pub(crate) notes: Vec<String>,
    /// Targets that can be started.
    pub(crate) targets: Vec<TargetKind>,
    has_slap: bool,
    files: u64,
}

/// Raises this process's limit of open files, which its children inherit, as far as it may; tells how far.
pub(crate) fn open_files() -> u64 {
    let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE) else { return 1_024 };
    if soft < hard && setrlimit(Resource::RLIMIT_NOFILE, hard, hard).is_err() {
        return soft;
    }
    hard
}

/// Looks for everything that the plan needs.
///
/// Errors: no sysbench, which makes the table; no target; too little room.
pub(crate) fn look(options: &Options, plan: &Plan) -> Result<Found, BenchError> {
    let mut found = Found { files: open_files(), ..Found::default() };
    let sysbench = tools::sysbench().ok_or(BenchError::NoTool { program: "sysbench" })?;
    found.versions.insert("sysbench".to_owned(), tools::version(&sysbench));
    found.versions.insert("weir".to_owned(), tools::version(&options.weir));
    let of_slap = |point: &&PointPlan| needs_slap(point);
    if let Some(point) = plan.points.iter().find(of_slap) {
        match tools::slap() {
            Some(slap) => {
                let name = slap.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
                found.versions.insert(name, tools::version(&slap));
                found.has_slap = true;
            }
            None => found.notes.push(format!("No mariadb-slap or mysqlslap: {} is left out.", point.workload)),
        }
    }
    for kind in plan.targets() {
        match (kind.program_name(), target::find(kind)) {
            (Some(name), Some(program)) => {
                found.versions.insert(name.to_owned(), tools::version(&program));
                found.targets.push(kind);
            }
            (Some(name), None) => {
                found.notes.push(format!("{} is left out: there is no {name} here ({}).", kind.label(), kind.advice()));
            }
            (None, _) => found.targets.push(kind),
        }
    }
    if found.targets.is_empty() {
        return Err(BenchError::Options(format!("no target is left. {}", found.notes.join(" "))));
    }
    if options.given.is_none() {
        let mib = |tables: u32, rows: u32| u64::from(tables) * u64::from(rows) * BYTES_PER_ROW / MIB;
        let of_one = MIB_FOR_SERVER + mib(plan.tables, plan.rows);
        let sharded: u64 = plan.datasets.iter().map(|dataset| mib(dataset.tables, dataset.rows)).sum();
        let of_shards = u64::from(plan.shards()) * MIB_FOR_SERVER + sharded;
        // On one server, and on the shards.
        let tpcc = plan.tpcc().map_or(0, |scale| 2 * scale.rows() * BYTES_PER_ROW / MIB);
        space(&std::env::temp_dir(), of_one * (1 + u64::from(plan.replicas())) + of_shards + tpcc)?;
    }
    Ok(found)
}

impl Found {
    /// Why a point can't be run on a target, if so.
    pub(crate) fn obstacle(&self, point: &PointPlan, target: TargetKind) -> Option<String> {
        if needs_slap(point) && !self.has_slap {
            return Some("neither mariadb-slap nor mysqlslap is installed".to_owned());
        }
        let clients = u64::from(point.clients);
        let proxy = (target.label(), clients * target.files_per_client() + OTHER_FILES);
        // Whether it refuses the clients is what some points show; it needs files for those that it takes.
        let server = ("the server", u64::from(point.server_connections) + SERVER_FILES);
        let needs = [("the load tool", clients + OTHER_FILES), server];
        let proxy = (target != TargetKind::Direct).then_some(proxy);
        let too_many = needs.into_iter().chain(proxy).find(|(_, files)| *files > self.files);
        too_many.map(|(who, files)| {
            format!("{who} would need {files} open files, and may have {} (ulimit -Hn)", self.files)
        })
    }
}

fn needs_slap(point: &PointPlan) -> bool {
    matches!(point.workload.tool(), Tool::Slap | Tool::SlapText(_))
}

/// Whether there is disk space. If that is unknown, the server will show.
fn space(dir: &Path, needed_mib: u64) -> Result<(), BenchError> {
    let Ok(file_system) = statvfs(dir) else { return Ok(()) };
    let free_mib = file_system.blocks_available() * file_system.fragment_size() / MIB;
    if free_mib >= needed_mib {
        return Ok(());
    }
    Err(BenchError::NoSpace { dir: dir.to_path_buf(), free_mib, needed_mib })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Workload;

    fn idle(clients: u32) -> PointPlan {
        PointPlan {
            workload: Workload::Idle,
            prepared: None,
            clients,
            variation: None,
            targets: TargetKind::ALL.to_vec(),
            seconds: 1,
            rounds: 1,
            server_connections: clients + 50,
        }
    }

    #[test]
    fn a_point_that_needs_more_open_files_than_there_are_is_left_out_with_the_reason() {
        let found = Found { files: 20_000, ..Found::default() };
        let obstacle = |target| found.obstacle(&idle(10_000), target);
        assert_eq!(obstacle(TargetKind::Direct), None);
        assert_eq!(obstacle(TargetKind::Weir), None);
        let reason = obstacle(TargetKind::HaProxy).expect("two files for each client");
        assert_eq!(reason, "HAProxy would need 20100 open files, and may have 20000 (ulimit -Hn)");
        assert!(found.obstacle(&idle(19_950), TargetKind::Direct).is_some());
    }

    #[test]
    fn churn_needs_its_tool() {
        let churn = PointPlan { workload: Workload::Churn, ..idle(16) };
        let with = Found { files: 20_000, has_slap: true, ..Found::default() };
        let without = Found { files: 20_000, ..Found::default() };
        assert_eq!(with.obstacle(&churn, TargetKind::Weir), None);
        assert!(without.obstacle(&churn, TargetKind::Weir).is_some_and(|reason| reason.contains("slap")));
    }
}
