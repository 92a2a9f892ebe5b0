//! Asking all servers of a group for their settings.

use std::sync::Arc;
use std::time::Duration;

use weir_backend::Server;
use weir_backend::monitor::{MonitorSettings, Probe};
use weir_backend::patience::within;
use weir_wire::Failure;

use super::Failover;
use crate::advise::{Advice, FOLLOWS, Variables, advise};

/// Bound on one server's answer.
const BOUND: Duration = Duration::from_secs(5);

impl Failover {
    /// What could be better in the settings of each server, by its name; or why it does not say.
    pub async fn advise(&self) -> Vec<(String, Result<Vec<Advice>, String>)> {
        let (kind, account) = (self.group.view().kind, self.account.load_full());
        let mut all = Vec::with_capacity(self.group.servers.len());
        for server in &self.group.servers {
            let asked = within(BOUND, variables(server, &account)).await;
            let advice = match asked {
                Some(Ok(mut variables)) => {
                    if server.standing().is_some_and(|standing| standing.source.is_some()) {
                        variables.insert(FOLLOWS.to_owned(), String::new());
                    }
                    Ok(advise(kind, &variables))
                }
                Some(Err(failure)) => Err(failure.message),
                None => Err(format!("it has not answered within {BOUND:?}")),
            };
            all.push((server.settings.name.clone(), advice));
        }
        all
    }
}

async fn variables(server: &Arc<Server>, account: &MonitorSettings) -> Result<Variables, Failure> {
    let mut probe = Probe::open(server, account).await?;
    let rows = probe.query("SHOW GLOBAL VARIABLES").await?;
    let text = |cell: Option<Vec<u8>>| String::from_utf8_lossy(&cell.unwrap_or_default()).into_owned();
    let pair = |row: Vec<Option<Vec<u8>>>| {
        let mut cells = row.into_iter().map(text);
        Some((cells.next()?.to_ascii_lowercase(), cells.next()?))
    };
    Ok(rows.into_iter().filter_map(pair).collect())
}
