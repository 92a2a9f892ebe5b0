//! Servers that follow a writer, also semi-synchronously.

use std::time::Duration;

use super::wait_or_fail;
use crate::cluster::Group;
use crate::replication::{start_replication, wait_running};
use crate::wait::Cancel;
use crate::{Flavor, LocalError, Progress, replication_status};

/// How long replicas may take to announce that they acknowledge.
const ACKNOWLEDGE_BOUND: Duration = Duration::from_secs(30);
/// Milliseconds after which a commit would no longer wait: 49 days, the most that MySQL takes. Commits never become asynchronous by themselves.
const NEVER: u64 = 4_294_967_295;

/// Lossless semi-synchronous replication: every server can acknowledge, and whoever becomes the writer can wait.
pub(super) fn semi_sync_options(flavor: Flavor) -> Vec<String> {
    match flavor {
        Flavor::MariaDb => vec![
            "rpl-semi-sync-slave-enabled=ON".to_owned(),
            "rpl-semi-sync-master-wait-point=AFTER_SYNC".to_owned(),
            format!("rpl-semi-sync-master-timeout={NEVER}"),
        ],
        Flavor::MySql => vec![
            "plugin-load-add=semisync_source.so".to_owned(),
            "plugin-load-add=semisync_replica.so".to_owned(),
            // Not known yet when the data directory is checked.
            "loose-rpl-semi-sync-replica-enabled=ON".to_owned(),
            "loose-rpl-semi-sync-source-wait-point=AFTER_SYNC".to_owned(),
            format!("loose-rpl-semi-sync-source-timeout={NEVER}"),
        ],
    }
}

/// Has the writer's commits wait for replicas, once all of them acknowledge.
pub(super) fn wait_for_acknowledgements(
    group: &Group,
    cancel: &Cancel,
    progress: &mut dyn Progress,
) -> Result<(), LocalError> {
    let side = match group.writer.installation().flavor() {
        Flavor::MariaDb => "master",
        Flavor::MySql => "source",
    };
    progress.step("Waiting for semi-synchronous replicas");
    group.writer.execute(&format!("SET GLOBAL rpl_semi_sync_{side}_enabled = ON"))?;
    let clients = format!("SHOW GLOBAL STATUS LIKE 'Rpl_semi_sync_{side}_clients'");
    let wanted = group.replicas.len();
    wait_or_fail(&group.name, ACKNOWLEDGE_BOUND, cancel, "all replicas acknowledge", || {
        let row = group.writer.query(&clients)?.into_iter().next();
        let count = row.and_then(|row| row.into_iter().nth(1).flatten()).and_then(|count| count.parse().ok());
        Ok(count.is_some_and(|count: usize| count >= wanted))
    })?;
    progress.done("commits wait for one of them");
    Ok(())
}

/// Has replicas whose writer does not change replicate again.
pub(super) fn go_on(group: &Group, cancel: &Cancel, progress: &mut dyn Progress) -> Result<(), LocalError> {
    for replica in &group.replicas {
        progress.step(&format!("Checking replication of {}", replica.name()));
        if !replication_status(replica)?.is_some_and(|status| status.is_running()) {
            start_replication(replica)?;
        }
        wait_running(replica, cancel)?;
        progress.done("");
    }
    Ok(())
}
