//! When a change that is in the binary log can be read.
//!
//! What must always hold: an event comes before its transaction's commit is visible. Only when that is known to be so, its rows are read:
//! then, and later, a plain read finds at least this change. Nothing is locked on the source, so that no statement of a user is held up or
//! chosen as the victim of a deadlock.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use weir_wire::Failure;
use weir_wire::error::codes;

use crate::facts::{Facts, Sight};
use crate::link::Link;
use crate::position::Position;
use weir_wire::binlog::{Xid, unhex};

/// The longest wait for a commit: a server that waits for its semi-synchronous replicas makes nothing visible.
const PATIENCE: Duration = Duration::from_secs(60);
/// The pause between two looks.
const PAUSE: Duration = Duration::from_millis(1);

/// What has to be visible.
#[derive(Debug)]
pub(crate) struct Wanted<'a> {
    /// What ends here.
    pub(crate) end: &'a Position,
    /// The transactions, as a set of GTIDs; empty if they have none.
    pub(crate) gtids: String,
    /// Branches that have committed.
    pub(crate) branches: Vec<Xid>,
}

/// Waits until changes can be read on this connection, and any other.
///
/// # Errors
/// When the server can't be asked; 1205 when it takes too long.
pub(crate) async fn wait(link: &mut Link, facts: &Facts, wanted: Wanted<'_>) -> Result<(), Failure> {
    let begun = Instant::now();
    // The event of a branch's commit may come long before it is done; who is no longer prepared has committed.
    let mut branches: BTreeSet<Xid> = wanted.branches.into_iter().collect();
    while !branches.is_empty() {
        let prepared = prepared(link).await?;
        branches.retain(|xid| prepared.contains(xid));
        pause(&begun, branches.is_empty()).await?;
    }
    match facts.sight {
        Sight::Snapshots => loop {
            let reached = snapshot_reaches(link, wanted.end).await?;
            pause(&begun, reached).await?;
            if reached {
                return Ok(());
            }
        },
        Sight::Gtids if !wanted.gtids.is_empty() => {
            let sql = format!("SELECT WAIT_FOR_EXECUTED_GTID_SET('{}', {})", wanted.gtids, PATIENCE.as_secs());
            match link.query_texts(&sql).await?.first().map(String::as_str) {
                Some("0") => Ok(()),
                _ => Err(late()),
            }
        }
        // Anonymous transactions of a server that allows both.
        Sight::Gtids | Sight::Marks => mark(link).await,
    }
}

/// Whether what a snapshot of now has reaches this position.
async fn snapshot_reaches(link: &mut Link, end: &Position) -> Result<bool, Failure> {
    link.run(b"START TRANSACTION WITH CONSISTENT SNAPSHOT").await?;
    let rows = link.query("SHOW STATUS LIKE 'Binlog_snapshot_%'").await?;
    link.run(b"COMMIT").await?;
    let value = |name: &str| {
        let row = rows.iter().find(|row| row.first().and_then(Option::as_deref) == Some(name.as_bytes()))?;
        Some(String::from_utf8_lossy(row.get(1)?.as_deref()?).into_owned())
    };
    let (Some(file), Some(offset)) = (value("Binlog_snapshot_file"), value("Binlog_snapshot_position")) else {
        return Err(Failure::server(
            codes::ER_UNKNOWN_ERROR,
            "the server does not say which position a snapshot is at",
        ));
    };
    let snapshot = Position { server: String::new(), file, offset: offset.parse().unwrap_or(0), gtids: String::new() };
    Ok(snapshot.compare_files(&end.file, end.offset) != Ordering::Less)
}

/// Makes a change, which commits after all that has been read from the log.
async fn mark(link: &mut Link) -> Result<(), Failure> {
    let write = "INSERT INTO weir.move_marks VALUES (CONNECTION_ID(), 1) ON DUPLICATE KEY UPDATE mark = mark + 1";
    match link.run(write.as_bytes()).await {
        Err(failure) if matches!(failure.code, codes::ER_NO_SUCH_TABLE | codes::ER_BAD_DB_ERROR) => {
            link.run(b"CREATE DATABASE IF NOT EXISTS weir").await?;
            let table = "CREATE TABLE IF NOT EXISTS weir.move_marks (connection BIGINT UNSIGNED PRIMARY KEY, mark BIGINT UNSIGNED NOT NULL)";
            link.run(table.as_bytes()).await?;
            link.run(write.as_bytes()).await.map(drop)
        }
        done => done.map(drop),
    }
}

/// The branches that are prepared on a server.
pub(crate) async fn prepared(link: &mut Link) -> Result<BTreeSet<Xid>, Failure> {
    let sql = if link.mariadb { "XA RECOVER" } else { "XA RECOVER CONVERT XID" };
    let rows = link.query(sql).await?;
    let xid = |row: Vec<Option<Vec<u8>>>| {
        let number = |at: usize| String::from_utf8_lossy(row.get(at)?.as_deref()?).parse::<u32>().ok();
        let (format, global) = (number(0)?, number(1)? as usize);
        let data = row.get(3)?.as_deref()?;
        let data = match data.strip_prefix(b"0x") {
            Some(digits) if !link.mariadb => unhex(std::str::from_utf8(digits).ok()?)?,
            _ => data.to_vec(),
        };
        let (global, branch) = data.split_at_checked(global)?;
        Some(Xid { format, global: global.to_vec(), branch: branch.to_vec() })
    };
    Ok(rows.into_iter().filter_map(xid).collect())
}

/// Pauses before the next look, if there is one.
async fn pause(begun: &Instant, done: bool) -> Result<(), Failure> {
    if done {
        return Ok(());
    }
    if begun.elapsed() > PATIENCE {
        return Err(late());
    }
    tokio::time::sleep(PAUSE).await;
    Ok(())
}

fn late() -> Failure {
    let message = format!("A change in the source's binary log did not become visible within {PATIENCE:?}");
    Failure::server(codes::ER_LOCK_WAIT_TIMEOUT, message)
}
