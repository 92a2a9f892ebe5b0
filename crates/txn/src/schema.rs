//! The statements about decisions. The table and the procedure are made with the rest of the schema `weir` of each shard.
//!
//! What must always hold: a row is the decision, and is never changed. A decision to commit is written by the transaction itself, by
//! the procedure; one to roll back by Weir's own account. On clients' connections a name is a
//! literal in hexadecimal: `character_set_connection` would give one of characters other bytes, and recovery would not find the decision.

use super::TransactionId;

/// Writes the decision to commit into the user's transaction.
pub(super) fn decide(id: &TransactionId) -> String {
    format!("CALL weir.decide({})", id.literal())
}

/// Asks for the decision.
pub(super) fn look(id: &TransactionId) -> String {
    format!("SELECT outcome FROM weir.decisions WHERE gid = '{id}'")
}

/// Decides to roll back, unless it is decided.
pub(super) fn abort(id: &TransactionId) -> String {
    format!(
        "INSERT INTO weir.decisions (gid, outcome, created, connection) VALUES ('{id}', 'abort', UTC_TIMESTAMP(6), CONNECTION_ID())"
    )
}

/// Lets an account decide: `current_user` as `CURRENT_USER()` says it.
pub(super) fn allow(current_user: &str) -> String {
    let (user, host) = current_user.rsplit_once('@').unwrap_or((current_user, "%"));
    let quoted = |text: &str| format!("'{}'", text.replace('\\', "\\\\").replace('\'', "''"));
    format!("GRANT EXECUTE ON PROCEDURE weir.decide TO {}@{}", quoted(user), quoted(host))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_is_written_as_a_statement_writes_it() {
        assert_eq!(allow("app@%"), "GRANT EXECUTE ON PROCEDURE weir.decide TO 'app'@'%'");
        assert_eq!(allow("o'neil@x@10.0.0.1"), "GRANT EXECUTE ON PROCEDURE weir.decide TO 'o''neil@x'@'10.0.0.1'");
    }
}
