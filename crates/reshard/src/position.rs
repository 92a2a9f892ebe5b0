//! Positions in binary logs.
//!
//! What must always hold: a position is between two transactions. On the server that it was taken from it is a place in a file; on any
//! other, a set of GTIDs.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use weir_backend::gtid::Position as Gtids;
use weir_catalog::ShardId;

/// A place in the binary logs of a shard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    /// Which server's files these are: its `server_uuid`, or on MariaDB its `server_id` and data directory's age.
    pub server: String,
    /// The file.
    pub file: String,
    /// The place in it.
    pub offset: u64,
    /// What is before it, as the servers write it; empty where there are no GTIDs.
    pub gtids: String,
}

/// The position of each source.
pub type Positions = BTreeMap<ShardId, Position>;

impl Position {
    /// Whether it is not before another.
    pub fn reaches(&self, other: &Position, mariadb: bool) -> bool {
        if self.server == other.server {
            return self.compare_files(&other.file, other.offset) != Ordering::Less;
        }
        let (own, theirs) = (Gtids::parse(mariadb, &self.gtids), Gtids::parse(mariadb, &other.gtids));
        matches!((own, theirs), (Ok(own), Ok(theirs)) if !other.gtids.is_empty() && own.covers(&theirs))
    }

    /// Whether the logs that end here are those that had another position, as far as servers tell.
    pub(crate) fn has(&self, before: &Position, mariadb: bool) -> bool {
        let covers = match (Gtids::parse(mariadb, &self.gtids), Gtids::parse(mariadb, &before.gtids)) {
            (Ok(own), Ok(theirs)) => own.covers(&theirs),
            (Err(_), Ok(_)) => before.gtids.is_empty(),
            (_, Err(_)) => true,
        };
        covers && self.reaches(before, mariadb)
    }

    /// How its place in the files compares with another one of the same server.
    pub(crate) fn compare_files(&self, file: &str, offset: u64) -> Ordering {
        number(&self.file).cmp(&number(file)).then(self.offset.cmp(&offset))
    }
}

/// The number of a file: `binlog.000012`.
fn number(file: &str) -> u64 {
    file.rsplit('.').next().and_then(|digits| digits.parse().ok()).unwrap_or(0)
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.offset)?;
        if !self.gtids.is_empty() {
            write!(f, " ({})", self.gtids.replace('\n', ""))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn position(server: &str, file: &str, offset: u64, gtids: &str) -> Position {
        Position { server: server.to_owned(), file: file.to_owned(), offset, gtids: gtids.to_owned() }
    }

    #[test]
    fn a_position_is_reached_by_files_of_its_server_and_by_gtids_of_another() {
        let wanted = position("a", "bin.000009", 500, "0-1-20");
        for (reached, other) in [
            (true, position("a", "bin.000009", 500, "")),
            (true, position("a", "bin.000010", 4, "")),
            (false, position("a", "bin.000009", 499, "0-1-19")),
            (false, position("a", "bin.000009", 499, "0-2-20")),
            (true, position("b", "other.000001", 4, "0-2-21,1-1-1")),
            (false, position("b", "other.000011", 4, "0-2-19")),
            (false, position("b", "other.000011", 4, "")),
        ] {
            assert_eq!(other.reaches(&wanted, true), reached, "{other}");
        }
        let without = position("a", "bin.000002", 5, "");
        assert!(!position("b", "bin.000003", 5, "0-1-1").reaches(&without, true), "there is nothing to compare");
    }
}
