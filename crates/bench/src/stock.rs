//! The row that all clients of a flash sale change: it is made, and after each run it has to be short of exactly what clients
//! were told to have taken.

use weir_local::Server;

use crate::error::BenchError;
use crate::load::Counted;
use crate::plan::{Durability, HOT_TABLES};
use crate::site::Site;

/// More than clients can ever take.
const STOCK: i64 = 1_000_000_000_000;

impl Site {
    /// Makes the tables with one row each, as in the published test (without any key), and with a key.
    pub(crate) fn prepare_stock(&self) -> Result<(), BenchError> {
        let Some(server) = self.writer() else { return Ok(()) };
        let columns = ["id INT DEFAULT NULL, num BIGINT", "id INT NOT NULL PRIMARY KEY, num BIGINT"];
        for (name, columns) in HOT_TABLES.iter().zip(columns) {
            let table = format!("{}.{name}", self.upstream.database);
            server.execute(&format!("CREATE TABLE {table} ({columns})"))?;
            server.execute(&format!("INSERT INTO {table} (id, num) VALUES (1, {STOCK})"))?;
        }
        Ok(())
    }

    /// What the row of a table has now.
    pub(crate) fn stock(&self, table: &str) -> Result<i64, BenchError> {
        let query = format!("SELECT num FROM {}.{table} WHERE id = 1", self.upstream.database);
        let value = self.writer().map(|server| server.query_value(&query)).transpose()?.flatten();
        value
            .and_then(|value| value.parse().ok())
            .ok_or_else(|| BenchError::Tool { tool: table.to_owned(), reason: "its row is gone".to_owned() })
    }

    /// Sets what the server does at each commit.
    pub(crate) fn set_durability(&self, mode: Durability) -> Result<(), BenchError> {
        let set = |server: &Server| {
            let settings = mode.settings();
            settings.iter().try_for_each(|(name, value)| server.execute(&format!("SET GLOBAL {name} = {value}")))
        };
        Ok(self.writer().map_or(Ok(()), set)?)
    }
}

/// Why a run can't count: the row is short of something else than what clients were told to have taken.
pub(crate) fn difference(before: i64, after: i64, counted: &Counted) -> Option<String> {
    let taken = i128::from(before) - i128::from(after);
    let told = counted.changed?;
    (taken != i128::from(told)).then(|| {
        format!("the row lacks {taken}, and clients were told that they have taken {told} ({} errors)", counted.errors)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_taken_has_to_be_what_was_acknowledged() {
        let told = |changed| Counted { changed, errors: 2, ..Counted::default() };
        assert_eq!(difference(100, 60, &told(Some(40))), None);
        assert_eq!(difference(100, 60, &told(None)), None);
        let lost = difference(100, 61, &told(Some(40))).expect("one was lost");
        assert_eq!(lost, "the row lacks 39, and clients were told that they have taken 40 (2 errors)");
        assert!(difference(100, 59, &told(Some(40))).is_some(), "one was taken twice");
    }
}
