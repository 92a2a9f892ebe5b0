//! One part of a batch: a transaction with the part's statement and its record.
//!
//! What must always hold: a part that has failed has left nothing, and no transaction is open behind it, or the session ends.

use weir_admin::sessions::Interrupt;
use weir_batches::Run;
use weir_wire::error::codes;

use super::super::Session;
use super::super::stopped::Stopped;
use crate::backends::HOME;
use crate::texts::ReadText;
use weir_wire::error::not_supported;

/// How often a part that others' locks have made fail is tried again.
const TRIES: u32 = 3;

impl Session {
    /// Runs a part. Returns how many rows it has changed.
    pub(super) async fn run_part(&mut self, run: &Run, part: &[u8], edge: &str) -> Result<u64, Stopped> {
        let (mut tries, mut allowed) = (0, false);
        loop {
            let stopped = match self.try_part(run, part, edge).await {
                Ok(changed) => return Ok(changed),
                Err(Stopped::Ended(end)) => return Err(Stopped::Ended(end)),
                Err(stopped) => stopped,
            };
            let failure = stopped.failure().unwrap_or_else(|| self.behind());
            let interrupted = self.handle.has(Interrupt::Query);
            if !self.undo_part().await? {
                return Err(failure.into());
            }
            match failure.code {
                _ if interrupted => return Err(failure.into()),
                codes::ER_PROCACCESS_DENIED_ERROR if !allowed => {
                    allowed = true;
                    let who = self.run_apart(b"SELECT CURRENT_USER() LIMIT 1").await?;
                    let who = who.rows.into_iter().flatten().flatten().next().unwrap_or_default();
                    run.allow(&String::from_utf8_lossy(&who)).await?;
                }
                codes::ER_LOCK_DEADLOCK | codes::ER_LOCK_WAIT_TIMEOUT if tries < TRIES => tries += 1,
                _ => return Err(failure.into()),
            }
        }
    }

    async fn try_part(&mut self, run: &Run, part: &[u8], edge: &str) -> Result<u64, Stopped> {
        self.run_apart(b"BEGIN").await?;
        let record = run.done_statement(edge);
        let record = match self.endpoint.sharding.is_some() {
            true => format!("/*{}*/ {record}", self.name_of_shard(HOME)),
            false => record,
        };
        let pins = self.state.pins;
        let recorded = self.run_apart(record.as_bytes()).await;
        // The procedure is Weir's own: it leaves nothing with the connection.
        self.state.pins = pins;
        recorded?;
        let changed = self.run_apart(part).await?.changed;
        self.run_apart(b"COMMIT").await?;
        Ok(changed)
    }

    /// Rolls a part back. Returns whether the session can go on.
    async fn undo_part(&mut self) -> Result<bool, Stopped> {
        // What has been interrupted is the part.
        self.handle.clear(Interrupt::Query);
        self.handle.clear(Interrupt::Deadlock);
        self.replay.forget();
        self.rolled_back = None;
        let broken = self.current.lease.as_ref().is_some_and(|lease| !lease.is_clean() && !lease.only_awaits_state());
        if broken {
            if self.state.is_bound() {
                return Ok(false);
            }
            self.lose_lease();
        }
        if self.state.in_transaction() || self.transaction.is_multi_shard() {
            self.run_apart(b"ROLLBACK").await?;
        }
        Ok(true)
    }

    /// Lets a batch that is resumed run, as the rules say.
    pub(super) async fn admit_batch(&mut self, read: &ReadText) -> Result<(), Stopped> {
        self.may_run(&read.digested)?;
        match self.rule_for(&read.digested) {
            None => Ok(()),
            Some(_) => Err(not_supported("WEIR BATCH RESUME of a statement that a rule is about").into()),
        }
    }
}
