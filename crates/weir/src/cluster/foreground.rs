//! `weir up --foreground`: watches the cluster until the user wants it to end, or somebody else has stopped it.

use std::collections::HashSet;
use std::path::Path;
use std::time::Duration;

use weir_local::{Cluster, Progress};

use super::ClusterError;
use super::interrupt::Interrupt;
use super::show::Show;

const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// Stays until a signal comes, then stops the cluster. Says which processes end meanwhile.
pub(super) fn stay(dir: &Path, interrupt: &Interrupt) -> Result<(), ClusterError> {
    let mut show = Show::new();
    let mut missed: HashSet<String> = HashSet::new();
    while !interrupt.wait(LOOK_INTERVAL) {
        let processes = Cluster::processes(dir)?;
        if processes.iter().all(|(_, alive)| !alive) {
            show.note("The cluster was stopped.");
            return Ok(());
        }
        for (name, alive) in processes {
            if alive {
                missed.remove(&name);
            } else if missed.insert(name.clone()) {
                show.note(&format!("{name} has ended; `weir up` in another terminal starts it again."));
            }
        }
    }
    Cluster::down(dir, &mut show)?;
    Ok(())
}
