//! Looking up what was decided.
//!
//! What must always hold: an answer never changes afterwards. Where there is no decision, one to roll back is written before that is
//! said; while the deciding transaction is open, its row stands in the way, and nothing is said.

use std::time::Duration;

use tokio::time::{Instant, timeout_at};
use weir_backend::Server;
use weir_backend::monitor::{MonitorSettings, Probe};
use weir_wire::Failure;
use weir_wire::error::codes;

use super::{Coordinator, TransactionId, schema};

/// The wait between two tries.
const PAUSE: Duration = Duration::from_millis(100);

/// What was decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Decision {
    Commit,
    Abort,
}

/// A connection of Weir's own for questions about decisions. It commits each statement, and waits for locks for a second only.
pub(super) async fn connect(server: &Server, monitor: &MonitorSettings) -> Result<Probe, Failure> {
    let mut probe = Probe::open(server, monitor).await?;
    probe.query("SET SESSION autocommit = 1, SESSION sql_mode = '', SESSION innodb_lock_wait_timeout = 1").await?;
    Ok(probe)
}

/// The decision, if there is one.
pub(super) async fn look(probe: &mut Probe, id: &TransactionId) -> Result<Option<Decision>, Failure> {
    let rows = probe.query(&schema::look(id)).await?;
    match rows.into_iter().flatten().next().flatten().as_deref() {
        None => Ok(None),
        Some(b"commit") => Ok(Some(Decision::Commit)),
        Some(b"abort") => Ok(Some(Decision::Abort)),
        Some(_) => Err(Failure::server(codes::ER_UNKNOWN_ERROR, "weir.decisions has an unknown outcome")),
    }
}

/// The decision; if there is none, it is now to roll back.
///
/// # Errors
/// The server's: also 1205, while the deciding transaction is still open.
pub(super) async fn settle(probe: &mut Probe, id: &TransactionId) -> Result<Decision, Failure> {
    if let Some(decision) = look(probe, id).await? {
        return Ok(decision);
    }
    match probe.query(&schema::abort(id)).await {
        Ok(_) => Ok(Decision::Abort),
        Err(failure) if failure.code == codes::ER_DUP_ENTRY => look(probe, id).await?.ok_or(failure),
        Err(failure) => Err(failure),
    }
}

impl Coordinator {
    /// Settles a transaction whose deciding COMMIT got no clear answer, within the bound.
    ///
    /// # Errors
    /// What stood in the way last.
    pub(super) async fn look_up(&self, id: &TransactionId) -> Result<Decision, Failure> {
        self.metrics.looked_up.inc();
        let end = Instant::now() + self.settings.load().bound;
        let mut last = None;
        loop {
            match timeout_at(end, self.ask(id)).await {
                Ok(Ok(decision)) => return Ok(decision),
                Ok(Err(failure)) => last = Some(failure),
                Err(_) => {}
            }
            if Instant::now() + PAUSE >= end {
                let none = || Failure::weir(codes::ER_UNKNOWN_ERROR, "no answer in time");
                return Err(last.unwrap_or_else(none));
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Lets an account write decisions on a shard.
    pub(super) async fn allow_to_decide(&self, id: &TransactionId, current_user: &str) -> Result<(), Failure> {
        let group = self.group(id.decider).ok_or_else(|| unknown_shard(id))?;
        let mut probe = connect(&group.writer(), &self.monitor.load_full()).await?;
        probe.query(&schema::allow(current_user)).await.map(drop)
    }

    async fn ask(&self, id: &TransactionId) -> Result<Decision, Failure> {
        let group = self.group(id.decider).ok_or_else(|| unknown_shard(id))?;
        let mut probe = connect(&group.writer(), &self.monitor.load_full()).await?;
        settle(&mut probe, id).await
    }
}

/// A transaction that names a shard that there is not.
pub(super) fn unknown_shard(id: &TransactionId) -> Failure {
    let message = format!("transaction {id} is decided by shard number {}, which is not configured", id.decider.0);
    Failure::weir(codes::ER_UNKNOWN_ERROR, message)
}
