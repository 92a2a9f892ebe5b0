//! Removing decisions that nobody can ask for any more.
//!
//! What must always hold: a decision stays while a branch of its transaction may be prepared anywhere: on a writer, or on a replica that
//! has not caught up and may become one. A decision to roll back stays while the deciding connection may still commit: until every
//! transaction that is open on its shard has begun after it.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use weir_wire::Failure;

use super::{Recovery, RecoveryConnection};

/// Decisions removed in one statement.
const BATCH: usize = 500;

/// Which decisions go, of those that are old enough: none that a prepared branch needs.
pub(super) fn removable(old: Vec<String>, prepared: &BTreeSet<String>) -> Vec<String> {
    old.into_iter().filter(|id| !prepared.contains(id)).collect()
}

/// Finds decisions that are old enough.
pub(super) fn find(keep: Duration) -> String {
    let old = "TIMESTAMPDIFF(SECOND, created, UTC_TIMESTAMP())";
    let open = "SELECT COALESCE(MAX(TIMESTAMPDIFF(SECOND, trx_started, NOW())), 0) FROM information_schema.innodb_trx";
    format!(
        "SELECT gid FROM weir.decisions WHERE {old} > {} AND (outcome = 'commit' OR {old} > ({open})) ORDER BY created LIMIT {BATCH}",
        keep.as_secs()
    )
}

impl Recovery<'_> {
    /// Removes old decisions on all shards. Called when all of them have just listed their branches.
    pub(super) async fn clean(&mut self) {
        let keep = self.coordinator.settings.load().keep;
        if !self.replicas_have_caught_up(keep) {
            return;
        }
        let prepared: BTreeSet<String> = self.seen.keys().map(|branch| branch.transaction.to_string()).collect();
        for (shard, line) in self.lines.iter_mut().enumerate() {
            if let Err(error) = line.clean(keep, &prepared).await {
                tracing::warn!(shard, %error, "old decisions could not be removed");
            }
        }
    }

    /// Whether every replica has all that is older than the time for which decisions stay.
    fn replicas_have_caught_up(&self, keep: Duration) -> bool {
        let now = Instant::now();
        self.coordinator.groups.iter().all(|group| {
            group.with_view(|view| {
                let replicas = view.members.iter().enumerate().filter(|(index, _)| *index != view.writer);
                replicas
                    .into_iter()
                    .all(|(_, member)| member.as_of.is_some_and(|as_of| now.saturating_duration_since(as_of) < keep))
            })
        })
    }
}

impl RecoveryConnection {
    async fn clean(&mut self, keep: Duration, prepared: &BTreeSet<String>) -> Result<(), Failure> {
        // The times of open transactions are the system's.
        self.query("SET SESSION time_zone = 'SYSTEM'").await?;
        let rows = self.query(&find(keep)).await?;
        let old = rows.into_iter().filter_map(|row| String::from_utf8(row.into_iter().next()??).ok()).collect();
        let ids = removable(old, prepared);
        if ids.is_empty() {
            return Ok(());
        }
        let list: Vec<String> = ids.iter().filter(|id| is_plain(id)).map(|id| format!("'{id}'")).collect();
        if list.is_empty() {
            return Ok(());
        }
        self.query(&format!("DELETE FROM weir.decisions WHERE gid IN ({})", list.join(", "))).await.map(drop)
    }
}

/// Whether a name can be quoted unchanged, as all names that Weir makes can.
fn is_plain(id: &str) -> bool {
    id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}
