//! Hot rows: changes of one row by many clients ride in batches (design, section 10).
//!
//! A server makes the changes of one row durable one after another, since each holds the row's lock until its commit is on disk. A batch
//! is one transaction on one connection: the members' own statements in the order in which they came, then one COMMIT. While one batch
//! runs, the next one gathers; nothing waits for a timer.
//!
//! * [`heat`]: which rows are hot is seen by how many statements are in flight for them.
//! * [`admission`]: how many open transactions wait on the server for one of them.
//! * [`queue`]: where the statements of one hot row meet, whichever worker their clients are on.
//! * [`member`]: a statement that waits for its batch, and what becomes of it.
//! * [`runner`]: runs the batches of a queue, one after another.
//! * [`batch`]: one batch on one connection; [`judge`] says what its replies mean, and [`length`] how long the next one may be.
//! * [`merged`]: a batch whose members move one counter, made by one statement: what each finds is computed ([`counter`]), if the table's
//!   definition allows it.
//! * [`table`](mod@table): what must be known of a table before its rows are batched.
//!
//! What must always hold: a member is told of success only after the commit that has made its change durable; a member's own error undoes
//! that member alone; no change is made twice, and what is not known is told as not known.

pub mod admission;
mod batch;
pub mod counter;
mod definition;
pub mod heat;
pub mod judge;
pub mod length;
pub mod member;
pub mod merged;
pub mod queue;
mod reply;
pub mod runner;
pub mod table;

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use arc_swap::ArcSwap;
use weir_backend::Replaceable;

use admission::Gates;
use heat::Heat;
use queue::Queues;
use table::Tables;

/// Bounds of batches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HotRowSettings {
    /// Whether rows are looked after at all.
    pub enabled: bool,
    /// So many statements in flight for one row make it hot.
    pub threshold: u32,
    /// The most statements in a batch.
    pub max_batch: usize,
    /// The longest that a batch should take until its COMMIT: its rows are locked for so long.
    pub max_hold: Duration,
    /// The tables whose counters may be moved by one statement for several: database and name.
    pub merge: Vec<(String, String)>,
    /// The most statements of open transactions that may wait on the server for one hot row.
    pub admission: usize,
}

impl HotRowSettings {
    /// Whether moves of a table's counters may be made together.
    pub fn merges(&self, database: &str, table: &str) -> bool {
        self.merge.iter().any(|(d, t)| d.eq_ignore_ascii_case(database) && t.eq_ignore_ascii_case(table))
    }
}

impl Default for HotRowSettings {
    fn default() -> HotRowSettings {
        HotRowSettings {
            enabled: true,
            threshold: 4,
            max_batch: 256,
            max_hold: Duration::from_millis(50),
            admission: 4,
            merge: Vec::new(),
        }
    }
}

/// What all workers know of hot rows.
#[derive(Debug)]
pub struct HotRows {
    /// Bounds; they may change.
    pub settings: Replaceable<HotRowSettings>,
    /// How many statements are in flight, by row.
    pub heat: Heat,
    /// The queues of the rows that are hot.
    pub queues: Queues,
    /// Where open transactions wait.
    pub gates: Gates,
    /// What is known of tables with hot rows.
    pub tables: Tables,
    /// What is counted.
    pub counters: Counters,
}

impl HotRows {
    /// No row is hot yet.
    pub fn new(settings: HotRowSettings) -> Arc<HotRows> {
        Arc::new(HotRows {
            settings: Arc::new(ArcSwap::from_pointee(settings)),
            heat: Heat::default(),
            queues: Queues::default(),
            gates: Gates::default(),
            tables: Tables::default(),
            counters: Counters::default(),
        })
    }
}

/// What is counted of hot rows, since the start.
#[derive(Debug, Default)]
pub struct Counters {
    /// Batches that were committed.
    pub batches: AtomicU64,
    /// Statements that were committed in them.
    pub statements: AtomicU64,
    /// Statements whose change was made by one statement for several.
    pub merged: AtomicU64,
    /// Statements that the server had rolled back with their batch, and that ran again.
    pub replays: AtomicU64,
    /// Statements that left their queue to run by themselves.
    pub alone: AtomicU64,
}
