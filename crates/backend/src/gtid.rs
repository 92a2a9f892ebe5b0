//! Replication positions: which transactions a server has, and which a reader must have.
//!
//! What must always hold: `a.covers(b)` is true only if a server at `a` has every transaction that `b` names. Positions of
//! MySQL and MariaDB are never compared with each other: neither covers the other.

mod domains;
mod set;

use std::fmt;

pub use domains::Domains;
pub use set::GtidSet;

/// A text that is no position.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not a GTID position")]
pub struct NoPosition(pub String);

/// A replication position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Position {
    /// MySQL: a set of GTIDs.
    MySql(GtidSet),
    /// MariaDB: the last GTID of each domain.
    MariaDb(Domains),
}

impl Position {
    /// Reads the server's own words for a position.
    ///
    /// # Errors
    /// For a text that is none.
    pub fn parse(mariadb: bool, text: &str) -> Result<Position, NoPosition> {
        match mariadb {
            true => text.parse().map(Position::MariaDb),
            false => text.parse().map(Position::MySql),
        }
    }

    /// Whether a server at this position has all of `other`.
    pub fn covers(&self, other: &Position) -> bool {
        match (self, other) {
            (Position::MySql(own), Position::MySql(other)) => own.contains(other),
            (Position::MariaDb(own), Position::MariaDb(other)) => own.covers(other),
            _ => false,
        }
    }

    /// Adds what `other` has. A position of another kind replaces this one.
    pub fn add(&mut self, other: &Position) {
        match (self, other) {
            (Position::MySql(own), Position::MySql(other)) => own.add(other),
            (Position::MariaDb(own), Position::MariaDb(other)) => own.add(other),
            (own, other) => *own = other.clone(),
        }
    }

    /// What this position has that `other` lacks: how many transactions, and their GTIDs as MySQL writes them; on MariaDB the last of each
    /// domain. `None` if it lacks nothing, or the two are of different kinds of server.
    pub fn beyond(&self, other: &Position) -> Option<(u64, String)> {
        match (self, other) {
            (Position::MySql(own), Position::MySql(other)) => {
                let rest = own.without(other);
                (!rest.is_empty()).then(|| (rest.len(), rest.to_string()))
            }
            (Position::MariaDb(own), Position::MariaDb(other)) => {
                let parts = own.beyond(other);
                let count = parts.iter().map(|(count, _)| count).sum();
                let last: Vec<_> = parts.into_iter().map(|(_, last)| last).collect();
                (count > 0).then(|| (count, format!("up to {}", last.join(","))))
            }
            _ => None,
        }
    }

    /// Everything that a server may have shown before it told a client this GTID of its own: on MySQL all of the same source
    /// up to it, but for the gaps that `watched`, an earlier position of the server, has. On MariaDB that is the GTID's meaning.
    ///
    /// MySQL hands out GTIDs when commits are flushed, before anybody can see them, in rising order for each source.
    #[must_use]
    pub fn up_to(self, watched: Option<&Position>) -> Position {
        match (self, watched) {
            (Position::MySql(own), Some(Position::MySql(watched))) => Position::MySql(own.up_to(watched)),
            (Position::MySql(own), _) => Position::MySql(own.up_to(&GtidSet::default())),
            (mariadb, _) => mariadb,
        }
    }

    /// Whether a GTID of a server's own, followed by [`Position::up_to`], stands for all that the server may have shown before. On MariaDB
    /// only if all its domains, as watched, are in it: what others commit in another domain has no order with it.
    pub fn spans(&self, watched: Option<&Position>) -> bool {
        match (self, watched) {
            (Position::MariaDb(own), Some(Position::MariaDb(watched))) => own.has_domains_of(watched),
            (Position::MariaDb(_), _) => false,
            (Position::MySql(_), _) => true,
        }
    }

    /// The query that a MySQL writer answers once the commits that it is busy with now are visible, or after `seconds`; as
    /// [`Position::wait_query`]. What it owns is written `source:number#thread`.
    pub fn wait_for_commits_query(seconds: f64) -> String {
        let owned = "REGEXP_REPLACE(@@GLOBAL.gtid_owned, _utf8mb4'#[0-9]+', _utf8mb4'')";
        format!("SELECT WAIT_FOR_EXECUTED_GTID_SET({owned}, {seconds:.3})")
    }

    /// The query that a server answers with one row once it has this position, or after `seconds`: 0 for reached, else
    /// late (`WAIT_FOR_EXECUTED_GTID_SET()` in MySQL's manual, `MASTER_GTID_WAIT()` in MariaDB's). It is asked on clients' connections, whose
    /// character set literals would have without an introducer, and no server reads a position in utf16.
    pub fn wait_query(&self, seconds: f64) -> String {
        let function = match self {
            Position::MySql(_) => "WAIT_FOR_EXECUTED_GTID_SET",
            Position::MariaDb(_) => "MASTER_GTID_WAIT",
        };
        format!("SELECT {function}(_utf8mb4'{self}', {seconds:.3})")
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Position::MySql(set) => set.fmt(f),
            Position::MariaDb(domains) => domains.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests;
