//! Advice behind the error of a transaction that may have been too large for its group.
//!
//! What must always hold: the error itself is the server's, and stays as it is.

use super::super::Session;
use super::super::condition::Condition;
use super::super::latest::Diagnostics;

/// The server tells the reason in its log only.
const ADVICE: &str = "If the server's error log says that the transaction exceeded group_replication_transaction_size_limit: \
                      BATCH LIMIT 10000 before the statement runs it in parts (Weir)";

impl Session {
    /// Adds a note for SHOW WARNINGS: the statement at hand has failed when its group was to take it.
    pub(in crate::session) async fn advise_batch(&mut self) {
        if self.learn_what_was_left(true).await.is_err() {
            return;
        }
        let latest = &mut self.state.latest;
        if let Diagnostics::Learnt(conditions) = &mut latest.diagnostics {
            conditions.push(Condition::note(ADVICE));
            latest.warnings = u16::try_from(conditions.len()).unwrap_or(u16::MAX);
        }
    }
}
