//! What is known of tables that sessions insert into: the AUTO_INCREMENT column, if its values come from the statements and from the
//! server alone. Then the id in an INSERT's OK says what `LAST_INSERT_ID()` is, and nobody has to ask for it.
//!
//! The monitor reads it, for the tables of which it was asked lately. What must always hold: what was read counts for a short
//! time, so that a definition made without Weir is heeded soon after; while one is made through Weir, nothing counts, and nothing that
//! was read before.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use crate::server::Server;

/// Tables of which something is known at a time. Of others nothing is: what would be known is asked for.
const MOST: usize = 32;
/// Definitions whose times are known.
const MOST_TIMES: usize = 256;

/// A database's and a table's name, as statements have them.
pub(crate) type Name = (Box<[u8]>, Box<[u8]>);

/// See the module.
#[derive(Debug, Default)]
pub struct Tables {
    known: Mutex<Known>,
    /// Definitions that are being made through Weir.
    defining: AtomicUsize,
    /// Those that were made.
    defined: AtomicU64,
    /// When the last of them were, up to [`MOST_TIMES`].
    times: Mutex<VecDeque<Instant>>,
    /// Rung when a table is asked for that is not known.
    asked: Notify,
}

/// A database's tables, by name.
type TablesOfDatabase = HashMap<Box<[u8]>, Table>;

#[derive(Debug, Default)]
struct Known {
    tables: HashMap<Box<[u8]>, TablesOfDatabase>,
    /// How long what was read counts.
    valid: Duration,
}

#[derive(Debug, Default)]
struct Table {
    /// When it was read, and the column if there is one.
    read: Option<(Instant, Option<Arc<[u8]>>)>,
    /// It was asked for since.
    used: bool,
}

/// While it lives, a definition is being made.
#[derive(Debug)]
pub struct Defining(Arc<Server>);

impl Drop for Defining {
    fn drop(&mut self) {
        let tables = &self.0.tables;
        tables.note_definition();
        tables.defining.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Defining {
    /// A definition begins.
    pub fn on(server: &Arc<Server>) -> Defining {
        server.tables.defining.fetch_add(1, Ordering::AcqRel);
        Defining(server.clone())
    }
}

impl Tables {
    /// The AUTO_INCREMENT column of a table, if it is known that it has one, of integers, that no trigger and no view gives values.
    /// To be asked when a statement has ended: what is known then held while it ran.
    pub fn generated_column(&self, database: &[u8], table: &[u8]) -> Option<Arc<[u8]>> {
        if self.defining.load(Ordering::Acquire) > 0 {
            return None;
        }
        let mut known = self.lock();
        let valid = known.valid;
        if let Some(table) = known.tables.get_mut(database).and_then(|tables| tables.get_mut(table)) {
            table.used = true;
            let (read, column) = table.read.as_ref()?;
            return column.clone().filter(|_| read.elapsed() < valid);
        }
        if known.tables.values().map(HashMap::len).sum::<usize>() < MOST {
            let tables = known.tables.entry(database.into()).or_default();
            tables.insert(table.into(), Table { read: None, used: true });
            self.asked.notify_one();
        }
        None
    }

    /// A definition has been made.
    pub fn note_definition(&self) {
        let mut known = self.lock();
        known.forget();
        let mut times = self.times();
        times.push_back(Instant::now());
        if times.len() > MOST_TIMES {
            times.pop_front();
        }
        self.defined.fetch_add(1, Ordering::AcqRel);
    }

    /// How many definitions have been made until now.
    pub fn defined(&self) -> u64 {
        self.defined.load(Ordering::Acquire)
    }

    /// Whether a definition was made after the first `count` of them, and no later than at `until`. Of those that were long ago the time is not
    /// known: they count as later ones.
    pub fn defined_between(&self, count: u64, until: Instant) -> bool {
        if self.defined() == count {
            return false;
        }
        let times = self.times();
        let after = usize::try_from(self.defined().saturating_sub(count)).unwrap_or(usize::MAX);
        let first = times.len().saturating_sub(after);
        times.get(first).is_some_and(|at| *at <= until)
    }

    fn times(&self) -> MutexGuard<'_, VecDeque<Instant>> {
        self.times.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The tables that were asked for since the last time, and the number of definitions until now. Others are forgotten.
    pub(crate) fn wanted(&self) -> (Vec<Name>, u64) {
        let defined = self.defined();
        let mut known = self.lock();
        let mut wanted = Vec::new();
        for (database, tables) in &mut known.tables {
            tables.retain(|_, table| std::mem::take(&mut table.used));
            wanted.extend(tables.keys().map(|table| (database.clone(), table.clone())));
        }
        known.tables.retain(|_, tables| !tables.is_empty());
        (wanted, defined)
    }

    /// Resolves when another table is asked for. Cancel-safe.
    pub(crate) async fn asked(&self) {
        self.asked.notified().await;
    }

    /// A table was read, no earlier than at `read`, when `defined` definitions had been made. It counts for `valid`.
    pub(crate) fn learn(&self, name: &Name, column: Option<Arc<[u8]>>, read: Instant, defined: u64, valid: Duration) {
        let mut known = self.lock();
        // Asked for with the lock held: a definition that ends now forgets what is written here.
        if self.defined.load(Ordering::Acquire) != defined || self.defining.load(Ordering::Acquire) > 0 {
            return;
        }
        known.valid = valid;
        if let Some(table) = known.tables.get_mut(&name.0).and_then(|tables| tables.get_mut(&name.1)) {
            table.read = Some((read, column));
        }
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    fn forget(&mut self) {
        self.tables.values_mut().flat_map(HashMap::values_mut).for_each(|table| table.read = None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Address;
    use crate::server::{ConnectSettings, ServerSettings, Tls};

    const LONG: Duration = Duration::from_secs(600);

    fn server() -> Arc<Server> {
        let settings = ServerSettings {
            name: "s".to_owned(),
            address: Address::Tcp { host: "127.0.0.1".to_owned(), port: 1 },
            max_connections: 1,
            max_user_connections: 0,
            track_gtids: false,
        };
        Arc::new(Server::new(settings, ConnectSettings { tls: Tls::Off, connect_timeout: LONG }, 1))
    }

    fn ask(tables: &Tables) -> Option<Arc<[u8]>> {
        tables.generated_column(b"d", b"t")
    }

    /// Reads what is wanted, as the monitor does; every table has the column `id`.
    fn read(tables: &Tables, valid: Duration) {
        let (wanted, defined) = tables.wanted();
        for name in &wanted {
            tables.learn(name, Some(b"id"[..].into()), Instant::now(), defined, valid);
        }
    }

    #[test]
    fn what_was_asked_for_is_read_and_counts_for_a_while() {
        let tables = Tables::default();
        assert_eq!(ask(&tables), None);
        read(&tables, LONG);
        assert_eq!(ask(&tables).as_deref(), Some(&b"id"[..]));
        read(&tables, Duration::ZERO);
        assert_eq!(ask(&tables), None, "it counts no longer");
        read(&tables, LONG);
        // Nobody has asked since.
        read(&tables, LONG);
        assert_eq!(ask(&tables), None);
    }

    #[test]
    fn a_definition_ends_what_is_known() {
        let server = server();
        let tables = &server.tables;
        ask(tables);
        read(tables, LONG);
        let defining = Defining::on(&server);
        assert_eq!(ask(tables), None);
        drop(defining);
        assert_eq!(ask(tables), None, "it was read before");
        let (wanted, before) = tables.wanted();
        drop(Defining::on(&server));
        tables.learn(&wanted[0], Some(b"id"[..].into()), Instant::now(), before, LONG);
        assert_eq!(ask(tables), None, "it was read before another definition had ended");
        read(tables, LONG);
        assert!(ask(tables).is_some());
    }

    #[test]
    fn of_many_tables_some_are_known() {
        let tables = Tables::default();
        for number in 0..2 * MOST {
            tables.generated_column(b"d", number.to_string().as_bytes());
        }
        assert_eq!(tables.wanted().0.len(), MOST);
    }
}
