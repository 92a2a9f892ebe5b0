//! What Weir keeps an eye on while statements run: shared by the sessions, which tell and ask, and the commands, which show
//! and change.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::logs::Logs;
use crate::rules::RuleBook;
use crate::statistics::Statistics;

/// See the module.
#[derive(Debug)]
pub struct Oversight {
    /// What statements cost.
    pub statistics: Arc<Statistics>,
    /// The slow log and the audit log.
    pub logs: Logs,
    /// The rules.
    pub rules: RuleBook,
    read_only: AtomicBool,
}

impl Oversight {
    /// For so many workers, with these logs.
    pub fn new(workers: usize, logs: Logs) -> Oversight {
        Oversight {
            statistics: Arc::new(Statistics::new(workers)),
            logs,
            rules: RuleBook::default(),
            read_only: AtomicBool::new(false),
        }
    }

    /// Whether statements that change data are refused.
    #[inline]
    pub fn is_read_only(&self) -> bool {
        self.read_only.load(Ordering::Relaxed)
    }

    /// From now on they are, or not.
    pub fn set_read_only(&self, read_only: bool) {
        self.read_only.store(read_only, Ordering::Relaxed);
    }
}
