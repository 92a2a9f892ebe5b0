//! Deadlocks that no server sees: sessions that wait for each other's rows on different shards.
//!
//! What must always hold: nobody is ended for a deadlock that was none. Waits are looked at on one shard after the other, so what was seen
//! together need not have been at one time; but a transaction keeps its locks to its end, so a wait of the same transactions for the same
//! lock that two looks in a row have seen has lasted from the one to the other. A cycle of such waits is a deadlock.
//!
//! A server that shows no waits (MySQL without performance_schema) leaves its deadlocks to the lock wait timeout.

use std::collections::{BTreeMap, BTreeSet};

use weir_wire::Failure;

use super::Coordinator;
use super::recovery::RecoveryConnection;

/// [MySQL manual, The data_lock_waits Table](https://dev.mysql.com/doc/refman/8.4/en/performance-schema-data-lock-waits-table.html)
const MYSQL: &str = "SELECT r.trx_mysql_thread_id, b.trx_mysql_thread_id, r.trx_weight, \
     CONCAT_WS(' ', w.REQUESTING_ENGINE_TRANSACTION_ID, w.BLOCKING_ENGINE_TRANSACTION_ID, w.REQUESTING_ENGINE_LOCK_ID) \
     FROM performance_schema.data_lock_waits w \
     JOIN information_schema.innodb_trx r ON r.trx_id = w.REQUESTING_ENGINE_TRANSACTION_ID \
     JOIN information_schema.innodb_trx b ON b.trx_id = w.BLOCKING_ENGINE_TRANSACTION_ID";

/// [MariaDB Knowledge Base, INNODB_LOCK_WAITS](https://mariadb.com/kb/en/information-schema-innodb_lock_waits-table/)
const MARIADB: &str = "SELECT r.trx_mysql_thread_id, b.trx_mysql_thread_id, r.trx_weight, \
     CONCAT_WS(' ', w.requesting_trx_id, w.blocking_trx_id, w.requested_lock_id) \
     FROM information_schema.innodb_lock_waits w \
     JOIN information_schema.innodb_trx r ON r.trx_id = w.requesting_trx_id \
     JOIN information_schema.innodb_trx b ON b.trx_id = w.blocking_trx_id";

/// A connection's transaction waits for a lock of another one's.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct LockWait {
    /// The shard.
    pub shard: usize,
    /// The waiting connection's id on the shard's writer.
    pub waiter: u32,
    /// The other's.
    pub blocker: u32,
    /// How much the waiting transaction has done, in InnoDB's measure (`trx_weight`).
    pub weight: u64,
    /// Tells this wait from any other there was: the transactions, and the lock.
    pub name: Vec<u8>,
}

impl LockWait {
    fn of_row(shard: usize, row: &[Option<Vec<u8>>]) -> Option<LockWait> {
        let [waiter, blocker, weight, name] = row else { return None };
        let number =
            |cell: &Option<Vec<u8>>| -> Option<u64> { std::str::from_utf8(cell.as_deref()?).ok()?.parse().ok() };
        let thread = |cell| u32::try_from(number(cell)?).ok();
        let (waiter, blocker, weight) = (thread(waiter)?, thread(blocker)?, number(weight)?);
        Some(LockWait { shard, waiter, blocker, weight, name: name.clone()? })
    }
}

/// Asks shards for their lock waits. Keeps a connection to each writer that it has asked.
#[derive(Default)]
pub struct LockWaits {
    lines: BTreeMap<usize, RecoveryConnection>,
}

impl LockWaits {
    /// The waits on these shards' writers now. A shard that can't be asked has none.
    pub async fn look(&mut self, coordinator: &Coordinator, shards: &BTreeSet<usize>) -> Vec<LockWait> {
        let mut all = Vec::new();
        for shard in shards {
            let line = self.lines.entry(*shard).or_default();
            match waits_on(line, coordinator, *shard).await {
                Ok(waits) => all.extend(waits),
                Err(error) => tracing::debug!(shard, %error, "lock waits could not be listed"),
            }
        }
        all
    }
}

async fn waits_on(
    line: &mut RecoveryConnection,
    coordinator: &Coordinator,
    shard: usize,
) -> Result<Vec<LockWait>, Failure> {
    line.connect(coordinator, shard).await?;
    let identity = coordinator.groups[shard].writer().facts().identity.clone();
    let text = if identity.is_some_and(|identity| identity.mariadb) { MARIADB } else { MYSQL };
    let rows = line.query(text).await?;
    Ok(rows.iter().filter_map(|row| LockWait::of_row(shard, row)).collect())
}

/// Who waits for whom in a cycle, if there is one: who waits, in the order of the cycle. `waits`: for each who waits, those that have
/// what it waits for.
pub fn cycle<T: Ord + Copy>(waits: &BTreeMap<T, BTreeSet<T>>) -> Option<Vec<T>> {
    let mut over = BTreeSet::new();
    for start in waits.keys() {
        let mut path = Vec::new();
        if let Some(cycle) = cycle_from(*start, waits, &mut path, &mut over) {
            return Some(cycle);
        }
    }
    None
}

/// `path`: how `from` was reached; `over`: those from which no cycle is reached.
fn cycle_from<T: Ord + Copy>(
    from: T,
    waits: &BTreeMap<T, BTreeSet<T>>,
    path: &mut Vec<T>,
    over: &mut BTreeSet<T>,
) -> Option<Vec<T>> {
    if let Some(at) = path.iter().position(|on_path| *on_path == from) {
        return Some(path[at..].to_vec());
    }
    if over.contains(&from) {
        return None;
    }
    path.push(from);
    for blocker in waits.get(&from).into_iter().flatten() {
        if let Some(cycle) = cycle_from(*blocker, waits, path, over) {
            return Some(cycle);
        }
    }
    path.pop();
    over.insert(from);
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(waits: &[(u32, &[u32])]) -> Option<Vec<u32>> {
        cycle(&waits.iter().map(|(waiter, blockers)| (*waiter, blockers.iter().copied().collect())).collect())
    }

    #[test]
    fn cycles_are_found_and_chains_are_none() {
        assert_eq!(found(&[]), None);
        assert_eq!(found(&[(1, &[2]), (2, &[3]), (4, &[2, 3])]), None);
        assert_eq!(found(&[(1, &[2]), (2, &[1])]), Some(vec![1, 2]));
        // What leads to a cycle is not of it.
        assert_eq!(found(&[(1, &[5, 2]), (2, &[3]), (3, &[4]), (4, &[2])]), Some(vec![2, 3, 4]));
        assert_eq!(found(&[(1, &[2, 3]), (2, &[4]), (3, &[4]), (4, &[])]), None);
    }

    #[test]
    fn a_row_is_a_wait_if_it_names_both_connections() {
        let cell = |text: &str| Some(text.as_bytes().to_vec());
        let row = [cell("7"), cell("8"), cell("3"), cell("1 2 x")];
        let wait = LockWait { shard: 1, waiter: 7, blocker: 8, weight: 3, name: b"1 2 x".to_vec() };
        assert_eq!(LockWait::of_row(1, &row), Some(wait));
        assert_eq!(LockWait::of_row(1, &[cell("7"), None, cell("3"), cell("x")]), None);
    }
}
