//! What must be known of a table before its rows are batched.
//!
//! What must always hold: a batch is made only for a table whose changes can be rolled back, with all that they cause: a trigger may write to
//! a table that is not transactional, whose lock it holds while others wait for the row. What is known is asked of the server, and is
//! forgotten after a while, and with each definition that goes through Weir.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use weir_backend::Lease;
use weir_wire::Failure;

/// What is known is asked again after so long.
const AGE: Duration = Duration::from_secs(10);
/// Tables that are known at once.
const MOST: usize = 1024;

/// What is known of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TableFacts {
    /// Its changes can be rolled back, and cause no others.
    pub batched: bool,
    /// It generates keys.
    pub auto_increment: bool,
}

/// A table of a shard, as a user sees it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TableKey {
    /// The shard.
    pub shard: usize,
    /// Who asks: what a user may not see is not there.
    pub user: Box<[u8]>,
    /// Its database.
    pub database: String,
    /// Its name.
    pub name: String,
}

/// What is known of tables with hot rows.
#[derive(Debug, Default)]
pub struct Tables(Mutex<HashMap<TableKey, (Instant, TableFacts)>>);

impl Tables {
    /// What is known of a table, if it was asked a short while ago.
    pub fn known(&self, key: &TableKey) -> Option<TableFacts> {
        let tables = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        tables.get(key).filter(|(since, _)| since.elapsed() < AGE).map(|(_, facts)| *facts)
    }

    /// Something was defined: nothing is known any more.
    pub fn forget(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// A rollback has shown that changes of a table cause others that can't be rolled back.
    pub(super) fn is_unfit(&self, key: &TableKey) {
        let mut tables = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        tables.insert(key.clone(), (Instant::now(), TableFacts { batched: false, auto_increment: true }));
    }

    /// Asks a server for what is not known.
    ///
    /// # Errors
    /// The server's error, or the loss of the connection.
    pub(super) async fn ask(&self, key: &TableKey, lease: &mut Lease) -> Result<TableFacts, Failure> {
        if let Some(facts) = self.known(key) {
            return Ok(facts);
        }
        let table = format!("TABLE_SCHEMA = {} AND TABLE_NAME = {}", as_text(&key.database), as_text(&key.name));
        let triggers = table.replace("TABLE_SCHEMA", "EVENT_OBJECT_SCHEMA").replace("TABLE_NAME", "EVENT_OBJECT_TABLE");
        let question = format!(
            "SELECT e.TRANSACTIONS, (SELECT COUNT(*) FROM information_schema.TRIGGERS WHERE {triggers}), EXISTS(SELECT 1 FROM information_schema.COLUMNS WHERE {table} AND EXTRA LIKE '%auto_increment%') \
             FROM information_schema.TABLES AS t JOIN information_schema.ENGINES AS e ON e.ENGINE = t.ENGINE \
             WHERE t.TABLE_TYPE = 'BASE TABLE' AND t.{}",
            table.replacen("AND ", "AND t.", 1)
        );
        lease.has_found_rows = false;
        let row = lease.query(&question).await?.rows.into_iter().next().unwrap_or_default();
        let is = |at: usize, wanted: &[u8]| row.get(at).is_some_and(|cell| cell.as_deref() == Some(wanted));
        let facts = TableFacts { batched: is(0, b"YES") && is(1, b"0"), auto_increment: !is(2, b"0") };
        let mut tables = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if tables.len() >= MOST {
            tables.clear();
        }
        tables.insert(key.clone(), (Instant::now(), facts));
        Ok(facts)
    }
}

/// An [`askable`] name as a string of SQL.
pub(super) fn as_text(name: &str) -> String {
    format!("'{}'", name.replace('\'', "''"))
}

/// A name as it can stand in Weir's question, whatever the session's sql_mode and character set are.
pub fn askable(name: &[u8]) -> Option<String> {
    let plain = |byte: &u8| (b' '..=b'~').contains(byte) && *byte != b'\\';
    name.iter().all(plain).then(|| String::from_utf8_lossy(name).into_owned())
}
